"""Several loads, or other settings, beside each other: a panel for each, and one legend."""

from collections.abc import Mapping, Sequence
from typing import cast

from matplotlib.figure import Figure

from incast.figures import look, style
from incast.figures.drawing import Drawing
from incast.results.records import Records

# Inches for the title and the legend, which the panels share.
_AROUND = 1.0


def draw(drawing: Drawing, results: Records, panels: Mapping[str, Records]) -> Figure:
    """The drawing of each scenario in a panel, with equal axes; schemes look the same in all."""
    columns = 2 if style.letters(100) >= 70 else 1
    rows = -(-len(panels) // columns)
    figure = look.DrawnFigure(style.width(), _AROUND)
    places = figure.subfigures(rows, columns, squeeze=False).flat
    parts = [
        style.Part(cast("Figure", place), name, style.width() / columns)
        for place, name in zip(places, panels, strict=False)
    ]
    for part, one in zip(parts, panels.values(), strict=True):
        with style.within(part):
            drawing.draw(one)
    tall = max(part.height for part in parts) - _AROUND
    figure.set_figheight(_AROUND + 0.85 * rows * tall * (style.width() / look.WIDTH) ** 0.6)
    _align([part.figure for part in parts])
    notes = dict.fromkeys(str(part.figure.get_label()) for part in parts)
    style.headline(figure, results, "; ".join(filter(None, notes)))
    style.legend(figure, next(iter(panels.values())))
    style.fold(figure, rows)
    return figure


def _align(figures: Sequence[Figure]) -> None:
    """Gives panels that show the same equal axes, from the least to the greatest of all."""
    for same in zip(*(figure.axes for figure in figures), strict=False):
        if len({axes.get_xscale() for axes in same}) > 1:
            least = min(axes.dataLim.minposx for axes in same)
            most = max(axes.dataLim.x1 for axes in same)
            for axes in same:
                style.logarithmic(axes, "x", least, most)
                axes.set_xlim(least, most)
        low, high = zip(*(axes.get_xlim() for axes in same), strict=True)
        bottom, top = zip(*(axes.get_ylim() for axes in same), strict=True)
        equal = len({axes.get_yscale() for axes in same}) == 1
        for axes in same:
            axes.set_xlim(min(low), max(high))
            if equal:
                axes.set_ylim(min(bottom), max(top))
