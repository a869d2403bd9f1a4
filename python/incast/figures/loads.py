"""Figures of a load: distributions of RTT and of latency, and both with the rate over time."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import canvas, look, style
from incast.figures.style import Floats

# Points of a curve, and intervals of a time series: more than a figure this wide can show.
_POINTS = 1000
_INTERVALS = 250


def write(out: Path, found: dict[str, Any], formats: Iterable[str], *, title: str) -> None:
    """Draws the figures of a load that has replies, and writes them in these formats.

    Raises:
        OutputError: They cannot be written.
    """
    with look.use(look.Look()):
        for name, figure in drawn(found, title=title).items():
            canvas.save_as(canvas.on_canvas(figure), out / name, formats)


def drawn(found: dict[str, Any], *, title: str) -> dict[str, Figure]:
    """The figures by name; none where nothing was measured."""
    figures = {}
    if found["latency_us"]:
        figures["times-cdf"] = times(found, title)
        figures["over-time"] = over_time(found, title)
    return figures


def times(found: dict[str, Any], title: str) -> Figure:
    """The fraction of RTT samples and of calls that is not above a time."""
    figure, axes = _frame(title, 3.4)
    ends = []
    for index, (label, values) in enumerate(_distributions(found)):
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        ranks = np.unique(np.linspace(0, len(ordered) - 1, _POINTS).round().astype(np.int64))
        shown, below = ordered[ranks], (ranks + 1) / len(ordered)
        axes.step(shown, below, where="post", label=label, **style.line(index))
        ends += [float(ordered[0]), float(ordered[-1])]
    axes.set(xlabel="time (us)", ylabel="fraction not above", ylim=(0, 1.03))
    style.microseconds(axes, min(ends), max(ends))
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _distributions(found: dict[str, Any]) -> list[tuple[str, Sequence[float]]]:
    both = [("RTT, by timestamps", found["rtt_us"]), ("latency of calls", found["latency_us"])]
    return [(label, values) for label, values in both if values]


def over_time(found: dict[str, Any], title: str) -> Figure:
    """Medians and 99th percentiles of latency and RTT, and the mean sending rate, over time."""
    panels: list[tuple[str, str, str]] = [("latency of calls (us)", "at_us", "latency_us")]
    if found["rtt_us"]:
        panels += [("RTT (us)", "sample_at_us", "rtt_us")]
        panels += [("sending rate (Gb/s)", "sample_at_us", "rate_gbps")]
    figure = style.blank(1.0 + 1.9 * len(panels))
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (label, at, values) in zip(grid, panels, strict=True):
        time, value = (np.asarray(found[key], dtype=np.float64) for key in (at, values))
        if values == "rate_gbps":
            axes.plot(*_binned(time, value, np.mean), label="mean", **style.line(2))
        else:
            axes.plot(*_binned(time, value, _p99), label="p99", **style.line(1))
            axes.plot(*_binned(time, value, np.median), label="median", **style.line(0))
            _scale(axes, value)
        axes.set_ylabel(label)
        if values == "rate_gbps":
            axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
        axes.legend(loc="upper right", ncols=2, fontsize="small")
    grid[-1].set_xlabel("time (s)")
    return figure


def _scale(axes: Axes, values: Floats) -> None:
    """A logarithmic axis where the slowest are far from the median."""
    lowest, highest = float(values.min()), float(values.max())
    if lowest > 0 and highest > 10 * float(np.median(values)):
        style.logarithmic(axes, "y", lowest, highest)
    else:
        axes.set_ylim(bottom=0)


def _p99(values: Floats) -> float:
    return float(np.quantile(values, 0.99))


def _binned(at_us: Floats, values: Floats, of: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
    """The middles of intervals in seconds, and a figure of the values in each that has some."""
    edges = np.linspace(at_us.min(), at_us.max() + 1, _INTERVALS + 1)
    order = np.argsort(at_us, kind="stable")
    cuts = np.searchsorted(at_us[order], edges[1:-1])
    parts = np.split(values[order], cuts)
    there = [place for place, part in enumerate(parts) if len(part)]
    middles = (edges[:-1] + edges[1:]) / 2e6
    return middles[there], np.array([float(of(parts[place])) for place in there])


def _frame(title: str, height: float) -> tuple[Figure, Axes]:
    figure = style.blank(height)
    axes = figure.subplots()
    axes.set_title(title)
    return figure, axes
