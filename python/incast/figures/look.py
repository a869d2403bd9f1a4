"""The look of figures: the settings of all, their width, a title or none, a style sheet on top."""

import contextlib
import io
import logging
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

from incast.base.lazy import lazy
from incast.figures.errors import FigureError

if TYPE_CHECKING:
    import matplotlib.style as sheets
else:  # it reads all style sheets of matplotlib
    sheets = lazy("matplotlib.style")

WIDTH = 7.0
"""The width of a figure in inches, if nobody asks for another; its height follows from it."""

_COLUMN = 5.0  # figures below this width are for a column of a paper: smaller type, thinner lines
_LEAST, _MOST = 1.5, 40.0
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_LENGTH = re.compile(r"(\d+(?:\.\d*)?|\.\d+) *(in|cm|mm)")

# The colours of Okabe and Ito, which the colour-blind tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

RC: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=_COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 10.0,
    "grid.color": "0.9",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    # TrueType: publishers refuse Type 3, and text can be searched and edited.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "incast",  # the same figure gives the same file
}
"""The settings of all figures."""

_IN_COLUMN: dict[Any, Any] = {
    "axes.linewidth": 0.6,
    "font.size": 8.0,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.4,
    "lines.linewidth": 1.2,
    "savefig.dpi": 300,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "xtick.minor.size": 1.5,
    "xtick.minor.width": 0.4,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "ytick.minor.size": 1.5,
    "ytick.minor.width": 0.4,
}


@dataclass(frozen=True)
class Look:
    """The look that somebody wants of a figure."""

    width: float = WIDTH
    """In inches."""
    title: bool = True
    """Whether it has a title, with a remark below."""
    sheet: Mapping[Any, Any] = field(default_factory=dict)
    """Settings of matplotlib that come on top of ours."""

    @classmethod
    def of(
        cls,
        width: str | float | None = None,
        *,
        title: bool = True,
        style: str | os.PathLike[str] | None = None,
    ) -> "Look":
        """The look of what was asked for.

        Args:
            width: A length such as `3.3in`, `8.4cm` or `84mm`, a number of inches, or what the
                style sheet says of `figure.figsize`; 7 inches if None.
            title: Whether figures have a title.
            style: The file of a matplotlib style sheet, or the name of one that matplotlib has.

        Raises:
            FigureError: There is no such length or style sheet.
        """
        sheet = {} if style is None else _sheet(style)
        if width is None and "figure.figsize" in sheet:
            width = float(sheet["figure.figsize"][0])
        return cls(WIDTH if width is None else _inches(width), title, sheet)

    @property
    def settings(self) -> dict[Any, Any]:
        """The settings of matplotlib."""
        return {**RC, **(_IN_COLUMN if self.width < _COLUMN else {}), **self.sheet}


_CURRENT: ContextVar[Look] = ContextVar("look", default=Look())  # noqa: B039 - it is frozen


@contextlib.contextmanager
def use(look: Look) -> Iterator[None]:
    """Figures that the block draws or saves have this look."""
    token = _CURRENT.set(look)
    try:
        with mpl.rc_context(look.settings):
            yield
    finally:
        _CURRENT.reset(token)


def current() -> Look:
    """The look of the figure that is being drawn."""
    return _CURRENT.get()


class DrawnFigure(Figure):
    """A figure that is saved with the settings with which it was drawn: fonts, dots per inch."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height))
        self._look = current()

    def savefig(self, fname: Any, **options: Any) -> None:  # noqa: ANN401 - as matplotlib has it
        """Saves the figure, as matplotlib does."""
        with mpl.rc_context(self._look.settings):
            super().savefig(fname, **options)

    def settle(self) -> None:
        """Places its panels for good, by the dots of a picture: to do so takes a third of a draw.

        Otherwise matplotlib does it for each file.
        """
        engine = self.get_layout_engine()
        if engine is None:
            return
        none: dict[Any, Any] = {"figure.autolayout": False, "figure.constrained_layout.use": False}
        with mpl.rc_context({**self._look.settings, **none}):
            if mpl.rcParams["savefig.dpi"] != "figure":
                self.set_dpi(mpl.rcParams["savefig.dpi"])
            engine.execute(self)
            self.set_layout_engine(None)

    def _repr_png_(self) -> bytes:
        """The figure as a picture, which notebooks show."""
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def _inches(width: str | float) -> float:
    found = _LENGTH.fullmatch(width.strip()) if isinstance(width, str) else None
    inches = math.nan if isinstance(width, str) else float(width)
    if found:
        inches = float(found[1]) * _INCHES[found[2]]
    if not _LEAST <= inches <= _MOST:
        raise FigureError(
            f"width {width}: expected a length such as 3.3in, 8.4cm or 84mm, "
            f"from {_LEAST:g}in to {_MOST:g}in"
        )
    return inches


def _sheet(style: str | os.PathLike[str]) -> dict[Any, Any]:
    """The settings of a style sheet, each one checked by matplotlib."""
    path = Path(style)
    if path.is_file():
        return _read(path)
    if str(style) not in sheets.library:
        raise FigureError(f"style {style}: neither a file nor a style sheet of matplotlib")
    return dict(sheets.library[str(style)])


def _read(path: Path) -> dict[Any, Any]:
    """The settings in a file; what matplotlib would only log is an error."""
    said = _Said()
    logger = logging.getLogger("matplotlib")
    logger.addHandler(said)
    try:
        found = mpl.rc_params_from_file(str(path), fail_on_error=True, use_default_template=False)
    except (OSError, ValueError) as error:
        raise FigureError(f"style {path}: {error}") from None
    finally:
        logger.removeHandler(said)
    if said.first:
        raise FigureError(f"style {path}: {said.first}")
    return dict(found)


class _Said(logging.Handler):
    """The first line of what is logged."""

    first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record.getMessage().strip().partition("\n")[0]
