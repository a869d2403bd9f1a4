"""Files for other tools, made of a stored result."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incast._core import IncastError, ParameterError
from incast.base import staging
from incast.base.words import nearest
from incast.results import store
from incast.results.record import Record
from incast.traces import capture, timeline
from incast.traces.source import STEPS, Source

FORMATS = {
    "pcapng": ("pcapng", "packets, for Wireshark and tshark"),
    "perfetto": ("perfetto.json", "ports, flows and ranks over time, for ui.perfetto.dev"),
}
"""The formats: the ending of their files, and what they are for."""


@dataclass(frozen=True)
class Exported:
    """A file that was written, and what it holds."""

    path: Path
    scheme: str
    holds: str


def export(
    result: Record,
    to: str,
    schemes: Sequence[str] = (),
    out: Path | None = None,
    ports: Sequence[str] = (),
) -> list[Exported]:
    """Writes a file for each scheme of a stored result; all of them if none is named.

    `ports` are those whose packets go to a pcapng file, if not all.

    Raises:
        IncastError: The result is not a stored one, or has not the trace that it takes.
        OutputError: A file cannot be written.
        ParameterError: There is no such scheme or port, or one file is to hold several schemes.
        ResultError: A table cannot be read.
    """
    chosen = list(dict.fromkeys(schemes)) or [one for one in result.schemes if one in result.runs]
    for name in chosen:
        if name not in result.runs:
            raise ParameterError(f"{name}: none of the schemes; {nearest(name, result.runs)}")
    if out is not None and len(chosen) > 1:
        raise ParameterError(
            f"--out {out}: is one file, and there are {len(chosen)} schemes; choose one with --cc"
        )
    return [_export(result, to, name, out or _place(result, name, to), ports) for name in chosen]


def _export(result: Record, to: str, scheme: str, target: Path, ports: Sequence[str]) -> Exported:
    if result.directory is None:
        raise IncastError("the result is in memory; write it, and read it back")
    source = Source(result.directory, result.runs[scheme])
    store.check_folder(target.parent)
    try:
        with staging.file(target) as place:
            if to == "pcapng":
                with place.open("wb") as out:
                    written = capture.write(source, result.title, out, ports)
                holds = f"{written.packets:,} packets of {written.interfaces} ports"
            else:
                duration_us = result.scenario.duration_s * 1e6
                with place.open("w", encoding="utf-8") as text:
                    drawn = timeline.write(source, result.title, duration_us, text)
                holds = f"{drawn.events:,} events of {drawn.tracks} {_things(source)}"
    except OSError as error:
        raise store.unwritable(target, error) from None
    return Exported(target, scheme, holds)


def _things(source: Source) -> str:
    """The things that have a track each."""
    return "ports, flows and ranks" if source.has(STEPS) else "ports and flows"


def _place(result: Record, scheme: str, to: str) -> Path:
    name = re.sub(r"[^\w.]+", "-", f"{result.scenario.name}-{scheme}").strip("-")
    return Path(f"{name}.{FORMATS[to][0]}")
