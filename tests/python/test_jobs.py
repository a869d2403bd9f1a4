"""Runs side by side: the same results and files, whatever is asked for and whenever it stops."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import incast
from conftest import SET, SHORT, Command, children, gone
from incast import _core
from incast.api import batch, costs
from incast.base import machine, pool
from incast.base.stopping import Stop
from incast.terminal import progress

SEEDS = ("--seed", "7", "--seed", "3")


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder with what is in them, but for figures, which have the time."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".png", ".svg")
    }


def test_files_and_order_are_those_of_runs_one_after_the_other(
    command: Command,
) -> None:
    done = {}
    for jobs in ("1", "3"):
        done[jobs] = command(
            "run", "incast", *SET, *SEEDS, "--trace", "flows", "--json",
            "--jobs", jobs, "--out", f"jobs-{jobs}",
        )  # fmt: skip
        assert done[jobs].code == 0, done[jobs].err
    assert files(Path("jobs-1")) == files(Path("jobs-3"))
    assert len(files(Path("jobs-1"))) > 20
    one, three = (json.loads(done[jobs].out.replace(f"jobs-{jobs}", "jobs")) for jobs in "13")
    assert one == three
    assert [run["seed"] for run in three["results"]] == [7, 3]


def test_results_in_python_are_the_same(short: incast.Scenario) -> None:
    alone = incast.run(short, seed=[2, 1])
    assert isinstance(alone, incast.Results)
    assert [one.seed for one in alone.members] == [2, 1]
    assert incast.run(short, seed=[2, 1], jobs=2) == alone
    assert incast.run(short, seed=1, jobs=2) == alone.members[1]
    assert incast.run(short, seed=range(1, 2)).members == (alone.members[1],)


def test_a_program_that_starts_runs_is_not_run_again(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import incast
print("began")
short = incast.load("incast").with_set(*{SHORT})
print(incast.run(short, jobs=2).complete)
"""
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("began\nTrue\n", "")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"jobs": 0}, "jobs 0: expected a number from 1 to 256"),
        ({"seed": []}, "no seed: expected a number"),
        ({"seed": [1, 2, 1]}, "seed 1: named twice"),
    ],
)
def test_bad_numbers_get_one_sentence(
    short: incast.Scenario, arguments: dict[str, object], why: str
) -> None:
    with pytest.raises(incast.ParameterError, match=why):
        incast.run(short, **arguments)  # type: ignore[call-overload]


def plans(scenario: incast.Scenario, *seeds: int, threads: str | None = None) -> list[batch.Plan]:
    schemes = {"timely": "timely", "line-rate": "line-rate"}
    return batch.planned(scenario, schemes, seeds or (1,), threads=threads)


def test_cores_are_used_where_that_is_worth_it(
    short: incast.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    long = short.with_set("run.duration=20s")
    assert batch.side_by_side(plans(short, 1, 2, 3), None) == 1
    assert batch.side_by_side(plans(short), 2) == 2
    assert batch.side_by_side(plans(long), None) == 2  # no more than there are runs
    assert batch.side_by_side(plans(long, 1, 2, 3, 4, 5), None) == 8
    assert batch.side_by_side(plans(long, 1, 2, 3, threads="3"), None) == 2
    assert batch.side_by_side(plans(long, threads="auto"), None) == 1
    assert batch.side_by_side(plans(long.with_set("run.threads=4"), 1, 2), None) == 2


def test_runs_side_by_side_fit_the_memory(
    short: incast.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = short.with_set("run.duration=20s")
    one = costs.estimate(long, ["timely"]).memory_bytes
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    monkeypatch.setattr(machine, "available_bytes", lambda: int(2.5 * one))
    many = plans(long, 1, 2, 3)
    assert batch.side_by_side(many, None) == 2
    with pytest.raises(incast.CostError, match=r"3 runs side by side .* or take fewer jobs"):
        batch.side_by_side(many, 3)
    assert batch.side_by_side(many, 3, whatever_it_costs=True) == 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_named(short: incast.Scenario, jobs: int) -> None:
    # A plan that was not checked: the core refuses it when it is built.
    every = [*plans(short, 4), *batch.planned(short, {"mine": "timley"}, [5])]
    done = []
    with (
        Stop() as stop,
        pytest.raises(incast.IncastError, match=r'^mine, seed 5: unknown algorithm "timley"'),
    ):
        done.extend(batch.runs(every, jobs, stop, machine.Meter(), progress=False))
    assert {plan.label for plan, _ in done} <= {"timely", "line-rate"}
    assert [len(run.tables) > 3 for _, run in done].count(True) >= (2 if jobs == 1 else 0)


def killed(plan: batch.Plan) -> None:
    if plan.label == "line-rate":
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_told(short: incast.Scenario) -> None:
    with pytest.raises(incast.IncastError, match=r"^line-rate, seed 1 was killed by the system"):
        list(pool.executed(killed, plans(short), 2, label=batch._said))


def killed_once(task: tuple[int, str]) -> int:
    number, folder = task
    with contextlib.suppress(FileExistsError):
        (Path(folder) / str(number)).touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_a_worker_that_dies_is_replaced_and_its_task_done_again(tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path)) for number in range(4)]
    found = list(pool.executed(killed_once, tasks, 2, label=str))
    assert sorted(found) == [(task, task[0] ** 2) for task in tasks]


def killed_always(task: int) -> str:
    if task == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_a_task_that_kills_its_workers_stops_no_other() -> None:
    found = dict(
        pool.executed(killed_always, range(9), 2, label=str, lost=lambda task: f"{task} is lost")
    )
    assert found == {**dict.fromkeys(range(9), "done"), 4: "4 is lost"}


def echoed(task: bytes) -> bytes:
    return task


def test_large_tasks_and_answers_pass_each_other() -> None:
    tasks = [bytes([number]) * 3_000_000 for number in range(6)]
    assert sorted(one for _, one in pool.executed(echoed, tasks, 2, label=repr)) == tasks


class OddError(Exception):
    """An exception that cannot be made again of its text."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def odd(_task: int) -> None:
    raise OddError(1, 2)


def test_an_exception_that_cannot_travel_is_told() -> None:
    with pytest.raises(incast.IncastError, match=r"OddError: 1 and 2$"):
        list(pool.executed(odd, [1], 1, label=str))


def test_complete_runs_of_other_seeds_are_written_when_one_fails(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _core.run

    def run(*arguments: object, **options: object) -> _core.Run:
        if options["seed"] == 3 and arguments[1] == "line-rate":
            raise incast.ScenarioError("no such luck")
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "run", run)
    done = command("run", "incast", *SET, *SEEDS, "--out", "out")
    assert done.error == "error: line-rate, seed 3: no such luck\n"
    assert incast.Result.read("out/seed-7").complete
    assert list(incast.Result.read("out/seed-3").runs) == ["timely"]


LONG = ("--set", "run.duration=60s", "--set", "run.warmup=1ms", "--set", "measure.series=false")


def busy_s(process: int) -> float:
    """The time of a core that a process has had."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def started(tmp_path: Path, after_s: float) -> tuple["subprocess.Popen[str]", list[int]]:
    """A command and its children, two of which have had so many seconds of a core."""
    process = subprocess.Popen(
        [sys.executable, "-m", "incast", "run", "incast", *LONG, "--seed", "1", "--seed", "2",
         "--jobs", "2", "--quiet", "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        workers = children(process.pid)
        if sorted(busy_s(pid) >= after_s for pid in workers)[-2:] == [True, True]:
            break
        time.sleep(0.005)
    return process, workers


def interrupted(tmp_path: Path, after_s: float, *, group: bool) -> tuple[str, Path]:
    """What the command says when Ctrl-C comes, and its results."""
    process, workers = started(tmp_path, after_s)
    # A terminal sends it to all processes of the group.
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert process.returncode == 130, err
    assert gone(workers)
    assert err.count("\n") == 1, err
    return err, tmp_path / "out"


@pytest.mark.parametrize("group", [False, True])
def test_ctrl_c_keeps_all_runs_that_are_under_way(tmp_path: Path, *, group: bool) -> None:
    err, out = interrupted(tmp_path, 1.0, group=group)
    assert err == f"stopped: the results are in {out}/seed-1/\n"  # --quiet draws no figures
    found = incast.Result.read(out / "seed-1")
    assert not found.complete
    assert list(found.runs) == ["timely", "line-rate"]
    assert all(0 < (run.summary["simulated_s"] or 0) < 60 for run in found.runs.values())
    assert not list(out.parent.glob(".*"))


def test_ctrl_c_at_any_instant_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    for number, after_s in enumerate((0.0, 0.1, 0.3)):
        (tmp_path / str(number)).mkdir()
        err, out = interrupted(tmp_path / str(number), after_s, group=True)
        assert err.startswith("stopped: ")
        there = list(out.rglob("run.json")) if out.exists() else []
        assert ("nothing was simulated" in err) == (not there)
        for path in there:
            assert incast.Result.read(path.parent).runs
        assert not list((tmp_path / str(number)).rglob(".*"))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_a_command_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    process, workers = started(tmp_path, 0.6)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert len(workers) >= 2
    assert gone(workers)


def test_workers_end_where_nobody_takes_their_results(short: incast.Scenario) -> None:
    long = short.with_set("run.duration=60s", "measure.series=false")
    with Stop() as stop:
        every = [*plans(short)[:1], *plans(long)[1:]]
        made = batch.runs(every, 2, stop, machine.Meter(), progress=False)
        assert next(made)[0].label == "timely"
        workers = children(os.getpid())
        busy = [pid for pid in workers if busy_s(pid) > 0.1]
        assert busy
        began = time.monotonic()
        made.close()  # type: ignore[attr-defined]
    assert gone(busy)
    assert time.monotonic() - began < 5


def test_bars_of_many_runs_go_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "_terminal", lambda *, visible: console if visible else None)
    with progress.bars_of(6, visible=True) as shown:
        shown.advance("timely, seed 1", 0.01, 0.002, 1000)
        shown.advance("dctcp, seed 1", 0.01, 0.003, 1000)
        shown.end("timely, seed 1", 1, 6)
        screen.truncate(0)
        with contextlib.suppress(AttributeError):
            shown._display.refresh()
    text = screen.getvalue()
    assert "1 of 6 runs" in text
    assert "dctcp, seed 1" in text
    assert "3.0 of 10 ms" in text
    assert "timely, seed 1" not in text
