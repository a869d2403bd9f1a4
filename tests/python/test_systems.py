"""Systems other than Linux: what they cannot do is said in a sentence, and the rest goes on.

Python takes another name for the system here. What runs there was tried by hand:
docs/how-to/installing.md.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import LOAD, RUN, Command
from incast import _core
from incast.api import batch
from incast.base import pool, staging, system
from incast.base.stopping import Stop

# The command where neither the core nor the system has UDP.
ELSEWHERE = """
import platform, sys, sysconfig
sysconfig.get_config_vars()  # read once, under the name that this system has
from incast import _core
for name in dir(_core):
    if name.lower().startswith("udp") or name == "SecurityError":
        delattr(_core, name)
sys.platform, platform.system = "darwin", lambda: "Darwin"
from incast import cli
cli.main()
"""


def elsewhere(*arguments: str, code: str = ELSEWHERE) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("udp", "call", "10.0.0.1:7000", "--secret", "x"), "incast udp"),
        (("udp", "--help"), "incast udp"),
        (("kernel", "attach", "timely"), "incast kernel"),
        (("kernel",), "incast kernel"),
        (("lab", "incast", "--on", "udp"), "a test bed of network namespaces"),
        (("lab", "incast", "--on", "linux-tcp"), "a test bed of network namespaces"),
    ],
)
def test_commands_that_need_linux_say_so(command: tuple[str, ...], what: str) -> None:
    done = elsewhere(*command)
    sentence = f"error: {what} needs Linux, and this is macOS: run it on a machine with Linux\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_the_simulator_and_the_list_of_commands_are_there() -> None:
    done = elsewhere("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "over UDP: Linux alone" in done.stdout
    done = elsewhere(*RUN, "--json")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_package_for_udp_says_that_it_needs_linux() -> None:
    code = "import sys\nsys.platform = 'darwin'\nimport incast.udp"
    done = elsewhere(code=code)
    assert done.stderr.splitlines()[-1].startswith("ImportError: incast.udp needs Linux: ")


@pytest.fixture
def without_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(system, "HAS_WORKERS", False)
    monkeypatch.setattr(system, "name", lambda: "Windows")
    yield
    assert not pool.worker.stopped


def double(task: int) -> int:
    return 2 * task


@pytest.mark.usefixtures("without_workers")
def test_without_workers_tasks_are_done_in_turn_and_more_may_come() -> None:
    tasks = [1, 2]
    found = []
    for task, done in pool.executed(double, tasks, 1, label=str):
        found.append(done)
        if task == 2:
            tasks.append(5)
    assert found == [2, 4, 10]


def test_without_workers_a_stop_ends_the_task_under_way_and_those_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system, "HAS_WORKERS", False)
    stop = Stop()

    def work(task: int) -> str:
        try:
            with pool.worker.stoppable():
                if task == 2:
                    stop.ask()
        except KeyboardInterrupt:
            return "stopped"
        return "done"

    found = list(pool.executed(work, [1, 2, 3], 1, label=str, stop=stop))
    assert found == [(1, "done"), (2, "stopped")]
    # The next call is not told to stop.
    found = list(pool.executed(work, [1], 1, label=str, stop=Stop()))
    assert found == [(1, "done")]


@pytest.mark.usefixtures("without_workers")
def test_without_workers_several_jobs_are_refused_and_a_sweep_goes_on(
    tmp_path: Path, command: Command
) -> None:
    path = tmp_path / "load.toml"
    path.write_text(LOAD)
    sweep = ("sweep", path, "--vary", "traffic.0.load=0.1,0.2", "--out", tmp_path / "out")
    sweep = (*map(str, sweep), "--no-figures")
    assert command(*sweep, "--jobs", "2").error == (
        "error: --jobs 2: on Windows runs go one after the other; leave it out, and give "
        "--threads to each\n"
    )
    refused = command("reproduce", "timely/table-1", "--jobs", "2", "--out", str(tmp_path / "out"))
    assert refused.error == (
        "error: --jobs 2: on Windows runs go one after the other; leave it out\n"
    )
    done = command(*sweep)
    assert done.code == 0, done.err
    assert batch.at_once(None, 1) == 1
    with pytest.raises(_core.ParameterError, match="jobs 3: on Windows"):
        batch.check_jobs(3)


def test_on_windows_leftovers_go_when_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / ".out.1.tmp"
    with monkeypatch.context() as there:
        there.setattr(staging.sys, "platform", "win32")
        with staging.file(tmp_path / "out") as place:
            place.write_text("whole")
        left.touch()
        staging.clean(tmp_path)
        assert left.exists()
        there.setattr(staging, "_OLD_S", -1.0)
        staging.clean(tmp_path)
        assert not left.exists()
    assert (tmp_path / "out").read_text() == "whole"
