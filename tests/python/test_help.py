"""The help of every command: there is some, and it fits a terminal of 80 columns."""

from collections.abc import Iterator

import pytest
import typer.main

from conftest import Command
from incast import cli
from incast.cli import kernel


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of each command, that of groups included; `kernel` prints its program's help."""
    yield path
    for name, one in getattr(group, "commands", {}).items():
        if name != "kernel":
            yield from commands(one, (*path, name))


EVERY = list(commands(typer.main.get_command(cli.app)))


@pytest.mark.parametrize("columns", ["80", "200", None])
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_fits_eighty_columns(
    command: Command, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], columns: str | None
) -> None:
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    done = command(*path, "--help")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("Usage: ")
    assert [line for line in lines if len(line) > 80] == []
    # Nothing is cut off to make it fit.
    assert not [line for line in lines if line.rstrip().endswith(("...", "…")) and "[" not in line]


@pytest.mark.parametrize("name", ["lab", "observe"])
def test_help_of_the_test_bed_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    kernel._run_own("incast-kernel", name, "--help")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: incast kernel {name}")
    assert [line for line in lines if len(line) > 80] == []


def test_every_command_is_tried() -> None:
    assert {(), ("run",), ("scenario", "check"), ("completion",), ("plot",)} <= {*EVERY}


@pytest.mark.parametrize("group", [[], ["scenario"], *([["udp"]] if ("udp",) in EVERY else [])])
def test_a_group_alone_lists_its_commands(command: Command, group: list[str]) -> None:
    alone = command(*group)
    assert (alone.code, alone.err) == (0, "")
    assert "Commands:" in alone.out
    assert alone.out == command(*group, "--help").out
