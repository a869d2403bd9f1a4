"""The systems that wheels are built for: the target of Rust, what links it, what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from formats import elf, macho, pe, wasm

HERE = Path(__file__).parent
# The name of Pyodide's binary interface: that of versions 314, with Python 3.14.
PYODIDE = "2026_0"


@dataclass(frozen=True)
class Target:
    """A target of Rust, and its wheel."""

    name: str
    platform: str
    """The platform of the wheel, as pip names it."""
    fits: Callable[[bytes], bool]
    """Whether these first bytes of the extension module are for system and processor."""
    core: str = "_core.abi3.so"
    """The file name of the extension module."""
    options: tuple[str, ...] = ("--zig",)
    """The options of maturin."""
    flags: tuple[str, ...] = ()
    """The flags of rustc."""
    variables: tuple[tuple[str, str], ...] = ()
    """The variables of the build."""
    needs: tuple[tuple[str, str], ...] = ()
    """Programs that it takes, each with the package that has it."""


_LINUX = ("--zig", "--compatibility", "manylinux_2_17")
# Zig has no frameworks of macOS. chrono, which arrow-array has, asks one for the zone of the clock.
_MACOS = (f"-Clink-arg=-F{HERE / 'macos'}",)
_MINGW = ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")

_ALL = (
    Target("x86_64-unknown-linux-gnu", "manylinux_2_17_x86_64", elf(62), options=_LINUX),
    Target("aarch64-unknown-linux-gnu", "manylinux_2_17_aarch64", elf(183), options=_LINUX),
    Target("x86_64-apple-darwin", "macosx_10_12_x86_64", macho(0x01000007), flags=_MACOS),
    Target("aarch64-apple-darwin", "macosx_11_0_arm64", macho(0x0100000C), flags=_MACOS),
    # With --zig maturin exports the module under its dotted name, which nothing has.
    Target("x86_64-pc-windows-gnu", "win_amd64", pe(0x8664), "_core.pyd", (), needs=(_MINGW,)),
    Target(
        "wasm32-unknown-emscripten",
        f"pyemscripten_{PYODIDE}_wasm32",
        wasm,
        options=("--interpreter", "python3.14"),
        flags=("-Crelocation-model=pic", f"-Clinker={HERE / 'browser' / 'link'}"),
        variables=(("MATURIN_PYEMSCRIPTEN_PLATFORM_VERSION", PYODIDE),),
    ),
)
TARGETS = {one.name: one for one in _ALL}
