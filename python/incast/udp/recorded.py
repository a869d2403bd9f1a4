"""Recordings of what congestion control was told and did, and what a replay of one has found."""

from pathlib import Path
from typing import Any

from incast._core import IncastError

MOST_BYTES = 256 * 10**6
"""The longest recording; it is in memory until it is written."""


def check(path: Path) -> None:
    """Refuses a file that cannot be made, before anything is recorded."""
    if path.exists():
        raise IncastError(f"{path} is there already; choose another file for --record")
    if not path.parent.is_dir():
        raise IncastError(f"{path.parent} is no folder; make it first, or choose another --record")


def write(path: Path, recording: str) -> list[str]:
    """Writes a recording; returns a warning if it could not take everything."""
    path.write_text(recording, encoding="utf-8", newline="")
    if recording.endswith('"full":true}\n'):
        return [f"{path} is as long as a recording gets, and ends before the calls do"]
    return []


def text(found: dict[str, Any]) -> str:
    """The outcome of a replay in a few lines."""
    megabytes = f"{found['payload_bytes'] / 1e6:,.1f} MB"
    reports = f"{found['rates']:,} ACKs and reports of loss"
    over = f"{found['lasted_s']:.3f} s on {found['connections']} connections"
    lines = [
        f"{found['algorithm']}: {found['calls']:,} calls of the endpoint replayed, {over}",
        f"  sent     {found['sends']:,} packets, {megabytes}, {found['again']:,} of them again",
        f"  came     {found['arrivals']:,} packets, {reports}, {found['samples']:,} RTT samples",
    ]
    if found["full"]:
        lines.append("The recording ended before the calls did: it was as long as one gets.")
    if found["equal"]:
        lines.append("equal: every send, every rate, every RTT sample")
    else:
        lines.append(f"not equal from {found['difference']}")
    return "\n".join(lines)
