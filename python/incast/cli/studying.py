"""The common part of commands on studies: how runs are made, and the sentence after Ctrl-C."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import typer

from incast.api.interruption import Interrupted
from incast.cli import late, options

TYPE_CHECKING = False
if TYPE_CHECKING:  # it imports Polars
    from incast.api.study import Options

Found = TypeVar("Found")


def settings(
    jobs: int | None, scheduler: str | None, threads: str | None, *, quiet: bool, yes: bool
) -> "Options":
    """The way in which the runs of a study are made."""
    options.check_scheduler(scheduler, jobs)
    return late.study.Options(jobs, scheduler, threads, not quiet, yes, options.ask)


def made(make: Callable[[], Found], kept: Callable[[Found], str], out: Path) -> tuple[Found, bool]:
    """The finding of a study, and whether Ctrl-C stopped it, of which a sentence tells."""
    try:
        return make(), False
    except Interrupted as interrupted:
        found = cast("Found", interrupted.result)
        typer.echo(
            f"stopped: {kept(found)} are kept in {out}{os.sep}, and the same command goes on from "
            "there",
            err=True,
        )
        return found, True
