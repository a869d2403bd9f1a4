"""`incast workloads`: the distributions of flow sizes that ship, and files of your own."""

import json
from pathlib import Path

import pytest

from conftest import Command
from incast import _core


def test_all_are_listed(command: Command) -> None:
    out = command("workloads").out
    for table in _core.workloads():
        assert f"\n{table.name} " in out
    assert max(map(len, out.splitlines())) <= 100
    assert [row["name"] for row in json.loads(command("workloads", "--json").out)] == [
        table.name for table in _core.workloads()
    ]


def test_one_that_ships_is_shown(command: Command) -> None:
    out = command("workloads", "web-search").out
    assert "source   github.com/HKUST-SING/TrafficGenerator" in out
    assert "mean     1.71 MB" in out
    assert out.count("\n") > 12
    read = json.loads(command("workloads", "web-search", "--json").out)
    assert read["points"][-1] == [30_000_000, 1]


def test_one_of_your_own_is_read_as_asked(command: Command) -> None:
    Path("mine.cdf").write_text("# size probability\n0 0\n3000 0.6\n9000 1\n")
    read = json.loads(command("workloads", "mine.cdf", "--json").out)
    # 0.6 * 1500 + 0.4 * 6000; by steps 0.6 * 3000 + 0.4 * 9000.
    assert read["mean_bytes"] == pytest.approx(3300)
    assert read["interpolation"] == "linear"
    step = json.loads(command("workloads", "mine.cdf", "--step", "--json").out)
    assert step["mean_bytes"] == pytest.approx(5400)
    packets = json.loads(command("workloads", "mine.cdf", "--packets", "--json").out)
    assert packets["mean_bytes"] == pytest.approx(3300 * 1460)
    out = command("workloads", "mine.cdf").out
    assert "p50      2.5 KB" in out
    assert "p99.9    8.98 KB" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fallen.cdf"], "fallen.cdf:3: the probability falls from 0.5 to 0.4"),
        (["shrunk.cdf"], "shrunk.cdf:2: the size falls from 1000 to 500"),
        (["open.cdf"], "open.cdf:1: the last probability is 0.5"),
        (["words.cdf"], "words.cdf:1:"),
        (["binary.cdf"], "cannot read binary.cdf: not a text in UTF-8"),
        (["web-serch"], "did you mean web-search"),
        (["."], "neither a file nor sizes that ship"),
        (["web-search", "--step"], "ships as it is"),
        (["--packets"], "name it"),
    ],
)
def test_bad_input_is_one_line(command: Command, arguments: list[str], said: str) -> None:
    Path("fallen.cdf").write_text("# mine\n1000 0.5\n2000 0.4\n3000 1\n")
    Path("shrunk.cdf").write_text("1000 0.5\n500 1\n")
    Path("open.cdf").write_text("1000 0.5\n")
    Path("words.cdf").write_text("size x\n")
    Path("binary.cdf").write_bytes(b"\xff\xfe\x00")
    assert said in command("workloads", *arguments).error
