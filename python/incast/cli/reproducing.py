"""The papers' tables and figures."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from incast.base import leaving
from incast.cli import completing, late, options
from incast.reproduce import spec
from incast.reproduce.experiment import SpecError


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]",
            autocompletion=completing.experiments,
            help="Experiments such as timely/table-1, a source such as timely, or files of yours.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All experiments.")] = False,
    list_them: Annotated[bool, typer.Option("--list", help="Say which there are.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Shorter runs and fewer seeds; alone, of all experiments."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write, results/reproduce (or -quick) if not given; finished runs that "
            "are there are not run again.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=1024, metavar="N", help="Runs side by side; a core each if not."),
    ] = None,
    scheduler: options.Scheduler = None,
    page: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The page of the simulator that figures link to, such as one on a web server; a "
            "copy in the folder of the report if not given.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, and no table.")
    ] = False,
) -> None:
    """Run the papers' experiments again, and judge their claims.

    Measured values stand beside the published ones, in tables, figures and a report.
    """
    chosen = [spec.load(name) for name in _chosen(names or [], everything or quick or list_them)]
    console = late.writing.console()
    if list_them:
        if as_json:
            items = [
                {
                    "name": one.name,
                    "title": one.title,
                    "place": one.place,
                    "claims": len(one.claim),
                }
                for one in chosen
            ]
            print(json.dumps(items))
        else:
            rows = [(one.name, one.title, len(one.claim)) for one in chosen]
            late.catalogue.print_experiments(console, rows)
        return
    driver, say = late.driver, late.say  # imported before workers are there to be stopped
    target = out or Path("results") / ("reproduce-quick" if quick else "reproduce")
    done = []
    try:
        with _progress(visible=not (quiet or as_json)) as progress:
            for of in driver.reproduce(
                chosen,
                target,
                quick=quick,
                jobs=jobs,
                scheduler=options.check_scheduler(scheduler, jobs),
                progress=progress,
                address=page,
            ):
                done.append(of)
                if not (quiet or as_json):
                    say.print_outcome(console, of, target / of.experiment.name)
    except KeyboardInterrupt:
        typer.echo(
            f"stopped: {len(done)} of {len(chosen)} experiments are done; the runs that ended are "
            f"kept in {target}{os.sep}, and the same command goes on from there",
            err=True,
        )
        raise typer.Exit(leaving.code()) from None
    if as_json:
        print(json.dumps([of.to_dict() for of in done], allow_nan=False))
    elif not quiet:
        say.print_summary(console, done, target)


def _chosen(names: list[str], everything: bool) -> list[str]:
    """The experiments that were named: a source stands for all of it."""
    there = list(spec.known())
    if not names:
        if not everything:
            raise typer.BadParameter("expected the name of an experiment, --all, or --list")
        return there
    found: list[str] = []
    for name in names:
        of_source = [one for one in there if one.startswith(f"{name.rstrip('/')}/")]
        found += of_source if of_source and name not in there else [name]
    for index, name in enumerate(found):
        if name in found[:index]:
            raise SpecError(f"{name}: named twice; an experiment is run once")
    return found


@contextmanager
def _progress(*, visible: bool) -> Iterator["late.driver.Progress"]:
    """A bar on stderr, for all runs together; nothing where that is no terminal."""
    with late.progress.bar_of_runs(visible=visible) as show:
        yield late.driver.Progress(
            total=lambda count: show(total=count),
            run=lambda name, _: show(advance=1, description=name),
        )
