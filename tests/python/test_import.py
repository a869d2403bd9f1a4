"""`incast import`: files of other simulators become a scenario."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished

Command = Callable[..., Finished]
SAMPLES = Path(__file__).parents[2] / "crates" / "sim" / "tests" / "foreign"
HPCC = [str(SAMPLES / "hpcc" / name) for name in ("config.txt", "topology.txt", "flow.txt")]


def test_the_scenario_is_written_and_notes_are_shown(command: Command) -> None:
    done = command("import", *HPCC, "--out", "mine.toml")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "wrote mine.toml"
    written = Path("mine.toml").read_text()
    assert 'schemes = ["hpcc:hpcc-simulator"]' in written
    notes = [line.removeprefix("note: ") for line in done.out.splitlines()[:-1]]
    assert any("HAS_WIN" in note for note in notes)
    assert all(f"# {note}\n" in written for note in notes)


def test_nothing_is_overwritten_without_force(command: Command) -> None:
    Path("scenario.toml").write_text("mine")
    done = command("import", *HPCC)
    assert "scenario.toml is there already" in done.error
    assert Path("scenario.toml").read_text() == "mine"
    assert command("import", *HPCC, "--force").code == 0
    assert Path("scenario.toml").read_text() != "mine"


def test_files_that_are_read_are_never_overwritten(command: Command) -> None:
    topology = Path("topology.txt")
    topology.write_text((SAMPLES / "hpcc" / "topology.txt").read_text())
    before = topology.read_text()
    done = command("import", "topology.txt", HPCC[2], "--out", "topology.txt", "--force")
    assert "topology.txt is one of the files that are read" in done.error
    assert topology.read_text() == before


def test_many_flows_are_stored_beside_the_scenario(command: Command) -> None:
    flows = "10001\n" + "0 2 3 100 1000 2\n" * 10_001
    Path("flow.txt").write_text(flows)
    Path("out").mkdir()
    done = command("import", HPCC[1], "flow.txt", "--out", "out/mine.toml")
    assert done.code == 0, done.err
    assert Path("out/flow.txt").read_text() == flows
    assert 'file = "flow.txt"' in Path("out/mine.toml").read_text()
    # They are there already.
    assert command("import", HPCC[1], "flow.txt", "--out", "mine.toml").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        (["no-such.txt"], "cannot read no-such.txt"),
        (["."], "cannot read ."),
        (["broken.txt"], "broken.txt:3:"),
        (["binary.txt"], "not a text in UTF-8"),
        ([*HPCC, "--format", "hpcc-flow"], "hpcc-flows"),
        ([*HPCC, "--format", "hpcc-flows"], "1 kinds for 3 files"),
        ([*HPCC, "--out", "no/such/folder/x.toml"], "cannot write"),
    ],
)
def test_bad_input_is_one_line(command: Command, arguments: list[str], said: str) -> None:
    Path("broken.txt").write_text("2 1 1\n1\n0 1 fast 1us 0\n")
    Path("broken.flow").write_text("1\n0 1 3 100 1 0\n")
    Path("binary.txt").write_bytes(b"\xff\xfe\x00")
    if arguments == ["broken.txt"]:
        arguments = ["broken.txt", "broken.flow"]
    assert said in command("import", *arguments).error
    assert not Path("scenario.toml").exists()
