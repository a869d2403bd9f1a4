"""Commands that list what there is to choose from: algorithms and flow sizes."""

import json
from pathlib import Path
from typing import Annotated

import typer

from incast import _core
from incast.api import guests
from incast.base import inputs
from incast.base.words import nearest
from incast.cli import completing, late


def algorithms(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show everything about this one.", autocompletion=completing.algorithms
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the algorithms, or the parameters and presets of one."""
    known = {algorithm.name: algorithm for algorithm in _core.algorithms()}
    if name is None:
        known |= {algorithm.name: algorithm for algorithm in guests.installed()}
    own = None if name is None else guests.described(name)
    if name is not None and own is not None:
        known[name] = own
    if name is not None and name not in known:
        raise _core.ParameterError(f"{name}: no such algorithm; {nearest(name, known)}")
    chosen = list(known.values()) if name is None else [known[name]]
    if as_json:
        items = [late.catalogue.algorithm_to_dict(algorithm) for algorithm in chosen]
        print(json.dumps(items if name is None else items[0]))
    elif name is None:
        late.catalogue.print_algorithms(late.writing.console(), chosen)
    else:
        late.catalogue.print_algorithm(late.writing.console(), chosen[0])


def workloads(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]",
            help="Show this one, or a file of your own.",
            autocompletion=completing.workloads,
        ),
    ] = None,
    packets: Annotated[
        bool, typer.Option("--packets", help="FILE has packets of 1,460 B, not bytes.")
    ] = False,
    step: Annotated[
        bool, typer.Option("--step", help="FILE has no sizes between its points.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the distributions of flow sizes, or all points of one."""
    if name is None:
        if packets or step:
            raise typer.BadParameter("--packets and --step are for a FILE; name it")
        tables = _core.workloads()
        if as_json:
            print(json.dumps([late.catalogue.workload_to_dict(table) for table in tables]))
        else:
            late.catalogue.print_workloads(late.writing.console(), tables)
        return
    found = _workload(name, packets=packets, step=step)
    if as_json:
        print(json.dumps(late.catalogue.workload_to_dict(found)))
    else:
        late.catalogue.print_workload(late.writing.console(), found)


def _workload(name: str, *, packets: bool, step: bool) -> _core.Workload:
    """The table that ships under a name, or the one in a file."""
    known = {table.name: table for table in _core.workloads()}
    path = Path(name)
    there = path.exists() and not path.is_dir()
    if name in known and not there:
        if packets or step:
            raise typer.BadParameter(f"{name}: ships as it is; --packets and --step are for a FILE")
        return known[name]
    if not there:
        why = nearest(path.name, known)
        raise _core.ParameterError(f"{name}: neither a file nor sizes that ship; {why}")
    return _core.Workload.parse(inputs.text(path), name, packets=packets, step=step)
