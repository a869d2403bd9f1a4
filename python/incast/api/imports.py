"""Scenarios and tables from files of other simulators."""

import glob
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from incast import _core
from incast._core import ScenarioError, Table
from incast.base import inputs, staging
from incast.base.words import option
from incast.results import store
from incast.results.tables import frame

_SCENARIO = "scenario.toml"
_RANK = "{rank}"
_JOBS = ("goal", "chakra", "msccl", "simai")
_NAMED = re.compile(r"^[ \t]*(TOPOLOGY_FILE|FLOW_FILE|TRACE_FILE)[ \t]+(\S+)", re.MULTILINE)
"""The files that a configuration of HPCC's simulator reads."""


def import_files(
    files: Sequence[Path],
    formats: Sequence[str],
    out: Path | None,
    *,
    simulator: str | None = None,
    force: bool = False,
    groups: Path | None = None,
    size: int | None = None,
) -> tuple[list[Path], list[str]]:
    """Writes what `files` make: the table of a file of results, or else a scenario.

    `simulator` says whose files they are where the text may be of two; `groups` and `size` belong
    to the trace of a job. Returns what was written, and notes on what was not taken over. Nothing
    is overwritten unless `force` says so, and the files that are read never are.
    """
    if groups or size or _is_job(files, formats):
        out = Path(_SCENARIO) if out is None else out
        return _write_job(files, formats, out, force=force, groups=groups, size=size)
    if len(files) == 1 and len(formats) < 2:
        table = _core.read_results(str(files[0]), inputs.text(files[0]), *formats)
        if table is not None:
            out = Path(files[0].with_suffix(".parquet").name) if out is None else out
            _write_table(files[0], table, out, force=force)
            return [out], []
    out = Path(_SCENARIO) if out is None else out
    return write(files, formats, out, simulator=simulator, force=force)


def read_foreign(path: str | os.PathLike[str], kind: str | None = None) -> pl.DataFrame:
    """The table in a file of results of HPCC's simulator; docs/how-to/importing.md has its columns.

    Args:
        path: Completed flows (`fct.txt`) or PFC frames (`pfc.txt`).
        kind: `hpcc-fct` or `hpcc-pfc`; the first line of the file tells if None.

    Raises:
        ScenarioError: The file cannot be read, or is none of them.
    """
    file = Path(path)
    table = _core.read_results(str(file), inputs.text(file), kind)
    if table is None:
        raise ScenarioError(
            f"{file}: no results of HPCC's simulator; expected lines of completed flows or of PFC "
            "frames, or the kind hpcc-fct or hpcc-pfc for an empty file"
        )
    return frame(table)


def write(
    files: Sequence[Path],
    formats: Sequence[str],
    out: Path,
    *,
    simulator: str | None = None,
    force: bool = False,
) -> tuple[list[Path], list[str]]:
    """Writes the scenario that `files` make to `out`, and beside it what it reads.

    Returns what was written, and notes on what was not taken over. Nothing is overwritten unless
    `force` says so, and the files that are read never are.
    """
    files, found = (files, []) if formats else _followed(files)
    texts = [(str(file), inputs.text(file)) for file in files]
    toml, beside, notes = _core.import_files(texts, formats, simulator)
    sources = {file.resolve() for file in files}
    planned = [(out, toml)]
    for name, text in beside:
        path = out.parent / name
        # The flows already lie beside the scenario.
        if path.resolve() not in sources:
            planned.append((path, text))
    for path, _ in planned:
        _check(path, sources, force=force)
    _check_folder(out.parent)
    for path, text in planned:
        _write(path, text)
    return [path for path, _ in planned], [*found, *notes]


def _is_job(files: Sequence[Path], formats: Sequence[str]) -> bool:
    """Whether they are the trace of a job: by the name of their format, or by how they begin."""
    if formats:
        return formats[0] in _JOBS
    first = Path(str(files[0]).replace(_RANK, "0"))
    if not first.is_file():
        return False  # a pipe may never begin; whoever reads it says so
    try:
        with first.open("rb") as opened:
            return _core.is_job(opened.read(4096))
    except OSError:
        return False  # whoever reads it says so


def _write_job(
    files: Sequence[Path],
    formats: Sequence[str],
    out: Path,
    *,
    force: bool,
    groups: Path | None,
    size: int | None,
) -> tuple[list[Path], list[str]]:
    """Writes the scenario of a job, which reads the trace where it is."""
    topologies = [file for file in files if file.suffix == ".topo"]
    traces = [file for file in files if file.suffix != ".topo"]
    if len(traces) != 1 or len(topologies) > 1 or len(formats) > 1:
        raise ScenarioError(
            f"{', '.join(map(str, files))}: a job has one trace, with {_RANK} in its name where "
            "each rank has a file, and at most one topology (.topo); name those"
        )
    beside = [os.path.relpath(file, out.parent) for file in (*traces, *topologies)]
    read = {file.resolve() for file in files}
    _check(out, read, force=force)
    _check_folder(out.parent)
    topology = (beside[1], inputs.text(topologies[0])) if topologies else None
    toml, notes = _core.import_job(
        beside[0],
        format=formats[0] if formats else None,
        groups=None if groups is None else os.path.relpath(groups, out.parent),
        size=size,
        topology=topology,
        folder=out.parent,
    )
    _write(out, toml)
    return [out], notes


def _followed(files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files with those that a configuration names, if it is alone, and a note on each."""
    if len(files) != 1:
        return list(files), []
    config = files[0]
    # As there, the last value of a repeated key counts.
    named = dict(_NAMED.findall(inputs.text(config)))
    found = {key: _place(config, name) for key, name in named.items()}
    notes = [f"{config}: {key} {named[key]}: read {path}" for key, path in found.items() if path]
    if found.get("TRACE_FILE") is None and "TRACE_FILE" in named:
        notes.append(f"{config}: TRACE_FILE {named['TRACE_FILE']}: not found; no node is traced")
    return [config, *dict.fromkeys(path for path in found.values() if path)], notes


def _place(config: Path, name: str) -> Path | None:
    """The file that a configuration names; its path counts from where the simulator was started.

    That may be the folder of the configuration or one above it, or this one. Otherwise a file of
    that name beside the configuration is taken, or in a folder beside that of the configuration.
    """
    folder = config.resolve().parent
    places = [above / name for above in (folder, *folder.parents)]
    places += [Path(name), folder / Path(name).name]
    places += sorted(folder.parent.glob(f"*/{glob.escape(Path(name).name)}"))
    there = next((place for place in places if place.is_file()), None)
    if there is None:
        return None
    return Path(os.path.relpath(there)) if not config.is_absolute() else there


def _write_table(file: Path, table: Table, out: Path, *, force: bool) -> None:
    if out.suffix != ".parquet":
        raise ScenarioError(
            f"{out}: {file} makes a table; expected an {option('--out')} that ends in .parquet"
        )
    _check(out, {file.resolve()}, force=force)
    _check_folder(out.parent)
    try:
        frame(table).write_parquet(out, metadata={"incast": json.dumps(table.info)})
    except OSError as error:
        raise ScenarioError(f"cannot write {out}: {error.strerror or error}") from error


def _check(path: Path, sources: set[Path], *, force: bool) -> None:
    if path.resolve() in sources:
        raise ScenarioError(
            f"{path} is one of the files that are read; choose another {option('--out')}"
        )
    if path.exists() and not force:
        raise ScenarioError(
            f"{path} is there already; choose another {option('--out')}, or take "
            f"{option('--force', 'force=True')}"
        )


def _check_folder(folder: Path) -> None:
    """Refuses a folder that files cannot be written to; imports make none."""
    if not folder.is_dir():
        raise ScenarioError(f"cannot write to {folder}: no such directory; make it first")
    store.check_folder(folder)


def _write(path: Path, text: str) -> None:
    try:
        with staging.file(path) as place:
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot write {path}: {error.strerror}") from error
