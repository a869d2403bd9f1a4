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
from incast.experiment import load, run, shipped
from incast.imports import read_foreign
from incast.result import Result, open_result
from incast.results import Case, FigureError, Results
from incast.saturation import Saturation, saturate
from incast.store import OutputError
from incast.stored import ResultError

__all__ = [
    "Algorithm",
    "Case",
    "FigureError",
    "IncastError",
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
