"""Figures with a canvas, and their files."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from incast.base import staging


def on_canvas(figure: Figure) -> Figure:
    """The figure, ready to be saved."""
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as the suffix of the path says, whole or not at all, with no date in it."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with staging.file(path) as place:
        figure.savefig(place, format=path.suffix[1:], metadata=dates.get(path.suffix))
