"""The command that writes traces for other tools."""

import json
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import completing, late, options

_FORMATS = ("pcapng", "perfetto")


def export(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A result, run with --trace packets or others.")
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="|".join(_FORMATS),
            autocompletion=completing.exports,
            help="pcapng for Wireshark and tshark, perfetto for ui.perfetto.dev.",
        ),
    ],
    cc: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="NAME",
            autocompletion=completing.schemes,
            help="A scheme to export; may be repeated. A file for each of the result if not given.",
        ),
    ] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only packets that this port sent, such as host0 or 'leaf0->host0'; may be "
            "repeated; of pcapng.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write; SCENARIO-SCHEME.* here if not given."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write the traces of a result as files that other tools open."""
    if to not in _FORMATS:
        raise typer.BadParameter(f"--to {to}: expected {' or '.join(_FORMATS)}")
    if port and to != "pcapng":
        raise typer.BadParameter(f"--port {port[0]}: only pcapng files are of single ports")
    result = late.result.open_result(directory).members[0]
    written = late.exporting.export(result, to, cc or (), out, port or ())
    if as_json:
        print(json.dumps([{"path": str(one.path), "scheme": one.scheme} for one in written]))
        return
    for one in written:
        late.writing.say(late.writing.console(), f"Wrote {one.path}: {one.holds}")
