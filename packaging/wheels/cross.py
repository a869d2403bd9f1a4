"""Wheels of incast for other systems, cross-compiled here: what `make wheels-everywhere` runs.

    .venv/wheels/bin/python packaging/wheels/cross.py --out target/wheels

Zig compiles the C of dependencies and links: it has the C libraries of Linux and macOS. Windows is
linked by MinGW, and the wheel for browsers by the linker that Rust has. Each wheel is checked when
it is built.
"""

import argparse
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import check
from targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
CARGO = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


class WheelError(Exception):
    """A wheel that cannot be built, or is not what it should be."""


def main() -> None:
    """Builds and checks the wheels, or says in a sentence why not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the directory of the wheels")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all if none is named")
    given = parser.parse_args()
    try:
        for target in chosen(given.targets):
            path = build(target, given.out)
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")  # noqa: T201 - what it has made
    except WheelError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)


def chosen(names: list[str]) -> list[Target]:
    """The targets of these names, all if there are none; finds out whether they can be built.

    Raises:
        WheelError: A name is unknown, or a tool is missing.
    """
    for one in names:
        if one not in TARGETS:
            raise WheelError(f"{one}: is no target of a wheel; choose of {', '.join(TARGETS)}")
    found = [TARGETS[one] for one in names or TARGETS]
    if _zig() is None and any("--zig" in one.options for one in found):
        raise WheelError("Zig is missing: make wheels-everywhere installs it, as ziglang")
    for program, package in dict.fromkeys(need for one in found for need in one.needs):
        if not shutil.which(program):
            raise WheelError(
                f"{program} is missing; install it (Debian, Ubuntu: apt install {package}), or "
                "name other targets in TARGETS"
            )
    if lacks := [one.name for one in found if not _library(one).is_dir()]:
        raise WheelError(
            f"the compiler has no library for {' and '.join(lacks)}: "
            f"rustup target add {' '.join(lacks)}"
        )
    return found


def build(target: Target, out: Path) -> Path:
    """Builds the wheel of a target, and checks it.

    Raises:
        WheelError: It cannot be built, or is not what it should be.
    """
    made = ROOT / "target" / "wheels-of" / target.name
    shutil.rmtree(made, ignore_errors=True)
    command = ["maturin", "build", "--release", "--locked", "--target", target.name]
    command += [*target.options, "--out", str(made)]
    if subprocess.run(command, cwd=ROOT, check=False, env=_environment(target)).returncode:  # noqa: S603
        raise WheelError(f"the wheel for {target.name} cannot be built, for the reason above")
    (wheel,) = made.glob("*.whl")
    if faults := check.faults(wheel, target, (ROOT, CARGO)):
        raise WheelError(f"{wheel}: {'; '.join(faults)}")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(wheel, out))


def _library(target: Target) -> Path:
    command = ["rustc", "--print", "target-libdir", "--target", target.name]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    return Path(done.stdout.strip() or "missing")


def _zig() -> Path | None:
    found = find_spec("ziglang")
    return None if found is None or found.origin is None else Path(found.origin).with_name("zig")


def _environment(target: Target) -> dict[str, str]:
    """The variables of a build, whose result names no folder of this machine."""
    flags = [os.environ.get("RUSTFLAGS", "")]
    flags.append(f"--remap-path-prefix={CARGO / 'registry' / 'src'}=/crates")
    found = {**os.environ, "RUSTFLAGS": " ".join([*flags, *target.flags]).strip()}
    found.update(target.variables)
    found.pop("PYO3_PYTHON", None)  # an interpreter of this system says nothing of another
    if (zig := _zig()) is not None:
        found["CARGO_ZIGBUILD_ZIG_PATH"] = str(zig)
    return found


if __name__ == "__main__":
    main()
