"""Datacenter congestion control, simulated packet by packet and checked against the papers.

A scenario says what is run: network, traffic, transport and measurement. A scheme is a congestion
control algorithm, `timely`, or one of its presets, `timely:zhu`. `run` simulates a scenario once
per scheme; its `Result` has Polars tables and matplotlib figures.

    import incast

    result = incast.run("incast", ["timely", "line-rate"])
    print(result.summary)
    result.figure("rtt-cdf").savefig("rtt.png")
    result.write("results/incast")

    again = incast.open_result("results/incast")  # several directories: seeds, or scenarios
    again.table("flows")

The command `incast` does the same from a terminal.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from incast import learning as learning
    from incast import udp as udp
    from incast._core import (
        Ack,
        Algorithm,
        AlgorithmError,
        Demand,
        Flow,
        IncastError,
        Limits,
        Loss,
        ParameterError,
        Scenario,
        ScenarioError,
        Sent,
        Spurious,
        Workload,
        __version__,
        algorithms,
        schema,
        workloads,
    )
    from incast.advice.expected import Expectation
    from incast.api.advising import Advice, advise
    from incast.api.compiled import CompiledControl
    from incast.api.control import CongestionControl, parameter
    from incast.api.costs import CostError, CostWarning
    from incast.api.expecting import expect
    from incast.api.goal import run_job
    from incast.api.imports import read_foreign
    from incast.api.interruption import Interrupted
    from incast.api.result import Result, Results, open_result
    from incast.api.running import run
    from incast.api.saturation import saturate
    from incast.api.scenarios import load, shipped
    from incast.api.sweep import Sweep
    from incast.api.sweeping import sweep
    from incast.api.thresholds import pias_thresholds
    from incast.api.tuned import Tuning
    from incast.api.tuning import tune
    from incast.figures.errors import FigureError
    from incast.results.changes import Comparison, compare
    from incast.results.comparison import Ratio
    from incast.results.records import Case
    from incast.results.saturation import Saturation
    from incast.results.store import OutputError, OutputWarning
    from incast.results.stored import ResultError

# The names of each module. All together take half a second to import, so each is imported when a
# name of it is asked for: the command must hear Ctrl-C first.
_NAMES = {
    "_core": (
        "Ack Algorithm AlgorithmError Demand Flow IncastError Limits Loss ParameterError "
        "Scenario ScenarioError Sent Spurious Workload __version__ algorithms schema workloads"
    ),
    "advice.expected": "Expectation",
    "api.advising": "Advice advise",
    "api.compiled": "CompiledControl",
    "api.control": "CongestionControl parameter",
    "api.costs": "CostError CostWarning",
    "api.expecting": "expect",
    "api.goal": "run_job",
    "api.imports": "read_foreign",
    "api.interruption": "Interrupted",
    "api.result": "Result Results open_result",
    "api.running": "run",
    "api.saturation": "saturate",
    "api.scenarios": "load shipped",
    "api.sweep": "Sweep",
    "api.sweeping": "sweep",
    "api.thresholds": "pias_thresholds",
    "api.tuned": "Tuning",
    "api.tuning": "tune",
    "figures.errors": "FigureError",
    "results.changes": "Comparison compare",
    "results.comparison": "Ratio",
    "results.records": "Case",
    "results.saturation": "Saturation",
    "results.store": "OutputError OutputWarning",
    "results.stored": "ResultError",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
# The packages that are used by their names: `incast.udp.connect(...)`.
_PACKAGES = ("learning", "udp")

__all__ = [
    "Ack",
    "Advice",
    "Algorithm",
    "AlgorithmError",
    "Case",
    "Comparison",
    "CompiledControl",
    "CongestionControl",
    "CostError",
    "CostWarning",
    "Demand",
    "Expectation",
    "FigureError",
    "Flow",
    "IncastError",
    "Interrupted",
    "Limits",
    "Loss",
    "OutputError",
    "OutputWarning",
    "ParameterError",
    "Ratio",
    "Result",
    "ResultError",
    "Results",
    "Saturation",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Spurious",
    "Sweep",
    "Tuning",
    "Workload",
    "__version__",
    "advise",
    "algorithms",
    "compare",
    "expect",
    "load",
    "open_result",
    "parameter",
    "pias_thresholds",
    "read_foreign",
    "run",
    "run_job",
    "saturate",
    "schema",
    "shipped",
    "sweep",
    "tune",
    "workloads",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES and name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
