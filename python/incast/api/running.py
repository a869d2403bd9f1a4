"""Running a scenario once per scheme, with one seed or several."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from incast._core import IncastError, Scenario
from incast.api import batch, costs, scenarios
from incast.api.interruption import Interrupted
from incast.api.result import Result, Results
from incast.api.scenarios import Chosen
from incast.base.machine import Meter
from incast.base.stopping import Stop
from incast.results.tables import SchemeRun


@overload
def run(
    scenario: Scenario | str | os.PathLike[str],
    cc: Chosen = None,
    *,
    seed: int | None = None,
    traces: Sequence[str] = (),
    threads: int | str | None = None,
    jobs: int | None = 1,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Result: ...


@overload
def run(
    scenario: Scenario | str | os.PathLike[str],
    cc: Chosen = None,
    *,
    seed: Sequence[int],
    traces: Sequence[str] = (),
    threads: int | str | None = None,
    jobs: int | None = 1,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Results: ...


def run(
    scenario: Scenario | str | os.PathLike[str],
    cc: Chosen = None,
    *,
    seed: int | Sequence[int] | None = None,
    traces: Sequence[str] = (),
    threads: int | str | None = None,
    jobs: int | None = 1,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Result | Results:
    """Simulates a scenario once per scheme, and per seed if there are several.

    Ctrl-C raises `Interrupted`, a KeyboardInterrupt: its `result` has what there is and says that
    it is not complete.

    Args:
        scenario: A scenario, the path of one, or the name of one that ships with the package.
        cc: The schemes; those that the scenario names if None. Each is an algorithm, `timely`, or
            one of its presets, `timely:zhu`, perhaps with parameters in brackets,
            `timely[t_high=100us,beta=0.5]`, or a class of `CongestionControl` or `CompiledControl`,
            or an object of one. A dictionary has them by the labels that results show.
        seed: The seed; the scenario's if None. Of several, such as `range(10)`, the results
            are `Results`.
        traces: What to record event by event, of `incast.api.scenarios.TRACES`.
        threads: How many threads each run has, a number or `auto`; what the scenario says if None.
            Results are the same.
        jobs: How many runs go side by side, each in a process of its own; if None, as many as there
            are cores, unless the runs take seconds only. Results are the same.
        progress: Shows simulated time, events per second and time left on the terminal.
        whatever_it_costs: Runs what needs more memory than there seems to be, and does not warn of
            runs of hours.

    Raises:
        CostError: It would need more memory than this machine has.
        Interrupted: Ctrl-C.
        AlgorithmError: An algorithm of your own raised an exception, which is the cause.
        ScenarioError: The scenario cannot be read or run.
        ParameterError: A scheme or a trace is unknown, a scheme, a label or a seed is there twice,
            or there cannot be so many threads or jobs.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        result = incast.run(short, ["timely", "line-rate"])
        result.summary.select("scheme", "throughput_gbps", "rtt_p99_us")
        several = incast.run(short, {"100 us": "timely[t_high=100us]"}, seed=[1, 2])
        several.seeds  # 1 and 2
        ```
    """
    if not isinstance(scenario, Scenario):
        scenario = scenarios.load(scenario)
    schemes = scenarios.labelled(scenario, cc)
    several = seed is not None and not isinstance(seed, int)
    seeds = scenarios.check_seeds(scenario, seed)
    plans = batch.planned(
        scenario,
        schemes,
        seeds,
        traces=scenarios.check_traces(traces),
        threads=scenarios.check_threads(threads),
    )
    if not whatever_it_costs:
        costs.check(scenario, schemes.values(), traces=traces, repeats=len(seeds))
    jobs = batch.side_by_side(plans, jobs, whatever_it_costs=whatever_it_costs)
    found: list[Result] = []
    with Stop() as stop:
        found.extend(results(plans, jobs, stop, Meter(), progress=progress))
    found = found or [_result(plans, {})]
    whole = Results(tuple(sorted(found, key=lambda one: seeds.index(one.seed))))
    result = whole if several else whole.members[0]
    if stop.asked:
        raise Interrupted(result)
    return result


def results(
    plans: Sequence[batch.Plan], jobs: int, stop: Stop, used: Meter, *, progress: bool
) -> Iterator[Result]:
    """The result of each seed, as soon as its runs are done; then, when stopped, what there is.

    Raises:
        IncastError: A run cannot be made, after what there is; the message says which.
    """
    wanted: dict[int, list[batch.Plan]] = {}
    for plan in plans:
        wanted.setdefault(plan.seed, []).append(plan)
    found: dict[int, dict[str, SchemeRun]] = {seed: {} for seed in wanted}

    def result(seed: int) -> Result:
        return _result(wanted[seed], found.pop(seed))

    failure: IncastError | None = None
    try:
        for plan, run in batch.runs(plans, jobs, stop, used, progress=progress):
            found[plan.seed][plan.label] = run
            if len(found[plan.seed]) == len(wanted[plan.seed]):
                yield result(plan.seed)
    except IncastError as error:
        failure = error
    for seed in list(found):
        if found[seed]:
            yield result(seed)
    if failure is not None:
        raise failure


def _result(plans: Sequence[batch.Plan], found: Mapping[str, SchemeRun]) -> Result:
    """The result of the runs of the first plan's seed, by label, as far as they are there."""
    own = [plan for plan in plans if plan.seed == plans[0].seed]
    return Result(
        own[0].scenario,
        tuple(plan.label for plan in own),
        own[0].seed,
        {plan.label: found[plan.label] for plan in own if plan.label in found},
        named={plan.label: plan.scheme for plan in own if plan.label != plan.scheme},
    )
