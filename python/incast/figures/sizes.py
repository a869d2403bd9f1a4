"""Completion time and slowdown against message size: a line for the median, one for the tail."""

from functools import partial

import numpy as np
import polars as pl
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import ideals, style
from incast.figures.catalogue import PERCENTILES
from incast.figures.drawing import Drawing, Rows
from incast.figures.style import Floats
from incast.results.measures import bound_of
from incast.results.records import Records

_BINS = ("traffic", "size_from_bytes", "size_to_bytes", "posted")
_NO_BOUND = 1e12  # bytes: the core's word for a bin without an end
_FEW = 100  # messages: the 99th percentile of so many, by nearest rank, is not the greatest
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B"))


def by_size(results: Records, *, rows: Rows, value: str, unit: str, y: str) -> Figure:
    """A panel for each traffic; of several seeds, the mean of their percentiles in each bin."""
    traffics = rows.by_traffic(results)
    names = dict(zip(PERCENTILES, (f"{value}_p99{unit}", f"{value}_p50{unit}"), strict=True))
    shown = PERCENTILES if results.only is None else (results.only,)
    tails = {names[one]: one for one in shown}
    every = [own for cases in traffics.values() for _, _, own in cases]
    notes = ["lines: mean over the seeds in each bin"] if len(results.seeds) > 1 else []
    if "p99" in shown and any((own["posted"] < _FEW).any() for own in every):
        notes.append(f"in bins of fewer than {_FEW} messages p99 is the slowest one")
    if any(_bounded(own, name).any() for own in every for name in tails):
        notes.append("arrows: at least so much, that message had not finished")
    note = style.notes(results, *notes, ideals.note(results))
    figure, grid = style.panels(results, list(traffics), note, height=4.4)
    for axes, (traffic, cases) in zip(grid, traffics.items(), strict=True):
        heights: list[float] = []
        for index, case, own in cases:
            colour, mark = style.line(index)["color"], style.marker(index)
            for (name, label), part, fill in zip(
                tails.items(), (1.0, 0.55), ("full", "none"), strict=False
            ):
                bins = _bins(own, name)
                places, line = middle(bins), bins["mean"].to_numpy()
                axes.plot(
                    places, line, color=colour, marker=mark, fillstyle=fill,
                    markersize=5 * style.scale(), linewidth=style.thin(part),
                    linestyle=style.line(index)["linestyle"],
                    label=case.label if results.only else f"{case.label}: {label}",
                )  # fmt: skip
                for at in np.flatnonzero(bins["bounded"].to_numpy()):
                    style.arrow(axes, (places[at], line[at]), "at least", colour)
                if own["seed"].n_unique() > 1:
                    low, high = (bins[end].to_numpy() for end in ("least", "greatest"))
                    style.band(axes, places, low, high, index)
                    heights += [*bins["least"].drop_nulls(), *bins["greatest"].drop_nulls()]
                heights += bins["mean"].drop_nulls().to_list()
        if "p99" in shown and (found := ideals.rows(results, traffic)) is not None:
            bins = _bins(pl.concat([own for _, _, own in cases]), next(iter(tails)))
            heights += ideals.by_size(axes, found, bins, middle(bins), slowdown=value == "slowdown")
        axes.set_ylabel(f"{results.only} of {y}" if results.only else y)
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


def one_size(results: Records, *, rows: Rows) -> str | None:
    """Says so where no traffic has messages in more than one bin: a point is no curve."""
    cases = (case for cases in rows.by_traffic(results).values() for case in cases)
    if any(own["size_from_bytes"].n_unique() > 1 for _, _, own in cases):
        return None
    return "messages of one size make a point, no curve"


def _bounded(rows: pl.DataFrame, name: str) -> pl.Series:
    """The bins in which a percentile is known by a bound alone."""
    bound = bound_of(name)
    if bound not in rows.columns:
        return pl.Series([False] * rows.height, dtype=pl.Boolean)
    return rows[name].is_null() & rows[bound].is_not_null()


def _bins(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The bins by size, each with mean, least and greatest over the seeds that have it.

    Where a percentile is known by a bound alone, the bound counts, and the bin says so.
    """
    bound = bound_of(name)
    value = pl.col(name).fill_null(pl.col(bound)) if bound in rows.columns else pl.col(name)
    return (
        rows.with_columns(value.alias(name), _bounded(rows, name).alias("bounded"))
        .group_by("size_from_bytes", "size_to_bytes")
        .agg(
            pl.col(name).mean().alias("mean"),
            pl.col(name).min().alias("least"),
            pl.col(name).max().alias("greatest"),
            pl.col("bounded").any(),
        )
        .sort("size_from_bytes")
    )


def middle(bins: pl.DataFrame) -> Floats:
    """The place of a bin on a logarithmic axis: halfway between its least and greatest size.

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


def _drawing(name: str, value: str, unit: str, y: str) -> Drawing:
    columns = (*_BINS, f"{value}_p50{unit}", f"{value}_p99{unit}")
    rows = Rows("fct", columns, pl.col("posted") > 0)
    draw = partial(by_size, rows=rows, value=value, unit=unit, y=y)
    return Drawing(name, rows, draw, too_little=partial(one_size, rows=rows))


DRAWINGS = (
    _drawing("slowdown-by-size", "slowdown", "", "slowdown"),
    _drawing("fct-by-size", "completion", "_us", "completion time (us)"),
)
