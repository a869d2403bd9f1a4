"""The figures of results, by name.

Figures are made without pyplot: no global state, no window.
"""

import matplotlib as mpl
from matplotlib.figure import Figure

from incast.base.words import nearest
from incast.figures import bars, distributions, latency, layers, series, sizes
from incast.figures.canvas import on_canvas
from incast.figures.catalogue import ABOUT
from incast.figures.drawing import Drawing
from incast.figures.errors import FigureError
from incast.figures.style import RC
from incast.results.records import Records

_FAMILIES = (distributions, sizes, latency, series, layers, bars)
_BY_NAME = {drawing.name: drawing for family in _FAMILIES for drawing in family.DRAWINGS}

DRAWINGS: dict[str, Drawing] = {name: _BY_NAME[name] for name in ABOUT}
"""All figures, in the order of the catalogue."""

DIFFERENCES = "bars"
"""The figure that shows differences to a baseline, where one is named."""

# The figures that a run writes by itself; `incast plot` draws the others.
_USUAL = ("rtt-cdf", "queue", "rates", "slowdown-by-size", "request-cdf")


def draw(name: str, results: Records, baseline: str | None = None) -> Figure:
    """Draws one figure; with a baseline, `bars` as differences to that scheme.

    Raises:
        FigureError: There is no such figure, or nothing to draw in it.
        ParameterError: The baseline is none of the schemes, or alone.
    """
    check(name, results)
    with mpl.rc_context(RC):
        if baseline is not None and name == DIFFERENCES:
            return on_canvas(bars.of_differences(results, baseline))
        return on_canvas(DRAWINGS[name].draw(results))


def check(name: str, results: Records) -> None:
    """Finds out whether a figure can be drawn.

    Raises:
        FigureError: There is no such figure, or nothing to draw in it.
    """
    if name not in DRAWINGS:
        raise FigureError(f"{name}: no such figure; {nearest(name, DRAWINGS)}")
    if why := DRAWINGS[name].why_not(results):
        others = ", ".join(available(results)) or "none"
        raise FigureError(f"{name}: {why}; of these results there is {others}")


def available(results: Records) -> list[str]:
    """The figures that there is something to draw in."""
    return [name for name, drawing in DRAWINGS.items() if drawing.why_not(results) is None]


def usual(results: Records) -> list[str]:
    """The figures that a run writes by itself, of those that can be drawn."""
    drawings = [DRAWINGS[name] for name in _USUAL]
    return [one.name for one in drawings if one.why_not(results) is None and one.telling(results)]


def draw_usual(results: Records) -> dict[str, Figure]:
    """The usual figures by name, those for which there is anything to draw."""
    return {name: draw(name, results) for name in usual(results)}
