"""A sweep as Python has it: its dataset, statistics, figures and files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incast._core import ParameterError
from incast.base.lazy import lazy
from incast.base.words import nearest
from incast.figures.catalogue import USUAL_FORMATS
from incast.results import sweeps
from incast.results.study_files import StudyFolder
from incast.results.sweeps import USUAL, SweepRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from incast.figures import canvas, look
    from incast.figures import sweeps as drawn
else:
    canvas = lazy("incast.figures.canvas", "figures")
    look = lazy("incast.figures.look", "figures")
    drawn = lazy("incast.figures.sweeps", "figures")


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(SweepRecord):
    """The runs of a sweep, with what the seeds of each point say together.

    `runs` is the dataset, a Polars frame; `summary` has means and intervals over the seeds.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        incast.sweep(short, "timely", vary={"traffic.0.connections": [1, 2]}, out="sweep")
        found = incast.Sweep.read("sweep")
        found.summary.filter(metric="rtt_p99_us")
        found.figure("rtt_p99_us").savefig("p99.png")
        ```
    """

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> "Sweep":
        """A sweep as `incast.sweep` left it.

        Raises:
            ResultError: The directory holds no sweep.
        """
        return cls(**vars(sweeps.read(Path(directory))))

    @property
    def usual_metrics(self) -> list[str]:
        """The figures of runs that are drawn and printed if nobody names any."""
        bounded = {name for name in self.metrics if self.runs[name].null_count() == len(self.runs)}
        return [
            name
            for name in USUAL
            if name in bounded or (name in self.metrics and (self.runs[name] != 0).any())
        ]

    def check_metrics(self, metrics: Sequence[str]) -> list[str]:
        """The metrics, found to be there; the usual ones if none is named.

        Raises:
            ParameterError: There is no such figure of a run.
        """
        for name in metrics:
            if name not in self.metrics:
                raise ParameterError(
                    f"metric {name}: no figure of these runs; {nearest(name, self.metrics)}"
                )
        return list(dict.fromkeys(metrics)) or self.usual_metrics

    def why_no_figures(self) -> str | None:
        """The reason why there are no figures of this sweep, None if there are.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return drawn.why_not(self)

    def figure(
        self,
        metric: str,
        *,
        schemes: Sequence[str] | Mapping[str, str] | None = None,
        width: str | float | None = None,
        title: bool = True,
        style: str | os.PathLike[str] | None = None,
    ) -> "Figure":
        """The figure of a metric: lines with bands over one axis, heat maps over two.

        Args:
            metric: The figure of runs.
            schemes: The schemes to draw, in this order, or a label for each; all if None.
            width: A length such as `3.3in` or `84mm`, or inches; 7 inches if None.
            title: Whether it has a title. What the title says of bands is the figure's label, too.
            style: A matplotlib style sheet that comes on top of ours: a file, or a name.

        Raises:
            FigureError: There are too many panels, or no such look.
            MissingExtraError: matplotlib is not installed.
            ParameterError: There is no such metric or scheme.
        """
        self.check_metrics([metric])
        shown = self if schemes is None else self.of_schemes(schemes)
        with look.use(look.Look.of(width, title=title, style=style)):
            return canvas.on_canvas(drawn.draw(shown, metric))

    def write_figures(
        self, metrics: Sequence[str] = (), formats: Sequence[str] = USUAL_FORMATS
    ) -> list[Path]:
        """Draws a figure of each metric, of the usual ones if none is named, in its directory.

        Args:
            metrics: The figures of runs.
            formats: Any of `png`, `svg` and `pdf`.

        Raises:
            FigureError: There are too many panels, or there is no such format.
            MissingExtraError: matplotlib is not installed.
            OutputError: They cannot be written.
            ParameterError: There is no such metric.
        """
        names = self.check_metrics(metrics)
        folder = StudyFolder(self.directory or Path(), "sweep")
        return canvas.write(folder, ((name, self.figure(name)) for name in names), formats)
