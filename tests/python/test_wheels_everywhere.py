"""Wheels for other systems: what they have to be, and what is said where one cannot be built.

None is built here: that takes minutes for each (`make wheels-everywhere`).
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "wheels"
sys.path.insert(0, str(FOLDER))

import check  # noqa: E402
import cross  # noqa: E402
from targets import TARGETS, Target  # noqa: E402

# The first bytes of an extension module for each target.
HEADS = {
    "x86_64-unknown-linux-gnu": b"\x7fELF\x02".ljust(18, b"\0") + b"\x3e\0",
    "aarch64-unknown-linux-gnu": b"\x7fELF\x02".ljust(18, b"\0") + b"\xb7\0",
    "x86_64-apple-darwin": b"\xcf\xfa\xed\xfe\x07\0\0\x01",
    "aarch64-apple-darwin": b"\xcf\xfa\xed\xfe\x0c\0\0\x01",
    "x86_64-pc-windows-gnu": b"MZ".ljust(60, b"\0") + b"\x40\0\0\0PE\0\0\x64\x86",
    "wasm32-unknown-emscripten": b"\0asm\x01\0\0\0\0\x20\x08dylink.0",
}


def wheel(folder: Path, target: Target, head: bytes, **changed: bytes | None) -> Path:
    """A wheel of all sources with such a core; files of other content, or without any."""
    path = folder / f"incast-0.1.0-cp310-abi3-{target.platform}.whl"
    files = {f"incast/{one.relative_to(check.PACKAGE)}": b"" for one in check.PACKAGE.rglob("*.py")}
    changes = {f"incast/{name}.py": content for name, content in changed.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | {f"incast/{target.core}": head} | changes).items():
            if content is not None:
                archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", TARGETS)
def test_a_wheel_is_known_by_its_tags_and_the_format_of_its_core(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    assert check.faults(wheel(tmp_path, target, HEADS[name]), target, [ROOT]) == []
    for other, head in HEADS.items():
        if other != name:
            found = check.faults(wheel(tmp_path, target, head), target, [ROOT])
            assert found == ["its core is for another system or processor"], other
    renamed = wheel(tmp_path, target, HEADS[name])
    renamed = renamed.rename(tmp_path / "incast-0.1.0-cp310-abi3-linux_x86_64.whl")
    assert check.faults(renamed, target, [ROOT]) == [
        f"its tags are cp310-abi3-linux_x86_64, not cp310-abi3-{target.platform}"
    ]


def test_a_wheel_has_all_sources_one_core_and_no_folder_of_its_builder(tmp_path: Path) -> None:
    name = "x86_64-unknown-linux-gnu"
    target, head = TARGETS[name], HEADS[name]
    lacks = wheel(tmp_path, target, head, command=None)
    assert check.faults(lacks, target, []) == ["it lacks incast/command.py"]
    names = wheel(tmp_path, target, head, command=f"{ROOT}/crates".encode())
    assert check.faults(names, target, [ROOT]) == [
        f"incast/command.py names {ROOT}, a folder of the machine that built it"
    ]
    with zipfile.ZipFile(names, "a") as archive:
        archive.writestr("incast/_core.pyd", b"")
    assert check.faults(names, target, []) == [
        "its compiled modules are incast/_core.abi3.so, incast/_core.pyd, not incast/_core.abi3.so"
    ]
    # A wheel may have several tags for one platform.
    both = names.rename(
        tmp_path / f"incast-0.1.0-{check.ABI}-manylinux2014_x86_64.{target.platform}.whl"
    )
    assert not any("tags" in fault for fault in check.faults(both, target, []))


def test_what_is_missing_is_said_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cross, "_library", lambda _: tmp_path)
    monkeypatch.setattr(cross, "_zig", lambda: tmp_path)
    monkeypatch.setattr(cross.shutil, "which", lambda _: "there")
    assert [one.name for one in cross.chosen([])] == [*TARGETS]
    assert [one.name for one in cross.chosen(["x86_64-apple-darwin"])] == ["x86_64-apple-darwin"]

    def refusal(*names: str) -> str:
        with pytest.raises(cross.WheelError) as raised:
            cross.chosen([*names])
        return str(raised.value)

    assert refusal("sparc").startswith("sparc: is no target of a wheel; choose of x86_64-")
    monkeypatch.setattr(cross.shutil, "which", lambda _: None)
    assert refusal() == (
        "x86_64-w64-mingw32-gcc is missing; install it (Debian, Ubuntu: apt install "
        "gcc-mingw-w64-x86-64), or name other targets in TARGETS"
    )
    monkeypatch.setattr(cross, "_library", lambda _: tmp_path / "none")
    darwin = ("x86_64-apple-darwin", "aarch64-apple-darwin")
    assert refusal(*darwin) == (
        f"the compiler has no library for {' and '.join(darwin)}: "
        f"rustup target add {' '.join(darwin)}"
    )
    monkeypatch.setattr(cross, "_zig", lambda: None)
    assert refusal(*darwin).startswith("Zig is missing: make wheels-everywhere installs it")
    # Windows is linked by another program.
    assert "Zig" not in refusal("x86_64-pc-windows-gnu")


def test_the_script_says_a_wrong_target_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "cross.py", "--out", "nowhere", "sparc"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: sparc: is no target of a wheel; .*\n", done.stderr)


def test_make_takes_the_lock_and_the_targets_that_are_named() -> None:
    done = subprocess.run(
        ["/usr/bin/env", "make", "-n", "wheels-everywhere", "TARGETS=x86_64-apple-darwin"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith("MAKE")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.endswith("packaging/wheels/cross.py --out target/wheels x86_64-apple-darwin")
    lock = (ROOT / "requirements/wheels.lock").read_text(encoding="utf-8")
    wanted = (ROOT / "requirements/wheels.in").read_text(encoding="utf-8")
    for line in filter(None, (line.partition("#")[0].strip() for line in wanted.splitlines())):
        assert re.search(rf"^{line}==\S+ \\$", lock, re.MULTILINE)


def test_the_linker_for_browsers_takes_files_and_the_entry_of_the_module(tmp_path: Path) -> None:
    shown = tmp_path / "rust-lld"
    shown.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    shown.chmod(0o755)
    given = ["-s", 'EXPORTED_FUNCTIONS=["_PyInit__core","_malloc"]', "a.o", "-B/bin", "b.rlib"]
    given += ["--target=wasm32-unknown-emscripten", "-o", "out.wasm", "-sSIDE_MODULE=2", "-O3"]
    done = subprocess.run(
        [FOLDER / "browser" / "link", *given], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.split()
    assert said[-5:] == ["--export=PyInit__core", "a.o", "b.rlib", "-o", "out.wasm"]
    assert {"-shared", "--experimental-pic"} <= {*said}
    assert not [word for word in said if word.startswith(("-B", "--target", "-s", "-O3"))][1:]


def test_the_page_on_installing_names_each_platform() -> None:
    page = (ROOT / "docs/how-to/installing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", page, re.MULTILINE)
    assert rows == [(one.name, one.platform) for one in TARGETS.values()]
