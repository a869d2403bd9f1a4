"""Commands that simulate."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from incast._core import IncastError, Scenario
from incast.api import costs, scenarios
from incast.base import leaving
from incast.base.machine import Meter
from incast.base.stopping import Stop
from incast.cli import completing, late, options, studying

TYPE_CHECKING = False
if TYPE_CHECKING:  # they import Polars
    from incast.api.result import Result, Results
    from incast.results.store import Written


def run(
    scenario: options.ScenarioName,
    cc: options.Schemes = None,
    assignments: options.Assignments = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=2**64 - 1,
            metavar="N",
            help="The seed, if not the scenario's; repeat it for the spread over several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write, results/<scenario> if not given; of several seeds, seed-N in it.",
        ),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="|".join(scenarios.TRACES),
            autocompletion=completing.traces,
            help="Record every event of these; may be repeated.",
        ),
    ] = None,
    baseline: options.Baseline = None,
    figures: options.Figures = None,
    no_figures: options.NoFigures = False,
    jobs: options.Jobs = None,
    threads: options.Threads = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Simulate a scenario once per scheme, and compare the schemes.

    Tables and figures are written to a directory.
    """
    shown = not (as_json or quiet)
    formats = options.formats(figures, no_figures=no_figures, shown=shown)
    chosen = options.load(scenario, assignments)
    schemes = scenarios.check_schemes(chosen, cc or None)
    if baseline is not None:
        baseline = scenarios.canonical(baseline)
        late.differences.check_baseline(baseline, schemes)
    options.warn(chosen, schemes)
    traces = scenarios.check_traces(trace or ())
    out = Path("results") / chosen.name if out is None else out
    used = Meter()
    places = _places(out, scenarios.check_seeds(chosen, seed or None))
    # Imported before anything is made or timed.
    plans = late.batch.planned(
        chosen,
        dict(zip(schemes, schemes, strict=True)),
        list(places),
        traces=traces,
        threads=scenarios.check_threads(threads),
    )
    simulate = late.running.results
    for directory in places.values():
        late.store.check(directory)
    _say_replaced(chosen, schemes, places)
    if not yes:
        costs.check(chosen, schemes, traces=traces, repeats=len(places), ask=options.ask)
    jobs = late.batch.side_by_side(plans, jobs, whatever_it_costs=yes)
    found: dict[int, tuple[Result, Written]] = {}
    failure = None
    with Stop() as stop:
        try:
            for result in simulate(plans, jobs, stop, used, progress=not quiet):
                # Written at once, so that nothing is lost whatever comes later.
                found[result.seed] = result, late.store.write(result, places[result.seed])
        except IncastError as error:
            failure = error
    done = [found[number] for number in places if number in found]
    one = len(places) == 1
    if done and failure is None:
        options.say_warnings(_results(done).doubts)
        if shown:
            _print_table(done, baseline, used, one=one)
        done = _drawn(done, stop, formats, visible=not quiet)
        if as_json:
            _print_json(done, baseline, one=one)
    for _, written in done if shown and failure is None else ():
        late.report.print_written(late.writing.console(), written, short=not one)
    if stop.asked:
        _say_stopped([written for _, written in done], formats)
    if failure is not None:
        raise failure
    if stop.asked:
        raise typer.Exit(leaving.code())


def _drawn(
    done: "list[tuple[Result, Written]]", stop: Stop, formats: tuple[str, ...], *, visible: bool
) -> "list[tuple[Result, Written]]":
    """The results, with the figures of those that are complete, until Ctrl-C stops it."""
    if not formats:
        return done
    found = dict(enumerate(done))
    drawing = late.progress.drawing(visible=visible)
    with stop, contextlib.suppress(KeyboardInterrupt), stop.raising(), drawing:
        for number, (result, written) in enumerate(done):
            if result.complete:
                found[number] = result, late.result.add_figures(result, written, formats)
    return list(found.values())


def _say_stopped(done: "list[Written]", formats: tuple[str, ...]) -> None:
    """Says in a line, after Ctrl-C, what is kept, and what draws the figures that are missing."""
    without = [written.directory for written in done if formats and not written.figures]
    if not done:
        text = "nothing was simulated"
    elif without:
        kept = ", ".join(f"{place}{os.sep}" for place in without)
        plot = " ".join(map(str, without))
        text = f"the tables are kept in {kept}; `incast plot {plot}` draws figures"
    else:
        text = f"the results are in {', '.join(f'{one.directory}{os.sep}' for one in done)}"
    typer.echo(f"stopped: {text}", err=True)


def saturate(
    scenario: options.ScenarioName,
    cc: options.Schemes = None,
    assignments: options.Assignments = None,
    lowest: Annotated[float, typer.Option("--from", metavar="L", help="The lowest load.")] = 0.1,
    highest: Annotated[float, typer.Option("--to", metavar="L", help="The highest load.")] = 1.0,
    step: Annotated[float, typer.Option(metavar="L", help="From one load to the next.")] = 0.1,
    threshold: Annotated[
        float, typer.Option(metavar="R", help="Least carried over offered that is not saturated.")
    ] = 0.95,
    traffic: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose load is raised: name or number, from 0."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**64 - 1, metavar="N", help="The seed, if not the scenario's."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where to keep it; results/<scenario>-saturation if not given."
        ),
    ] = None,
    figures: options.Figures = None,
    no_figures: options.NoFigures = False,
    jobs: options.JobsOnCores = None,
    scheduler: options.Scheduler = None,
    threads: options.Threads = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Raise the offered load until a scheme no longer carries it.

    Runs that are there already are kept.
    """
    shown = not (as_json or quiet)
    formats = options.formats(figures, no_figures=no_figures, shown=shown)
    settings = studying.settings(jobs, scheduler, threads, quiet=quiet, yes=yes)
    chosen = options.load(scenario, assignments)
    out = Path("results") / f"{chosen.name}-saturation" if out is None else out
    plan = late.saturation.planned(
        chosen, cc or None, late.saturation.grid(lowest, highest, step), threshold, traffic, seed
    )
    options.say_warnings(plan.warnings)
    found, stopped = studying.made(
        lambda: late.saturation.execute(plan, out, settings), lambda _: "the runs that ended", out
    )
    options.say_warnings(found.warnings, plan.warnings)
    console = late.writing.console()
    if shown:
        late.report.print_saturation(console, found)
    drawn = []
    if formats and not stopped:
        with late.progress.drawing(visible=not quiet):
            drawn = late.saturation.draw(found, out, formats)
    if as_json:
        print(json.dumps(found.to_dict(), allow_nan=False))
    elif shown:
        late.report.print_saturation_written(console, out, drawn)
    if stopped:
        raise typer.Exit(leaving.code())


def _places(out: Path, seeds: list[int]) -> dict[int, Path]:
    """The directory of each seed's result."""
    return {seed: out / f"seed-{seed}" if len(seeds) > 1 else out for seed in seeds}


def _say_replaced(scenario: Scenario, schemes: tuple[str, ...], places: dict[int, Path]) -> None:
    """Says on stderr, before anything is run, which earlier results will be replaced."""
    text = scenario.toml()
    found = {
        directory: of
        for seed, directory in places.items()
        if (of := late.store.replaces(directory, text, schemes, seed))
    }
    if found:
        directory, of = next(iter(found.items()))
        more = f" and {len(found) - 1} beside it" if len(found) > 1 else ""
        print(
            f"note: {of} in {directory}{os.sep}{more} will be replaced at the end of this run; "
            "--out DIR keeps it",
            file=sys.stderr,
        )


def _print_json(done: "list[tuple[Result, Written]]", baseline: str | None, *, one: bool) -> None:
    items = [{**result.to_dict(), "written": written.to_dict()} for result, written in done]
    print(
        json.dumps(late.report.to_dict(_results(done), items, baseline, one=one), allow_nan=False)
    )


def _print_table(
    done: "list[tuple[Result, Written]]", baseline: str | None, used: Meter, *, one: bool
) -> None:
    console = late.writing.console()
    late.report.print_results(console, _results(done), baseline, one=one)
    runs = [run for result, _ in done for run in result.runs.values()]
    late.report.print_used(console, sum(run.summary["packet_hops"] or 0 for run in runs), used)


def _results(done: "list[tuple[Result, Written]]") -> "Results":
    return late.result.Results(tuple(result for result, _ in done))
