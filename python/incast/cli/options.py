"""Arguments and options that several commands take."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from incast._core import ParameterError, Scenario
from incast.api import scenarios
from incast.base import extras
from incast.cli import completing
from incast.figures.catalogue import USUAL_FORMATS, check_formats

ScenarioName = Annotated[
    str,
    typer.Argument(
        help="A TOML file, or the name of one that ships.", autocompletion=completing.scenarios
    ),
]
Schemes = Annotated[
    list[str] | None,
    typer.Option(
        "--cc",
        metavar="NAME",
        autocompletion=completing.schemes,
        help="A scheme to run, such as timely, timely:zhu or timely[t_high=1ms]; repeat it to "
        "compare several.",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        autocompletion=completing.assignments,
        help="Change one value of the scenario, such as transport.segment=16KB.",
    ),
]
Directories = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR...", help="Results: seeds of a scenario, or different ones; or a sweep."
    ),
]
Threads = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        autocompletion=completing.threads,
        help="Threads of each run, if not the scenario's; results are the same.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=256,
        metavar="N",
        help="Runs side by side; if not given, a core each, or one after the other where they are "
        "short.",
    ),
]
JobsOnCores = Annotated[
    int | None,
    typer.Option(min=1, max=256, metavar="N", help="Runs side by side; a core each if not given."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of a Dask cluster, such as tcp://HOST:8786, not in processes "
        "here.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="SCHEME",
        autocompletion=completing.schemes,
        help="Compare the other schemes with this one, seed by seed.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, and no table.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        autocompletion=completing.metrics,
        help="A figure of runs that a sweep shows, such as rtt_p99_us; may be repeated.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="latex|markdown|csv",
        autocompletion=completing.tables,
        help="Print tables for a paper (LaTeX with booktabs), a page or a spreadsheet.",
    ),
]
Figures = Annotated[
    str | None,
    typer.Option(
        "--figures",
        metavar="FORMATS",
        autocompletion=completing.formats,
        help="Draw figures as png, svg or pdf, or as several, such as svg,png. As png if not "
        "given, and none with --json or --quiet.",
    ),
]
NoFigures = Annotated[bool, typer.Option("--no-figures", help="Draw no figures.")]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        help="Run whatever it costs: more memory than there seems to be, or hours of time.",
    ),
]


def commands(context: typer.Context) -> None:
    """Lists the commands of a group that is called alone."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def check_table(table: str | None, *, as_json: bool) -> str | None:
    """The form of tables that is asked for, found to be one."""
    if table not in (None, *completing.TABLES):
        raise typer.BadParameter(f"--table {table}: expected {', '.join(completing.TABLES)}")
    if table and as_json:
        raise typer.BadParameter(f"--table {table} with --json: leave one of the two out")
    return table


def formats(figures: str | None, *, no_figures: bool, shown: bool) -> tuple[str, ...]:
    """The formats in which figures are drawn: those asked for, or the usual ones if text is shown.

    Raises:
        FigureError: There is no such format.
        MissingExtraError: Figures are asked for, and matplotlib is not installed.
    """
    if figures is None:
        drawn = shown and not no_figures and extras.have("figures")
        return USUAL_FORMATS if drawn else ()
    if no_figures:
        raise typer.BadParameter(f"--figures {figures} with --no-figures: leave one of the two out")
    extras.need("figures")
    return check_formats(figures.split(","))


def formats_in(
    out: Path | None, figures: str | None, *, no_figures: bool, shown: bool
) -> tuple[str, ...]:
    """The formats as above, of a command that draws only where it is given a directory."""
    if out is None and figures is not None:
        raise typer.BadParameter(f"--figures {figures}: name the directory with --out")
    return formats(figures, no_figures=no_figures, shown=shown and out is not None)


def alone(directories: Sequence[Path]) -> None:
    """Refuses other directories beside that of a sweep."""
    if len(directories) > 1:
        raise typer.BadParameter(f"{directories[0]}: holds a sweep, which is shown by itself")


def load(scenario: str, assignments: list[str] | None) -> Scenario:
    """The scenario that was named, with what `--set` changes."""
    chosen = scenarios.load(scenario)
    try:
        return chosen.with_set(*assignments) if assignments else chosen
    except ParameterError as error:
        raise ParameterError(f"--set {error}") from None


def warn(scenario: Scenario, schemes: Sequence[str]) -> None:
    """Says on stderr what no network carries, and what the network lacks that a scheme needs."""
    say_warnings(scenarios.warnings(scenario, schemes))


def say_warnings(texts: Iterable[str], said: Iterable[str] = ()) -> None:
    """Says them on stderr, each once, without those that were said."""
    for text in [one for one in dict.fromkeys(texts) if one not in {*said}]:
        print(f"warning: {text}", file=sys.stderr)


def ask(doubts: str) -> bool:
    """Whether to go on with what takes long; where nobody is at a terminal it is only said."""
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        return typer.confirm(f"{doubts}; go on?", err=True)
    print(f"warning: {doubts}", file=sys.stderr)
    return True


def check_scheduler(scheduler: str | None, jobs: int | None) -> str | None:
    """The address of a scheduler, if there is one.

    Raises:
        ParameterError: It comes with a number of processes.
    """
    if scheduler is not None and jobs is not None:
        raise ParameterError(
            f"--jobs {jobs} with --scheduler {scheduler}: a cluster has as many runs side by side "
            "as its workers have threads; leave one of the two out"
        )
    return scheduler
