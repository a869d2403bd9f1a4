"""Runs of schemes and seeds, one after the other in this process or side by side in others."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from incast import _core
from incast._core import AlgorithmError, IncastError, ParameterError, Scenario
from incast.api import costs, guests
from incast.api.costs import Cost, CostError
from incast.base import machine, pool, system
from incast.base.machine import Meter
from incast.base.stopping import Stop
from incast.base.words import option
from incast.results.tables import SchemeRun, held
from incast.terminal.progress import Advance, Bars, bars_of

# Runs that take less together, by the estimate, are over before other processes have begun.
_WORTH_S = 3.0
# The time between two reports of a run.
_REPORT_S = 0.1


@dataclass(frozen=True)
class Plan:
    """A run that is planned: one scheme in one scenario with one seed."""

    scenario: Scenario
    label: str
    """The label of the scheme in the result."""
    scheme: str
    seed: int
    name: str
    """The name of the run beside others, such as `timely, seed 3`."""
    traces: tuple[str, ...] = ()
    threads: str | None = None


def planned(
    scenario: Scenario,
    schemes: Mapping[str, str],
    seeds: Sequence[int],
    *,
    traces: Sequence[str] = (),
    threads: str | None = None,
) -> list[Plan]:
    """The runs in the order of seeds, then of schemes, which have labels."""
    many = len(seeds) > 1
    return [
        Plan(
            scenario,
            label,
            scheme,
            seed,
            f"{label}, seed {seed}" if many else label,
            tuple(traces),
            threads,
        )
        for seed in seeds
        for label, scheme in schemes.items()
    ]


def check_jobs(jobs: int | None, *, have_threads: bool = True) -> int | None:
    """The number of runs side by side, or None.

    Args:
        jobs: What was asked for.
        have_threads: Whether the runs may have several threads each.

    Raises:
        ParameterError: There cannot be so many.
    """
    if jobs is not None and not 1 <= jobs <= _core.most_threads:
        raise ParameterError(f"jobs {jobs}: expected a number from 1 to {_core.most_threads}")
    if jobs is not None and jobs > 1 and not system.HAS_WORKERS:
        threads = f", and give {option('--threads')} to each" if have_threads else ""
        raise ParameterError(
            f"{option('--jobs')} {jobs}: on {system.name()} runs go one after the other; leave it "
            f"out{threads}"
        )
    return jobs


def side_by_side(
    plans: Sequence[Plan], jobs: int | None, *, whatever_it_costs: bool = False
) -> int:
    """The number of runs that go side by side: what was asked for, or a core for each thread.

    If nothing was asked for, runs that take seconds go one after the other, and only so many side
    by side as the memory holds.

    Raises:
        CostError: So many do not fit the memory.
        ParameterError: There cannot be so many.
    """
    most = min(len(plans), at_once(check_jobs(jobs), plans[0].threads or plans[0].scenario.threads))
    if most == 1 or (whatever_it_costs and jobs is not None):
        return most
    known: dict[tuple[Scenario, str], Cost] = {}
    for plan in plans:
        of = plan.scenario, plan.scheme
        if of not in known:
            known[of] = costs.estimate(plan.scenario, [plan.scheme], traces=plan.traces)
    each = [known[plan.scenario, plan.scheme] for plan in plans]
    if jobs is None and sum(cost.seconds for cost in each) < _WORTH_S:
        return 1
    largest = max(each, key=lambda cost: cost.memory_bytes)
    return fitting(plans[0].scenario.name, largest, most, jobs)


def at_once(jobs: int | None, threads: int | str) -> int:
    """The number of runs that cores suffice for: what was asked for, or a core for each thread."""
    if not system.HAS_WORKERS:
        return 1
    cores = machine.usable_cores()
    return jobs or cores // (cores if threads == "auto" else int(threads)) or 1


def fitting(name: str, largest: Cost, most: int, jobs: int | None) -> int:
    """The number of runs side by side, `most` or fewer, that the memory holds.

    Raises:
        CostError: It does not hold as many as were asked for.
    """
    for count in range(most, 1, -1):
        why = costs.too_much(largest, at_once=count)
        if why is None:
            return count
        if jobs is not None:
            raise CostError(f"{name}: {why}; or take fewer {option('--jobs')}")
    return 1


def runs(
    plans: Sequence[Plan],
    jobs: int,
    stop: Stop,
    used: Meter,
    *,
    progress: bool,
) -> Iterator[tuple[Plan, SchemeRun]]:
    """Makes the runs, `jobs` of them side by side, and yields each when it is done.

    Where `ulimit -v` sets a limit each is made in another process: one that comes to it is aborted.

    When `stop` asks, runs that are under way end with what there is and are yielded, those that
    have not begun are left out, and the iterator ends. So it is where a run fails, before that is
    raised.

    Raises:
        IncastError: A run cannot be made; the message says which.
    """
    with bars_of(len(plans), visible=progress) as shown:
        made = (
            _in_processes(plans, jobs, stop, used, shown)
            if jobs > 1 or machine.is_limited()
            else _in_turn(plans, stop, used, shown)
        )
        for done, (plan, run) in enumerate(made, 1):
            shown.end(plan.name, done, len(plans))
            yield plan, run


def _in_turn(
    plans: Sequence[Plan], stop: Stop, used: Meter, shown: Bars
) -> Iterator[tuple[Plan, SchemeRun]]:
    for plan in plans:
        bar = shown.start(plan.name, plan.scenario.duration_s)
        try:
            with used, stop.raising():
                run = _run(plan, bar)
        except KeyboardInterrupt:
            return
        stop.asked = stop.asked or not run.complete  # the core ends a run at Ctrl-C
        yield plan, run
        if stop.asked:
            return


def _in_processes(
    plans: Sequence[Plan], jobs: int, stop: Stop, used: Meter, shown: Bars
) -> Iterator[tuple[Plan, SchemeRun]]:
    lengths = {plan.name: plan.scenario.duration_s for plan in plans}

    def hear(report: tuple[str, float, int]) -> None:
        name, simulated_s, events = report
        shown.advance(name, lengths[name], simulated_s, events)

    began = time.monotonic()
    peaks: dict[int, int] = {}
    for plan, simulated in pool.executed(
        partial(
            _simulate,
            reports=shown.visible,
            classes=guests.parcel(plan.scheme for plan in plans),
        ),
        plans,
        jobs,
        label=_said,
        stop=stop,
        hear=hear if shown.visible else None,
    ):
        if simulated is None:
            continue
        used.seconds = time.monotonic() - began
        used.core_seconds += simulated.core_seconds
        peaks[simulated.process] = simulated.peak_bytes
        used.others_bytes = sum(peaks.values())
        yield plan, simulated.run


@dataclass(frozen=True)
class _Simulated:
    """A run that a worker made, and what that took."""

    run: SchemeRun
    core_seconds: float
    process: int
    peak_bytes: int
    """The most memory that the worker has had so far."""


def _simulate(plan: Plan, *, reports: bool, classes: Mapping[str, bytes]) -> _Simulated | None:
    """Makes a run in a worker; None if that was told to stop before there was anything."""
    told = 0.0

    def advance(simulated_s: float, events: int) -> bool:
        nonlocal told
        if simulated_s >= plan.scenario.duration_s:
            pool.worker.keep()
        now = time.monotonic()
        if reports and now >= told + _REPORT_S:
            told = now
            pool.worker.report((plan.name, simulated_s, events))
        return not pool.worker.stopped

    used = Meter()
    try:
        with used, pool.worker.stoppable():
            advance(0.0, 0)
            guests.receive(classes)
            run = _run(plan, advance)
    except KeyboardInterrupt:
        return None
    return _Simulated(held(run), used.core_seconds, os.getpid(), machine.peak_bytes())


def _run(plan: Plan, progress: Advance | None) -> SchemeRun:
    try:
        return _core.run(
            plan.scenario,
            plan.scheme,
            seed=plan.seed,
            traces=plan.traces,
            threads=plan.threads,
            progress=progress,
        )
    except AlgorithmError as error:
        raise AlgorithmError(f"{_said(plan)}: {error}") from error.__cause__
    except IncastError as error:
        raise type(error)(f"{_said(plan)}: {error}") from None


def _said(plan: Plan) -> str:
    """The name of a run in errors."""
    return f"{plan.label}, seed {plan.seed}"
