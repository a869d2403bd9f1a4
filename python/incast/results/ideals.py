"""The ideal of a run as figures: what the slowdown of its messages would be in each reference."""

import polars as pl

from incast._core import Run, Scenario
from incast.results.measures import percentile, posted_while_measured
from incast.results.stored import StoredScenario
from incast.results.tables import frame

REFERENCES = {"fluid": "fluid max-min", "greedy": "greedy"}
"""The references that figures show: the beginning of their columns, and their names."""

_OF = ("slowdown_mean", "slowdown_p99")
FIGURES = {
    f"{reference}_{name}": ("", f"{name} if messages were complete as in the ideal: {label}")
    for reference, label in REFERENCES.items()
    for name in _OF
}
"""Unit and meaning of each figure, by the names of the reference and of the figure."""


def figures(
    ideal: pl.DataFrame, scenario: Scenario | StoredScenario
) -> dict[str, float | int | None]:
    """The figures, from the messages of the table `ideal` that were posted while measured."""
    counted = posted_while_measured(ideal, scenario)
    found = []
    for reference in REFERENCES:
        slowdown = pl.col(f"{reference}_us") / pl.col("ideal_us")
        p99, _ = percentile(slowdown, pl.lit(None, pl.Float64), 0.99)
        found += [
            slowdown.mean().alias(f"{reference}_slowdown_mean"),
            p99.alias(f"{reference}_slowdown_p99"),
        ]
    return counted.select(found).row(0, named=True)


def of_run(run: Run, scenario: Scenario) -> dict[str, float | int | None]:
    """The figures of a run; none of one without the table."""
    tables = [frame(table) for table in run.tables if table.name == "ideal"]
    return figures(tables[0], scenario) if tables else {}
