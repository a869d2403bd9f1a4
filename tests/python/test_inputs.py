"""Files that a scenario names are kept with its result, and give it again."""

import json
from pathlib import Path

import pytest

import incast
from conftest import Command

SCENARIO = """
title = "From files"

[run]
duration = "2ms"
warmup = "500us"
schemes = ["timely", "dctcp"]

[network.file]
format = "hpcc"
path = "data/topology.txt"

[[traffic]]
kind = "flows"
name = "listed"
file = "data/flow.txt"
format = "hpcc"

[[traffic]]
kind = "poisson"
name = "random"
from = "host"
load = 0.5
sizes = { file = "data/mine.cdf" }
"""
TOPOLOGY = "5 1 4\n4\n" + "".join(f"{host} 4 25Gbps 0.001ms 0\n" for host in range(4))
FLOWS = "2\n0 2 3 100 150000 0.0001\n1 2 3 100 5000 0.0002\n"
SIZES = "# mine\n1000 0.5\r\n20000 1\n"  # a line end that must survive


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name, text in (("topology.txt", TOPOLOGY), ("flow.txt", FLOWS), ("mine.cdf", SIZES)):
        (tmp_path / "data" / name).write_bytes(text.encode())
    (tmp_path / "mine.toml").write_text(SCENARIO)
    return tmp_path


@pytest.mark.figures
def test_a_result_runs_again_without_the_original_files(command: Command, written: Path) -> None:
    first = command("run", "mine.toml", "--out", "first")
    assert first.code == 0, first.err
    kept = {path.name: path.read_bytes().decode() for path in Path("first/inputs").iterdir()}
    assert kept == {"topology.txt": TOPOLOGY, "flow.txt": FLOWS, "mine.cdf": SIZES}
    assert incast.Result.read("first").scenario.inputs == kept
    # Neither files that are gone nor others in their place make a difference.
    (written / "data").rename(written / "first" / "data")
    (written / "first" / "data" / "mine.cdf").write_text("5 1\n")
    again = command("run", "first/scenario.toml", "--out", "again")
    assert again.code == 0, again.err
    names = sorted(str(path.relative_to("again")) for path in Path("again").rglob("*.*"))
    assert {"messages.parquet", "run.json", "inputs/mine.cdf", "slowdown-by-size.png"} <= set(names)
    for name in set(names) - {"run.json"}:
        assert (written / "again" / name).read_bytes() == (written / "first" / name).read_bytes()
    # The file is called otherwise now.
    one, two = (json.loads(Path(out, "run.json").read_text()) for out in ("first", "again"))
    assert (one.pop("scenario"), two.pop("scenario")) == ("mine", "scenario")
    assert one == two


@pytest.mark.usefixtures("written")
def test_an_api_run_keeps_them_too() -> None:
    incast.run("mine.toml", "timely").write("out", figures=False)
    read = incast.Result.read("out")
    read.write("copy", figures=False)
    assert Path("copy/inputs/mine.cdf").read_bytes().decode() == SIZES
    assert incast.load("copy/scenario.toml").inputs == read.scenario.inputs


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("mine.cdf", "20000 1", "20000 0.4", "mine.cdf:3: the probability falls from 0.5 to 0.4"),
        ("mine.cdf", "20000 1", "500 1", "mine.cdf:3: the size falls from 1000 to 500"),
        ("mine.cdf", "20000 1", "20000", "mine.cdf:3: 1 column; expected two"),
        ("flow.txt", "100 5000", "100 many", "flow.txt:3:"),
        ("flow.txt", "1 2 3", "1 9 3", 'data/flow.txt:3: unknown host "host9"'),
        ("flow.txt", "0.0002", "0.2", "data/flow.txt:3: starts after the end"),
        ("topology.txt", "25Gbps", "fast", "topology.txt:3:"),
    ],
)
def test_a_file_at_fault_has_its_name_and_line(
    command: Command, written: Path, name: str, old: str, new: str, said: str
) -> None:
    path = written / "data" / name
    path.write_bytes(path.read_bytes().decode().replace(old, new, 1).encode())
    for arguments in (("run", "mine.toml"), ("scenario", "check", "mine.toml")):
        error = command(*arguments).error
        assert said in error
    assert not Path("results").exists()
