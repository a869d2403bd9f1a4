"""The ideal in figures of completion times: thin grey lines, where a run has it.

The messages or requests come from the first case that has an ideal. Arrivals drawn in advance, and
so their ideal, are the same for all schemes of a seed. Every figure takes the lines from here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import style
from incast.figures.drawing import Rows
from incast.results import ideals
from incast.results.measures import percentile
from incast.results.records import Records


@dataclass(frozen=True)
class Reference:
    """A reference that is drawn: its name, its column, and its line."""

    name: str
    linestyle: str

    @property
    def label(self) -> str:
        """The label in legends."""
        return f"ideal: {ideals.REFERENCES[self.name]}"

    @property
    def column(self) -> str:
        """The column of completion times."""
        return f"{self.name}_us"


REFERENCES = (Reference("fluid", "-"), Reference("greedy", "--"))
_COLUMNS = ("traffic", "posted_us", *(one.column for one in REFERENCES))
_ROWS = {
    "messages": Rows("ideal", (*_COLUMNS, "bytes", "ideal_us"), measured=True),
    "requests": Rows(
        "requests", _COLUMNS, measured=True,
        some=pl.any_horizontal(pl.col(one.column).is_not_null() for one in REFERENCES),
    ),
}  # fmt: skip


def line(reference: Reference) -> dict[str, Any]:
    """The line of a reference."""
    return {
        "color": style.IDEAL, "linewidth": style.thin(0.6), "linestyle": reference.linestyle,
        "zorder": 1.5,
    }  # fmt: skip


def line_of(name: str) -> dict[str, Any]:
    """The line of a reference by its name; the bound by shortest remaining first is dotted."""
    found = (one for one in REFERENCES if one.name == name)
    return line(next(found, Reference(name, ":")))


def rows(results: Records, traffic: str, table: str = "messages") -> pl.DataFrame | None:
    """The messages or requests of a traffic with their ideal; None where no case has it."""
    for _, _, found in _ROWS[table].each(results) if table in _ROWS else ():
        return found.filter(pl.col("traffic") == traffic)
    return None


def note(results: Records, table: str = "messages") -> str:
    """The remark on whose messages the grey lines are of, where there are several cases."""
    labels = [case.label for _, case, _ in _ROWS[table].each(results)] if table in _ROWS else []
    return f"grey: the ideal of the {table} of {labels[0]}" if len(labels) > 1 else ""


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


def at_rank(axes: Axes, found: pl.DataFrame | None, fraction: float) -> None:
    """Draws a percentile of the completion times, across all bars of a panel."""
    if found is None:
        return
    for reference in REFERENCES:
        value, _ = percentile(pl.col(reference.column), pl.lit(None, pl.Float64), fraction)
        upright(axes, reference, found.select(value).item())


def of_summary(axes: Axes, results: Records, figure: str) -> None:
    """Draws a figure of the summary, the mean over the seeds, across all bars of a panel."""
    for reference in REFERENCES:
        name = f"{reference.name}_{figure}"
        for _, case, found in _ROWS["messages"].each(results) if name in ideals.FIGURES else ():
            scenario = case.results[0].scenario
            of_seeds = [ideals.figures(own, scenario)[name] for own in found.partition_by("seed")]
            known = [value for value in of_seeds if value is not None]
            upright(axes, reference, float(np.mean(known)) if known else None)
            break


def upright(axes: Axes, reference: Reference, value: float | None) -> None:
    """Draws a line at a value of the x axis, if it is known."""
    if value is not None:
        axes.axvline(value, label=reference.label, **line(reference))


def legend(figure: Figure) -> None:
    """A legend of the lines, in a figure that has no other."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        handles, labels = list(found.values()), list(found)
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
