"""The public results: records of runs that can be drawn, written and read back."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incast.results import store, stored
from incast.results.record import Record
from incast.results.records import Records

if TYPE_CHECKING:  # matplotlib takes half a second, which only figures cost
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Result(Record):
    """The runs of one scenario, one for each scheme."""

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
        )

    def write(self, directory: str | os.PathLike[str], *, figures: bool = True) -> store.Written:
        """Writes the scenario, the summary and the tables, all or nothing, then the usual figures.

        An earlier result is replaced, any other content refused. A result that is not complete
        never replaces one that is: it is written beside it, to `<directory>-incomplete`.

        Raises:
            OutputError: The directory cannot be written or holds something else.
        """
        written = store.write(self, directory)
        return add_figures(self, written) if figures else written

    def figure(self, name: str) -> "Figure":
        """Draws one figure, such as `rtt-cdf`; `incast plot --list` names them all.

        Raises:
            FigureError: There is no such figure, or nothing to draw in it.
        """
        from incast.figures import gallery  # noqa: PLC0415 - matplotlib is imported late

        return gallery.draw(name, Results((self,)))

    def plot(self) -> "dict[str, Figure]":
        """The usual figures by name, those for which there is anything to draw."""
        from incast.figures import gallery  # noqa: PLC0415 - matplotlib is imported late

        return gallery.draw_usual(Results((self,)))


@dataclass(frozen=True, eq=False, repr=False)
class Results(Records):
    """Results that are printed and drawn together.

    Those of the same scenario text and version are seeds of one experiment: figures pool their
    samples and average their time series. Everything else stands side by side.
    """

    members: tuple[Result, ...]

    def figure(self, name: str, baseline: str | None = None) -> "Figure":
        """Draws one figure, such as `rtt-cdf`; `incast plot --list` names them all.

        With a baseline, `bars` shows the differences of the other schemes to that one.

        Raises:
            FigureError: There is no such figure, or nothing to draw in it.
            ParameterError: The baseline is none of the schemes, or alone.
        """
        from incast.figures import gallery  # noqa: PLC0415 - matplotlib is imported late

        return gallery.draw(name, self, baseline)


def add_figures(result: Record, written: store.Written) -> store.Written:
    """Draws the usual figures of a result that is written, and puts them into its directory.

    Raises:
        OutputError: They cannot be written.
        KeyboardInterrupt: Ctrl-C; the result is as it was, or has some of them.
    """
    # Late: matplotlib takes half a second, and the tables are to be there before Ctrl-C can come.
    from incast.figures import writing  # noqa: PLC0415

    return writing.add(result, written)


def open_result(*directories: str | os.PathLike[str]) -> Results:
    """Reads one result, or several together: seeds of one scenario, or different scenarios.

    Raises:
        ResultError: A directory holds no result, or two hold the same run.
    """
    return Results(tuple(Result.read(directory) for directory in directories))
