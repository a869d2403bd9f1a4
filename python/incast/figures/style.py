"""The style of all figures: lines, frame, legend, axes.

Schemes differ in colour and in line style, so that a figure survives grey printing.
"""

import contextlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib import ticker
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from incast.figures import look
from incast.results.measures import window_us
from incast.results.records import Records
from incast.results.seeds import Side

Floats = npt.NDArray[np.float64]

_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "oooo")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

FEW = 3  # cases at most, for a column of the legend each
MUTED = "0.35"
IDEAL = "0.5"  # the lines of the ideal, where it is drawn
# Shares of the width of a time series: a shade above the first has room for its words, one above
# the second for them in one line.
_NARROWEST, _WIDE = 0.13, 0.25
_LONG_US = 1e5  # an axis of longer times is in milliseconds
BAND = "bands: from the least to the greatest of the seeds"
ARROWS = "open markers with arrows: at least so much"
WHISKERS = "whiskers: from the least to the greatest of the seeds"


@dataclass
class Part:
    """A part of a figure, in which a drawing is made as if it were a figure of its own."""

    figure: Figure
    name: str
    """The name above it."""
    width: float
    """In inches."""
    height: float = 0.0
    """The height that the drawing would have by itself, for the usual width."""


_PART: ContextVar[Part | None] = ContextVar("part", default=None)


@contextlib.contextmanager
def within(part: Part) -> Iterator[None]:
    """Drawings of the block are made in a part, without the title and the legend of all parts."""
    token = _PART.set(part)
    try:
        yield
    finally:
        _PART.reset(token)


def width() -> float:
    """The width of the figure, or of the part that is drawn, in inches."""
    part = _PART.get()
    return part.width if part else look.current().width


def scale() -> float:
    """The size of type over the size in a figure of the usual width: marks follow it."""
    return float(mpl.rcParams["font.size"]) / float(look.RC["font.size"])


def letters(count: int) -> int:
    """The letters that fit where so many do in a figure of the usual width."""
    return max(12, round(count * width() / look.WIDTH / scale()))


def beside(label: str) -> str:
    """A label to the left of panels, in lines that leave the panels room.

    It is broken behind spaces, commas and opening brackets, as in `timely[t_high=1ms,beta=0.5]`.
    """
    lines = [""]
    for part in re.split(r"(?<=[\[, ])", label):
        if lines[-1] and len(lines[-1]) + len(part) > letters(34):
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def blank(height: float) -> Figure:
    """A figure without panels; narrow ones are less tall, but not in proportion."""
    if part := _PART.get():
        part.height = height
        return part.figure
    return look.DrawnFigure(width(), height * (width() / look.WIDTH) ** 0.6)


def line(index: int) -> dict[str, Any]:
    """The line of a case; beyond the number of colours, each comes with another dash."""
    cycle = mpl.rcParams["axes.prop_cycle"].by_key()
    colours, lines = cycle["color"], cycle.get("linestyle", _LINES)
    return {
        "color": colours[index % len(colours)],
        "linestyle": lines[(index + index // len(colours)) % len(lines)],
    }


def thin(part: float) -> float:
    """The width of a line that is a part of the usual one."""
    return part * float(mpl.rcParams["lines.linewidth"])


def marker(index: int) -> str:
    """The marker of a case."""
    return _MARKERS[(index + index // _colours()) % len(_MARKERS)]


def bar(index: int) -> dict[str, Any]:
    """The bar of a case: told apart by its hatching where colour does not show."""
    return {
        "facecolor": line(index)["color"],
        "edgecolor": "white",
        "hatch": _HATCHES[(index + index // _colours()) % len(_HATCHES)],
        "linewidth": 0.0,
    }


def _colours() -> int:
    return len(mpl.rcParams["axes.prop_cycle"].by_key()["color"])


def frame(results: Records, note: str = "", *, height: float) -> tuple[Figure, Axes]:
    """A figure of one panel, with the title of the results."""
    figure = blank(height)
    headline(figure, results, note)
    return figure, figure.subplots()


def band(
    axes: Axes, x: Floats, low: Floats, high: Floats, index: int, *, step: bool = False
) -> None:
    """Shades what lies between two curves of a case: between the seeds, or up to a maximum."""
    axes.fill_between(
        x, low, high, color=line(index)["color"], alpha=0.18, linewidth=0,
        step="post" if step else None,
    )  # fmt: skip


def bounds(
    axes: Axes,
    places: Iterable[tuple[float, float, Side]],
    **look_of: Any,  # noqa: ANN401
) -> None:
    """Marks values that are bounds: an open marker, and an arrow to where the value may be."""
    for x, y, side in places:
        axes.plot([x], [y], **{**look_of, "fillstyle": "none", "linestyle": "none"})
        arrow(axes, (x, y), side, look_of["color"])


def arrow(
    axes: Axes, place: tuple[float, float], side: Side, colour: str, *, flat: bool = False
) -> None:
    """An arrow up from a lower bound, down from an upper one; `flat` to the right and left."""
    length = -14 if side == "at most" else 14
    axes.annotate(
        "", place, (length, 0) if flat else (0, length), textcoords="offset points",
        arrowprops={"arrowstyle": "<-", "color": colour, "shrinkA": 0},
    )  # fmt: skip


def whisker(
    axes: Axes, place: float, mean: float, seeds: Sequence[float], *, flat: bool = False
) -> None:
    """The range of the seeds at the end of a bar; nothing for one seed."""
    if len(seeds) < 2:
        return
    off = [[max(mean - min(seeds), 0.0)], [max(max(seeds) - mean, 0.0)]]
    where: dict[str, Any] = (
        {"x": mean, "y": place, "xerr": off} if flat else {"x": place, "y": mean, "yerr": off}
    )
    axes.errorbar(
        **where, color="black", capsize=2.5 * scale(), linewidth=thin(0.6), linestyle="none",
        zorder=4,
    )  # fmt: skip


def notes(results: Records, *texts: str) -> str:
    """A remark below the title; of several seeds, on what the bands are."""
    several = any(len(case.results) > 1 for case in results.cases)
    return "; ".join(text for text in (BAND if several else "", *texts) if text)


def panels(
    results: Records, names: Sequence[str], note: str = "", *, height: float
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel below the other for each traffic; a single one does without its name.

    A single panel is `height` high; of several, each has two thirds of it.
    """
    tall = height if len(names) < 2 else 1.4 + height * len(names) * 2 / 3
    figure = blank(tall)
    headline(figure, results, note)
    grid = list(figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0])
    if len(names) > 1:
        for axes, name in zip(grid, names, strict=True):
            axes.set_title(f"traffic {name}")
    return figure, grid


def headline(figure: Figure, results: Records, note: str = "") -> None:
    """The title, wrapped to the width of the figure, and a remark below it.

    The remark is the figure's label, too: without a title it belongs into a caption.
    """
    figure.set_label(note)
    if part := _PART.get():
        figure.suptitle(part.name, fontsize="medium")
    elif look.current().title:
        text = textwrap.fill(results.title, letters(80))
        remark = f"\n{textwrap.fill(note, letters(84))}" if note else ""
        figure.suptitle(f"{text}{remark}", fontsize="medium")
        _grow(figure, f"{text}{remark}".count("\n") - 1)


def _grow(figure: Figure, lines: int) -> None:
    """Makes a figure taller by lines of text, so that its panels keep their height."""
    if lines > 0:
        line = 1.3 * float(mpl.rcParams["font.size"]) / 72
        figure.set_figheight(figure.get_figheight() + lines * line)


def fold(figure: Figure, parts: int = 1) -> None:
    """Folds the labels beside panels that are less tall than the labels are long.

    There may be several parts one above the other.
    """
    letter = 0.55 * float(mpl.rcParams["font.size"]) / 72
    for axes in figure.axes:
        place = axes.get_subplotspec()
        rows = place.get_gridspec().nrows if place else 1
        room = max(12, int(0.6 * figure.get_figheight() / rows / parts / letter))
        axes.set_ylabel(
            textwrap.fill(axes.get_ylabel(), room, break_long_words=False, break_on_hyphens=False)
        )


def headroom() -> float:
    """The height of a time series over its greatest value: for words above the lines."""
    return 1.08 if scale() >= 1 else 1.2


def legend(figure: Figure, results: Records) -> None:
    """Below the axes, where it covers nothing; a column for each case while there are few."""
    names = [case.label for case in results.cases]
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels, handles = list(found), list(found.values())
    if not labels or _PART.get():
        return
    columns = legend_columns(labels)
    _grow(figure, -(-len(labels) // columns) - 3)
    entries = list(zip(handles, labels, strict=True))
    groups = [
        [entry for entry in entries if entry[1] == name or entry[1].startswith(f"{name}: ")]
        for name in names
    ]
    if of_ideal := [entry for entry in entries if entry[1].startswith("ideal: ")]:
        groups.append(of_ideal)
    if len(names) <= FEW and len(groups) <= columns:
        columns = len(groups)
        # A legend is filled column by column: short columns get empty entries.
        rows = max(map(len, groups))
        nothing = (Line2D([], [], linestyle="none"), "")
        padded = [entry for group in groups for entry in [*group, *[nothing] * (rows - len(group))]]
        handles, labels = [entry[0] for entry in padded], [entry[1] for entry in padded]
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize="small")


def legend_columns(labels: Sequence[str]) -> int:
    """The number of legend columns: as many as fit, and no more rows than needed."""
    inches = scale() * (0.6 + 0.058 * max(map(len, labels)))
    columns = max(1, min(5, int(width() / inches), len(labels)))
    rows = -(-len(labels) // columns)
    return -(-len(labels) // rows)


def absent(axes: Axes, labels: Sequence[str], what: str) -> None:
    """Names in the legend the cases that have nothing to show: they were not forgotten."""
    for label in labels:
        axes.plot([], [], linestyle="none", label=f"{label}: {what}")


def microseconds(axes: Axes, lowest: float, highest: float) -> None:
    """A logarithmic x axis where values are far apart, else a linear one from zero."""
    if highest > 10 * max(lowest, 1e-3):
        logarithmic(axes, "x", max(lowest, 1e-3), highest)
    else:
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(_plain(axes.xaxis, highest))


def both_sides(axes: Axes, reach: float) -> None:
    """A linear x axis with zero on it, of times on both sides of it."""
    axes.xaxis.set_major_formatter(_plain(axes.xaxis, reach))


def _plain(axis: Axis, highest: float) -> ticker.Formatter:
    """Plain numbers; long times, which are microseconds, are shown as milliseconds."""
    label = axis.get_label_text()
    if highest < _LONG_US or not label.endswith("(us)"):
        return _Plain(1.0)
    axis.set_label_text(f"{label.removesuffix('(us)')}(ms)")
    return _Plain(1e3)


class _Plain(ticker.Formatter):
    """Plain numbers, in a multiple of the unit of what is drawn."""

    def __init__(self, unit: float) -> None:
        self.unit = unit

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - as matplotlib has it
        """The number beside a tick."""
        return f"{x / self.unit:g}"


def unit(axis: Axis) -> float:
    """The unit of the numbers on an axis, in units of the data."""
    formatter = axis.get_major_formatter()
    return formatter.unit if isinstance(formatter, _Plain) else 1.0


def logarithmic(axes: Axes, which: str, lowest: float, highest: float) -> None:
    """A logarithmic axis with plain numbers, at 1, 2 and 5 while there is room for them."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    decades = np.log10(highest / lowest) if lowest > 0 else 9
    room = letters(100) / 100 if which == "x" else 1.0
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if decades < 3.5 * room else (1,)))
    axis.set_major_formatter(_plain(axis, highest))
    axis.set_minor_formatter(ticker.NullFormatter())


def few_ticks(axes: Axes) -> None:
    """So few numbers below a narrow panel that long ones do not run into each other."""
    least = 2 if axes.get_xlim()[1] >= 1e4 else 3
    axes.xaxis.set_major_locator(ticker.MaxNLocator(max(least, letters(40) // 10)))


def nothing(figure: Figure, axes: Axes, why: str) -> Figure:
    """A panel that says why it is empty."""
    axes.text(0.5, 0.5, why, ha="center", va="center", color=MUTED, transform=axes.transAxes)
    return figure


def shade_unmeasured(
    axes: Axes, results: Records, *, words: bool = True, room: float = 1.0
) -> None:
    """Sets off the parts of a time series that summary and tables leave out.

    `room` is the panel's part of the usual width, which decides where the words stand.
    """
    spans = {
        (*window_us(one.scenario), (one.scenario.duration_s + (one.scenario.drain_s or 0.0)) * 1e6)
        for one in results.members
    }
    if len(spans) != 1:
        return
    begin, end, whole = (time / 1e3 for time in spans.pop())
    left, right = axes.get_xlim()
    whole = min(whole, max(right, end))  # a drain may end before its limit
    seen = max(right, whole) - min(left, 0.0)
    for first, last, name in ((0, begin, "warm-up"), (end, whole, "cool-down")):
        if last <= first:
            continue
        axes.axvspan(first, last, color="0.95", linewidth=0, zorder=0)
        if not words:
            continue
        # The words stand in the shade, in two lines where it is narrow, or beside it.
        share = room * (last - first) / seen * letters(100) / 100
        inside = share > _NARROWEST
        before = inside == (name == "warm-up")
        said = f"{name},{' ' if share > _WIDE or not inside else chr(10)}not measured"
        said = name if _PART.get() else said
        arrow = "" if inside else "←" if name == "warm-up" else "→"
        axes.annotate(
            f"{said} {arrow}" if before and arrow else f"{arrow} {said}" if arrow else said,
            xy=(last if name == "warm-up" else first, 1),
            xytext=(-4 if before else 4, -3), fontsize="x-small",
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="right" if before else "left", va="top", color=MUTED,
        )  # fmt: skip


def binned(
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
