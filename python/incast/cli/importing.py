"""Files of other simulators."""

from pathlib import Path
from typing import Annotated

import typer

from incast.cli import late


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Configuration, topology, flows and trace of HPCC's simulator or a relative, or "
            "htsim's .cm and .topo; or HPCC's fct.txt or pfc.txt alone; or the trace of a job "
            "(GOAL, Chakra, MSCCL, SimAI), perhaps with a .topo. A configuration alone brings the "
            "files that it names.",
        ),
    ],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="What a FILE is, such as hpcc-flows, if its text does not tell; once for each.",
        ),
    ] = None,
    simulator: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="SIMULATOR",
            help="Whose flows they are where the text may be of two: hpcc, ns3-rdma or htsim.",
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The ranks of each process group of a Chakra trace, in JSON.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(metavar="BYTES", min=1, help="The size of the data of an MSCCL algorithm."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write; scenario.toml, or of results their name in .parquet, if not "
            "given.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Make a scenario, or a table, of files of other programs.

    These are other simulators, and recorders of jobs. Files of results become a table. What was
    not taken over is said.
    """
    written, notes = late.imports.import_files(
        files, formats or (), out, simulator=simulator, force=force, groups=groups, size=size
    )
    for note in notes:
        print(f"note: {note}")
    for path in written:
        print(f"wrote {path}")
