"""The ends of commands that come from outside: signals, a full disk, a limit of memory.

Ctrl-C or SIGTERM comes when it likes between the start of a command and its end, on a terminal and
without one. Nothing that had ended is lost, no process and no file is left over, the exit code and
a sentence tell, and the same command goes on from there. The seed of the moments is printed;
INCAST_STOP_SEED draws them again. A command and a moment of it are drawn, and with
INCAST_STOP_MOMENTS=30 so many moments for each command and kind of terminal.
"""

import contextlib
import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from incast.base import extras, staging

MOMENTS = int(os.environ.get("INCAST_STOP_MOMENTS", "0"))
SEED = int(os.environ.get("INCAST_STOP_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)

SCENARIO = """
title = "A load"
run = { duration = "4ms", warmup = "500us", schemes = ["dctcp"] }
network.star.hosts = [{ name = "host", count = 8, rate = "10Gbps", delay = "1us" }]
switch.ecn_threshold = "100KB"
transport.kind = "stream"
[[traffic]]
kind = "poisson"
from = "host"
load = 0.3
sizes = { fixed = "10KB" }
"""
EXPERIMENT = """
title = "A load, and another one"
place = "nowhere"
about = "What the test stops."
assumed = ["everything"]
differs = "It has nothing to differ from."
scenario = "small.toml"
seeds = 3
columns = ["throughput_gbps"]
[[case]]
name = "dctcp"
scheme = "dctcp"
[axis]
name = "load"
label = "offered load"
values = [0.2, 0.4]
set = ["traffic.0.load={}"]
[[claim]]
says = "More is carried where more is offered"
source = "nowhere"
value = "at(load, 0.4, dctcp.throughput_gbps) - at(load, 0.2, dctcp.throughput_gbps)"
at_least = 0
[[figure]]
name = "load"
kind = "lines"
columns = ["throughput_gbps"]
"""

COMMANDS = {
    "run": ["run", "small.toml", "--seed", "1", "--seed", "2", "--jobs", "2"],
    "sweep": [
        *("sweep", "small.toml", "--vary", "traffic.0.load=0.2,0.4", "--seeds", "3"),
        "--no-figures",
    ],
    "tune": [
        *("tune", "small.toml", "--cc", "dctcp", "--minimize", "rtt_p99_us"),
        *("--over", "g=0.01..0.9", "--trials", "6", "--batch", "3", "--no-figures"),
    ],
    "reproduce": ["reproduce", "mine.toml"],
    "saturate": [
        *("saturate", "small.toml", "--from", "0.2", "--to", "0.6", "--step", "0.2"),
        *("--jobs", "2"),
    ],
}  # fmt: skip
# Files that say the time that something took, the machine's memory, or what a file above has.
TIMES = {"seconds", "core_seconds", "peak_bytes", "files"}


@dataclass(frozen=True)
class Trial:
    """A signal to a command: at which part of its life, which one, and where."""

    command: str
    terminal: bool
    number: int
    part: float
    signal: signal.Signals
    to_all: bool
    """Whether workers get it, too, as from a terminal or a service manager."""

    @property
    def name(self) -> str:
        on = "terminal" if self.terminal else "pipe"
        return f"{self.command}-{on}-{self.number} ({self.signal.name} at {self.part:.3f})"


def trials(command: str) -> list[Trial]:
    drawn = random.Random(f"{SEED} {command}")  # noqa: S311 - moments
    every = [
        Trial(
            command, terminal, number, drawn.uniform(0, 1.1),
            drawn.choice([signal.SIGINT, signal.SIGTERM]), drawn.random() < 0.5,
        )
        for terminal in (False, True)
        for number in range(MOMENTS or 1)
    ]  # fmt: skip
    return every if MOMENTS else [drawn.choice(every)]


class Started:
    """A command in a session of its own, on a terminal or on pipes."""

    def __init__(self, arguments: list[str], folder: Path, *, terminal: bool) -> None:
        # The terminal becomes the session's before the command begins. SIGINT is heard even where
        # the tests run in the background of a shell.
        before = (
            "import fcntl, os, signal, sys, termios\n"
            "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
            f"{'fcntl.ioctl(2, termios.TIOCSCTTY, 0)' if terminal else ''}\n"
            "os.execv(sys.executable, [sys.executable, '-m', 'incast', *sys.argv[1:]])\n"
        )
        ours, theirs = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x28\x00\x78\x00\x00\x00\x00\x00")
        self._process = subprocess.Popen(
            [sys.executable, "-c", before, *arguments],
            cwd=folder, stdin=theirs if terminal else subprocess.DEVNULL,
            stdout=theirs, stderr=theirs, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(theirs)
        self._from = ours
        self.pid = self._process.pid
        self.began = time.monotonic()

    def wait_until_it_hears(self) -> None:
        """Until SIGTERM is caught, which is the first thing that the command sees to."""
        heard = False
        while not heard:
            assert self._process.poll() is None, "it has ended and never heard SIGTERM"
            with contextlib.suppress(OSError, StopIteration):
                status = Path(f"/proc/{self.pid}/status").read_text()
                caught = next(one for one in status.splitlines() if one.startswith("SigCgt:"))
                heard = bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
            time.sleep(0.002)
        self.began = time.monotonic()

    def end(self, *, after_s: float | None = None, trial: Trial | None = None) -> tuple[int, str]:
        """The exit code and what was printed, after the signal of a trial."""
        printed = b""
        deadline = time.monotonic() + 120
        while True:
            if trial and after_s is not None and time.monotonic() - self.began >= after_s:
                self._send(trial)
                trial = None
            ready, _, _ = select.select([self._from], [], [], 0.005)
            if ready:
                try:
                    part = os.read(self._from, 65536)
                except OSError:  # nobody has the terminal open any more
                    break
                if not part:
                    break
                printed += part
            assert time.monotonic() < deadline, "it does not end"
        os.close(self._from)
        return self._process.wait(60), printed.decode(errors="replace")

    def _send(self, trial: Trial) -> None:
        if self._process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if trial.to_all:
                os.killpg(self.pid, trial.signal)
            else:
                os.kill(self.pid, trial.signal)


def of_session(session: int) -> list[int]:
    """The processes of a session that are there, but for ones that have ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(stat.parent.name))
    return found


def finished(folder: Path) -> dict[Path, tuple[int, int]]:
    """The files of runs that have ended: none of them is made a second time."""
    files = [*folder.glob("out/runs/*.json"), *folder.glob("out/.runs/*.json")]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def timeless(said: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(said, dict):
        return {key: timeless(value) for key, value in said.items() if key not in TIMES}
    return [timeless(one) for one in said] if isinstance(said, list) else said


def content(folder: Path) -> dict[str, Any]:
    """All that a command has written: names of all files, and what is in those of numbers."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(folder))
            found[name] = timeless(json.loads(path.read_text())) if path.suffix == ".json" else None
    return found


def made(place: Path) -> Path:
    """A folder with the inputs; its name, which is a part of an experiment's, is always "here"."""
    folder = place / "here"
    folder.mkdir(parents=True)
    (folder / "small.toml").write_text(SCENARIO)
    (folder / "mine.toml").write_text(EXPERIMENT)
    return folder


def arguments(command: str) -> list[str]:
    return [*COMMANDS[command], "--out", "out"]


def faults(trial: Trial, life_s: float, place: Path, whole: dict[str, Any]) -> list[str]:
    """The promises that a trial does not keep."""
    folder = made(place)
    started = Started(arguments(trial.command), folder, terminal=trial.terminal)
    started.wait_until_it_hears()
    code, said = started.end(after_s=trial.part * life_s, trial=trial)
    wrong = []
    if code not in (0, 128 + trial.signal):
        wrong.append(f"exit code {code}")
    if "Traceback" in said or "Exception" in said or "Error" in said:
        wrong.append("a trace")
    if code != 0 and (number := len(re.findall(r"stopped(?::|\r?\n)", said))) != 1:
        wrong.append(f"{number} sentences")
    deadline = time.monotonic() + 10
    while (left := of_session(started.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        wrong.append(f"processes {left}")
    leftovers = [path for path in folder.rglob("*") if staging.is_left(path.name)]
    leftovers += folder.rglob("*.part")
    if leftovers:
        wrong.append(f"files {leftovers}")
    kept = finished(folder)
    again, told = Started(arguments(trial.command), folder, terminal=False).end()
    if again != 0:
        wrong.append(f"the second call ends with {again}: {told}")
    elif trial.command != "run" and (lost := kept.items() - finished(folder).items()):
        wrong.append(f"made twice: {lost}")
    if (found := content(folder)) != whole:
        names = {
            name for name in whole.keys() | found.keys() if whole.get(name, 0) != found.get(name, 0)
        }
        wrong.append(f"other files: {sorted(names)}")
    if wrong:
        wrong.append(said)
    return wrong


HERE = [one for one in COMMANDS if one != "tune" or extras.have(one)]
DRAWN = HERE if MOMENTS else [random.Random(SEED).choice(HERE)]  # noqa: S311 - a command
each_command = pytest.mark.parametrize("command", HERE)


@pytest.mark.parametrize("command", DRAWN)
def test_a_signal_at_any_moment_loses_nothing_and_leaves_nothing(
    command: str, tmp_path: Path
) -> None:
    print(f"INCAST_STOP_SEED={SEED}")  # noqa: T201 - shown where the test fails
    folder = made(tmp_path / "whole")
    started = Started(arguments(command), folder, terminal=False)
    started.wait_until_it_hears()
    code, said = started.end()
    life_s = time.monotonic() - started.began
    assert code == 0, said
    whole = content(folder)
    every = trials(command)
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(
            lambda trial: faults(trial, life_s, tmp_path / trial.name.partition(" ")[0], whole),
            every,
        )
        wrong = {trial.name: one for trial, one in zip(every, found, strict=True) if one}
    assert not wrong, "\n".join(f"{name}: {'; '.join(one)}" for name, one in wrong.items())


def limited(command: str, limit: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command under a limit of its process."""
    code = (
        f"import resource, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.{limit})\nfrom incast.command import main\nmain()"
    )
    line = [sys.executable, "-c", code, *arguments(command), "--quiet"]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


@each_command
def test_a_full_disk_is_one_sentence_and_leaves_nothing_in_part(
    command: str, tmp_path: Path
) -> None:
    """With a limit on the size of files in place of a disk."""
    folder = made(tmp_path)
    done = limited(command, "RLIMIT_FSIZE, (100, 100)", folder)
    assert done.returncode == 2
    assert re.fullmatch(r"error: out\S* cannot be written: File too large\n", done.stderr)
    written = [path for path in folder.rglob("out/**/*") if path.is_file()]
    assert not [path for path in written if path.stat().st_size == 100], "cut off"
    assert not [path for path in folder.rglob("*") if staging.is_left(path.name)]


@each_command
def test_a_limit_of_memory_below_the_libraries_is_one_sentence(
    command: str, tmp_path: Path
) -> None:
    folder = made(tmp_path)
    done = limited(command, "RLIMIT_AS, (800_000_000,) * 2", folder)
    assert done.returncode == 2
    assert re.fullmatch(r"error: `ulimit -v` leaves this process 0\.8 GB .*\n", done.stderr)
    assert not (folder / "out").exists()


def test_a_limit_of_memory_above_the_libraries_is_room_enough(tmp_path: Path) -> None:
    done = limited("sweep", "RLIMIT_AS, (1_400_000_000,) * 2", made(tmp_path))
    assert done.returncode == 0, done.stderr
