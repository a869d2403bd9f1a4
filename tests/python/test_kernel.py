"""`incast kernel` hands its arguments on to a program of its own."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Command
from incast.cli import completing


def _program(folder: Path, body: str) -> None:
    program = folder / "incast-kernel"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(0o755)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path with nothing of ours on it."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_what_is_not_built_is_said(elsewhere: Path, command: Command) -> None:
    assert elsewhere.is_dir()
    assert "make kernel" in command("kernel", "list").error


def test_arguments_and_exit_code_are_those_of_the_program(
    elsewhere: Path, command: Command
) -> None:
    _program(elsewhere, "open('arguments', 'w').write(' '.join(sys.argv[1:])); sys.exit(3)")
    done = command("kernel", "attach", "timely", "--set", "t_high=1ms", "--help")
    assert done.code == 3
    assert Path("arguments").read_text() == "attach timely --set t_high=1ms --help"


def test_a_program_that_cannot_run_is_said(elsewhere: Path, command: Command) -> None:
    (elsewhere / "incast-kernel").write_bytes(b"\0")
    (elsewhere / "incast-kernel").chmod(0o755)
    assert "cannot be run" in command("kernel", "list").error


def test_completion_knows_the_commands_of_the_program(command: Command) -> None:
    program = shutil.which("incast-kernel", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("incast-kernel is not built here (make kernel)")
    assert command("kernel", "algorithms").code == 0
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  ([a-z]+)  ", said, re.MULTILINE)
    # `part` is for test beds alone, `lab` is in Python.
    assert {*listed} - {"part"} == {*completing.KERNEL_COMMANDS} - {"lab"}
