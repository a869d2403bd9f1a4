"""Figures inside pages: the SVG of each, and its points with their values, to be hovered."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.offsetbox import DrawingArea
from matplotlib.patches import Patch

from incast.figures import style
from incast.reproduce.figures import Drawn, Floats, Trace
from incast.terminal.numbers import number

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_POINTS = 72.0  # units of an SVG's view box in an inch
_COLUMN = 0.5  # units; a line has at most four points in a column so wide
_APART = 3.0  # units between points that are told
# The ids of marked groups: a series, and the number of the artist.
_MARK = re.compile(r"(series|entry)-(\d+)-\d+")
_LOCAL = re.compile(r"url\(#([^)]+)\)")


@dataclass(frozen=True)
class Inlined:
    """A figure for a page."""

    name: str
    title: str
    svg: str
    """An element `svg` without references to anything outside of it."""
    data: str
    """JSON: names of the series; panels with their box, labels and points."""


def inline(drawn: Drawn, prefix: str) -> Inlined:
    """The SVG of a figure whose series are told apart, and what a pointer finds in it.

    Args:
        drawn: The figure; it is as before afterwards.
        prefix: The beginning of the ids in the SVG, which are to be unique in the page.
    """
    names = list(dict.fromkeys(trace.label for trace in drawn.traces))
    with _marked(drawn, names), _thinned(drawn):
        file = io.BytesIO()
        drawn.figure.savefig(file, format="svg", metadata={"Date": None})
    # Afterwards: the drawing has laid out the panels.
    panels = list(_panels(drawn, names))
    data = json.dumps({"series": names, "panels": panels}, separators=(",", ":"))
    svg = _cleaned(file.getvalue(), prefix, drawn.title)
    return Inlined(drawn.name, drawn.title, svg, data.replace("<", "\\u003c"))


@contextmanager
def _marked(drawn: Drawn, names: Sequence[str]) -> Iterator[None]:
    """Marks the artists of series, and of their entries in the legend, by ids."""
    marked: list[Artist] = []

    def mark(kind: str, label: str, artists: Sequence[Artist]) -> None:
        for artist in artists:
            artist.set_gid(f"{kind}-{names.index(label)}-{len(marked)}")
            marked.append(artist)

    for trace in drawn.traces:
        mark("series", trace.label, trace.artists)
    for legend in drawn.figure.legends:
        boxes = legend.findobj(DrawingArea)
        for text, box in zip(legend.get_texts(), boxes, strict=True):
            if text.get_text() in names:
                mark("entry", text.get_text(), [text, *box.get_children()])
    try:
        yield
    finally:
        for artist in marked:
            artist.set_gid(None)


@contextmanager
def _thinned(drawn: Drawn) -> Iterator[None]:
    """Leaves out what nobody sees, and draws no picture in place of points.

    That is points of lines, and the hatching of bars, each of which has its name beside it.
    """
    before: list[tuple[Line2D, Any, Any, bool | None]] = []
    hatched: list[tuple[Patch, str]] = []
    # The units of the panels are known when the figure has been laid out.
    drawn.figure.draw_without_rendering()
    for trace in drawn.traces:
        for line in trace.artists:
            if isinstance(line, Patch) and (hatch := line.get_hatch()):
                hatched.append((line, hatch))
                line.set_hatch("")
            elif isinstance(line, Line2D) and trace.said is None:
                x, y = line.get_data(orig=True)
                before.append((line, x, y, line.get_rasterized()))
                kept = _seen(drawn.figure, trace, scattered=line.get_linestyle() == "None")
                line.set_data(np.asarray(x)[kept], np.asarray(y)[kept])
                line.set_rasterized(False)
    try:
        yield
    finally:
        for line, x, y, raster in before:
            line.set_data(x, y)
            line.set_rasterized(bool(raster))
        for patch, hatch in hatched:
            patch.set_hatch(hatch)


def _seen(figure: Figure, trace: Trace, *, scattered: bool) -> Any:  # noqa: ANN401 - an index
    """The points to draw: of a line the first, lowest, highest and last in each narrow column."""
    places = _places(figure, trace)
    if scattered:
        return np.sort(np.unique(np.round(places / _COLUMN), axis=0, return_index=True)[1])
    column = np.floor(places[:, 0] / _COLUMN)
    if len(column) < 3 or not np.isfinite(places).all():
        return slice(None)
    begins = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    ends = np.append(begins[1:], len(column))
    kept: set[int] = set()
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        y = places[begin:end, 1]
        kept |= {begin, end - 1, begin + int(y.argmin()), begin + int(y.argmax())}
    return sorted(kept)


def _places(figure: Figure, trace: Trace) -> Floats:
    """The points of a trace in units of the view box, which count downwards."""
    at = np.column_stack([trace.x, trace.y])
    with np.errstate(all="ignore"):
        share = figure.transFigure.inverted().transform(trace.axes.transData.transform(at))
    width, height = (float(inches) * _POINTS for inches in figure.get_size_inches())
    return np.column_stack([share[:, 0] * width, (1 - share[:, 1]) * height])


def _panels(drawn: Drawn, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    width, height = (float(inches) * _POINTS for inches in drawn.figure.get_size_inches())
    for axes in drawn.figure.axes:
        box = axes.get_position()
        edges = (box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height)
        bars = any(trace.axes is axes and trace.flat for trace in drawn.traces)
        yield {
            "box": [round(edge, 1) for edge in edges],
            "x": axes.get_xlabel(),
            "y": "" if bars else axes.get_ylabel(),
            "traces": [
                [names.index(trace.label), *_told(drawn.figure, trace, edges)]
                for trace in drawn.traces
                if trace.axes is axes
            ],
        }


def _told(figure: Figure, trace: Trace, box: Sequence[float]) -> Iterator[list[float | str]]:
    """The points of a trace that a pointer finds, none close to another: place, then values."""
    last = np.array([np.nan, np.nan])
    left, top, right, bottom = box
    for index, place in enumerate(_places(figure, trace)):
        inside = left - 1 <= place[0] <= right + 1 and top - 1 <= place[1] <= bottom + 1
        if not inside or (np.hypot(*(place - last)) < _APART and trace.said is None):
            continue
        last = place
        said = (
            trace.said[index]
            if trace.said
            else (
                number(float(trace.x[index]) / style.unit(trace.axes.xaxis)),
                number(float(trace.y[index]) / style.unit(trace.axes.yaxis)),
            )
        )
        yield [round(float(place[0]), 1), round(float(place[1]), 1), *said]


def _cleaned(svg: bytes, prefix: str, title: str) -> str:
    """The SVG as a part of a page: its own ids, no metadata, marks as data attributes."""
    root = Xml.fromstring(svg)  # noqa: S314 - it is ours
    used = {found for node in root.iter() for found in _referred(node)}
    for parent in root.iter():
        for child in list(parent):
            if child.tag == f"{_SVG}metadata":
                parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.removeprefix(_SVG)
        if _HREF in node.attrib:
            found = node.attrib.pop(_HREF)
            node.set("href", f"#{prefix}{found[1:]}" if found.startswith("#") else found)
        for key, value in node.attrib.items():
            node.set(key, _LOCAL.sub(rf"url(#{prefix}\1)", value))
        name = node.attrib.pop("id", "")
        if mark := _MARK.fullmatch(name):
            node.set(f"data-{mark[1]}", mark[2])
        elif name in used:
            node.set("id", f"{prefix}{name}")
    view = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib |= {"viewBox": view, "role": "img", "aria-label": title}
    return Xml.tostring(root, encoding="unicode")


def _referred(node: Xml.Element) -> Iterator[str]:
    """The ids that an element refers to."""
    if node.get(_HREF, "").startswith("#"):
        yield node.get(_HREF, "")[1:]
    for value in node.attrib.values():
        yield from _LOCAL.findall(value)
