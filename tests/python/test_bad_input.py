"""Bad input gets one line on stderr and exit code 2, and leaves nothing behind."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import incast
from conftest import Finished
from incast import experiment

Command = Callable[..., Finished]


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """No result, whole or half, comes of any of this."""
    yield
    assert not list(tmp_path.rglob("run.json"))
    assert not list(tmp_path.rglob(".*"))
    assert not (tmp_path / "results").exists()


GOOD = """\
title = "Two hosts into one"

[run]
duration = "1ms"
schemes = ["timely"]

[network.star]
hosts = [
    { name = "client", count = 2, rate = "10Gbps", delay = "1us" },
    { name = "server", rate = "10Gbps", delay = "1us" },
]

[switch]
buffer = "1MB"

[[traffic]]
from = "client"
to = "server"
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "incats"], "did you mean incast or"),
        (["run", "no-such.toml"], "no-such.toml"),
        (["run", "."], "."),
        (["run", "incast", "--cc", "timly"], "timely"),
        (["run", "incast", "--cc", "timely:zuh"], "zhu"),
        (["run", "incast", "--cc", ""], "error"),
        (["run", "incast", "--cc", "timely", "--cc", "timely"], "twice"),
        (["run", "incast", "--seed", "-1"], "--seed"),
        (["run", "incast", "--seed", "one"], "--seed"),
        (["run", "incast", "--seed", str(2**64)], "--seed"),
        (["run", "incast", "--trace", "queue"], "queues"),
        (["run", "incast", "--threads", "0"], 'threads "0": expected "auto" or a number from 1'),
        (["run", "incast", "--threads", "-1"], 'threads "-1": expected "auto" or a number from 1'),
        (["run", "incast", "--threads", "many"], 'threads "many": expected "auto" or a number'),
        (["run", "incast", "--threads", "1000"], "from 1 to 256"),
        (["run", "incast", "--bogus"], "--bogus"),
        (["run", "incast", "extra"], "extra"),
        (["run"], "scenario"),
        (["rum"], "rum"),
        (["scenario"], "command"),
        (["scenario", "check", "incats"], "incast"),
        (["algorithms", "timly"], "did you mean timely?"),
    ],
)
def test_the_command_line(command: Command, arguments: list[str], said: str) -> None:
    assert said in command(*arguments).error


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("run.duration", "="),
        ("=5ms", "="),
        ("run.duratoin=5ms", "duration"),
        ("rum.duration=5ms", "run"),
        ("run.duration=5", "5"),
        ("run.threads=many", "auto"),
        ("run.threads=0", "1 to 256"),
        ("run.duration=5mm", "5mm"),
        ("run.duration=5Gbps", "5Gbps"),
        ("run.duration=0s", "0s"),
        ("run.duration=-5ms", "-5ms"),
        ("run.duration=1000000000s", "1000000000s"),
        ("run.duration=5ms\nseed=1", "run.duration"),
        ("transport.segment=0KB", "0KB"),
        ("transport.segment=64", "64"),
        ("cc.timely.t_hihg=200us", "t_high"),
        ("cc.timly.t_high=200us", "timely"),
        ("cc.timely.t_high=200", "200"),
        ("cc.timely.t_high=-200us", "-200us"),
    ],
)
def test_assignments(command: Command, assignment: str, said: str) -> None:
    assert said in command("run", "incast", "--set", assignment).error


def test_a_file_that_cannot_be_read(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"title = '\xff\xfe'")
    (tmp_path / "folder.toml").mkdir()
    for name in ("bytes.toml", "folder.toml"):
        assert name in command("run", name).error


def test_a_file_that_is_not_toml(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('title = "open\n')
    for arguments in (("run", "mine.toml"), ("scenario", "check", "mine.toml")):
        assert "mine.toml:1:" in command(*arguments).error


def test_an_empty_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    assert "mine.toml" in command("run", "mine.toml").error


def test_the_scenario_of_these_tests_is_good(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    assert incast.load(tmp_path / "mine.toml").schemes == ["timely"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("duration", "duratoin", 4, "duration"),
        ("[switch]", "[swich]", 13, "switch"),
        ("star", "sttar", 7, "star"),
        ('"1ms"', "1", 4, "1"),
        ('"1ms"', '"1"', 4, "1"),
        ('"1ms"', '"1mm"', 4, "1mm"),
        ('"1ms"', '"1Gbps"', 4, "1Gbps"),
        ('"1ms"', '"0ms"', 4, "0ms"),
        ('"1ms"', '"-1ms"', 4, "-1ms"),
        ('"1ms"', '"1000000000s"', 4, "1000000000s"),
        ('"10Gbps"', '"10Gb"', 9, "10Gb"),
        ('"10Gbps"', '"0Gbps"', 9, "0Gbps"),
        ('"10Gbps"', '"-10Gbps"', 9, "-10Gbps"),
        ('"10Gbps"', '"10000000Gbps"', 9, "10000000Gbps"),
        ('"1us"', '"-1us"', 9, "-1us"),
        ('"1us"', '"0us"', 9, "0us"),
        ('"1us"', '"1000s"', 9, "1000s"),
        ('"1MB"', '"0MB"', 14, "0MB"),
        ('"1MB"', '"1us"', 14, "1us"),
        ('"1MB"', '"1000000000GB"', 14, "1000000000GB"),
        ("count = 2", "count = 0", 9, "0"),
        ("count = 2", "count = -2", 9, "-2"),
        ('to = "server"', 'to = "sever"', 18, "server"),
        ('to = "server"', 'to = "client7"', 18, "client7"),
        ('from = "client"', 'from = "server"', 18, "itself"),
        ('["timely"]', '["timly"]', 5, "timely"),
        ('["timely"]', '"timely"', 5, "timely"),
    ],
)
def test_a_file_at_fault_has_line_and_column(
    command: Command, tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in GOOD
    (tmp_path / "mine.toml").write_text(GOOD.replace(old, new, 1))
    for arguments in (("run", "mine.toml"), ("scenario", "check", "mine.toml")):
        error = command(*arguments).error
        assert re.search(rf"mine\.toml:{line}:\d+", error), error
        assert said in error


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("file", "not a directory"),
        ("file/below", "not a directory"),
        ("file/below/that", "file/below/that"),
        ("full", "something else"),
        (".", "something else"),
        ("/proc/incast", "/proc/incast"),
        ("a" * 300, "cannot be written"),
    ],
)
def test_output_directories(command: Command, tmp_path: Path, out: str, said: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    assert said in command("run", "incast", "--out", out).error
    assert (tmp_path / "full" / "notes.txt").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(command: Command, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    assert "ermission" in command("run", "incast", "--out", "locked/out").error


def test_bad_output_is_found_before_the_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(experiment._core, "run", lambda *_, **__: pytest.fail("was run"))
    assert "file" in command("run", "incast", "--out", "file").error


def test_the_interpreter_prints_no_trace(interpreter: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*interpreter, "run", "incats"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert sys.executable not in done.stderr
