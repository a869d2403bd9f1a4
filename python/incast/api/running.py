"""Running a scenario once per scheme."""

import os
from collections.abc import Sequence

from incast import _core
from incast._core import Scenario
from incast.api import costs, scenarios
from incast.api.interruption import Interrupted
from incast.api.result import Result
from incast.results.tables import SchemeRun
from incast.terminal.progress import bar_per_scheme


def run(
    scenario: Scenario | str | os.PathLike[str],
    cc: str | Sequence[str] | None = None,
    *,
    seed: int | None = None,
    traces: Sequence[str] = (),
    threads: int | str | None = None,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Result:
    """Simulates a scenario once per scheme.

    Ctrl-C raises `Interrupted`, a KeyboardInterrupt: its `result` has what there is and says that
    it is not complete.

    Args:
        scenario: A scenario, the path of one, or the name of one that ships with the package.
        cc: The schemes, `algorithm` or `algorithm:preset`; those that the scenario names if None.
        seed: The seed; that of the scenario if None.
        traces: What to record event by event, of `incast.api.scenarios.TRACES`.
        threads: How many threads each run has, a number or `auto`; what the scenario says if None.
            Results are the same.
        progress: Shows simulated time, events per second and time left on the terminal.
        whatever_it_costs: Runs what needs more memory than there seems to be, and does not warn of
            runs of hours.

    Raises:
        CostError: It would need more memory than this machine has.
        Interrupted: Ctrl-C.
        ScenarioError: The scenario cannot be read or run.
        ParameterError: A scheme or a trace is unknown, a scheme is named twice, or there cannot be
            so many threads.
    """
    if not isinstance(scenario, Scenario):
        scenario = scenarios.load(scenario)
    schemes = scenarios.check_schemes(scenario, cc)
    traces = scenarios.check_traces(traces)
    threads = scenarios.check_threads(threads)
    if not whatever_it_costs:
        costs.check(scenario, schemes, traces=traces)
    runs: dict[str, SchemeRun] = {}
    result = Result(scenario, schemes, scenario.seed if seed is None else seed, runs)
    try:
        with bar_per_scheme(scenario.duration_s, visible=progress) as start_bar:
            for scheme in schemes:
                runs[scheme] = _core.run(
                    scenario,
                    scheme,
                    seed=seed,
                    traces=traces,
                    threads=threads,
                    progress=start_bar(scheme),
                )
                if not runs[scheme].complete:  # the core ended it at Ctrl-C
                    raise Interrupted(result)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    return result
