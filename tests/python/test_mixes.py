"""Mixes of schemes: what is kept of them, what is printed, and what is refused."""

from pathlib import Path

import pytest

import incast
from conftest import Command

MIX = """
title = "Two flows beside two"

[run]
duration = "5ms"
warmup = "1ms"
schemes = ["newreno"]

[network.star]
hosts = [
    { name = "own", count = 2, rate = "10Gbps", delay = "2us" },
    { name = "other", count = 2, rate = "10Gbps", delay = "2us" },
    { name = "server", rate = "10Gbps", delay = "2us" },
]

[transport]
kind = "stream"

[[traffic]]
kind = "connections"
name = "ours"
from = "own"
to = "server"

[[traffic]]
kind = "connections"
name = "theirs"
from = "other"
to = "server"
scheme = "cubic"
"""


def test_a_run_keeps_and_shows_the_part_of_each_scheme(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mix.toml").write_text(MIX)
    out = tmp_path / "out"
    command("run", str(tmp_path / "mix.toml"), "--out", str(out))
    mix = incast.open_result(out).table("mix").to_dicts()
    parts = [(row["scheme"], row["traffic"], row["own_scheme"], row["flows"]) for row in mix]
    assert parts == [("newreno", "ours", "newreno", 2), ("newreno", "theirs", "cubic", 2)]
    assert sum(row["goodput_share"] for row in mix) == pytest.approx(1)
    shown = command("show", str(out)).out
    assert "share of" in shown
    assert "theirs" in shown
    assert "cubic" in shown


def test_a_scheme_that_there_is_not_is_told_with_the_nearest() -> None:
    with pytest.raises(incast.ScenarioError, match='mean "cubic"'):
        incast.Scenario.parse(MIX.replace('"cubic"', '"cubik"'), "mix.toml")
