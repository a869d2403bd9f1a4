"""Commands on many runs: sweeps, and what changed between two results."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from incast._core import ParameterError
from incast.base import leaving
from incast.cli import completing, late, options, studying
from incast.cli.exits import FAILED
from incast.results.axes import axes_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # it imports Polars
    from incast.api.sweep import Sweep
    from incast.results.changes import Test

_TESTS = ("t", "wilcoxon")


def sweep(
    scenario: options.ScenarioName,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            autocompletion=completing.assignments,
            help="An axis: values such as 1,4,16, ranges such as 0.3..0.9/0.1 or 1..64*2; repeat "
            "it for all combinations.",
        ),
    ] = None,
    zipped: Annotated[
        list[str] | None,
        typer.Option(
            "--zip",
            metavar="KEY=VALUES; ...",
            autocompletion=completing.assignments,
            help="An axis of several keys, whose values change together.",
        ),
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE; ...",
            autocompletion=completing.assignments,
            help="One point; repeat it for an axis of listed points.",
        ),
    ] = None,
    cc: options.Schemes = None,
    assignments: options.Assignments = None,
    seeds: Annotated[
        str,
        typer.Option(metavar="N|LIST", help="The number of seeds, from 1; or 3,7,9 or 5..14."),
    ] = "1",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write, results/<scenario>-sweep if not given; finished runs that are "
            "there are not run again.",
        ),
    ] = None,
    metric: options.Metrics = None,
    baseline: options.Baseline = None,
    figures: options.Figures = None,
    no_figures: options.NoFigures = False,
    jobs: options.JobsOnCores = None,
    scheduler: options.Scheduler = None,
    threads: options.Threads = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Simulate a scenario at many points, with several seeds.

    Runs are kept as they end: the same command, or one with more values, makes only those that are
    missing. All schemes have the same arrivals with the same seed.
    """
    shown = not (as_json or quiet)
    formats = options.formats(figures, no_figures=no_figures, shown=shown)
    settings = studying.settings(jobs, scheduler, threads or "1", quiet=quiet, yes=yes)
    chosen = options.load(scenario, assignments)
    sweeping = late.sweeping
    axes = axes_of(vary or (), zipped or (), point or ())
    for assignment in assignments or ():
        key = assignment.partition("=")[0].strip()
        if any(key in axis.keys for axis in axes):
            raise ParameterError(f"{key}: varied, and set by --set; leave one of the two out")
    plan = sweeping.planned(chosen, cc or None, axes, sweeping.seeds_of(seeds))
    if baseline is not None:
        late.differences.check_baseline(baseline, plan.schemes)
    late.sweep_records.check_metrics(metric or ())
    options.say_warnings(plan.warnings)
    out = Path("results") / f"{chosen.name}-sweep" if out is None else out
    found, stopped = studying.made(
        lambda: sweeping.execute(plan, out, settings, baseline),
        lambda found: f"{found.done} of {found.planned} rows",
        out,
    )
    options.say_warnings(found.warnings, plan.warnings)
    metrics = list(dict.fromkeys(metric or ())) or found.usual_metrics
    for name in metrics:
        if name not in found.metrics:
            print(f"note: {name}: no run has a value of it, or a bound", file=sys.stderr)
    there = [name for name in metrics if name in found.metrics]
    console = late.writing.console()
    if shown:
        late.sweeps.print_sweep(console, found, metrics, baseline)
    drawn = [] if stopped else _draw(found, there, formats, visible=not quiet)
    if as_json:
        _print_json(found, baseline, drawn)
    elif shown:
        late.sweeps.print_sweep_written(console, found, drawn)
    if stopped:
        raise typer.Exit(leaving.code())
    if found.failed:
        raise typer.Exit(FAILED)


def compare(
    first: Annotated[
        Path,
        typer.Argument(metavar="A", help="A result, a directory of several seeds, or a sweep."),
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    test: Annotated[
        str,
        typer.Option(
            metavar="|".join(_TESTS),
            autocompletion=completing.tests,
            help="The paired t test, or Wilcoxon's signed-rank test.",
        ),
    ] = "t",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completing.metrics,
            help="A figure of runs to compare, such as rtt_p99_us; may be repeated.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all of them, also those that did not change.")
    ] = False,
    table: options.Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell what changed between two results, and what is noise.

    Runs are paired by scheme, seed and, of sweeps, point.
    """
    if test not in _TESTS:
        raise typer.BadParameter(f"--test {test}: expected {' or '.join(_TESTS)}")
    form = options.check_table(table, as_json=as_json)
    chosen: Test = "t" if test == "t" else "wilcoxon"
    found = late.changes.compare(first, second, test=chosen, metrics=metric or None)
    if as_json:
        print(json.dumps(found.to_dict(), allow_nan=False))
    else:
        late.sweeps.print_comparison(late.writing.console(form), found, everything=everything)


def _draw(
    found: "Sweep", metrics: list[str], formats: Sequence[str], *, visible: bool
) -> list[Path]:
    """Draws the figures, where that is possible; else says why not."""
    if not metrics or not formats:
        return []
    why = found.why_no_figures()
    if why is not None:
        print(f"note: not drawn: {why}", file=sys.stderr)
        return []
    with late.progress.drawing(visible=visible):
        return found.write_figures(metrics, formats)


def _print_json(found: "Sweep", baseline: str | None, drawn: list[Path]) -> None:
    print(json.dumps({**found.told(baseline), "figures": list(map(str, drawn))}, allow_nan=False))
