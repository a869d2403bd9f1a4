"""Bad input gets one line on stderr and exit code 2, and leaves nothing behind."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import incast
from conftest import Command
from incast import _core


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
kind = "connections"
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


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "0", "-0.1"])
@pytest.mark.parametrize("option", ["--from", "--to", "--step", "--threshold"])
def test_loads_that_make_no_search(command: Command, option: str, value: str) -> None:
    arguments = ("saturate", "timely-clos-rpc", option, value)
    assert "expected" in command(*arguments).error


@pytest.mark.parametrize(
    ("option", "value"),
    [("--step", "1e-9"), ("--step", "1e-5"), ("--step", "0.0001"), ("--to", "1e300")],
)
def test_a_search_has_no_thousands_of_loads(command: Command, option: str, value: str) -> None:
    assert "more than 1000" in command("saturate", "timely-clos-rpc", option, value).error


@pytest.mark.parametrize("seed", ["inf", "nan", "1e9", "-1", "0.5", "9" * 400])
def test_seeds_are_whole_numbers(command: Command, seed: str) -> None:
    for name in ("run", "saturate"):
        assert "--seed" in command(name, "timely-clos-rpc", "--seed", seed).error


@pytest.mark.parametrize("jobs", ["inf", "nan", "0", "-1", "1025", "9" * 400])
def test_jobs_are_a_few(command: Command, jobs: str) -> None:
    assert "--jobs" in command("reproduce", "timely/table-1", "--jobs", jobs).error


@pytest.mark.parametrize("name", ["pipe", "pipe.toml", "/dev/zero", "endless.toml"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run",), ("scenario", "check"), ("saturate",), ("reproduce",), ("workloads",), ("import",),
    ],
)  # fmt: skip
def test_what_has_no_end_or_never_begins(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], name: str
) -> None:
    for pipe in ("pipe", "pipe.toml"):
        os.mkfifo(tmp_path / pipe)
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    error = command(*arguments, name).error
    assert f"{name}: a device or a pipe is no regular file" in error


def test_a_file_that_is_too_long(command: Command, tmp_path: Path) -> None:
    with (tmp_path / "long.toml").open("wb") as file:
        file.truncate(50_000_000_000)
    for arguments in (("run",), ("reproduce",)):
        assert "long.toml: more than 64 MB" in command(*arguments, "long.toml").error
    for arguments in (("workloads",), ("import",)):
        assert "long.toml: more than 1000 MB" in command(*arguments, "long.toml").error


@pytest.mark.parametrize("name", ["run", "reproduce"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a = " + b"[" * 100_000, "mine.toml:1:"),
        (b"a = " + b"{ a = " * 100_000, "mine.toml:1:"),
        (b'title = "a"\nabout = "\xff"', "mine.toml"),
        (bytes(range(256)) * 40, "mine.toml"),
    ],
)
def test_a_file_that_is_binary_or_deep(
    command: Command, tmp_path: Path, name: str, text: bytes, said: str
) -> None:
    (tmp_path / "mine.toml").write_bytes(text)
    assert said in command(name, "mine.toml").error


def test_a_claim_that_is_too_deep(command: Command, tmp_path: Path) -> None:
    shipped = Path(incast.__file__).parent / "papers" / "timely" / "table-1.toml"
    deep = "(" * 50_000 + "1" + ")" * 50_000
    text = re.sub(r'^value = ".*"$', f'value = "{deep}"', shipped.read_text(), flags=re.MULTILINE)
    (tmp_path / "mine.toml").write_text(text)
    assert "mine.toml: claim" in command("reproduce", "mine.toml").error


@pytest.mark.parametrize(
    ("out", "said"),
    [("file", "file"), ("file/below", "ot a directory"), ("/proc/incast", "/proc/incast")],
)
def test_where_experiments_go_is_looked_at_before_they_are_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, said: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(_core, "run", lambda *_, **__: pytest.fail("was run"))
    error = command("reproduce", "timely/table-1", "--quick", "--jobs", "1", "--out", out).error
    assert "cannot be written" in error
    assert said in error


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"1ms"', "1979-05-27"),
        ("count = 2", "count = 1.5"),
        ("count = 2", 'count = "2"'),
        ('["timely"]', "{ a = 1 }"),
        ('title = "Two hosts into one"', "title = 5"),
        ('"1MB"', "[1, 2]"),
        ("[run]", "[[run]]"),
    ],
)
def test_values_of_another_type_are_told_in_plain_words(
    command: Command, tmp_path: Path, old: str, new: str
) -> None:
    (tmp_path / "mine.toml").write_text(GOOD.replace(old, new, 1))
    error = command("run", "mine.toml").error
    assert re.search(r"mine\.toml:\d+:\d+: .*; expected ", error), error
    assert not re.search(r"invalid type|struct|\bu32|\bi64|\bmap\b|sequence|private", error), error


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


# Three of many: crates/simulator/sim/tests/it/scenario_errors.rs has the kinds of mistakes.
@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("[switch]", "[swich]", 13, "switch"),
        ('"1ms"', '"1Gbps"', 4, "1Gbps"),
        ('from = "client"', 'from = "server"', 19, "itself"),
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
    monkeypatch.setattr(_core, "run", lambda *_, **__: pytest.fail("was run"))
    assert "file" in command("run", "incast", "--out", "file").error


def test_the_interpreter_prints_no_trace(interpreter: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*interpreter, "run", "incats"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert sys.executable not in done.stderr
