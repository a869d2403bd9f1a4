"""The ideal in figures of completion times: thin grey lines, where a run has the table `ideal`.

The messages are those of the first case that has the table. Arrivals drawn in advance are the same
for all schemes of a seed, so their ideal is, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from incast.figures import style
from incast.figures.drawing import Rows
from incast.results.measures import percentile
from incast.results.records import Records


@dataclass(frozen=True)
class Reference:
    """A reference that is drawn: a column of the table, and its line."""

    label: str
    column: str
    linestyle: str


REFERENCES = (
    Reference("ideal: fluid max-min", "fluid_us", "-"),
    Reference("ideal: greedy", "greedy_us", "--"),
)
_ROWS = Rows(
    "ideal",
    ("traffic", "bytes", "ideal_us", "posted_us", *(one.column for one in REFERENCES)),
    measured=True,
)


def line(reference: Reference) -> dict[str, Any]:
    """The line of a reference."""
    return {
        "color": style.IDEAL, "linewidth": style.thin(0.6), "linestyle": reference.linestyle,
        "zorder": 1.5,
    }  # fmt: skip


def rows(results: Records, traffic: str) -> pl.DataFrame | None:
    """The messages of a traffic with their ideal; None where no case has it."""
    for _, _, found in _ROWS.each(results):
        return found.filter(pl.col("traffic") == traffic)
    return None


def note(results: Records) -> str:
    """The remark on whose messages the grey lines are of, where there are several cases."""
    labels = [case.label for _, case, _ in _ROWS.each(results)]
    return f"grey: the ideal of the messages of {labels[0]}" if len(labels) > 1 else ""


def completions(found: pl.DataFrame, reference: Reference) -> pl.DataFrame:
    """The messages, complete as in a reference."""
    return found.with_columns(pl.col(reference.column).alias("completion_us"))


def by_size(
    axes: Axes, found: pl.DataFrame, bins: pl.DataFrame, places: style.Floats, *, slowdown: bool
) -> list[float]:
    """Draws the 99th percentile of each bin, the mean over the seeds; returns the heights."""
    place = np.searchsorted(bins["size_from_bytes"].to_numpy(), found["bytes"], side="right") - 1
    heights: list[float] = []
    for reference in REFERENCES:
        value = pl.col(reference.column) / (pl.col("ideal_us") if slowdown else 1.0)
        p99, _ = percentile(pl.col("value"), pl.lit(None, pl.Float64), 0.99)
        drawn = (
            found.with_columns(value.alias("value"), pl.Series("bin", place))
            .filter(pl.col("bin") >= 0)
            .group_by("seed", "bin")
            .agg(p99.alias("p99"))
            .group_by("bin")
            .agg(pl.col("p99").mean())
            .sort("bin")
        )
        label = f"{reference.label}, p99"
        axes.plot(places[drawn["bin"].to_numpy()], drawn["p99"], label=label, **line(reference))
        heights += drawn["p99"].drop_nulls().to_list()
    return heights
