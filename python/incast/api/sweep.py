"""A sweep as Python has it: its dataset, statistics, figures and files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incast._core import ParameterError
from incast.api import scenarios
from incast.base.lazy import lazy
from incast.base.words import nearest
from incast.figures.catalogue import BY_SIZE, USUAL_FORMATS
from incast.figures.errors import FigureError
from incast.results import sweeps
from incast.results.columns import TableInfo
from incast.results.record import Record
from incast.results.records import Records
from incast.results.study_files import StudyFolder
from incast.results.sweeps import USUAL, SweepRecord
from incast.results.tables import HeldTable, RecordedRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from incast.figures import canvas, gallery, look
    from incast.figures import sweeps as drawn
else:
    canvas = lazy("incast.figures.canvas", "figures")
    gallery = lazy("incast.figures.gallery", "figures")
    look = lazy("incast.figures.look", "figures")
    drawn = lazy("incast.figures.sweeps", "figures")


MOST_POINTS = 12
"""The most points of a figure by size: as many as a figure has panels."""


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
        return self._checked(metrics, self.metrics)

    def check_figures(self, names: Sequence[str]) -> list[str]:
        """The figures that are drawn: metrics, and figures by size where runs have messages.

        Raises:
            ParameterError: There is no such figure.
        """
        return self._checked(names, [*self.metrics, *(BY_SIZE if self.sizes.width else ())])

    def _checked(self, names: Sequence[str], known: Sequence[str]) -> list[str]:
        for name in names:
            if name not in known:
                raise ParameterError(
                    f"metric {name}: no figure of these runs; {nearest(name, known)}"
                )
        return list(dict.fromkeys(names)) or self.usual_metrics

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
        only: str | None = None,
        width: str | float | None = None,
        title: bool = True,
        style: str | os.PathLike[str] | None = None,
    ) -> "Figure":
        """The figure of a metric: lines with bands over one axis, heat maps over two.

        `slowdown-by-size` and `fct-by-size` have a panel for each point.

        Args:
            metric: The figure of runs.
            schemes: The schemes to draw, in this order, or a label for each; all if None.
            only: The percentile that figures by size show, `p99` or `median`; both if None.
            width: A length such as `3.3in` or `84mm`, or inches; 7 inches if None.
            title: Whether it has a title. What the title says of bands is the figure's label, too.
            style: A matplotlib style sheet that comes on top of ours: a file, or a name.

        Raises:
            FigureError: There are too many panels, or no such look.
            MissingExtraError: matplotlib is not installed.
            ParameterError: There is no such metric or scheme.
        """
        self.check_figures([metric])
        shown = self if schemes is None else self.of_schemes(schemes)
        wanted = look.Look.of(width, title=title, style=style)
        if metric in BY_SIZE:
            return gallery.draw(metric, shown.results().of_percentile(only), None, wanted)
        with look.use(wanted):
            return canvas.on_canvas(drawn.draw(shown, metric))

    def results(self) -> Records:
        """The points of the sweep as results, of which there is the table `fct` alone.

        Raises:
            FigureError: There are more points than panels of a figure.
        """
        scenario = scenarios.load((self.directory or Path()) / "scenario.toml")
        rows = self.sizes.partition_by("point", "seed", maintain_order=True, as_dict=True)
        if len({point for point, _ in rows}) > MOST_POINTS:
            raise FigureError(
                f"{len(self.points)} points: a figure by size has at most {MOST_POINTS}; sweep "
                "fewer into another directory"
            )
        about: TableInfo = {"doc": "", "columns": {}}
        members = []
        for (point, seed), own in rows.items():
            parts = own.drop("point", "seed").partition_by("scheme", as_dict=True)
            runs = {
                scheme: RecordedRun(
                    scheme, seed, True, self.cells[point, scheme][seed],
                    [HeldTable("fct", about, part.drop("scheme"))],
                )
                for scheme in self.schemes
                if (part := parts.get((scheme,))) is not None
            }  # fmt: skip
            at = scenario.with_set(*self.points[point].assignments)
            members.append(Record(at, tuple(runs), seed, runs))
        return Records(tuple(members))

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
        names = self.check_figures(metrics)
        folder = StudyFolder(self.directory or Path(), "sweep")
        return canvas.write(folder, ((name, self.figure(name)) for name in names), formats)
