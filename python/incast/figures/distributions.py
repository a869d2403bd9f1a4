"""Distributions of times: what fraction of the samples is below, above, or around a value.

Histograms are drawn as they are: within a bucket, samples count as spread evenly. Messages and
requests are drawn one by one; those that had not finished count as slower than all others, so that
a curve ends at the share that had. The samples of several seeds are pooled, and a band reaches from
the least to the greatest of the seeds at each point; each traffic has a panel.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import ideals, style
from incast.figures.drawing import Drawing, Rows
from incast.figures.style import Floats
from incast.results.comparison import number
from incast.results.records import Case, Records

_FILLS = ("full", "left", "bottom", "right", "top", "none", "full")  # of markers

# Points of a curve through single samples: more than a figure this wide can show.
_POINTS = 1000
# Intervals of a density: few, since an interval with few samples is noisy.
_INTERVALS = 60

Curve = tuple[Floats, Floats]
"""Values, and the fraction of the samples that is not above each."""

_Panel = tuple[Axes, list[tuple[int, Case, pl.DataFrame]]]

_HISTOGRAM = ("low_us", "high_us", "count")
_RTT = Rows("rtt_histogram", _HISTOGRAM, pl.col("count") > 0)
_DELAY = Rows("delay_histogram", _HISTOGRAM, pl.col("count") > 0)
_COMPLETION = ("completion_us", "posted_us")
_COMPLETED = pl.col("completion_us").is_not_null()
_LATE = Rows(
    "messages", ("late_us", *_COMPLETION), pl.col("deadline_us").is_not_null(), measured=True,
    some=pl.col("late_us").is_not_null(),
)  # fmt: skip
_REQUESTS_LATE = replace(_LATE, table="requests")
_MESSAGES = Rows("messages", _COMPLETION, measured=True, some=_COMPLETED)
_REQUESTS = Rows("requests", _COMPLETION, measured=True, some=_COMPLETED)


def of_histogram(rows: pl.DataFrame) -> Curve:
    """The distribution function of a histogram, at both edges of each bucket.

    Both, because buckets without samples may be absent: nothing is spread over a gap.
    """
    buckets = rows.group_by("low_us", "high_us").agg(pl.col("count").sum()).sort("low_us")
    counts = buckets["count"].cast(pl.Float64).to_numpy()
    edges = buckets.select("low_us", "high_us").to_numpy().ravel()
    below = np.concatenate(([0.0], counts.cumsum())) / counts.sum()
    return edges, np.stack((below[:-1], below[1:]), axis=1).ravel()


def of_samples(rows: pl.DataFrame) -> Curve:
    """The distribution function of completion times, a step at each, up to the share that is known.

    Of many samples, so many are kept as can be seen: evenly over the ranks, and again over their
    logarithm from the greatest down, which is what a logarithmic tail shows.
    """
    return _steps_of(rows, "completion_us")


def of_lateness(rows: pl.DataFrame) -> Curve:
    """The distribution function of the time from deadline to completion, a step for each sample."""
    return _steps_of(rows, "late_us")


def _steps_of(rows: pl.DataFrame, column: str) -> Curve:
    values = np.sort(rows[column].drop_nulls().to_numpy())
    count = len(values)
    even = np.linspace(0, count - 1, min(count, _POINTS))
    tail = count - np.geomspace(1, count, min(count, _POINTS))
    ranks = np.unique(np.concatenate((even, tail)).round().astype(np.int64))
    kept, below = values[ranks].astype(np.float64), (ranks + 1) / rows.height
    return np.concatenate((kept[:1], kept)), np.concatenate(([0.0], below))


def cumulative(
    results: Records, *, rows: Rows, curve: Callable[[pl.DataFrame], Curve], x: str, samples: str,
    published: bool = False,
) -> Figure:  # fmt: skip
    """The fraction that is not above a value; published mean and 99th percentile as points."""
    figure, panels = _panels(results, rows, x, samples)
    lowest, highest = _ideal(panels, rows, results, ccdf=False)
    marked: list[Mapping[str, float | str]] = []
    for axes, cases in panels:
        axes.set(ylabel=f"fraction of {samples}", ylim=(0, 1.03))
        for index, case, own in cases:
            values, below = curve(own)
            axes.plot(values, below, label=case.label, **_steps(curve), **style.line(index))
            if found := _between(own, curve):
                style.band(axes, *found, index, step=curve is not of_histogram)
            at = [float(values[0]), float(values[-1])]
            if published and case.published and case.published not in marked:
                marked.append(case.published)  # presets of one algorithm share published values
                fill = _FILLS[(len(marked) - 1) % len(_FILLS)]
                at += _mark_published(axes, case.label, case.published, index, fill)
            lowest, highest = min(lowest, *at), max(highest, *at)
    style.microseconds(panels[-1][0], lowest, highest)
    _finish(figure, panels, rows, results)
    return figure


def lateness(results: Records, *, rows: Rows, samples: str) -> Figure:
    """The fraction that was complete so long after its deadline; what is left of zero was in time.

    Each panel says which share was missed: not complete in time, or not by the end of the run.
    """
    x = "completion less deadline (us)"
    figure, panels = _panels(results, rows, x, samples)
    reach = 0.0
    for axes, cases in panels:
        axes.set(ylabel=f"fraction of {samples}", ylim=(0, 1.03))
        axes.axvline(0, color="black", linewidth=0.8)
        for index, case, own in cases:
            values, below = of_lateness(own)
            axes.plot(values, below, label=case.label, drawstyle="steps-post", **style.line(index))
            if found := _between(own, of_lateness):
                style.band(axes, *found, index, step=True)
            reach = max(reach, float(np.abs(values).max()))
        missed = [f"{case.label} {_missed(own):.1f} %" for _, case, own in cases]
        axes.annotate(
            "missed\n" + "\n".join(missed), (0.02, 0.97), xycoords="axes fraction", va="top",
            fontsize="small", color=style.MUTED,
        )  # fmt: skip
    style.both_sides(panels[-1][0], reach)
    _finish(figure, panels, rows, results)
    return figure


def _missed(rows: pl.DataFrame) -> float:
    """The share of the deadlines that were missed, in percent; what was still open is left out."""
    met = rows["met_deadline"].drop_nulls()
    return 100.0 * (1.0 - float(np.mean(met.to_numpy()))) if len(met) else math.nan


def tail(
    results: Records, *, rows: Rows, curve: Callable[[pl.DataFrame], Curve], x: str, samples: str
) -> Figure:
    """The fraction that is above a value, both axes logarithmic: what the slowest ones are like."""
    figure, panels = _panels(results, rows, x, samples)
    lowest, highest = _ideal(panels, rows, results, ccdf=True)
    for axes, cases in panels:
        axes.set(ylabel=f"fraction of {samples} above")
        for index, case, own in cases:
            values, below = curve(own)
            above = 1 - below
            # Nothing is above the greatest, and zero is at no place of a logarithmic axis: the
            # curve ends at the greatest value, at the height before it.
            if above[-1] <= 0:
                above[-1] = above[-2]
            axes.plot(values, above, label=case.label, **_steps(curve), **style.line(index))
            if found := _between(own, curve):
                at, low, high = found
                least = np.full_like(low, above[-1] / 2)
                style.band(
                    axes, at, np.maximum(1 - high, least), np.maximum(1 - low, least), index,
                    step=curve is not of_histogram,
                )  # fmt: skip
            shown = values[values > 0]
            if shown.size:
                lowest, highest = min(lowest, float(shown[0])), max(highest, float(shown[-1]))
        axes.set_yscale("log")
        axes.set_ylim(top=1.5)
    style.logarithmic(panels[-1][0], "x", lowest, highest)
    _finish(figure, panels, rows, results)
    return figure


def _ideal(
    panels: list[_Panel], rows: Rows, results: Records, *, ccdf: bool
) -> tuple[float, float]:
    """Draws the ideal where it is there; returns its least and greatest time."""
    lowest, highest = math.inf, 0.0
    for (axes, _), traffic in zip(panels, rows.by_traffic(results), strict=True):
        found = ideals.rows(results, traffic, rows.table)
        if found is None:
            continue
        for reference in ideals.REFERENCES:
            own = ideals.completions(found, reference)
            if not _any(own):
                continue
            values, below = of_samples(own)
            share = 1 - below if ccdf else below
            if ccdf and share[-1] <= 0:
                share[-1] = share[-2]
            axes.plot(
                values, share, label=reference.label, **_steps(of_samples), **ideals.line(reference)
            )
            lowest, highest = min(lowest, float(values[0])), max(highest, float(values[-1]))
    return lowest, highest


def density(results: Records, *, rows: Rows, x: str, samples: str) -> Figure:
    """The density of a histogram: the area below each curve is one."""
    figure, panels = _panels(results, rows, x, samples)
    curves = [
        (axes, [(index, case, of_histogram(own), own) for index, case, own in cases])
        for axes, cases in panels
    ]
    ends = [(values[0], values[-1]) for _, cases in curves for _, _, (values, _), _ in cases]
    lowest, highest = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
    far_apart = highest > 10 * max(lowest, 1e-3)
    for axes, cases in curves:
        axes.set_ylabel(f"density of {samples} (1/us)")
        for index, case, (values, below), own in cases:
            first, last = float(values[0]), float(values[-1])
            space = np.geomspace if far_apart and first > 0 else np.linspace
            edges = space(first, last, _INTERVALS + 1)
            outline = _outline(edges, values, below)
            axes.plot(np.repeat(edges, 2), outline, label=case.label, **style.line(index))
            seeds = [_outline(edges, *of_histogram(rows)) for rows in _seeds(own)]
            if len(seeds) > 1:
                low, high = np.min(seeds, axis=0), np.max(seeds, axis=0)
                style.band(axes, np.repeat(edges, 2), low, high, index)
        axes.set_ylim(bottom=0)
    style.microseconds(panels[-1][0], lowest, highest)
    _finish(figure, panels, rows, results)
    return figure


def _outline(edges: Floats, values: Floats, below: Floats) -> Floats:
    """The density of a curve between edges, twice at each of these."""
    height = np.diff(np.interp(edges, values, below)) / np.diff(edges)
    outline: Floats = np.concatenate(([0.0], np.repeat(height, 2), [0.0]))
    return outline


def _seeds(rows: pl.DataFrame) -> list[pl.DataFrame]:
    return rows.partition_by("seed", maintain_order=True)


def _between(
    rows: pl.DataFrame, curve: Callable[[pl.DataFrame], Curve]
) -> tuple[Floats, Floats, Floats] | None:
    """The range of the seeds' curves: places with samples, least and greatest fraction there."""
    curves = [curve(own) for own in _seeds(rows) if curve is of_histogram or _any(own)]
    if len(curves) < 2:
        return None
    at = np.unique(np.concatenate([values for values, _ in curves]))
    if curve is not of_histogram:
        below = [_step(at, *one) for one in curves]
    else:
        below = [np.interp(at, *one) for one in curves]
    return at, np.min(below, axis=0), np.max(below, axis=0)


def _any(rows: pl.DataFrame) -> bool:
    return not rows.filter(_COMPLETED).is_empty()


def _step(at: Floats, values: Floats, below: Floats) -> Floats:
    """The values of a step curve at these places."""
    place = np.searchsorted(values, at, side="right") - 1
    return np.where(place < 0, 0.0, below[np.maximum(place, 0)])


def _panels(results: Records, rows: Rows, x: str, samples: str) -> tuple[Figure, list[_Panel]]:
    """A panel for each traffic: what flows of different kinds do has no common distribution."""
    traffics = rows.by_traffic(results)
    lacking = any(
        "completion_us" in own.columns and own["completion_us"].has_nulls()
        for cases in traffics.values()
        for _, _, own in cases
    )
    note = f"{samples} that had not finished by the end of the run are beyond the end of a curve"
    notes = style.notes(results, note if lacking else "", ideals.note(results, rows.table))
    figure, grid = style.panels(results, list(traffics), notes, height=4.4)
    grid[-1].set_xlabel(x)
    return figure, list(zip(grid, traffics.values(), strict=True))


def _finish(figure: Figure, panels: list[_Panel], rows: Rows, results: Records) -> None:
    style.absent(panels[0][0], rows.without(results), "none")
    style.legend(figure, results)


def _steps(curve: Callable[[pl.DataFrame], Curve]) -> dict[str, Any]:
    return {} if curve is of_histogram else {"drawstyle": "steps-post"}


def _mark_published(
    axes: Axes, label: str, known: Mapping[str, float | str], index: int, fill: str
) -> list[float]:
    """Marks published values of a scheme; returns where they are on the x axis."""
    mean, p99 = number(known.get("rtt_mean_us")), number(known.get("rtt_p99_us"))
    marks: dict[str, Any] = {
        "linestyle": "none", "color": style.line(index)["color"], "fillstyle": fill,
        "markerfacecoloralt": "white", "markeredgecolor": "black", "markersize": 8 * style.scale(),
        "clip_on": False, "zorder": 5,
    }  # fmt: skip
    if mean is not None:
        # A mean is no quantile: its mark stands on the axis, at no height.
        axes.plot([mean], [0], marker="^", label=f"{label}: published mean", **marks)
    if p99 is not None:
        axes.plot([p99], [0.99], marker="o", label=f"{label}: published p99", **marks)
    return [value for value in (mean, p99) if value is not None]


_OF_RTT: dict[str, Any] = {
    "rows": _RTT, "curve": of_histogram, "x": "RTT (us)", "samples": "RTT samples",
}  # fmt: skip
_OF_DELAY: dict[str, Any] = {
    "rows": _DELAY, "curve": of_histogram, "x": "one-way delay (us)", "samples": "data packets",
}  # fmt: skip
_OF_FCT: dict[str, Any] = {
    "rows": _MESSAGES, "curve": of_samples, "x": "completion time (us)", "samples": "messages",
}  # fmt: skip
_OF_REQUESTS: dict[str, Any] = {
    "rows": _REQUESTS, "curve": of_samples, "x": "completion time (us)", "samples": "requests",
}  # fmt: skip

DRAWINGS = (
    Drawing("rtt-cdf", _RTT, partial(cumulative, published=True, **_OF_RTT)),
    Drawing("rtt-ccdf", _RTT, partial(tail, **_OF_RTT)),
    Drawing(
        "delay-pdf", _DELAY,
        partial(density, rows=_DELAY, x="one-way delay (us)", samples="data packets"),
    ),
    Drawing("delay-cdf", _DELAY, partial(cumulative, **_OF_DELAY)),
    Drawing("delay-ccdf", _DELAY, partial(tail, **_OF_DELAY)),
    Drawing("fct-cdf", _MESSAGES, partial(cumulative, **_OF_FCT)),
    Drawing("fct-ccdf", _MESSAGES, partial(tail, **_OF_FCT)),
    Drawing("lateness", _LATE, partial(lateness, rows=_LATE, samples="messages")),
    Drawing(
        "request-lateness", _REQUESTS_LATE,
        partial(lateness, rows=_REQUESTS_LATE, samples="requests"),
    ),
    Drawing("request-cdf", _REQUESTS, partial(cumulative, **_OF_REQUESTS)),
)  # fmt: skip
