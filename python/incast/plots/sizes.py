"""Completion time and slowdown against message size: a line for the median, one for the tail."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.plots import style
from incast.plots.drawing import Drawing, Rows
from incast.plots.style import Floats
from incast.results import Results

_BINS = ("traffic", "size_from_bytes", "size_to_bytes", "count")
_NO_BOUND = 1e12  # bytes: the core's word for a bin without an end
_FEW = 100  # messages: the 99th percentile of so many, by nearest rank, is not the greatest
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B"))


def by_size(results: Results, *, rows: Rows, value: str, unit: str, y: str) -> Figure:
    """A panel for each traffic; of several seeds, the mean of their percentiles in each bin."""
    traffics = rows.by_traffic(results)
    notes = ["mean over the seeds in each bin"] if len(results.seeds) > 1 else []
    if any((own["count"] < _FEW).any() for cases in traffics.values() for _, _, own in cases):
        notes.append(f"in bins of fewer than {_FEW} messages p99 is the slowest one")
    figure, grid = style.panels(results, list(traffics), "; ".join(notes), height=4.4)
    for axes, cases in zip(grid, traffics.values(), strict=True):
        heights: list[float] = []
        for index, case, own in cases:
            bins = _bins(own, f"{value}_p50{unit}", f"{value}_p99{unit}")
            sizes = middle(bins)
            colour, mark = style.line(index)["color"], style.marker(index)
            for name, width, fill, label in (
                (f"{value}_p99{unit}", 1.8, "full", "p99"),
                (f"{value}_p50{unit}", 1.0, "none", "median"),
            ):
                axes.plot(
                    sizes, bins[name].to_numpy(), color=colour, marker=mark, fillstyle=fill,
                    markersize=5, linewidth=width, linestyle=style.line(index)["linestyle"],
                    label=f"{case.label}: {label}",
                )  # fmt: skip
                heights += bins[name].drop_nulls().to_list()
        axes.set_ylabel(y)
        positive = [height for height in heights if height > 0]
        if positive:
            style.logarithmic(axes, "y", min(positive), max(positive))
        if value == "slowdown":
            axes.set_ylim(bottom=min([1.0, *positive]) * 0.95)
        _size_axis(axes)
    grid[-1].set_xlabel("message size")
    style.absent(grid[0], rows.without(results), "none")
    style.legend(figure, results)
    return figure


def several_sizes(results: Results, *, rows: Rows) -> bool:
    """Whether any traffic has messages in more than one bin: a point is no curve."""
    cases = (case for cases in rows.by_traffic(results).values() for case in cases)
    return any(own["size_from_bytes"].n_unique() > 1 for _, _, own in cases)


def _bins(rows: pl.DataFrame, *values: str) -> pl.DataFrame:
    """Each bin once, in the order of the sizes: the mean over the seeds that have it."""
    return (
        rows.group_by("size_from_bytes", "size_to_bytes")
        .agg(pl.col(value).mean() for value in values)
        .sort("size_from_bytes")
    )


def middle(bins: pl.DataFrame) -> Floats:
    """Where a bin stands on a logarithmic axis: halfway between its least and greatest size.

    One that begins at nothing stands at half its end, one without an end at its beginning.
    """
    low = bins["size_from_bytes"].cast(pl.Float64).to_numpy()
    high = bins["size_to_bytes"].cast(pl.Float64).to_numpy()
    middle: Floats = np.where(low > 0, np.sqrt(low * high), high / 2)
    endless = high >= _NO_BOUND
    return np.where(endless, np.maximum(low, 1.0), middle)


def _size_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(numticks=12))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: in_bytes(size)))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def in_bytes(size: float) -> str:
    """A size with the unit in which it is between 1 and 1,000."""
    return next((f"{size / unit:g} {name}" for unit, name in _UNITS if size >= unit), f"{size:g} B")


def _drawings() -> Iterator[Drawing]:
    for name, value, unit, y, about in (
        ("slowdown-by-size", "slowdown", "", "slowdown", "slowdown against message size"),
        (
            "fct-by-size",
            "completion",
            "_us",
            "completion time (us)",
            "completion time against message size",
        ),
    ):
        columns = (*_BINS, f"{value}_p50{unit}", f"{value}_p99{unit}")
        rows = Rows("fct", columns, pl.col("count") > 0)
        draw = partial(by_size, rows=rows, value=value, unit=unit, y=y)
        several = partial(several_sizes, rows=rows)
        yield Drawing(name, f"{about}: median and 99th percentile", rows, draw, several)


DRAWINGS = tuple(_drawings())
