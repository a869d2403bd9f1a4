"""The command that says what a cluster's collectives should reach."""

import json
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import completing, late, options
from incast.cli.exits import FAILED


def expect(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A TOML file, or the name of one that ships, whose network is taken.",
            autocompletion=completing.scenarios,
        ),
    ] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="The nodes of a cluster.")] = None,
    gpus: Annotated[
        int | None,
        typer.Option(metavar="N", help="The GPUs of a node, a NIC each; 8 if not given."),
    ] = None,
    nic: Annotated[
        str | None, typer.Option(metavar="RATE", help="The rate of a NIC; 400Gbps if not given.")
    ] = None,
    rails: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="A rail for each GPU of a node if not given, or 1: a node is at one leaf.",
        ),
    ] = None,
    oversubscription: Annotated[
        float | None,
        typer.Option(metavar="X", help="Of leaves over spines; 1 if not given."),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The delay of hosts' links, one way, with what hosts add; 1us if not given.",
        ),
    ] = None,
    island: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="The rate of a GPU to others of its node, such as 3.6Tbps; no limit if not given.",
        ),
    ] = None,
    collective: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The collective; the log's, or all-reduce, if not given.",
            autocompletion=completing.collectives,
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Its algorithm, such as ring or tree; the usual one if not given."
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Such as 1MiB,16MiB,256MiB, or the log's."),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The congestion control; the scenario's first, or line-rate (PFC alone), if not "
            "given.",
            autocompletion=completing.schemes,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What nccl-tests printed, or wrote with -J, to compare with.",
        ),
    ] = None,
    no_explain: Annotated[
        bool, typer.Option("--no-explain", help="Run no faults that would explain what is short.")
    ] = False,
    table: options.Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what collectives should reach on a cluster.

    Runs tell it, each size with three seeds. With a log of nccl-tests it compares, and runs faults
    that would explain what falls short; the exit code is then 1.
    """
    form = options.check_table(table, as_json=as_json)
    if table and log is None:
        raise typer.BadParameter(f"--table {table}: only with --log; leave it out")
    found = late.expecting.expect(
        scenario, nodes=nodes, gpus=gpus, nic=nic, rails=rails, oversubscription=oversubscription,
        delay=delay, island=island, collective=collective, algorithm=algorithm, sizes=sizes,
        scheme=scheme, log=log, explain=not no_explain,
    )  # fmt: skip
    if as_json:
        print(json.dumps(found.to_dict(), allow_nan=False))
    elif log is None:
        print(found.text(), end="")
    else:
        late.expectations.print_compared(late.writing.console(form), found)
    if found.short:
        raise typer.Exit(FAILED)
