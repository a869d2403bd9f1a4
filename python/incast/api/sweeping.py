"""Sweeps: a scenario at all points of some axes, with several schemes and seeds."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from incast._core import ParameterError, Scenario
from incast.api import scenarios, sweep_plan
from incast.api.scenarios import Schemes
from incast.api.study import Options, Study
from incast.api.sweep import Sweep
from incast.api.sweep_plan import SweepPlan
from incast.base.words import option
from incast.results import doubts, sweeps, titles
from incast.results.axes import Axis, Values, axes_of
from incast.results.study_files import Outcome, StudyFolder
from incast.results.sweeps import DATASET, DIFFERENCES, SIZES, SUMMARY, Row


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
    options = Options(jobs, scheduler, threads, progress, whatever_it_costs)
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
                f"{option('--seeds')} {text}: expected a number of seeds, or a list such as 3,7,9 "
                "or 5..14"
            )
    return [int(one) for one in texts]


def execute(plan: SweepPlan, out: Path, options: Options, baseline: str | None = None) -> Sweep:
    """Makes the runs that are missing in a directory, and writes the dataset.

    Differences are to the baseline, to the first scheme if None.

    Raises:
        Interrupted: Ctrl-C.
        IncastError: As `sweep`.
    """
    folder = StudyFolder(out, "sweep")
    study = Study(folder, plan.scenario, plan.schemes, options, sizes=True)

    def write(_complete: bool) -> Sweep:
        found = _found(plan, study.outcomes, out)
        tables = {DATASET: found.runs, SUMMARY: found.summary}
        if len(found.schemes) > 1:
            tables[DIFFERENCES] = found.differences(baseline)
        if found.sizes.width:
            tables[SIZES] = found.sizes
        about = {DATASET: sweeps.describe(found.axes, found.runs.columns)}
        folder.write(found.to_dict(), tables, about=about, scenario=plan.scenario)
        return found

    return study.make([plan.runs.items()], len(plan.runs), plan.variants, write)


def _found(plan: SweepPlan, outcomes: Mapping[str, Outcome], out: Path) -> Sweep:
    rows, sizes = [], []
    seen: dict[str, dict[str, list[doubts.Doubts]]] = {}
    for place in plan.places:
        outcome = Outcome({}, place.error) if place.key is None else outcomes.get(place.key)
        if outcome is not None:
            rows.append(
                Row(place.point, place.scheme, place.seed, place.key, outcome.error, outcome.values)
            )
            of_scheme = seen.setdefault(place.point.name, {}).setdefault(place.scheme, [])
            of_scheme.append(outcome.doubts)
            sizes.append((place.point.number, place.scheme, place.seed, outcome.sizes))
    return Sweep(
        plan.scenario.name,
        titles.title(plan.scenario, plan.schemes),
        plan.axes,
        plan.schemes,
        plan.seeds,
        sweeps.dataset(plan.axes, rows),
        directory=out,
        warnings=(*plan.warnings, *doubts.sentences(seen.items())),
        sizes=sweeps.of_sizes(sizes),
    )
