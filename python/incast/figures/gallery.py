"""The figures of results, by name.

Figures are made without pyplot: no global state, no window.
"""

from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from incast.api.saturation import Saturation
from incast.base import staging
from incast.base.words import nearest
from incast.figures import bars, distributions, latency, layers, observations, series, sizes
from incast.figures.drawing import Drawing
from incast.figures.saturation import saturation
from incast.figures.style import RC
from incast.results.records import FigureError, Results

__all__ = [
    "DRAWINGS", "available", "check", "draw", "draw_observations", "draw_saturation", "save",
    "usual",
]  # fmt: skip

DRAWINGS: dict[str, Drawing] = {
    drawing.name: drawing
    for family in (distributions, sizes, latency, series, layers, bars)
    for drawing in family.DRAWINGS
}
"""All figures, in the order of a list of them."""

DIFFERENCES = "bars"
"""The figure that shows differences to a baseline, where one is named."""

# What a run writes by itself. The others are a matter of `incast plot`.
_USUAL = ("rtt-cdf", "queue", "rates", "slowdown-by-size", "request-cdf")


def draw(name: str, results: Results, baseline: str | None = None) -> Figure:
    """Draws one figure; with a baseline, `bars` as differences to that scheme.

    Raises:
        FigureError: There is no such figure, or nothing to draw in it.
        ParameterError: The baseline is none of the schemes, or alone.
    """
    check(name, results)
    with mpl.rc_context(RC):
        if baseline is not None and name == DIFFERENCES:
            return _on_canvas(bars.of_differences(results, baseline))
        return _on_canvas(DRAWINGS[name].draw(results))


def check(name: str, results: Results) -> None:
    """Finds out whether a figure can be drawn.

    Raises:
        FigureError: There is no such figure, or nothing to draw in it.
    """
    if name not in DRAWINGS:
        raise FigureError(f"{name}: no such figure; {nearest(name, DRAWINGS)}")
    if why := DRAWINGS[name].why_not(results):
        others = ", ".join(available(results)) or "none"
        raise FigureError(f"{name}: {why}; of these results there is {others}")


def draw_saturation(found: Saturation) -> Figure:
    """Draws what is carried of what is offered, against the load."""
    with mpl.rc_context(RC):
        return _on_canvas(saturation(found))


def draw_observations(title: str, rows: pl.DataFrame) -> dict[str, Figure]:
    """Draws the rate and the RTT of connections on Linux TCP over time."""
    with mpl.rc_context(RC):
        return {
            name: _on_canvas(observations.over_time(title, rows, column, label))
            for name, column, label in (
                ("rate", "rate_mbps", "rate (Mb/s)"),
                ("rtt", "rtt_us", "RTT (us)"),
            )
        }


def _on_canvas(figure: Figure) -> Figure:
    FigureCanvasAgg(figure)
    return figure


def available(results: Results) -> list[str]:
    """The figures that there is something to draw in."""
    return [name for name, drawing in DRAWINGS.items() if drawing.why_not(results) is None]


def usual(results: Results) -> list[str]:
    """Those of them that a run writes by itself."""
    drawings = [DRAWINGS[name] for name in _USUAL]
    return [one.name for one in drawings if one.why_not(results) is None and one.telling(results)]


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as the suffix of the path says, whole or not at all, with no date in it."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with mpl.rc_context(RC), staging.file(path) as place:
        figure.savefig(place, format=path.suffix[1:], metadata=dates.get(path.suffix))
