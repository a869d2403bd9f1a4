"""The common fixtures: a scenario that takes milliseconds, its result, the command, a browser."""

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import chromium
import incast
import wheels
from incast import _core, cli
from incast.base import executor, links
from incast.base.stopping import Stop

SHORT = ("run.duration=5ms", "run.warmup=1ms")
SET = tuple(word for assignment in SHORT for word in ("--set", assignment))
RUN = ("run", "incast", *SET)
LOAD = """
title = "A load"
run = { duration = "2ms", warmup = "500us", schemes = ["dctcp", "timely"] }
network.star.hosts = [{ name = "host", count = 4, rate = "10Gbps", delay = "1us" }]
transport.kind = "stream"
[[traffic]]
kind = "poisson"
from = "host"
load = 0.1
sizes = { fixed = "10KB" }
"""


@dataclass(frozen=True)
class Finished:
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that bad input gets."""
        assert self.code == 2, (self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        return self.err


Command = Callable[..., Finished]
"""Runs the command with these arguments, in this process."""


@pytest.fixture(autouse=True)
def few_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are written without their usual figures, which take a second each time."""
    if "figures" not in request.keywords:
        monkeypatch.setattr("incast.api.result.add_figures", lambda _, written, *_formats: written)


@pytest.fixture(scope="session", autouse=True)
def hears_ctrl_c() -> None:
    """Python's own answer to Ctrl-C, here and in the commands that tests start.

    Programs in the background of a shell do not have it, and `make test` starts some tests there.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def children(process: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    found = []
    for one in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found += [int(pid) for pid in one.read_text().split()]
    return found


def gone(processes: list[int]) -> bool:
    """Whether none of the processes runs any more, or soon will."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        states = []
        for pid in processes:
            with contextlib.suppress(OSError):
                states.append(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0])
        if not set(states) - {"Z", "X"}:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="session")
def short() -> incast.Scenario:
    return incast.load("incast").with_set(*SHORT)


@pytest.fixture(scope="session")
def result(short: incast.Scenario) -> incast.Result:
    return incast.run(short)


@pytest.fixture(scope="session")
def longer(short: incast.Scenario) -> incast.Scenario:
    """Long enough that the core reports progress."""
    return short.with_set("run.duration=1s")


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file with the experiment of the module that asks."""
    path = tmp_path / "mine.toml"
    path.write_text(request.module.EXPERIMENT)
    return path


@pytest.fixture
def of_file(tmp_path: Path) -> incast.Scenario:
    """A scenario that names a file which is gone: workers have what was read."""
    (tmp_path / "load.toml").write_text(LOAD.replace('fixed = "10KB"', 'file = "sizes.txt"'))
    (tmp_path / "sizes.txt").write_text("10000 0\n10001 1\n")
    scenario = incast.load(tmp_path / "load.toml")
    (tmp_path / "sizes.txt").unlink()
    return scenario


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs of studies, which are made in this process from here on."""
    names: list[str] = []

    def here(work: Any, tasks: list[Any], *_: object, stop: Stop, **__: object) -> Iterator[Any]:  # noqa: ANN401
        for task in tasks:  # to which more may be appended
            names.append(task[1].name)
            outcome = work(task)
            if outcome is None:
                stop.ask()
                return
            yield task, outcome

    monkeypatch.setattr(executor, "executed", here)
    return names


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return wheels.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def stopped(longer: incast.Scenario) -> incast.Result:
    """The result after Ctrl-C: a run that did not reach its end, and one that was not begun."""
    run = _core.run(longer, "timely", progress=lambda _time, _events: False)
    assert not run.complete
    return incast.Result(longer, ("timely", "line-rate"), longer.seed, {"timely": run})


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Finished:
        with pytest.raises(SystemExit) as left:
            cli.main(arguments)
        captured = capsys.readouterr()
        return Finished(int(left.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def interpreter() -> list[str]:
    """The start of a command line that runs the command in a process of its own."""
    return [sys.executable, "-m", "incast"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium without a window, which says at the end whether a page made a severe mistake."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("no page is opened: chromium and chromium-driver are not installed")
    pytest.importorskip("selenium.webdriver")
    options = chromium.options()
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option(
        "prefs", {"download.default_directory": str(tmp_path_factory.mktemp("downloads"))}
    )
    opened = chromium.opened(options)
    opened.set_script_timeout(120)
    yield opened
    severe = [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"]
    opened.quit()
    assert severe == []


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The page of the simulator as `incast ui` serves it."""
    if not links.PAGE.is_file():
        pytest.skip("the page is not tested: it is not built (make page)")
    command = [sys.executable, "-m", "incast", "ui", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        yield served.stdout.readline().split()[0]
        served.send_signal(signal.SIGINT)
        assert served.wait(10) == 0
