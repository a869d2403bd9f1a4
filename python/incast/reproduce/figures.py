"""The figures of an experiment, as its file says, and the rows that each was drawn from."""

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import ideals, look, style
from incast.figures.canvas import on_canvas
from incast.reproduce.experiment import SpecCase, SpecFigure
from incast.reproduce.outcome import At, Outcome
from incast.reproduce.words import case_label, earlier, heading
from incast.results.seeds import Spread
from incast.terminal.numbers import measured, number, stated

Floats = npt.NDArray[np.float64]

_PANEL = 2.7  # inches
_PER_CASE = 0.3
_FEW_TICKS = 6
_SMALL = (3.4, 2.3)  # inches of a thumbnail
_FEW_ENTRIES, _SHORT_LEGEND = 6, 90  # entries and letters in the legend of a thumbnail
_NUMBER = 0.12  # room that a number takes beside a bar, of the longest bar


@dataclass(frozen=True)
class Trace:
    """A series in a panel, for its page: its artists, and its points with their values."""

    axes: Axes
    label: str
    """The label in the legend, where it is there."""
    artists: list[Artist]
    x: Floats
    y: Floats
    said: list[tuple[str, str]] | None = None
    """The values of each point in words, along x and y; the numbers `x` and `y` if None."""
    flat: bool = False
    """Whether it is a bar: it has one value, along x."""


@dataclass
class Drawn:
    """A figure, and what is in it."""

    name: str
    title: str
    figure: Figure
    rows: list[pl.DataFrame] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)

    @property
    def data(self) -> pl.DataFrame:
        """The drawn data, a row for each point."""
        return pl.concat(self.rows, how="diagonal_relaxed") if self.rows else pl.DataFrame()


def draw(of: Outcome) -> list[Drawn]:
    """All figures of an experiment, in the order of its file."""
    with look.use(look.Look()):
        return [_draw(of, wanted) for wanted in of.experiment.figure]


def thumbnail(of: Outcome) -> Figure:
    """The first figure of an experiment, small: its panel in which the cases differ most.

    Earlier set-ups are left out.
    """
    wanted = of.experiment.figure[0]
    cases = [case.name for case in _cases(of, wanted) if not case.earlier] or wanted.cases
    wanted = msgspec.structs.replace(wanted, cases=cases, title=" ")
    if wanted.columns:
        telling = max(wanted.columns, key=lambda column: _apart(of, wanted, column))
        wanted = msgspec.structs.replace(wanted, columns=[telling])
    with look.use(look.Look(width=_SMALL[0])):
        drawn = Drawn("thumbnail", "", look.DrawnFigure(*_SMALL))
        *_, (_, panel) = _panels(of, wanted)  # along an axis the last value tells most
        axes = drawn.figure.subplots()
        panel(axes, drawn)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_label_text(textwrap.fill(axis.get_label_text(), 34))
        if wanted.kind == "bars":
            names = [text.get_text() for text in axes.get_yticklabels()]
            axes.set_yticks(
                axes.get_yticks(),
                [textwrap.shorten(name, 24, placeholder=" …") for name in names],
            )
        labels = {trace.label for trace in drawn.traces}
        if len(labels) <= _FEW_ENTRIES and sum(map(len, labels)) <= _SHORT_LEGEND:
            _legend(drawn.figure)
        return on_canvas(drawn.figure)


def _apart(of: Outcome, wanted: SpecFigure, column: str) -> float:
    """The distance of the cases in a column where they are farthest apart, from 0 to 1."""
    together: dict[At, list[float]] = {}
    for case in _cases(of, wanted):
        for at in of.places(case):
            if found := _finite(of, case.name, at, column):
                place = at if wanted.kind == "lines" else None
                together.setdefault(place, []).append(found.mean)
    ends = [(min(own), max(own)) for own in together.values()]
    return max(((high - low) / (abs(high) + abs(low) or 1) for low, high in ends), default=0.0)


def _draw(of: Outcome, wanted: SpecFigure) -> Drawn:
    panels = list(_panels(of, wanted))
    cases = _cases(of, wanted)
    tall = 0.9 + _PER_CASE * len(cases) if wanted.kind == "bars" else _PANEL
    figure = on_canvas(style.blank(1.3 + tall * len(panels)))
    drawn = Drawn(wanted.name, wanted.title or of.experiment.title, figure)
    grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, (title, panel) in zip(grid, panels, strict=True):
        panel(axes, drawn)
        if title:
            axes.set_title(title)
        if not axes.has_data():
            style.nothing(figure, axes, "nothing was measured")
    _headline(of, wanted, drawn)
    _legend(figure)
    return drawn


def _headline(of: Outcome, wanted: SpecFigure, drawn: Drawn) -> None:
    note = []
    if of.quick:
        note.append("quick: shorter runs and fewer seeds")
    if of.seeds > 1 and wanted.kind in ("lines", "bars"):
        note.append(f"means over {of.seeds} seeds, 95 % confidence intervals")
    if any(case.earlier for case in _cases(of, wanted)):
        note.append(earlier(of).rstrip("."))
    text = textwrap.fill(drawn.title, 80)
    drawn.figure.suptitle(
        "\n".join([text, textwrap.fill("; ".join(note), 100)]) if note else text, fontsize="medium"
    )


def _legend(figure: Figure) -> None:
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        widest = max(map(len, found))
        columns = max(1, min(4, int(style.width() / (0.6 + 0.062 * widest))))
        figure.legend(
            list(found.values()), list(found), loc="outside lower center", ncols=columns,
            fontsize="small",
        )  # fmt: skip


Panel = Callable[[Axes, Drawn], None]


def _panels(of: Outcome, wanted: SpecFigure) -> Iterator[tuple[str, Panel]]:
    """Title and painter of each panel."""
    if wanted.kind in ("lines", "bars"):
        painter = _lines if wanted.kind == "lines" else _bars
        for column in wanted.columns:

            def paint(axes: Axes, drawn: Drawn, column: str = column) -> None:
                painter(of, wanted, column, axes, drawn)

            yield "", paint
        return
    varied = [case for case in _cases(of, wanted) if case.axis and of.axis]
    places: list[At] = [*(at for at in of.axis if not wanted.at or at in wanted.at)]
    for at in places if varied else [None]:

        def show(axes: Axes, drawn: Drawn, at: At = at) -> None:
            _curves(of, wanted, at, axes, drawn)

        axis = of.experiment.axis
        yield (f"{axis.label or axis.name}: {at}" if axis and at is not None else ""), show


def _cases(of: Outcome, wanted: SpecFigure) -> list[SpecCase]:
    return [case for case in of.experiment.case if not wanted.cases or case.name in wanted.cases]


def _index(of: Outcome, case: SpecCase) -> int:
    """A case has the same colour in all figures of an experiment."""
    return of.experiment.case.index(case)


def _line(of: Outcome, case: SpecCase) -> dict[str, Any]:
    """The line of a case: thin and grey if it is the ideal."""
    return ideals.line_of(case.ideal) if case.ideal else style.line(_index(of, case))


def _faded(case: SpecCase) -> float:
    """The opacity of a case: earlier set-ups stand behind the others."""
    return 0.45 if case.earlier else 1.0


def _lines(of: Outcome, wanted: SpecFigure, column: str, axes: Axes, drawn: Drawn) -> None:
    axis = of.experiment.axis
    if axis is None:  # such a file is refused earlier
        return
    numeric = all(isinstance(value, (int, float)) for value in of.axis)
    place = {value: value if numeric else index for index, value in enumerate(of.axis)}
    for case in _cases(of, wanted):
        index = _index(of, case)
        label = case_label(of, case.name)
        level = not case.axis
        points = [
            (at, found) for at in of.places(case) if (found := _finite(of, case.name, at, column))
        ]
        if not points:
            continue
        artists: list[Artist]
        told = points
        if level:
            only = points[0][1]
            artists = [axes.axhline(only.mean, label=label, alpha=_faded(case), **_line(of, case))]
            if only.interval is not None:
                colour = _line(of, case)["color"]
                artists.append(axes.axhspan(*only.interval, color=colour, alpha=0.15, linewidth=0))
            told = [(at, only) for at in of.axis]  # the same value at every place
        else:
            x = [place[at] for at, _ in points]  # type: ignore[index]
            artists = axes.errorbar(
                x, [found.mean for _, found in points],
                yerr=np.transpose([_off(found) for _, found in points]),
                label=label, marker="" if case.ideal else style.marker(index), markersize=5,
                capsize=3, alpha=_faded(case), **_line(of, case),
            ).get_children()  # fmt: skip
        drawn.traces.append(
            Trace(
                axes, label, artists,
                np.array([place[at] for at, _ in told], float),  # type: ignore[index, arg-type]
                np.array([found.mean for _, found in told]),
                [(str(at), measured(found)) for at, found in told],
            )
        )  # fmt: skip
        drawn.rows.append(
            pl.DataFrame(
                {
                    "case": case.name,
                    "column": column,
                    axis.name: [str(at) for at, _ in points],
                    "mean": [found.mean for _, found in points],
                    "half_width": [found.half_width for _, found in points],
                }
            )
        )
        said = [(at, of.published(case.name, at, column)) for at in of.axis]
        known = [(place[at], value) for at, value in said if value is not None]
        if known:
            x, y = np.array(known, float).T
            published = axes.plot(
                x, y, linestyle="none", marker="*", markersize=11,
                color=_line(of, case)["color"], markeredgecolor="black",
                label=f"{label}, published",
            )  # fmt: skip
            words = [(str(at), stated(value)) for at, value in said if value is not None]
            drawn.traces.append(Trace(axes, f"{label}, published", [*published], x, y, words))
    if numeric and len(of.axis) <= _FEW_TICKS and axis.scale == "linear":
        axes.set_xticks([float(value) for value in of.axis])
    if not numeric:
        axes.set_xticks(range(len(of.axis)), [str(value) for value in of.axis])
    axes.set_xlabel(wanted.x or axis.label or axis.name)
    axes.set_ylabel(wanted.y or heading(of, column))
    _scales(axes, wanted, numeric and axis.scale == "log")


def _off(found: Spread) -> tuple[float, float]:
    """The error bars of a mean, below and above."""
    low, high = found.interval or (found.mean, found.mean)
    return found.mean - low, high - found.mean


def _finite(of: Outcome, case: str, at: At, column: str) -> Spread | None:
    """The mean of a value, which has a place in a figure unless it is endless."""
    found = of.spread(case, at, column)
    return found if found is not None and math.isfinite(found.mean) else None


def _bars(of: Outcome, wanted: SpecFigure, column: str, axes: Axes, drawn: Drawn) -> None:
    names, place = [], 0
    shown = [(case.name, at) for case in _cases(of, wanted) for at in of.places(case)]
    means = [found.mean for one in shown if (found := _finite(of, *one, column))]
    widest = max([*means, *(of.published(*one, column) or 0.0 for one in shown)], default=1.0)
    for case in _cases(of, wanted):
        for at in of.places(case):
            label = case_label(of, case.name)
            names.append(label if at is None else f"{label}, {at}")
            found = _finite(of, case.name, at, column)
            said = of.published(case.name, at, column)
            if found is not None:
                (patch,) = axes.barh(
                    place, found.mean, height=0.6, alpha=_faded(case),
                    **style.bar(_index(of, case)),
                )  # fmt: skip
                beside = "" if said is None else f"; published {stated(said)}"
                drawn.traces.append(
                    Trace(
                        axes, names[-1], [patch], np.array([found.mean]), np.array([place]),
                        [(f"{measured(found)}{beside}", "")], flat=True,
                    )
                )  # fmt: skip
                if found.half_width:
                    axes.errorbar(
                        found.mean, place, xerr=np.transpose([_off(found)]), color="black",
                        capsize=3, linewidth=1.2,
                    )  # fmt: skip
                end = found.mean + (found.half_width or 0.0)
                if said is not None and end < said < end + _NUMBER * widest:
                    end = said  # so that the star does not stand on the number
                axes.annotate(
                    number(found.mean), (end, place), (9, 0),
                    textcoords="offset points", va="center", fontsize="small",
                )  # fmt: skip
            else:
                axes.annotate(
                    "none", (0, place), (3, 0), textcoords="offset points", va="center",
                    color=style.MUTED,
                )  # fmt: skip
            if said is not None:
                star = axes.plot(
                    [said], [place], marker="*", linestyle="none", markersize=11, color="white",
                    markeredgecolor="black", label="published", zorder=5,
                )  # fmt: skip
                drawn.traces.append(
                    Trace(
                        axes, "published", [*star], np.array([said]), np.array([place]),
                        [(stated(said), "")], flat=True,
                    )
                )  # fmt: skip
            drawn.rows.append(
                pl.DataFrame(
                    {
                        "case": [names[-1]],
                        "column": [column],
                        "mean": [found.mean if found else None],
                        "half_width": [found.half_width if found else None],
                        "published": [said],
                    }
                )
            )
            place += 1
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(wanted.x or heading(of, column))
    if "x" in wanted.log:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))


def _curves(of: Outcome, wanted: SpecFigure, at: At, axes: Axes, drawn: Drawn) -> None:
    for case in _cases(of, wanted):
        here = at if case.axis and of.axis else None
        rows = of.curve(wanted.curve, case.name, here)
        if rows.is_empty():
            continue
        label, index = case_label(of, case.name), _index(of, case)
        apart = rows.partition_by("line", maintain_order=True) if "line" in rows.columns else [rows]
        for number_of, own in enumerate(apart):
            if wanted.kind in ("cdf", "ccdf"):
                own = _distribution(own, ccdf=wanted.kind == "ccdf")  # noqa: PLW2901
            x, y = own["x"].to_numpy(), own["y"].to_numpy()
            name = label if number_of == 0 else None
            if wanted.kind == "points":
                lines = axes.plot(
                    x, y, linestyle="none", marker=style.marker(index), markersize=3, alpha=0.5,
                    color=_line(of, case)["color"], label=name, rasterized=True,
                )  # fmt: skip
            else:
                drawstyle = "default" if wanted.kind == "curves" else "steps-post"
                lines = axes.plot(
                    x, y, label=name, drawstyle=drawstyle, alpha=_faded(case), **_line(of, case)
                )
            drawn.traces.append(Trace(axes, label, [*lines], x.astype(float), y.astype(float)))
            drawn.rows.append(own.select(pl.lit(case.name).alias("case"), pl.all()))
    axes.set_xlabel(wanted.x or "x")
    axes.set_ylabel(
        wanted.y
        or {"cdf": "share of all", "ccdf": "share above", "curves": "y", "points": "y"}[wanted.kind]
    )
    _scales(axes, wanted, False)
    if wanted.kind == "ccdf":
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(axes.get_ylim()[0], 1e-4))


def _distribution(rows: pl.DataFrame, *, ccdf: bool) -> pl.DataFrame:
    """Values and weights, of all seeds together, as a distribution."""
    found = rows.group_by("x").agg(pl.col("y").sum()).sort("x")
    share = found["y"].cum_sum() / max(float(found["y"].sum()), 1e-300)
    return found.with_columns(y=1 - share if ccdf else share)


def _scales(axes: Axes, wanted: SpecFigure, axis_log: bool) -> None:
    low, high = axes.get_xlim()
    if "x" in wanted.log or axis_log:
        _logarithmic(axes, "x")
    elif low < 0 <= high and wanted.kind in ("cdf", "ccdf"):
        axes.set_xlim(left=0)
    if "y" in wanted.log:
        _logarithmic(axes, "y")
    elif wanted.kind == "lines" and axes.get_ylim()[0] > 0:
        axes.set_ylim(bottom=0)


def _logarithmic(axes: Axes, which: str) -> None:
    """A logarithmic axis with plain numbers, as far as what is drawn goes."""
    found = np.array(
        [
            value
            for one in axes.get_lines()
            for value in np.asarray(one.get_xdata() if which == "x" else one.get_ydata(), float)
            if value > 0
        ]
    )
    if found.size:
        style.logarithmic(axes, which, float(found.min()), float(found.max()))
