"""Commands that simulate."""

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, cast

import typer

from incast._core import ParameterError, Scenario
from incast.api import costs, scenarios
from incast.api.interruption import Interrupted
from incast.base.machine import Meter
from incast.cli import completing, late, options
from incast.cli.exits import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:  # they import Polars
    from incast.api.result import Result, Results
    from incast.results.saturation import Saturation
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
    threads: options.Threads = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Simulate a scenario once per scheme, and compare the schemes.

    Tables and figures are written to a directory.
    """
    chosen = options.load(scenario, assignments)
    schemes = scenarios.check_schemes(chosen, cc or None)
    if baseline is not None:
        late.differences.check_baseline(baseline, schemes)
    options.warn(chosen, schemes)
    traces = scenarios.check_traces(trace or ())
    scenarios.check_threads(threads)
    out = Path("results") / chosen.name if out is None else out
    done: list[tuple[Result, Written]] = []
    used = Meter()
    stopped = False
    places = _places(out, seed or [])
    # Imported before anything is made or timed.
    simulate = late.running.run
    for directory in places.values():
        late.store.check(directory)
    _say_replaced(chosen, schemes, places)
    if not yes:
        costs.check(chosen, schemes, traces=traces, repeats=len(places), ask=options.ask)
    for number, directory in places.items():
        try:
            with used:
                result = simulate(
                    chosen,
                    schemes,
                    seed=number,
                    traces=traces,
                    threads=threads,
                    progress=not quiet,
                    whatever_it_costs=True,
                )
        except Interrupted as interrupted:
            result, stopped = cast("Result", interrupted.result), True
            if not result.runs:
                break
        # Written at once, so that a later Ctrl-C loses nothing.
        written, whole = _write(result, directory, figures=not stopped)
        done.append((result, written))
        if not whole:
            stopped = True
            break
    options.say_warnings(_results(done).unfinished if done else [])
    if not done:
        typer.echo("stopped: nothing was simulated", err=True)
    elif as_json:
        _print_json(done, baseline, one=len(places) == 1)
    elif not quiet:
        _print_table(done, baseline, used, one=len(places) == 1)
    if stopped:
        raise typer.Exit(INTERRUPTED)


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
    threads: options.Threads = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Raise the offered load until a scheme no longer carries it.

    Runs that are there already are kept.
    """
    chosen = options.load(scenario, assignments)
    options.warn(chosen, scenarios.check_schemes(chosen, cc or None))
    out = Path("results") / f"{chosen.name}-saturation" if out is None else out
    loads = late.saturation.grid(lowest, highest, step)
    if not yes:
        schemes = scenarios.check_schemes(chosen, cc or None)
        costs.check(late.saturation.hardest(chosen, loads, traffic), schemes, ask=options.ask)
    try:
        with _warnings_as_notes():
            found = late.saturation.saturate(
                chosen,
                cc or None,
                directory=out,
                loads=loads,
                threshold=threshold,
                traffic=traffic,
                seed=seed,
                threads=threads,
                progress=not quiet,
                whatever_it_costs=True,
            )
    except Interrupted as interrupted:
        found = cast("Saturation", interrupted.result)
        typer.echo(
            f"stopped: the runs that ended are kept in {out}{os.sep}, and the same command goes on "
            "from there",
            err=True,
        )
    if as_json:
        print(json.dumps(found.to_dict(), allow_nan=False))
    elif not quiet:
        late.report.print_saturation(late.writing.console(), found, out)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Says on stderr, in a line each, what Python would be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", late.store.OutputWarning)
        warnings.showwarning = lambda text, *_, **__: print(f"note: {text}", file=sys.stderr)
        yield


def _places(out: Path, seeds: list[int]) -> dict[int | None, Path]:
    """The directory of each seed's result; None is the seed of the scenario."""
    if len(seeds) < 2:
        return {next(iter(seeds), None): out}
    places: dict[int | None, Path] = {}
    for seed in seeds:
        if seed in places:
            raise ParameterError(f"seed {seed}: named twice; it would give the same result twice")
        places[seed] = out / f"seed-{seed}"
    return places


def _say_replaced(
    scenario: Scenario, schemes: tuple[str, ...], places: dict[int | None, Path]
) -> None:
    """Says on stderr, before anything is run, which earlier results will be replaced."""
    text = scenario.toml()
    found = {
        directory: of
        for seed, directory in places.items()
        if (
            of := late.store.replaces(
                directory, text, schemes, scenario.seed if seed is None else seed
            )
        )
    }
    if found:
        directory, of = next(iter(found.items()))
        more = f" and {len(found) - 1} beside it" if len(found) > 1 else ""
        print(
            f"note: {of} in {directory}{os.sep}{more} will be replaced at the end of this run; "
            "--out DIR keeps it",
            file=sys.stderr,
        )


def _write(result: "Result", directory: Path, *, figures: bool) -> "tuple[Written, bool]":
    """Writes a result; without figures where Ctrl-C has come, or comes meanwhile, and False."""
    # All tables are written before matplotlib is imported.
    written = late.store.write(result, directory)
    if figures:
        with contextlib.suppress(KeyboardInterrupt):
            return late.result.add_figures(result, written), True
    place = written.directory
    typer.echo(
        f"stopped: the tables are kept in {place}{os.sep}; `incast plot {place}` draws figures",
        err=True,
    )
    return written, False


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
    for _, written in done:
        late.report.print_written(console, written, short=not one)


def _results(done: "list[tuple[Result, Written]]") -> "Results":
    return late.result.Results(tuple(result for result, _ in done))
