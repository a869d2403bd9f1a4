"""A tuning as Python has it: its trials, the best of them, figures and files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incast._core import ParameterError
from incast.base.lazy import lazy
from incast.base.words import nearest
from incast.figures.catalogue import USUAL_FORMATS
from incast.results.study_files import StudyFolder
from incast.results.tunings import TuningRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from incast.figures import canvas, look, tunings
else:
    canvas = lazy("incast.figures.canvas", "figures")
    look = lazy("incast.figures.look", "figures")
    tunings = lazy("incast.figures.tunings", "figures")

FIGURES = ("pareto", "history", "parameters")
"""The figures of a tuning."""


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(TuningRecord):
    """The trials of a tuning, with the best of them and the front of its objectives.

    `trials` is a Polars frame, `best` the best trial, `front` those that no other one beats in all
    objectives.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        found = incast.tune(
            short, "timely", minimize="rtt_p99_us", over=["t_high"], trials=3, out="tuning", jobs=1
        )
        found.figure("history").savefig("history.png")
        ```
    """

    def figure(self, name: str = "pareto") -> "Figure":
        """A figure: `pareto`, `history` or `parameters`.

        `pareto` has each trial by the first two objectives, or by the objective and the figure of
        the first constraint; `history` the first objective by trial; `parameters` the first
        objective by the value of each parameter.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ParameterError: There is no such figure, or no trial.
        """
        if name not in FIGURES:
            raise ParameterError(f"{name}: no figure of a tuning; {nearest(name, FIGURES)}")
        if not self.every:
            raise ParameterError(f"{name}: no trial has ended, and there is nothing to draw")
        with look.use(look.Look()):
            return canvas.on_canvas(tunings.draw(self, name))

    def write_figures(
        self, names: Sequence[str] = FIGURES, formats: Sequence[str] = USUAL_FORMATS
    ) -> list[Path]:
        """Draws figures in its directory; returns their paths.

        Args:
            names: The figures.
            formats: Any of `png`, `svg` and `pdf`.

        Raises:
            FigureError: There is no such format.
            MissingExtraError: matplotlib is not installed.
            OutputError: They cannot be written.
            ParameterError: There is no such figure, or no trial.
        """
        folder = StudyFolder(self.directory or Path(), "tuning")
        return canvas.write(folder, ((name, self.figure(name)) for name in names), formats)
