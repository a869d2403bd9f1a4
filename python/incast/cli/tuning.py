"""The command that searches settings of an algorithm."""

import itertools
import json
from pathlib import Path
from typing import Annotated

import typer

from incast.base import extras, leaving
from incast.cli import completing, late, options, studying
from incast.cli.exits import FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:  # it imports Polars
    from incast.api.tuned import Tuning


def tune(
    scenario: Annotated[
        list[str],
        typer.Argument(
            help="TOML files, or names of ones that ship.", autocompletion=completing.scenarios
        ),
    ],
    cc: Annotated[
        str,
        typer.Option(
            "--cc",
            metavar="NAME",
            autocompletion=completing.schemes,
            help="The scheme to tune, such as timely or timely:zhu; parameters in brackets stay.",
        ),
    ],
    minimize: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIGURE",
            autocompletion=completing.metrics,
            help="A figure of runs that is to be small, such as rtt_p99_us; may be repeated.",
        ),
    ] = None,
    maximize: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIGURE",
            autocompletion=completing.metrics,
            help="A figure of runs that is to be large; may be repeated.",
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="A limit that holds in each scenario, such as 'throughput_gbps >= 0.95 * best' "
            "or 'drops <= 0'; may be repeated.",
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=RANGE]",
            help="A parameter to search, such as t_high=50us..2ms or startup=on,off; repeat it. If "
            "none is named: all with a number that is not zero, a tenth to ten times that.",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(metavar="N", help="Settings to try, the scheme as given included.")
    ] = 100,
    seeds: Annotated[
        str,
        typer.Option(
            metavar="N|LIST", help="The number of seeds of a trial, from 1; or 3,7,9 or 5..14."
        ),
    ] = "1",
    validate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCENARIO",
            autocompletion=completing.scenarios,
            help="Run what was found beside the scheme as given and all presets in this scenario; "
            "may be repeated.",
        ),
    ] = None,
    validate_seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N|LIST",
            help="The seeds of --validate: 5 after the seeds of the tuning, so many, or these.",
        ),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(metavar="N", help="Trials that are proposed at once; it changes results."),
    ] = 10,
    sampler_seed: Annotated[int, typer.Option(metavar="N", help="The seed of the proposals.")] = 0,
    assignments: options.Assignments = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write, results/<scenario>-tune-<scheme> if not given; finished runs "
            "that are there are not run again.",
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
    """Search good settings of an algorithm by its runs.

    Runs are kept as they end: the same command, or one with more trials, makes only those that are
    missing. The result depends neither on the number of jobs nor on interruptions.
    """
    extras.need("tune")
    shown = not (as_json or quiet)
    formats = options.formats(figures, no_figures=no_figures, shown=shown)
    settings = studying.settings(jobs, scheduler, threads or "1", quiet=quiet, yes=yes)
    tuning, sweeping = late.tuning, late.sweeping
    chosen = [options.load(one, assignments) for one in scenario]
    plan = late.tuning_plan.planned(
        chosen,
        cc,
        minimize=minimize or (),
        maximize=maximize or (),
        subject_to=subject_to or (),
        over=over,
        trials=trials,
        seeds=sweeping.seeds_of(seeds),
        batch=batch,
        sampler_seed=sampler_seed,
        validate=[options.load(one, assignments) for one in validate or ()],
        validate_seeds=None if validate_seeds is None else sweeping.seeds_of(validate_seeds),
    )
    options.say_warnings(plan.warnings)
    if out is None:
        name = plan.scheme.partition("[")[0].replace(":", "-")
        out = Path("results") / f"{chosen[0].name}-tune-{name}"
    found, stopped = studying.made(
        lambda: tuning.execute(plan, out, settings),
        lambda found: f"{len(found.every)} of {found.planned} trials",
        out,
    )
    every = [found.warnings, *(sweep.warnings for sweep in found.validation.values())]
    options.say_warnings(itertools.chain(*every), plan.warnings)
    console = late.writing.console()
    if shown:
        late.tunings.print_tuning(console, found)
        late.tunings.print_validation(console, found)
    drawn = []
    if formats and found.every and not stopped:
        with late.progress.drawing(visible=not quiet):
            drawn = found.write_figures(formats=formats)
    if as_json:
        _print_json(found, drawn)
    elif shown:
        late.tunings.print_tuning_written(console, found, drawn)
    if stopped:
        raise typer.Exit(leaving.code())
    if found.best is None or any(one.failed for one in found.validation.values()):
        raise typer.Exit(FAILED)


def _print_json(found: "Tuning", drawn: list[Path]) -> None:
    validation = {
        name: {**sweep.to_dict(), "summary": sweep.summary.to_dicts()}
        for name, sweep in found.validation.items()
    }
    print(
        json.dumps(
            {
                **found.to_dict(),
                "validation": validation,
                "directory": str(found.directory),
                "figures": [str(path) for path in drawn],
            },
            allow_nan=False,
        )
    )
