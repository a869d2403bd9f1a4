"""The figures of a result.

Figures are made without pyplot: no global state, no window. Schemes differ in colour and in line
style, so that a figure survives grey printing; the colours are those of Okabe and Ito, which the
colour-blind tell apart.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from incast.comparison import number, published

if TYPE_CHECKING:
    from incast.result import Result

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
_FILLS = ("full", "left", "bottom", "right", "top", "none", "full")  # of markers
_FEW = 3  # schemes that have a column of the legend each
_MUTED = "0.35"
_WIDTH = 7.0  # inches; the height follows from what is shown

# Time series are averaged to about this many points: more than a figure this wide can show.
_POINTS = 250
# A flow sends whole segments, so that its goodput over a short time is mostly noise of that kind.
_RATE_POINTS = 50

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 10.0,
    "grid.color": "0.9",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "savefig.dpi": 150,
    "svg.hashsalt": "incast",  # the same figure gives the same file
}


def _styled(draw: "Callable[[Result], Figure]") -> "Callable[[Result], Figure]":
    @wraps(draw)
    def drawn(result: "Result") -> Figure:
        with mpl.rc_context(_STYLE):
            figure = draw(result)
            FigureCanvasAgg(figure)
            return figure

    return drawn


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as the suffix of the path says; the file has no date in it."""
    with mpl.rc_context(_STYLE):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


@_styled
def rtt_cdf(result: "Result") -> Figure:
    """The distribution of RTT samples; published mean and 99th percentile as points."""
    figure, axes = _figure(result, height=4.4)
    axes.set(xlabel="RTT (us)", ylabel="fraction of RTT samples", ylim=(0, 1.03))
    lowest, highest = math.inf, 0.0
    marked: list[Mapping[str, float | str]] = []
    for scheme, style, histogram in _each(result, "rtt_histogram"):
        taken = histogram.filter(pl.col("count") > 0)
        if taken.is_empty():
            continue
        edges = np.append(taken["low_us"].head(1).to_numpy(), taken["high_us"].to_numpy())
        below = np.append(0.0, taken["count"].cast(pl.Float64).cum_sum().to_numpy())
        axes.plot(edges, below / below[-1], label=scheme, **style)
        lowest, highest = min(lowest, float(edges[0])), max(highest, float(edges[-1]))
        known = published(result.scenario, scheme)
        if known and known not in marked:  # presets of one algorithm share what was published
            marked.append(known)
            for x in _mark_published(
                axes, scheme, known, style["color"], _FILLS[(len(marked) - 1) % len(_FILLS)]
            ):
                lowest, highest = min(lowest, x), max(highest, x)
    if not highest:
        return _nothing(figure, axes, "no RTT samples")
    if highest > 10 * max(lowest, 1e-3):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    else:
        axes.set_xlim(left=0)
    _legend(figure, axes, result)
    return figure


@_styled
def queue(result: "Result") -> Figure:
    """The busiest queue over time: the mean as a line, up to the maximum as a band."""
    figure, axes = _figure(result, height=3.8)
    port = _busiest_port(result)
    if port is None:
        return _nothing(figure, axes, "no queues recorded")
    axes.set(xlabel="time (ms)", ylabel=f"queue at {port} (KB)")
    few = len(result.runs) <= _FEW
    if not few:
        axes.set_title("lines: mean, bands: up to maximum", fontsize="small")
    for scheme, style, series in _each(result, "series_queues"):
        binned = _binned(
            series.filter(pl.col("port") == port),
            pl.col("queue_mean_kb").mean(),
            pl.col("queue_max_kb").max(),
            points=_POINTS,
        )
        time_ms = binned["time_ms"].to_numpy()
        mean, highest = binned["queue_mean_kb"].to_numpy(), binned["queue_max_kb"].to_numpy()
        axes.plot(time_ms, mean, label=f"{scheme}: mean" if few else scheme, **style)
        axes.fill_between(
            time_ms, mean, highest, color=style["color"], alpha=0.18, linewidth=0,
            label=f"{scheme}: up to maximum" if few else None,
        )  # fmt: skip
    axes.set_ylim(0, axes.get_ylim()[1] * 1.08)  # room for the words above the lines
    axes.margins(x=0.01)
    _shade_warmup(axes, result)
    _legend(figure, axes, result)
    return figure


@_styled
def rates(result: "Result") -> Figure:
    """The goodput of every flow over time, a panel for each scheme, the equal share dashed."""
    panels = list(_each(result, "series_flows"))
    figure = Figure(figsize=(_WIDTH, 1.2 + 2.0 * max(len(panels), 1)))
    figure.suptitle(_title(result))
    grid = figure.subplots(max(len(panels), 1), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    if not panels:
        return _nothing(figure, grid[0], "no flows recorded")
    top = 0.0
    for axes, (scheme, style, series) in zip(grid, panels, strict=True):
        binned = _binned(series, pl.col("goodput_gbps").mean(), by="flow", points=_RATE_POINTS)
        flows = binned.partition_by("flow", maintain_order=True)
        for flow in flows:
            axes.plot(
                flow["time_ms"].to_numpy(), flow["goodput_gbps"].to_numpy(),
                color=style["color"], linewidth=0.7, alpha=0.55,
            )  # fmt: skip
        _shade_warmup(axes, result)
        top = max(top, float(np.quantile(binned["goodput_gbps"].fill_null(0).to_numpy(), 0.999)))
        axes.set_title(f"{scheme}: {len(flows)} flows")
        throughput = number(result.runs[scheme].summary.get("throughput_gbps"))
        if throughput and flows:
            share = throughput / len(flows)
            axes.axhline(share, color="black", linewidth=1.2, linestyle="--", zorder=3)
            axes.annotate(
                f"equal share\n{share:.3g} Gb/s", xy=(1, share), xytext=(4, 0), fontsize="small",
                xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
            )  # fmt: skip
    grid[0].set_ylim(0, top * 1.1 or 1.0)
    grid[0].margins(x=0.01)
    grid[-1].set_xlabel("time (ms)")
    figure.supylabel("goodput of each flow (Gb/s)", fontsize="medium")
    return figure


def _mark_published(
    axes: Axes, scheme: str, known: Mapping[str, float | str], colour: str, fill: str
) -> Iterator[float]:
    """Marks published values of a scheme; yields where they are on the x axis."""
    mean, p99 = number(known.get("rtt_mean_us")), number(known.get("rtt_p99_us"))
    marks: dict[str, Any] = {
        "linestyle": "none", "color": colour, "fillstyle": fill, "markerfacecoloralt": "white",
        "markeredgecolor": "black", "markersize": 8, "clip_on": False, "zorder": 5,
    }  # fmt: skip
    if mean is not None:
        # A mean is no quantile: it stands on the axis, where it claims no height.
        axes.plot([mean], [0], marker="^", label=f"{scheme}: published mean", **marks)
        yield mean
    if p99 is not None:
        axes.plot([p99], [0.99], marker="o", label=f"{scheme}: published p99", **marks)
        yield p99


def _each(result: "Result", table: str) -> Iterator[tuple[str, dict[str, Any], pl.DataFrame]]:
    """Each scheme that has rows in a table, with the style of its lines."""
    if table not in result.tables:
        return
    rows = result.table(table)
    for index, scheme in enumerate(result.runs):
        own = rows.filter(pl.col("scheme") == scheme)
        if not own.is_empty():
            style = {
                "color": _COLOURS[index % len(_COLOURS)],
                # Beyond the number of colours, each comes with another line.
                "linestyle": _LINES[(index + index // len(_COLOURS)) % len(_LINES)],
            }
            yield scheme, style, own


def _busiest_port(result: "Result") -> str | None:
    """The port whose queue is longest on average over all schemes, the same for all."""
    if "series_queues" not in result.tables:
        return None
    means = (
        result.table("series_queues")
        .group_by("port")
        .agg(pl.col("queue_mean_kb").mean())
        .sort("queue_mean_kb", "port", descending=[True, False], nulls_last=True)
    )
    return None if means.is_empty() else str(means["port"][0])


def _binned(
    series: pl.DataFrame, *values: pl.Expr, by: str | None = None, points: int
) -> pl.DataFrame:
    """A time series brought down to a number of points; `time_ms` is the middle of each bin."""
    time = series["time_us"].to_numpy()
    width = max(float(np.ptp(time)) / points, 1e-9)
    bins: npt.NDArray[np.int64] = ((time - time.min()) / width).astype(np.int64).clip(0, points - 1)
    keys = ["bin"] if by is None else [by, "bin"]
    return (
        series.with_columns(pl.Series("bin", bins))
        .group_by(keys)
        .agg((pl.col("time_us").mean() / 1e3).alias("time_ms"), *values)
        .sort(keys)
    )


def _figure(result: "Result", *, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height))
    figure.suptitle(_title(result))
    return figure, figure.subplots()


def _title(result: "Result") -> str:
    title = result.scenario.title or result.scenario.name
    return title if result.complete else f"{title} (incomplete)"


def _legend(figure: Figure, axes: Axes, result: "Result") -> None:
    """Below the axes, where it covers nothing; a column for each scheme while there are few."""
    columns = min(len(result.runs), _FEW)
    handles, labels = axes.get_legend_handles_labels()
    if len(result.runs) > _FEW and len(handles) == len(result.runs):
        columns = min(5, -(-len(handles) // 2))
    if len(result.runs) == columns:
        entries = list(zip(handles, labels, strict=True))
        groups = [
            [entry for entry in entries if entry[1] == scheme or entry[1].startswith(f"{scheme}: ")]
            for scheme in result.runs
        ]
        # A legend is filled column by column: short ones are filled up with nothing.
        rows = max(map(len, groups))
        nothing = (Line2D([], [], linestyle="none"), "")
        padded = [entry for group in groups for entry in [*group, *[nothing] * (rows - len(group))]]
        handles, labels = [entry[0] for entry in padded], [entry[1] for entry in padded]
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize="small")


def _shade_warmup(axes: Axes, result: "Result") -> None:
    """Sets off the part of a time series that summary and tables leave out."""
    warmup_ms = result.scenario.warmup_s * 1e3
    if warmup_ms:
        axes.axvspan(0, warmup_ms, color="0.95", linewidth=0, zorder=0)
        axes.annotate(
            "warm-up, not measured", xy=(warmup_ms, 1), xytext=(-4, -3), fontsize="x-small",
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="right", va="top", color=_MUTED,
        )  # fmt: skip


def _nothing(figure: Figure, axes: Axes, why: str) -> Figure:
    axes.text(0.5, 0.5, why, ha="center", va="center", color=_MUTED, transform=axes.transAxes)
    return figure
