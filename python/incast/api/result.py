"""The public results: records of runs that can be drawn, written and read back."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from incast.base import extras
from incast.base.lazy import lazy
from incast.figures.catalogue import USUAL_FORMATS, check_formats
from incast.results import store, stored
from incast.results.record import Record
from incast.results.records import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from incast.figures import gallery, look, writing
else:
    gallery = lazy("incast.figures.gallery", "figures")
    look = lazy("incast.figures.look", "figures")
    writing = lazy("incast.figures.writing", "figures")


@dataclass(frozen=True, eq=False, repr=False)
class Result(Record):
    """The runs of one scenario, one for each scheme.

    `summary` has a row for each scheme; `tables` names the tables that `table` gives, as Polars
    frames, and `describe_tables` the unit and the meaning of each column.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        result = incast.run(short, ["timely", "line-rate"])
        result.table("flows").group_by("scheme").len()
        result.describe_tables()["flows"]["columns"]["goodput_gbps"]  # unit and meaning
        result.figure("rtt-cdf").savefig("rtt.png")
        result.write("out", figures=False)
        assert incast.Result.read("out") == result
        ```
    """

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> "Result":
        """A result as `write` left it, to be printed and drawn without simulating again.

        Raises:
            ResultError: The directory holds no result.
        """
        found = stored.read(directory)
        return cls(
            found.scenario,
            found.schemes,
            found.seed,
            found.runs,
            version=found.version,
            build=found.build,
            directory=Path(directory),
            named=found.named,
        )

    def write(
        self, directory: str | os.PathLike[str], *, figures: bool | Sequence[str] = True
    ) -> store.Written:
        """Writes the scenario, the summary and the tables, all or nothing, then the usual figures.

        Figures are PNG, or in the formats that `figures` names: `png`, `svg` and `pdf`.

        An earlier result is replaced, any other content refused; `OutputWarning` says so if it was
        of other schemes, another seed, scenario or version. A result that is not complete never
        replaces one that is: it is written beside it, to `<directory>-incomplete`.

        Raises:
            FigureError: There is no such format.
            OutputError: The directory cannot be written or holds something else.
        """
        formats = formats_of(figures)
        written = store.write(self, directory)
        if written.replaced:
            warnings.warn(
                f"{written.directory}: {written.replaced} was replaced",
                store.OutputWarning,
                stacklevel=2,
            )
        return add_figures(self, written, formats)

    def figure(
        self,
        name: str,
        *,
        schemes: Sequence[str] | Mapping[str, str] | None = None,
        flows: Sequence[int] = (),
        only: str | None = None,
        width: str | float | None = None,
        title: bool = True,
        style: str | os.PathLike[str] | None = None,
    ) -> "Figure":
        """Draws one figure, such as `rtt-cdf`; `incast plot --list` names them all.

        Args:
            name: The figure.
            schemes: The schemes to draw, in this order, or a label for each; all if None.
            flows: The flows that `state` shows; the first one if there is none.
            only: The percentile that figures by size show, `p99` or `median`; both if None.
            width: A length such as `3.3in` or `84mm`, or inches; 7 inches if None.
            title: Whether it has a title. What the title says of bands is the figure's label, too.
            style: A matplotlib style sheet that comes on top of ours: a file, or a name.

        Raises:
            FigureError: There is no such figure, nothing to draw in it, or no such look.
            ParameterError: A scheme is unknown, or has the label of another one.
        """
        shown = Results((self,))
        return shown.figure(
            name, schemes=schemes, flows=flows, only=only, width=width, title=title, style=style
        )

    def plot(self) -> "dict[str, Figure]":
        """The usual figures by name, those for which there is anything to draw."""
        return gallery.draw_usual(Results((self,)))


@dataclass(frozen=True, eq=False, repr=False)
class Results(Records):
    """Results that are printed and drawn together.

    Those of the same scenario text and version are seeds of one experiment: figures pool their
    samples and average their time series. Everything else stands side by side.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        both = incast.run(short, "timely", seed=[1, 2])
        both.table("flows")["seed"]  # all tables have the seed in front
        both.runs["timely", 2].summary["throughput_gbps"]
        ```
    """

    members: tuple[Result, ...]
    """The results."""

    @classmethod
    def read(cls, *directories: str | os.PathLike[str]) -> "Results":
        """Results as `write` left them, as `incast.open_result` reads them.

        Raises:
            ResultError: A directory holds no result, or two hold the same run.
        """
        return cls(tuple(Result.read(directory) for directory in directories))

    def write(
        self, directory: str | os.PathLike[str], *, figures: bool | Sequence[str] = True
    ) -> list[store.Written]:
        """Writes each result as `Result.write` does: one to the directory itself.

        Of several seeds each goes to `seed-N` in it; of several scenarios, to a directory of the
        scenario's name.

        Raises:
            FigureError: There is no such format.
            OutputError: A directory cannot be written or holds something else.
        """
        places = self._places(Path(directory))
        return [result.write(place, figures=figures) for place, result in places.items()]

    def plot(self) -> "dict[str, Figure]":
        """The usual figures by name, those for which there is anything to draw."""
        return gallery.draw_usual(self)

    def figure(
        self,
        name: str,
        baseline: str | None = None,
        *,
        schemes: Sequence[str] | Mapping[str, str] | None = None,
        flows: Sequence[int] = (),
        only: str | None = None,
        width: str | float | None = None,
        title: bool = True,
        style: str | os.PathLike[str] | None = None,
    ) -> "Figure":
        """Draws one figure, such as `rtt-cdf`; `incast plot --list` names them all.

        Args:
            name: The figure.
            baseline: With it, `bars` shows the differences of the other schemes to that one.
            schemes: The schemes to draw, in this order, or a label for each; all if None.
            flows: The flows that `state` shows; the first one if there is none.
            only: The percentile that figures by size show, `p99` or `median`; both if None.
            width: A length such as `3.3in` or `84mm`, or inches; 7 inches if None.
            title: Whether it has a title. What the title says of bands is the figure's label, too.
            style: A matplotlib style sheet that comes on top of ours: a file, or a name.

        Raises:
            FigureError: There is no such figure, nothing to draw in it, or no such look.
            ParameterError: The baseline is none of the schemes, or alone; a scheme is unknown, or
                has the label of another one.
        """
        shown = (self if schemes is None else self.of_schemes(schemes)).of_flows(flows)
        shown = shown.of_percentile(only)
        return gallery.draw(name, shown, baseline, look.Look.of(width, title=title, style=style))

    def _places(self, target: Path) -> dict[Path, Result]:
        """The directory of each result below a directory.

        Raises:
            OutputError: Two results would have the same one.
        """
        labelled = list(self._labelled())
        many = len(self.scenarios) > 1
        places: dict[Path, Result] = {}
        for label, result in labelled:
            home = target / label if many else target
            seeds = sum(label == other for other, _ in labelled)
            place = home / f"seed-{result.seed}" if seeds > 1 else home
            if place in places:
                raise store.OutputError(f"{place}: two results would go there; write each alone")
            places[place] = cast("Result", result)
        return places


def formats_of(figures: bool | Sequence[str]) -> tuple[str, ...]:
    """The formats of figures that are wanted, or not, or in some formats.

    Raises:
        FigureError: There is no such format.
    """
    if isinstance(figures, bool):
        return USUAL_FORMATS if figures else ()
    return check_formats(figures)


def add_figures(
    result: Record, written: store.Written, formats: Sequence[str] = USUAL_FORMATS
) -> store.Written:
    """Draws the usual figures of a result that is written, and puts them into its directory.

    Without formats, or without matplotlib, there are none.

    Raises:
        OutputError: They cannot be written.
        KeyboardInterrupt: Ctrl-C; the result is as it was, or has some of them.
    """
    if not formats or not extras.have("figures"):
        return written
    return writing.add(result, written, formats)


def open_result(*directories: str | os.PathLike[str]) -> Results:
    """Reads one result, or several together: seeds of one scenario, or different scenarios.

    Raises:
        ResultError: A directory holds no result, or two hold the same run.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        incast.run(short, "timely", seed=[1, 2]).write("out", figures=False)
        incast.open_result("out/seed-1", "out/seed-2").summary
        ```
    """
    return Results.read(*directories)
