"""The load at which a network saturates: runs at rising loads, then between two of them."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from incast._core import IncastError, ParameterError, Run, Scenario
from incast.api import guests, scenarios, study
from incast.api.interruption import Interrupted
from incast.api.scenarios import Schemes
from incast.api.study import Options, Round, Study, StudyRun, Values
from incast.base import extras
from incast.base.lazy import lazy
from incast.base.words import option
from incast.figures.catalogue import USUAL_FORMATS
from incast.results import doubts
from incast.results.measures import p99_slowdown, posted_while_measured
from incast.results.saturation import TABLE, OpenLoop, Point, Saturation
from incast.results.stored import ResultError
from incast.results.study_files import Outcome, StudyFolder
from incast.results.tables import frame

if TYPE_CHECKING:
    from incast.figures import canvas
    from incast.figures import saturation as drawn
else:
    canvas = lazy("incast.figures.canvas", "figures")
    drawn = lazy("incast.figures.saturation", "figures")

# The number of times that the gap between the highest carried load and the next is halved.
_HALVINGS = 3
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
            f"close to each other; take a larger step, or less to {option('--to', 'highest')}"
        )
    count = math.floor(gaps + 1e-9)
    return [round(lowest + place * step, 6) for place in range(count + 1)]


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
        raise ParameterError(
            f"{scenario.name}: several have a load, {there}; choose by {option('--traffic')}"
        )
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
    lowest that is not three times. Runs are kept in the directory as soon as they end: the same
    call makes only those that are missing. Ctrl-C raises `Interrupted`, a KeyboardInterrupt, whose
    `result` has what there is.

    Args:
        scenario: A scenario, the path of one, or the name of one that ships with the package.
        cc: The schemes, as `run` has them; those that the scenario names if None.
        directory: Where the runs and the outcome are kept.
        loads: The loads; 0.1 to 1.0 by 0.1 if None.
        threshold: The least part of the offered load that counts as carrying it.
        traffic: Name or number of the traffic whose load is raised, where there are several.
        seed: The seed; the scenario's if None.
        threads: How many threads each run has, a number or `auto`; what the scenario says if None.
            Results are the same.
        jobs: How many runs go side by side, each in a process of its own; if None, as many as there
            are cores for their threads. Results are the same.
        scheduler: The address of a Dask scheduler whose workers make the runs, such as
            `tcp://HOST:8786`; the processes of this machine if None. Results are the same.
        progress: Shows runs done, failed and left on the terminal.
        whatever_it_costs: Runs what needs more memory than there seems to be, and does not warn of
            hours.

    Raises:
        CostError: A run would need more memory than this machine has.
        Interrupted: Ctrl-C.
        IncastError: A run fails.
        ScenarioError: The scenario cannot be read.
        ParameterError: A scheme, a load, the traffic, the threads or the jobs do not fit.
        OutputError: The directory cannot be written or holds something else.

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
    chosen = scenarios.load(scenario) if isinstance(scenario, (str, os.PathLike)) else scenario
    # All is checked before anything is run.
    found = planned(
        chosen, cc, grid(0.1, 1.0, 0.1) if loads is None else loads, threshold, traffic, seed
    )
    jobs = None if jobs == 1 and scheduler is not None else jobs
    options = Options(jobs, scheduler, threads, progress, whatever_it_costs)
    reached = execute(found, Path(directory), options)
    if extras.have("figures"):
        try:
            draw(reached, Path(directory), USUAL_FORMATS)
        except KeyboardInterrupt:
            raise Interrupted(reached) from None
    return reached


def draw(found: Saturation, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figure of a search in its directory; returns the paths.

    Raises:
        FigureError: There is no such format.
        MissingExtraError: matplotlib is not installed.
        OutputError: It cannot be written.
    """
    return canvas.write(
        StudyFolder(out, "saturation"), [("saturation", drawn.draw(found))], formats
    )


@dataclass(frozen=True)
class SaturationPlan:
    """The loads at which a search begins, and what it looks for."""

    scenario: Scenario
    traffic: OpenLoop
    schemes: tuple[str, ...]
    seed: int
    threshold: float
    loads: tuple[float, ...]

    @cached_property
    def warnings(self) -> list[str]:
        """What `run` warns of before it runs the scenario as it is."""
        return scenarios.warnings(self.scenario, self.schemes)


def planned(
    scenario: Scenario,
    cc: Schemes,
    loads: Sequence[float],
    threshold: float,
    traffic: str | None,
    seed: int | None,
) -> SaturationPlan:
    """The plan of a search, found fit to run.

    Raises:
        ParameterError: A scheme, a load, the threshold or the traffic does not fit.
    """
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold {threshold:g}: expected more than 0 and at most 1")
    asked = tuple(sorted(set(loads)))
    if not 1 <= len(asked) <= MOST_LOADS:
        raise ParameterError(f"{len(asked)} loads: expected 1 to {MOST_LOADS}")
    schemes = scenarios.check_schemes(scenario, cc)
    raised = open_loop(scenario, traffic)
    for load in asked:
        scenario.with_set(raised.at(load))
    seed = scenario.seed if seed is None else seed
    return SaturationPlan(scenario, raised, schemes, seed, threshold, asked)


def execute(plan: SaturationPlan, out: Path, options: Options) -> Saturation:
    """Makes the runs that are missing in a directory, and writes the outcome.

    Raises:
        Interrupted: Ctrl-C.
        IncastError: As `saturate`.
    """
    folder = StudyFolder(out, "saturation")
    measure = partial(_measured, traffic=plan.traffic.index)
    runs = Study(folder, plan.scenario, plan.schemes, options, measure)
    search = _Search(plan, runs.outcomes)

    def write(complete: bool) -> Saturation:
        found = search.found(complete=complete)
        folder.write(found.to_dict(), {TABLE: found.table}, scenario=plan.scenario)
        return found

    hardest = plan.scenario.with_set(plan.traffic.at(max(plan.loads)))
    variants = [(hardest, scheme) for scheme in plan.schemes]
    count = len(plan.schemes) * len(plan.loads)
    return runs.make(search.rounds(), count, lambda: variants, write)


class _Search:
    """The points of a search: at all loads, then between what is carried and what is not."""

    def __init__(self, plan: SaturationPlan, outcomes: Mapping[str, Outcome]) -> None:
        self._plan = plan
        self._outcomes = outcomes
        self._asked: list[tuple[str, float, str]] = []
        self._codes = {scheme: guests.digest_of(scheme) for scheme in plan.schemes}

    def rounds(self) -> Iterator[Round]:
        """The runs at the loads, then the runs of each halving.

        Raises:
            IncastError: A run failed.
        """
        plan = self._plan
        yield self._runs([(scheme, load) for scheme in plan.schemes for load in plan.loads])
        for _ in range(_HALVINGS):
            reached = self.found()
            gaps = [(scheme, *reached.saturated(scheme)) for scheme in plan.schemes]
            yield self._runs(
                [
                    (scheme, round((carried + above) / 2, 6))
                    for scheme, carried, above in gaps
                    if carried is not None and above is not None
                ]
            )
        self.found()

    def found(self, *, complete: bool = False) -> Saturation:
        """The points of all runs that have ended.

        Raises:
            IncastError: One failed.
        """
        plan, points = self._plan, []
        seen: dict[str, dict[str, list[doubts.Doubts]]] = {}
        for scheme in plan.schemes:
            for own, load, key in self._asked:
                outcome = self._outcomes.get(key)
                if own != scheme or outcome is None:
                    continue
                if outcome.error is not None:
                    raise IncastError(f"{scheme}, load {load:g}: {outcome.error}")
                points.append(Point(scheme, load, **outcome.values))  # type: ignore[arg-type]
                seen.setdefault(f"load {load:g}", {})[scheme] = [outcome.doubts]
        return Saturation(
            plan.scenario,
            plan.traffic,
            plan.schemes,
            plan.seed,
            plan.threshold,
            tuple(points),
            complete=complete,
            warnings=(*plan.warnings, *doubts.sentences(seen.items())),
        )

    def _runs(self, wanted: Sequence[tuple[str, float]]) -> Round:
        plan, found = self._plan, []
        for scheme, load in wanted:
            run = StudyRun(plan.scenario, (plan.traffic.at(load),), scheme, plan.seed)
            text, traffic = study.digest(run.changed), f"traffic {plan.traffic.index}"
            key = study.key_of(text, scheme, plan.seed, self._codes[scheme], traffic)
            self._asked.append((scheme, load, key))
            found.append((key, run))
        return found


def _measured(run: Run, scenario: Scenario, *, traffic: int) -> Values:
    """The fields of a point."""
    tables = {one.name: frame(one) for one in run.tables if one.name in ("load", "messages")}
    # A row for each traffic of the scenario, in its order.
    row = tables["load"].row(traffic, named=True)
    if not row["offered_gbps"] > 0:
        raise ResultError("nothing was offered in the measured time; raise run.duration")
    messages = tables["messages"].filter(pl.col("traffic") == row["traffic"])
    slowdown, bound = p99_slowdown(messages, scenario)
    sizes = posted_while_measured(messages, scenario)["bytes"].cast(pl.Float64)
    square = float((sizes**2).sum())
    return {
        "offered_gbps": float(row["offered_gbps"]),
        "carried_gbps": float(row["carried_gbps"]),
        "slowdown_p99": slowdown,
        "messages": sizes.len(),
        "equal_messages": float(sizes.sum()) ** 2 / square if square else 0.0,
        "slowdown_p99_bound": bound,
    }
