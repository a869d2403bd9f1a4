"""The load at which a network saturates: runs at rising loads, each kept in its directory."""

import json
import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from incast import _core
from incast._core import ParameterError, Scenario
from incast.api import batch, costs, scenarios
from incast.api.interruption import Interrupted
from incast.api.result import Result
from incast.api.scenarios import Schemes
from incast.base import extras, staging
from incast.base.machine import Meter
from incast.base.stopping import Stop
from incast.results import store
from incast.results.measures import p99_slowdown, posted_while_measured
from incast.results.saturation import OpenLoop, Point, Saturation
from incast.results.store import OutputError, OutputWarning
from incast.results.stored import ResultError

# The number of times that the gap between the highest carried load and the next is halved.
_HALVINGS = 3
_FILE = "saturation.json"
MOST_LOADS = 1000
"""The most loads of one search."""


def grid(lowest: float, highest: float, step: float) -> list[float]:
    """The loads from lowest to highest, both included where the step meets the highest.

    Raises:
        ParameterError: They make no rising sequence.
    """
    finite = all(map(math.isfinite, (lowest, highest, step)))
    if not (finite and 0 < lowest <= highest and step > 0):
        raise ParameterError(
            f"loads from {lowest:g} to {highest:g} by {step:g}: expected 0 < from <= to, 0 < step"
        )
    gaps = (highest - lowest) / step
    if gaps >= MOST_LOADS or step < 1e-6:
        raise ParameterError(
            f"loads from {lowest:g} to {highest:g} by {step:g}: more than {MOST_LOADS}, or too "
            "close to each other; take a larger step, or less to --to"
        )
    count = math.floor(gaps + 1e-9)
    return [round(lowest + place * step, 6) for place in range(count + 1)]


def hardest(scenario: Scenario, loads: Sequence[float], wanted: str | None = None) -> Scenario:
    """The scenario at the highest of the loads, which takes most.

    Raises:
        ParameterError: It is not said whose load is raised, or it cannot be so high.
    """
    return scenario.with_set(open_loop(scenario, wanted).at(max(loads)))


def open_loop(scenario: Scenario, wanted: str | None = None) -> OpenLoop:
    """The traffic whose load can be raised: the only one, or the one of that name or number.

    Raises:
        ParameterError: There is none, or it is not said which.
    """
    found = [OpenLoop(*traffic) for traffic in scenario.open_loops()]
    there = ", ".join(map(str, found)) or "none"
    if wanted is not None:
        for traffic in found:
            if wanted in (traffic.name, str(traffic.index)):
                return traffic
        raise ParameterError(f"{wanted}: no traffic with a load; of these there is {there}")
    if not found:
        raise ParameterError(
            f"{scenario.name}: none of its traffic has a load to raise; "
            'expected traffic that has a load, such as kind = "poisson"'
        )
    if len(found) > 1:
        raise ParameterError(f"{scenario.name}: several have a load, {there}; choose by --traffic")
    return found[0]


def saturate(
    scenario: Scenario | str | os.PathLike[str],
    cc: Schemes = None,
    *,
    directory: str | os.PathLike[str],
    loads: Sequence[float] | None = None,
    threshold: float = 0.95,
    traffic: str | None = None,
    seed: int | None = None,
    threads: int | str | None = None,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Saturation:
    """Finds the load up to which each scheme carries what is offered.

    Runs at each of the loads, then halves the gap between the highest that is carried and the
    lowest that is not three times. Each run is a result of its own in the directory; one that is
    there, complete and of the same scenario, seed and version, is not run again. Ctrl-C raises
    `Interrupted`, a KeyboardInterrupt, whose `result` has what there is.

    Args:
        scenario: A scenario, the path of one, or the name of one that ships with the package.
        cc: The schemes, as `run` has them; those that the scenario names if None.
        directory: Where the runs and the outcome are kept.
        loads: The loads; 0.1 to 1.0 by 0.1 if None.
        threshold: The least part of the offered load that counts as carrying it.
        traffic: Name or number of the traffic whose load is raised, where there are several.
        seed: The seed; that of the scenario if None.
        threads: How many threads each run has, a number or `auto`; what the scenario says if None.
            Results are the same.
        jobs: How many runs go side by side, each in a process of its own; if None, as many as there
            are cores, unless the runs take seconds only. Results are the same.
        scheduler: The address of a Dask scheduler whose workers make the runs, such as
            `tcp://HOST:8786`; the processes of this machine if None. Results are the same.
        progress: Shows simulated time and time left of each run on the terminal.
        whatever_it_costs: Runs what needs more memory than there seems to be, and does not warn of
            runs of hours.

    Raises:
        CostError: A run would need more memory than this machine has.
        Interrupted: Ctrl-C.
        ScenarioError: The scenario cannot be read or run.
        ParameterError: A scheme, a load, the traffic, the threads or the jobs do not fit.
        OutputError: The directory cannot be written or holds something else.

    Warns:
        OutputWarning: The directory has runs of another scenario, seed or version, which are
            replaced.

    Example:
        ```python
        import incast

        short = incast.load("timely-clos-rpc").with_set(
            {"run": {"duration": "3ms", "warmup": "1ms", "cooldown": "1ms"}}
        )
        found = incast.saturate(short, "timely", directory="saturation", loads=[0.2, 0.4])
        found.table.select("load", "offered_gbps", "carried_gbps")
        found.saturated("timely")  # the highest load that is carried, and the next above it
        ```
    """
    chosen = scenario if not isinstance(scenario, (str, os.PathLike)) else scenarios.load(scenario)
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold {threshold:g}: expected more than 0 and at most 1")
    asked = sorted(set(grid(0.1, 1.0, 0.1) if loads is None else loads))
    if not asked or len(asked) > MOST_LOADS:
        raise ParameterError(f"{len(asked)} loads: expected 1 to {MOST_LOADS}")
    raised = open_loop(chosen, traffic)
    schemes = scenarios.check_schemes(chosen, cc)
    for load in asked:  # all loads are checked before any is run
        hottest = chosen.with_set(raised.at(load))
    if not whatever_it_costs and scheduler is None:
        costs.check(hottest, schemes)
    search = _Search(
        chosen,
        raised,
        chosen.seed if seed is None else seed,
        Path(directory),
        progress,
        scenarios.check_threads(threads),
        batch.check_jobs(jobs),
        whatever_it_costs,
        scheduler,
    )
    search.claim()
    if of := search.replaces(schemes, asked):
        warnings.warn(
            f"{search.directory}: {of} will be replaced, for it is of another scenario, seed or "
            "version",
            OutputWarning,
            stacklevel=2,
        )
    points: dict[str, list[Point]] = {scheme: [] for scheme in schemes}

    def outcome(*, complete: bool) -> Saturation:
        all_points = tuple(point for own in points.values() for point in own)
        return Saturation(
            chosen, raised, schemes, search.seed, threshold, all_points, complete=complete
        )

    with Stop() as stop:
        # One after the other, a scheme is searched to its end before the next one is begun.
        for together in (
            [list(schemes)] if jobs != 1 or scheduler else [[scheme] for scheme in schemes]
        ):
            _sweep(search, together, asked, points, lambda: outcome(complete=False), stop)
    found = outcome(complete=not stop.asked)
    try:
        search.write(found)
    except KeyboardInterrupt:  # at the figure; the numbers are written by then
        raise Interrupted(found) from None
    if stop.asked:
        raise Interrupted(found)
    return found


def _sweep(
    search: "_Search", schemes: Sequence[str], loads: Sequence[float],
    points: dict[str, list[Point]], so_far: Callable[[], Saturation], stop: Stop,
) -> None:  # fmt: skip
    """Adds the points of schemes: at the loads, then between carried and not; all until stopped."""
    search.add(points, [(scheme, load) for scheme in schemes for load in loads], stop)
    for _ in range(_HALVINGS):
        if stop.asked:
            return
        reached = so_far()
        gaps = [(scheme, *reached.saturated(scheme)) for scheme in schemes]
        between = [
            (scheme, round((carried + above) / 2, 6))
            for scheme, carried, above in gaps
            if carried is not None and above is not None
        ]
        search.add(points, between, stop)


@dataclass(frozen=True)
class _Search:
    scenario: Scenario
    traffic: OpenLoop
    seed: int
    directory: Path
    progress: bool
    threads: str | None
    jobs: int | None
    whatever_it_costs: bool
    scheduler: str | None

    def claim(self) -> None:
        """Makes the directory ours, or refuses one that holds something else."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if any(self.directory.iterdir()) and not (self.directory / _FILE).is_file():
                raise OutputError(f"{self.directory}: holds something else than a saturation")
            (self.directory / _FILE).touch()
            staging.clean(self.directory)
            staging.check(self.directory)
        except OSError as error:
            raise self._unwritable(error) from None

    def replaces(self, schemes: Sequence[str], loads: Sequence[float]) -> str | None:
        """The first earlier run that one at these loads would take the place of, in words."""
        for scheme in schemes:
            for load in loads:
                text = self._at(load).toml()
                if of := store.replaces(self._place(scheme, load), text, [scheme], self.seed):
                    return of
        return None

    def _at(self, load: float) -> Scenario:
        return self.scenario.with_set(self.traffic.at(load))

    def _place(self, scheme: str, load: float) -> Path:
        place = scheme.replace(":", ".").replace("/", "-")
        return self.directory / place / f"load-{load:g}"

    def add(
        self, points: dict[str, list[Point]], wanted: Sequence[tuple[str, float]], stop: Stop
    ) -> None:
        """Adds the points of schemes at loads, in this order; simulates those not known yet."""
        found: dict[tuple[str, float], Point] = {}
        plans: dict[batch.Plan, float] = {}
        for scheme, load in wanted:
            scenario = self._at(load)
            result = self._known(self._place(scheme, load), scenario, scheme)
            if result is not None:
                found[scheme, load] = self._measured(result, scheme, load)
                continue
            name = f"{scheme}, load {load:g}"
            threads = self.threads
            plans[batch.Plan(scenario, scheme, scheme, self.seed, name, threads=threads)] = load
        if plans:
            jobs = 1
            if self.scheduler is None:
                jobs = batch.side_by_side(
                    list(plans), self.jobs, whatever_it_costs=self.whatever_it_costs
                )
            made = batch.runs(
                list(plans),
                jobs,
                stop,
                Meter(),
                progress=self.progress,
                scheduler=self.scheduler,
            )
            for plan, run in made:
                if run.complete:
                    result = Result(plan.scenario, (plan.scheme,), self.seed, {plan.scheme: run})
                    store.write(result, self._place(plan.scheme, plans[plan]))  # as was said
                    load = plans[plan]
                    found[plan.scheme, load] = self._measured(result, plan.scheme, load)
        for scheme, load in wanted:
            if (scheme, load) in found:
                points[scheme].append(found[scheme, load])

    def _known(self, place: Path, scenario: Scenario, scheme: str) -> Result | None:
        try:
            result = Result.read(place)
        except ResultError:
            return None
        same = (
            result.scenario.toml() == scenario.toml()
            and result.schemes == (scheme,)
            and result.seed == self.seed
            and result.version == _core.__version__
        )
        return result if same and result.complete else None

    def _measured(self, result: Result, scheme: str, load: float) -> Point:
        # A row for each traffic of the scenario, in its order.
        row = result.table("load").row(self.traffic.index, named=True)
        offered, carried = row["offered_gbps"], row["carried_gbps"]
        if not offered > 0:
            raise ResultError(
                f"{scheme}, load {load:g}: nothing was offered in the measured time; "
                "raise run.duration"
            )
        messages = result.table("messages").filter(pl.col("traffic") == row["traffic"])
        slowdown, bound = p99_slowdown(messages, result.scenario)
        sizes = posted_while_measured(messages, result.scenario)["bytes"].cast(pl.Float64)
        square = float((sizes**2).sum())
        equal = float(sizes.sum()) ** 2 / square if square else 0.0
        return Point(
            scheme, load, float(offered), float(carried), slowdown, sizes.len(), equal, bound
        )

    def write(self, found: Saturation) -> None:
        """The outcome as JSON, as a table and, with matplotlib, as a figure."""
        text = json.dumps(found.to_dict(), indent=2, allow_nan=False)
        try:
            with staging.file(self.directory / "saturation.parquet") as place:
                found.table.write_parquet(place)
            with staging.file(self.directory / _FILE) as place:
                place.write_text(text + "\n", encoding="utf-8")
            if found.points and extras.have("figures"):
                # Late: matplotlib takes half a second, and the numbers are written by now.
                from incast.figures import saturation  # noqa: PLC0415

                saturation.write(found, self.directory)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> OutputError:
        return store.unwritable(self.directory, error)
