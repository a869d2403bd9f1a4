"""`incast kernel observe`: what a program reports becomes a live table, a directory, or both."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from conftest import Command
from incast.cli import observing
from incast.results.observations import Observed

# Stands in for incast-kernel: keeps what it was asked, and reports twice of each connection.
PROGRAM = """\
import json, os, pathlib, sys, time
arguments = sys.argv[1:]
with open("asked", "a") as asked:
    print(*arguments, file=asked)
algorithm = os.environ.get("ALGORITHM", "timely")
if arguments[0] == "show":
    print(json.dumps({"name": "mine", "algorithm": algorithm, "parameters": {"alpha": "1"}}))
    sys.exit()
reports = []
for at in range(2):
    for port in reversed(range(int(os.environ.get("CONNECTIONS", "3")))):
        reports.append(json.dumps({
            "time_s": 100 + at / 10, "local_port": 40000 + port, "remote": "10.0.0.2:5201",
            "rate_mbps": 10.5 * at, "rtt_us": None if at else 25.0, "gauge": -1.25,
            "counter": 7.0 if algorithm == "rtcp" else None,
            "branch": "" if algorithm == "dctcp" else "HAI",
            "cwnd": 10, "in_flight": 4, "retransmissions": 1, "recovering": False,
        }))
text = "".join(f"{report}\\n" for report in reports)
print(text if "--json" in arguments else "a line", end="", flush=True)
if "--record" in arguments:
    pathlib.Path(arguments[arguments.index("--record") + 1]).write_text(text)
try:
    time.sleep(float(os.environ.get("LASTS", "0")))
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(int(os.environ.get("CODE", "0")))
"""
FILES = {
    "observation.json", "observations.parquet", "rate.png", "rtt.png",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory; the program is on the path, and nothing else."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "incast-kernel").write_text(f"#!{sys.executable}\n{PROGRAM}")
    (programs / "incast-kernel").chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(programs))
    monkeypatch.setenv("PATH", str(programs))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def observe(command: Command, place: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(place)
    return lambda *arguments: command("kernel", "observe", *arguments)


def _asked(place: Path) -> list[str]:
    return (place / "asked").read_text().splitlines()


def _names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_in_a_pipe_the_program_prints(observe: Command, place: Path) -> None:
    assert observe("mine", "--duration", "2s").code == 0
    assert observe("--json", "--interval", "1s").code == 0
    assert _asked(place) == [
        "observe mine --interval 100ms --duration 2s",
        "observe --interval 1s --json",
    ]


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_has_all_options(observe: Command, option: str) -> None:
    said = observe(option)
    assert said.code == 0
    for name in ("incast kernel observe", "[NAME]", "--duration", "--interval", "--json", "--out"):
        assert name in said.out


@pytest.mark.parametrize(
    ("algorithm", "gauges"),
    [
        ("timely", ["gradient_us", "branch"]),
        ("rtcp", ["price", "counter", "branch"]),
        ("dctcp", ["alpha"]),
    ],
)
def test_out_is_a_table_with_figures(
    observe: Command,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
    gauges: list[str],
) -> None:
    monkeypatch.setenv("ALGORITHM", algorithm)
    done = observe("mine", "--out", "out")
    assert (done.code, done.out) == (0, "Wrote out/\n")
    assert _names(place) == {"asked", "out"}
    assert _names(place / "out") == FILES
    rows = pl.read_parquet(place / "out" / "observations.parquet")
    assert rows.columns == [
        "time_s", "local_port", "remote", "rate_mbps", "rtt_us", *gauges, "cwnd_segments",
        "in_flight_segments", "retransmissions", "recovering",
    ]  # fmt: skip
    assert rows[gauges[0]].to_list() == [-1.25] * 6
    assert rows["rtt_us"].to_list() == [25.0] * 3 + [None] * 3
    assert rows["time_s"].is_sorted()
    mark = json.loads((place / "out" / "observation.json").read_text())
    assert (mark["name"], mark["algorithm"]) == ("mine", algorithm)
    assert set(mark["files"]) == FILES
    assert list(mark["table"]["columns"]) == rows.columns


def test_json_is_all_that_is_printed(observe: Command, place: Path) -> None:
    done = observe("--json", "--out", "out")
    assert (done.code, done.out) == (0, "")
    assert _names(place / "out") == {"observation.json", "observations.parquet"}


def test_an_earlier_observation_is_replaced_and_nothing_else(observe: Command, place: Path) -> None:
    assert observe("--out", "out").code == 0
    assert observe("--out", "out").code == 0
    (place / "out" / "notes").touch()
    (place / "asked").unlink()
    assert "holds notes, which incast did not write" in observe("--out", "out").error
    (place / "mine").mkdir()
    (place / "mine" / "run.json").write_text('{"files": ["run.json"]}')
    assert "something else than an observation" in observe("--out", "mine").error
    assert not any(line.startswith("observe") for line in _asked(place))
    assert _names(place) == {"asked", "mine", "out"}


def test_nothing_is_left_of_what_failed(
    observe: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE", "2")
    assert observe("--out", "out").code == 2
    monkeypatch.setenv("CODE", "0")
    monkeypatch.setenv("CONNECTIONS", "0")
    assert "no connection sent anything" in observe("--out", "out").error
    assert _names(place) == {"asked"}


def _started(*arguments: str, **io: int) -> "subprocess.Popen[bytes]":
    """The command in a session of its own, as a shell starts it."""
    start = f"import sys; sys.prefix = {sys.prefix!r}; from incast.cli import main; main()"
    line = [sys.executable, "-c", start, "kernel", "observe", *arguments]
    # As Python has it: pytest's readline puts a size of the terminal into that of C.
    return subprocess.Popen(line, env={**os.environ}, start_new_session=True, **io)


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_keeps_what_was_observed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTS", "60")
    with _started("--out", "out", stdout=subprocess.DEVNULL) as running:
        # The record is there whole: the program has begun to sleep, or is about to.
        _until(lambda: any(path.stat().st_size for path in place.glob(".out.*.tmp/record")))
        time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(30) == 130
    assert _names(place) == {"asked", "out"}
    assert pl.read_parquet(place / "out" / "observations.parquet").height == 6


def test_a_terminal_has_a_table_of_its_height(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("LASTS", "0.6")
    monkeypatch.setenv("CONNECTIONS", "30")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 90, 0, 0))
    text = b""
    with _started(stdin=theirs, stdout=theirs) as running, os.fdopen(ours, "rb", 0) as screen:
        os.close(theirs)
        with contextlib.suppress(OSError):  # so it ends when the other end is closed
            while part := screen.read(65536):
                text += part
        assert running.wait(30) == 0
    assert _asked(place) == ["show --json", "observe --interval 100ms --json"]
    last = text.decode().rpartition("mine (timely): 30 connections")[2]
    assert last.count("-> 10.0.0.2:5201") == 6
    assert "and 24 more" in last
    assert "\x1b[" in text.decode()  # redrawn in place


def _report(remote: str, port: int, **values: float | str | None) -> str:
    return json.dumps({
        "time_s": 1.0, "local_port": port, "remote": remote, "rate_mbps": 10.0, "rtt_us": 25.0,
        "gauge": 0.5, "counter": 7.0, "branch": "halves", "cwnd": 10, "in_flight": 4,
        "retransmissions": 0, "recovering": False, **values,
    })  # fmt: skip


def _drawn(watched: observing.Watched, screen: Console) -> str:
    with screen.capture() as captured:
        screen.print(watched.drawn())
    return captured.get()


def test_connections_come_sorted_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    screen = Console(width=100, height=30, highlight=False, markup=False)
    watched = observing.Watched(screen, Observed("mine", "rtcp", {}), 0.1)
    assert "mine (rtcp): 0 connections" in _drawn(watched, screen)
    for remote, port in (
        ("[fd00::1]:80", 1), ("10.0.0.10:80", 2), ("10.0.0.9:443", 3), ("10.0.0.9:80", 5),
        ("10.0.0.9:80", 4),
    ):  # fmt: skip
        watched.take(_report(remote, port))
    text = _drawn(watched, screen)
    flows = [line.split("  ")[0] for line in text.splitlines() if "->" in line]
    assert flows == [
        "4 -> 10.0.0.9:80", "5 -> 10.0.0.9:80", "3 -> 10.0.0.9:443", "2 -> 10.0.0.10:80",
        "1 -> [fd00::1]:80",
    ]  # fmt: skip
    for heading in ("price", "counter", "branch"):
        assert heading in text
    # The newest sample stands until the next; who is silent for long goes.
    now[0] += 2
    watched.take(_report("10.0.0.9:80", 4, rtt_us=None, rate_mbps=11.0))
    now[0] += 2
    text = _drawn(watched, screen)
    assert "1 connection\n" in text
    assert "11.0" in text
    assert " 25 " in text


def test_columns_that_do_not_fit_are_left_out() -> None:
    screen = Console(width=40, height=30, highlight=False, markup=False)
    watched = observing.Watched(screen, Observed("mine", "dctcp", {}), 0.1)
    watched.take(_report("10.0.0.9:80", 4, branch=""))
    text = _drawn(watched, screen)
    assert "alpha" in text
    assert "0.500" in text
    assert "branch" not in text
    assert "again" not in text
    assert max(map(len, text.splitlines())) <= 40
