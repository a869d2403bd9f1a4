"""Sweeps: a scenario at all points of some axes, with several schemes and seeds."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from incast import _core
from incast._core import ParameterError, Scenario
from incast.api import batch, costs, guests, scenarios, sweep_plan
from incast.api.costs import Cost, CostError
from incast.api.interruption import Interrupted
from incast.api.scenarios import Schemes
from incast.api.sweep import Sweep
from incast.api.sweep_plan import SweepPlan, SweepRun
from incast.base import executor, machine, pool
from incast.base.stopping import Stop
from incast.results import ideals, sweeps, titles
from incast.results.axes import Axis, Values, axes_of
from incast.results.comparison import number
from incast.results.run_files import Outcome
from incast.results.sweep_files import SweepFolder
from incast.results.sweeps import Row
from incast.terminal import progress as shown

_NONE: Mapping[str, bytes] = {}
# The most scenarios whose costs are estimated; of more, as many evenly.
_MOST_ESTIMATES = 300


@dataclass(frozen=True)
class Options:
    """How the runs of a sweep are made; what they give is the same."""

    jobs: int | None = None
    """The number side by side; a core each if None."""
    scheduler: str | None = None
    """The address of a Dask scheduler whose workers make them."""
    threads: str = "1"
    progress: bool = False
    whatever_it_costs: bool = False
    baseline: str | None = None
    """The scheme that the others are compared with; the first one if None."""
    ask: Callable[[str], bool] | None = None
    """Asks whether to go on with what takes long; without, there is a warning."""

    @classmethod
    def asked(
        cls,
        jobs: int | None,
        scheduler: str | None,
        *,
        threads: int | str,
        progress: bool,
        whatever_it_costs: bool,
    ) -> "Options":
        """The options of a call in Python, found fit.

        Raises:
            ParameterError: Both jobs and a scheduler are given, or there cannot be so many threads
                or jobs.
        """
        if scheduler is not None and jobs is not None:
            raise ParameterError(
                f"jobs {jobs} and scheduler {scheduler}: a cluster has as many runs side by side "
                "as its workers have threads; leave one of the two out"
            )
        return cls(
            batch.check_jobs(jobs),
            scheduler,
            scenarios.check_threads(threads) or "1",
            progress,
            whatever_it_costs,
        )


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    cc: Schemes = None,
    *,
    vary: Mapping[str, Values] | Iterable[str] = (),
    zipped: Iterable[Mapping[str, Values] | str] = (),
    points: Iterable[Mapping[str, object] | str] = (),
    seeds: int | Sequence[int] = 1,
    out: str | os.PathLike[str],
    jobs: int | None = None,
    scheduler: str | None = None,
    threads: int | str = 1,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Sweep:
    """Simulates a scenario at all combinations of values, with each scheme and seed.

    Runs are kept in `out` as soon as they end: the same call, or one with more values, makes only
    those that are missing. A run that fails is a row with its error, and is made again by the next
    call. All schemes have the same arrivals with the same seed. Ctrl-C raises `Interrupted`, a
    KeyboardInterrupt, whose `result` has what there is.

    Args:
        scenario: A scenario, the path of one, or the name of one that ships with the package.
        cc: The schemes, as `run` has them; those that the scenario names if None. A class travels
            to the workers with its module, of which they need what that imports.
        vary: An axis for each key: `{"cc.timely.t_high": ["100us", "1ms"]}`. Values are a list, or
            a text with ranges such as `0.3..0.9/0.1` and `1..64*2`.
        zipped: Groups of keys whose values change together, an axis each.
        points: Points one by one, each with a value of the same keys; together one more axis.
        seeds: The seeds, or how many of them from 1.
        out: The directory.
        jobs: How many runs go side by side, each in a process of its own; a core each if None.
        scheduler: The address of a Dask scheduler whose workers make the runs, such as
            `tcp://HOST:8786`.
        threads: How many threads each run has, a number or `auto`.
        progress: Shows runs done, failed and left on the terminal.
        whatever_it_costs: Runs what needs more memory than there seems to be, and does not warn of
            hours.

    Raises:
        ClusterError: The cluster does not answer, or its workers have another version.
        CostError: A run would need more memory than this machine has.
        Interrupted: Ctrl-C.
        ScenarioError: The scenario cannot be read.
        ParameterError: A scheme, a key, a value, a seed, the threads or the jobs do not fit.
        OutputError: The directory cannot be written or holds something else.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        found = incast.sweep(
            short,
            ["timely", "dctcp"],
            vary={"traffic.0.connections": [1, 2]},
            seeds=2,
            out="sweep",
        )
        found.runs.select("traffic.0.connections", "scheme", "seed", "rtt_p99_us")
        found.differences("timely")  # paired by seed
        ```
    """
    chosen = scenario if isinstance(scenario, Scenario) else scenarios.load(scenario)
    found = planned(chosen, cc, axes_of(vary, zipped, points), seeds)
    options = Options.asked(
        jobs,
        scheduler,
        threads=threads,
        progress=progress,
        whatever_it_costs=whatever_it_costs,
    )
    return execute(found, Path(out), options)


def planned(
    scenario: Scenario,
    cc: Schemes,
    axes: Sequence[Axis],
    seeds: int | Sequence[int],
) -> SweepPlan:
    """The runs of a sweep, all found fit to run.

    Raises:
        ParameterError: A scheme, a key, a value or a seed does not fit.
    """
    wanted = checked_seeds(scenario, seeds)
    named = scenarios.asked(scenario, cc)
    if not named:
        raise ParameterError(f"{scenario.name}: names no scheme to run, and none was asked for")
    for place, scheme in enumerate(named):
        if scheme in named[:place]:
            raise ParameterError(f"{scheme}: named twice; a scheme is run once")
    if not axes:
        scenarios.check_schemes(scenario, named)
    return sweep_plan.plan(scenario, axes, named, wanted)


def checked_seeds(scenario: Scenario, seeds: int | Sequence[int]) -> list[int]:
    """The seeds: those that are named, or so many from 1.

    Raises:
        ParameterError: There is none, one is named twice, or one is no seed.
    """
    if isinstance(seeds, int):
        if not 1 <= seeds <= sweep_plan.MOST_RUNS:
            raise ParameterError(f"{seeds} seeds: expected 1 to {sweep_plan.MOST_RUNS}")
        seeds = range(1, seeds + 1)
    wanted = list(seeds)
    if not wanted or len(set(wanted)) < len(wanted):
        scenarios.check_seeds(scenario, wanted)  # which says what is wrong
    for seed in wanted:
        if not 0 <= seed < 2**64:
            raise ParameterError(f"seed {seed}: expected a number from 0 to {2**64 - 1}")
    return wanted


def seeds_of(text: str) -> int | list[int]:
    """Seeds as the command has them: how many from 1, or a list such as `3,7` or `5..14`.

    Raises:
        ParameterError: There are none.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    texts = [value for (value,) in axes_of([f"seeds={text}"])[0].values]
    for one in texts:
        if not (one.isascii() and one.isdigit()):
            raise ParameterError(
                f"--seeds {text}: expected a number of seeds, or a list such as 3,7,9 or 5..14"
            )
    return [int(one) for one in texts]


def execute(plan: SweepPlan, out: Path, options: Options) -> Sweep:
    """Makes the runs that are missing in a directory, and writes the dataset.

    Raises:
        Interrupted: Ctrl-C.
        IncastError: As `sweep`.
    """
    folder = SweepFolder(out)
    folder.claim()
    outcomes = folder.kept(list(plan.runs))
    missing = {key: run for key, run in plan.runs.items() if key not in outcomes}
    jobs = side_by_side(
        plan.scenario.name, len(missing), lambda: _cost(plan, len(missing)), options
    )
    failed = 0
    with (
        Stop() as stop,
        shown.bar_of_sweep(len(plan.runs), len(outcomes), visible=options.progress) as show,
    ):
        for (key, run), outcome in executor.executed(
            partial(execute_run, threads=options.threads, classes=guests.parcel(plan.schemes)),
            list(missing.items()),
            jobs,
            label=lambda task: task[1].name,
            scheduler=options.scheduler,
            stop=stop,
            lost=lost_run,
        ):
            if outcome is None:
                continue
            folder.put(key, run.scheme, run.seed, outcome)
            outcomes[key] = outcome
            failed += outcome.error is not None
            show(len(outcomes) - failed, failed)
        found = _found(plan, outcomes, out)
        folder.write(found, plan.scenario, options.baseline)
    if stop.asked:
        raise Interrupted(found)
    return found


def _found(plan: SweepPlan, outcomes: Mapping[str, Outcome], out: Path) -> Sweep:
    rows = []
    for place in plan.places:
        outcome = Outcome({}, place.error) if place.key is None else outcomes.get(place.key)
        if outcome is not None:
            rows.append(
                Row(place.point, place.scheme, place.seed, place.key, outcome.error, outcome.values)
            )
    return Sweep(
        plan.scenario.name,
        titles.title(plan.scenario, plan.schemes),
        plan.axes,
        plan.schemes,
        plan.seeds,
        sweeps.dataset(plan.axes, rows),
        directory=out,
    )


def side_by_side(
    name: str, missing: int, cost: Callable[[], tuple[Cost, Cost]], options: Options
) -> int:
    """The number of runs that go side by side; refuses what does not fit the memory.

    Args:
        name: The name of what is run, for errors.
        missing: The number of runs.
        cost: Gives the largest cost of a run, and that of all.
        options: How the runs are made.

    Raises:
        CostError: They do not fit the memory.
    """
    most = min(missing, options.jobs or machine.usable_cores())
    if most == 0 or options.scheduler is not None:
        return 1
    if options.whatever_it_costs:
        return most
    largest, total = cost()
    if why := costs.too_much(largest):
        raise CostError(f"{name}: {why}; or go on with --yes, in Python whatever_it_costs=True")
    costs.doubt(name, replace(total, memory_bytes=largest.memory_bytes), options.ask)
    for count in range(most, 1, -1):
        why = costs.too_much(largest, at_once=count)
        if why is None:
            return count
        if options.jobs is not None:
            raise CostError(f"{name}: {why}; or take fewer --jobs")
    return 1


def _cost(plan: SweepPlan, missing: int) -> tuple[Cost, Cost]:
    """The largest cost of a run, and that of all that are missing, by estimates of some."""
    some = plan.variants[:: -(-len(plan.variants) // _MOST_ESTIMATES)]
    found = [costs.estimate(scenario, [scheme]) for scenario, scheme in some]
    share = missing / len(found)
    largest = max(found, key=lambda cost: cost.memory_bytes)
    return largest, replace(
        largest,
        seconds=share * sum(cost.seconds for cost in found),
        packet_hops=share * sum(cost.packet_hops for cost in found),
    )


def execute_run(
    task: tuple[str, SweepRun], *, threads: str, classes: Mapping[str, bytes] = _NONE
) -> Outcome | None:
    """Makes a run in a worker; None if that was told to stop."""
    run = task[1]
    began = time.thread_time()
    try:
        with pool.worker.stoppable():
            guests.receive(classes)
            made = _core.run(
                _cached(run),
                run.scheme,
                seed=run.seed,
                threads=threads,
                progress=lambda _time, _events: not pool.worker.stopped,
            )
    except KeyboardInterrupt:
        return None
    except guests.OtherPackageError:
        raise  # no run would be one of the client's
    except BaseException as error:  # noqa: BLE001 - one run stops no other, whatever it raises
        return Outcome({}, f"{' '.join(str(error).split()) or type(error).__name__}")
    if not made.complete:
        return None
    found = {**made.summary, **ideals.of_run(made, _cached(run))}
    values = {name: number(value) for name, value in found.items()}
    return Outcome(values, None, round(time.thread_time() - began, 6))


def lost_run(task: tuple[str, SweepRun]) -> Outcome | None:
    """The outcome of a run that the system killed several workers of."""
    return Outcome({}, pool.killed(task[1].name))


_last: tuple[SweepRun, Scenario] | None = None


def _cached(run: SweepRun) -> Scenario:
    """The scenario of a run; that of the last one where it is the same."""
    global _last  # noqa: PLW0603 - runs of a point follow each other
    last = _last
    if last and last[0].scenario is run.scenario and last[0].assignments == run.assignments:
        return last[1]
    found = sweep_plan.changed(run)
    _last = run, found
    return found
