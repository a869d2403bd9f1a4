"""Figures with a canvas, and their files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from incast.base import staging
from incast.figures.catalogue import check_formats
from incast.figures.look import DrawnFigure
from incast.results import store
from incast.results.study_files import StudyFolder


def on_canvas(figure: Figure) -> Figure:
    """The figure, ready to be saved."""
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as the suffix of the path says, whole or not at all, with no date in it."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    # The least effort to compress a PNG: a sixth more bytes in half of the time.
    quick: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if path.suffix == ".png" else {}
    with staging.file(path) as place:
        figure.savefig(place, format=path.suffix[1:], metadata=dates.get(path.suffix), **quick)


def save_as(figure: Figure, path: Path, formats: Iterable[str]) -> list[Path]:
    """Writes a figure in these formats, each whole or not at all; returns their paths.

    Its panels are where they are from then on.

    Raises:
        OSError: One cannot be written.
    """
    if isinstance(figure, DrawnFigure):
        figure.settle()
    # The suffix is added: names of figures may have dots.
    paths = [path.with_name(f"{path.name}.{suffix}") for suffix in formats]
    for one in paths:
        save(figure, one)
    return paths


def write(
    folder: StudyFolder, named: Iterable[tuple[str, Figure]], formats: Iterable[str]
) -> list[Path]:
    """Writes figures to the directory of a study; returns their paths.

    Raises:
        FigureError: There is no such format.
        OutputError: They cannot be written.
    """
    formats = check_formats(formats)
    place = folder.figures()
    try:
        return [path for name, one in named for path in save_as(one, place / name, formats)]
    except OSError as error:
        raise store.unwritable(folder.place, error) from None
