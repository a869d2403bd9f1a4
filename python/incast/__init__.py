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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from incast._core import (
        Algorithm,
        IncastError,
        ParameterError,
        Scenario,
        ScenarioError,
        Workload,
        __version__,
        algorithms,
        schema,
        workloads,
    )
    from incast.comparison import Ratio
    from incast.costs import CostError, CostWarning
    from incast.experiment import load, run, shipped
    from incast.imports import read_foreign
    from incast.interruption import Interrupted
    from incast.result import Result, open_result
    from incast.results import Case, FigureError, Results
    from incast.saturation import Saturation, saturate
    from incast.store import OutputError
    from incast.stored import ResultError

# Where each name comes from. All of them together take half a second, and are imported when one
# is asked for: the command must hear Ctrl-C before.
_HOMES = {
    "Algorithm": "_core",
    "Case": "results",
    "CostError": "costs",
    "CostWarning": "costs",
    "FigureError": "results",
    "IncastError": "_core",
    "Interrupted": "interruption",
    "OutputError": "store",
    "ParameterError": "_core",
    "Ratio": "comparison",
    "Result": "result",
    "ResultError": "stored",
    "Results": "results",
    "Saturation": "saturation",
    "Scenario": "_core",
    "ScenarioError": "_core",
    "Workload": "_core",
    "__version__": "_core",
    "algorithms": "_core",
    "load": "experiment",
    "open_result": "result",
    "read_foreign": "imports",
    "run": "experiment",
    "saturate": "saturation",
    "schema": "_core",
    "shipped": "experiment",
    "workloads": "_core",
}

__all__ = [
    "Algorithm",
    "Case",
    "CostError",
    "CostWarning",
    "FigureError",
    "IncastError",
    "Interrupted",
    "OutputError",
    "ParameterError",
    "Ratio",
    "Result",
    "ResultError",
    "Results",
    "Saturation",
    "Scenario",
    "ScenarioError",
    "Workload",
    "__version__",
    "algorithms",
    "load",
    "open_result",
    "read_foreign",
    "run",
    "saturate",
    "schema",
    "shipped",
    "workloads",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    value: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
