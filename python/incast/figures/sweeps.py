"""Figures of sweeps: lines with bands over one axis, heat maps over two."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import ideals, look, style
from incast.figures.errors import FigureError
from incast.results.axes import Axis, Point
from incast.results.quantities import numbers
from incast.results.seeds import SIGNS, Spread
from incast.results.settings import short
from incast.results.sweeps import SweepRecord, unit_of
from incast.terminal.numbers import number

MOST_PANELS = 12
"""The most panels of a figure."""

# The most cells of a heat map, each way, that have their number in them.
_WRITTEN = 8
# Numbers that are as far apart are drawn on a logarithmic axis.
_FAR = 20.0


def why_not(sweep: SweepRecord) -> str | None:
    """The reason why a sweep cannot be drawn, None if it can."""
    live = _live(sweep)
    panels = math.prod(len(axis.values) for _, axis in live[1:]) if len(live) > 2 else 1
    panels = len(sweep.schemes) if len(live) == 2 else panels
    if panels <= MOST_PANELS:
        return None
    what = "schemes" if len(live) == 2 else "combinations of all axes but the first"
    return f"{panels} {what}: a figure has at most {MOST_PANELS} panels"


def draw(sweep: SweepRecord, metric: str) -> Figure:
    """A figure of one metric, in the look that is in use.

    Raises:
        FigureError: There are too many panels.
    """
    if why := why_not(sweep):
        raise FigureError(why)
    live = _live(sweep)
    return _maps(sweep, metric, live) if len(live) == 2 else _lines(sweep, metric, live)


def _live(sweep: SweepRecord) -> list[tuple[int, Axis]]:
    """The axes of several values, with their numbers."""
    return [(number, axis) for number, axis in enumerate(sweep.axes) if len(axis.values) > 1]


def _lines(sweep: SweepRecord, metric: str, live: Sequence[tuple[int, Axis]]) -> Figure:
    """Means over the first axis, with bands of their intervals; panels for all other axes."""
    groups = _groups(sweep, live[1:])
    columns = len(groups) if len(groups) < 4 else 2 if len(groups) == 4 else 3
    rows = -(-len(groups) // columns)
    figure = style.blank(3.8 if rows == 1 else 1.2 + 2.4 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    of_point = _x(live[0][1]) if live else None
    for axes, (name, points) in zip(grid.flat, groups, strict=False):
        axes.set_title(textwrap.fill(name, style.letters(84 // columns)), fontsize="small")
        for index, scheme in enumerate(sweep.schemes):
            _line(axes, sweep, metric, index, scheme, points, live[0] if live else None)
        _ideal(axes, sweep, metric, points, live[0] if live else None)
        if of_point is not None:
            _x_axis(axes, of_point)
        else:
            axes.set_xticks([])
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    for axes in list(grid.flat)[len(groups) :]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(metric_name(metric))
    # The last panel of each column, below which there may be nothing.
    for axes in list(grid.flat)[max(0, len(groups) - columns) : len(groups)] if live else ():
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(_label(live[0][1]))
    every = ((point.number, scheme) for point in sweep.points for scheme in sweep.schemes)
    bounded = any((one := sweep.spread(*pair, metric)) and one.side for pair in every)
    _headline(figure, sweep, "; ".join([_said(sweep), *([style.ARROWS] if bounded else [])]))
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=style.legend_columns(labels),
        fontsize="small",
    )
    return figure


def _line(
    axes: Axes,
    sweep: SweepRecord,
    metric: str,
    index: int,
    scheme: str,
    points: Sequence[Point],
    over: tuple[int, Axis] | None,
) -> None:
    number = over[0] if over else None
    xs = _x(over[1])[0] if over else [0.0]
    found: list[tuple[float, Spread]] = []
    for point in points:
        value = sweep.spread(point.number, scheme, metric)
        if value is not None:
            place = xs[point.places[number]] if number is not None else float(index)
            found.append((place, value))
    found.sort(key=lambda pair: pair[0])
    x = np.array([place for place, _ in found])
    means = np.array([value.mean for _, value in found])
    ordered = over is not None and _x(over[1])[1] is None
    look_of: dict[str, Any] = {
        **style.line(index),
        "marker": style.marker(index),
        "markersize": 5 * style.scale(),
    }
    if not ordered:
        look_of["linestyle"] = "none"
    known = [at for at, (_, value) in enumerate(found) if not value.side]
    axes.plot(x, means, label=scheme, markevery=known, **look_of)
    style.bounds(axes, ((at, one.mean, one.side) for at, one in found if one.side), **look_of)
    # A bound has no band: nobody knows how far the value is off.
    ends = [
        (np.nan, np.nan) if value.side else value.interval or (value.mean, value.mean)
        for _, value in found
    ]
    low, high = (np.array([end[which] for end in ends]) for which in (0, 1))
    if ordered:
        style.band(axes, x, low, high, index)
    elif found:
        axes.errorbar(
            x, means, yerr=[np.maximum(means - low, 0), np.maximum(high - means, 0)],
            color=look_of["color"], linestyle="none", capsize=3 * style.scale(),
        )  # fmt: skip


def _ideal(
    axes: Axes,
    sweep: SweepRecord,
    metric: str,
    points: Sequence[Point],
    over: tuple[int, Axis] | None,
) -> None:
    """The ideal of the messages, where the runs have it: thin grey lines, without bands."""
    if over is None:
        return
    number, axis = over
    xs, texts = _x(axis)
    for reference in ideals.REFERENCES:
        found = [
            (xs[point.places[number]], value.mean)
            for point in points
            if (value := sweep.ideal(point.number, reference.name, metric))
        ]
        if not found:
            continue
        x, y = np.array(sorted(found)).T
        marks = {"marker": "_", "linestyle": "none"} if texts is not None else {}
        axes.plot(x, y, label=reference.label, **{**ideals.line(reference), **marks})


def _maps(sweep: SweepRecord, metric: str, live: Sequence[tuple[int, Axis]]) -> Figure:
    """A map of means over two axes for each scheme, all in the same colours."""
    (first, across), (second, up) = live
    columns = min(len(sweep.schemes), 2)
    rows = -(-len(sweep.schemes) // columns)
    figure = style.blank(1.2 + 2.6 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    tables, signs = [], []
    for scheme in sweep.schemes:
        table = np.full((len(up.values), len(across.values)), np.nan)
        signs.append(np.full(table.shape, "", dtype=object))
        for point in sweep.points:
            value = sweep.spread(point.number, scheme, metric)
            if value is not None:
                place = point.places[second], point.places[first]
                table[place], signs[-1][place] = value.mean, SIGNS[value.side]
        tables.append(table)
    known = np.concatenate([table[np.isfinite(table)] for table in tables])
    least, most = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    missing = sum(table.size for table in tables) - known.size
    shades = mpl.colormaps["cividis"].with_extremes(bad="0.85")
    for axes, scheme, table, of_bounds in zip(
        grid.flat, sweep.schemes, tables, signs, strict=False
    ):
        axes.set_title(scheme, fontsize="small")
        image = axes.imshow(
            np.ma.masked_invalid(table), origin="lower", aspect="auto", cmap=shades, vmin=least,
            vmax=most, interpolation="nearest",
        )  # fmt: skip
        axes.grid(visible=False)
        _ticks(axes, "x", across)
        _ticks(axes, "y", up)
        _write_numbers(axes, table, of_bounds, (least + most) / 2)
    for axes in list(grid.flat)[len(sweep.schemes) :]:
        axes.remove()
    figure.supxlabel(", ".join(short(across.keys)), fontsize="medium")
    figure.supylabel(", ".join(short(up.keys)), fontsize="medium")
    figure.colorbar(image, ax=list(grid.flat)[: len(sweep.schemes)], label=metric_name(metric))
    notes = [f"means{_over(sweep)}", *(["grey: no value"] if missing else [])]
    if any(of_bounds.any() for of_bounds in signs):
        notes.append("≥: at least so much")
    _headline(figure, sweep, "; ".join(notes))
    return figure


def _write_numbers(axes: Axes, table: style.Floats, signs: Any, middle: float) -> None:  # noqa: ANN401
    """The numbers in their cells, bounds with their signs; of many cells the signs alone."""
    few = max(table.shape) <= _WRITTEN
    for (up, across), value in np.ndenumerate(table):
        text = f"{signs[up, across]}{number(value) if few else ''}".strip()
        if np.isfinite(value) and text:
            axes.text(
                across, up, text, ha="center", va="center", fontsize="x-small",
                color="white" if value < middle else "black",
            )  # fmt: skip


def _ticks(axes: Axes, which: str, axis: Axis) -> None:
    """The values of an axis, as many as there is room for."""
    step = -(-len(axis.values) // 10)
    places = list(range(0, len(axis.values), step))
    texts = [", ".join(axis.values[place]) for place in places]
    long = which == "x" and sum(map(len, texts)) > style.letters(30)
    if which == "x":
        axes.set_xticks(places, texts, rotation=30 if long else 0, ha="right" if long else "center")
    else:
        axes.set_yticks(places, texts)


def _x(axis: Axis) -> tuple[list[float], list[str] | None]:
    """The places of values on a line, and their texts where they are no numbers."""
    found = numbers([one[0] for one in axis.values])
    if found is not None and len(set(found.values)) == len(found.values):
        return list(found.values), None
    return [float(place) for place in range(len(axis.values))], [
        ", ".join(one) for one in axis.values
    ]


def _x_axis(axes: Axes, places: tuple[list[float], list[str] | None]) -> None:
    values, texts = places
    if texts is not None:
        axes.set_xticks(values, texts, rotation=30, ha="right")
    else:
        far(axes, "x", values)


def far(axes: Axes, which: str, values: Sequence[float]) -> None:
    """A logarithmic axis where numbers lie far apart."""
    known = [value for value in values if math.isfinite(value)]
    if known and min(known) > 0 and max(known) >= _FAR * min(known):
        style.logarithmic(axes, which, min(known), max(known))


def _label(axis: Axis) -> str:
    """The keys of an axis in short, with the unit of the first one if it is drawn by number."""
    names = short(axis.keys)
    found = numbers([one[0] for one in axis.values])
    unit = f" ({found.shown})" if found and found.unit and _x(axis)[1] is None else ""
    return f"{names[0]}{unit}" + "".join(f", with {name}" for name in names[1:])


def _groups(
    sweep: SweepRecord, others: Sequence[tuple[int, Axis]]
) -> list[tuple[str, list[Point]]]:
    """The points of each panel, by the values of the axes beside the first."""
    names = short([key for _, axis in others for key in axis.keys]) if others else []
    found: dict[tuple[int, ...], list[Point]] = {}
    for point in sweep.points:
        found.setdefault(tuple(point.places[number] for number, _ in others), []).append(point)
    groups = []
    for places, points in found.items():
        values = [
            value
            for (_, axis), place in zip(others, places, strict=True)
            for value in axis.values[place]
        ]
        said = (f"{name}={value}" for name, value in zip(names, values, strict=True))
        groups.append((", ".join(said), points))
    return groups


def metric_words(metric: str) -> str:
    """A figure of the summary in words, without its unit."""
    found = metric.removesuffix("_us").removesuffix("_kb").removesuffix("_gbps").replace("_", " ")
    for word in ("rtt", "pfc", "ecn"):
        found = found.replace(word, word.upper())
    return found


def metric_name(metric: str) -> str:
    """A figure of the summary with its unit."""
    unit = unit_of(metric)
    return (
        f"{metric_words(metric)} ({unit})" if unit and unit != "packets" else metric_words(metric)
    )


def _over(sweep: SweepRecord) -> str:
    count = len(sweep.seeds)
    return f" over {count} seeds" if count > 1 else ""


def _said(sweep: SweepRecord) -> str:
    if len(sweep.seeds) < 2:
        return "one seed: no confidence intervals"
    return f"means{_over(sweep)}, with 95 % confidence intervals by Student's t"


def _headline(figure: Figure, sweep: SweepRecord, note: str) -> None:
    figure.set_label(note)
    headline(figure, sweep.title, note, complete=sweep.complete)


def headline(figure: Figure, title: str, note: str, *, complete: bool) -> None:
    """The title of a study and a note below it, where figures have titles."""
    if look.current().title:
        text = textwrap.fill(title if complete else f"{title} (incomplete)", style.letters(80))
        figure.suptitle(f"{text}\n{textwrap.fill(note, style.letters(84))}", fontsize="medium")
