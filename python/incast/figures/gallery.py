"""The figures of results, by name.

Figures are made without pyplot: no global state, no window.
"""

from matplotlib.figure import Figure

from incast.base.words import nearest
from incast.figures import (
    apart,
    bars,
    distributions,
    latency,
    layers,
    series,
    sizes,
    state,
    style,
    timeline,
)
from incast.figures.canvas import on_canvas
from incast.figures.catalogue import ABOUT
from incast.figures.drawing import Drawing
from incast.figures.errors import FigureError
from incast.figures.look import Look, use
from incast.results.records import Records

_FAMILIES = (distributions, sizes, latency, series, state, layers, timeline, bars)
_BY_NAME = {drawing.name: drawing for family in _FAMILIES for drawing in family.DRAWINGS}

DRAWINGS: dict[str, Drawing] = {name: _BY_NAME[name] for name in ABOUT}
"""All figures, in the order of the catalogue."""

DIFFERENCES = "bars"
"""The figure that shows differences to a baseline, where one is named."""

STATE = "state"
"""The figure that shows single flows, which can be chosen."""

# These have a row for each scheme of each scenario.
_ROWS = ("rpc-latency", DIFFERENCES)
# The figures that a run writes by itself; `incast plot` draws the others.
_USUAL = ("rtt-cdf", "queue", "rates", "slowdown-by-size", "request-cdf")


def draw(
    name: str, results: Records, baseline: str | None = None, look: Look | None = None
) -> Figure:
    """Draws one figure; with a baseline, `bars` as differences to that scheme.

    Raises:
        FigureError: There is no such figure, or nothing to draw in it.
        ParameterError: The baseline is none of the schemes, or alone.
    """
    check(name, results)
    return _draw(name, results, baseline, look or Look())


def _draw(name: str, results: Records, baseline: str | None, look: Look) -> Figure:
    with use(look):
        if baseline is not None and name == DIFFERENCES:
            figure = bars.of_differences(results, baseline)
        elif name not in _ROWS and len(panels := _apart(DRAWINGS[name], results)) > 1:
            return on_canvas(apart.draw(DRAWINGS[name], results, panels))
        else:
            figure = DRAWINGS[name].draw(results)
        style.fold(figure)
        return on_canvas(figure)


def _apart(drawing: Drawing, results: Records) -> dict[str, Records]:
    """The scenarios that have a panel each, with their names."""
    return {name: one for name, one in results.apart.items() if drawing.why_not(one) is None}


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


def left_out(results: Records) -> dict[str, str]:
    """The figures that nobody gets without naming them, each with the reason."""
    why = {name: drawing.why_left_out(results) for name, drawing in DRAWINGS.items()}
    return {name: text for name, text in why.items() if text}


def draw_usual(results: Records) -> dict[str, Figure]:
    """The figures that a run draws by itself by name, those for which there is anything to draw."""
    wanted = [name for name in _USUAL if DRAWINGS[name].why_left_out(results) is None]
    return {name: _draw(name, results, None, Look()) for name in wanted}
