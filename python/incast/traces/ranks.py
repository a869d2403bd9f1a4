"""The ranks of jobs on a timeline: their steps as slices, and arrows for their messages.

A rank has a track for what it computes and one for what it awaits. An arrow leads from the send of
a message to the end of the receive that took it.
"""

from collections import defaultdict, deque
from collections.abc import Iterator

import polars as pl

from incast.traces.source import STEPS, Source

Event = dict[str, object]

_COMPUTES, _SENDS, _AWAITS = 1, 2, 3
_TRACKS = {_COMPUTES: "computes", _SENDS: "messages on the way", _AWAITS: "awaits"}


def events(source: Source) -> Iterator[tuple[str, Event]]:
    """The events of all ranks, each with the name of its process."""
    rows = source.whole(STEPS)
    if rows.is_empty():
        return
    for (traffic, rank, host), own in rows.group_by("traffic", "rank", "host", maintain_order=True):
        process = f"{traffic} rank {rank}: {host}"
        for track, name in _TRACKS.items():
            yield process, {"name": "thread_name", "ph": "M", "tid": track, "args": {"name": name}}
        yield from ((process, event) for event in _steps(own))
    yield from _arrows(rows)


def _steps(own: pl.DataFrame) -> Iterator[Event]:
    columns = ("iteration", "step", "kind", "peer", "ready_us", "end_us", "bytes", "arrived_us")
    for iteration, step, kind, peer, ready, end, size, arrived in own.select(columns).iter_rows():
        about = {"iteration": iteration, "step": step}
        if kind == "compute":
            yield _slice(_COMPUTES, "compute", ready, end, about)
        elif kind == "send":
            # Messages overlap, which only asynchronous events may.
            common = {"cat": "step", "id": f"{own['rank'][0]}.{iteration}.{step}", "tid": _SENDS}
            common["name"] = f"to {peer}"
            yield {**common, "ph": "b", "ts": end, "args": {**about, "bytes": size}}
            if arrived is not None:
                yield {**common, "ph": "e", "ts": arrived}
        elif end > ready:
            name = f"message of {peer}" if kind == "receive" else f"acknowledgement of {peer}"
            common = {"cat": "step", "id": f"{own['rank'][0]}.{iteration}.{step}", "tid": _AWAITS}
            common["name"] = name
            yield {**common, "ph": "b", "ts": ready, "args": about}
            yield {**common, "ph": "e", "ts": end}


def _arrows(rows: pl.DataFrame) -> Iterator[tuple[str, Event]]:
    """Arrows from sends to the receives that took their messages."""
    sent: dict[tuple[str, str, str], deque[tuple[str, float]]] = defaultdict(deque)
    columns = ("traffic", "rank", "host", "kind", "peer", "end_us", "arrived_us")
    awaited = rows.filter(pl.col("kind") == "receive").sort("end_us", maintain_order=True)
    sends = rows.filter(pl.col("kind") == "send", pl.col("arrived_us").is_not_null())
    for traffic, rank, host, _, peer, posted, _ in (
        sends.sort("arrived_us", maintain_order=True).select(columns).iter_rows()
    ):
        sent[traffic, host, peer].append((f"{traffic} rank {rank}: {host}", posted))
    number = 0
    for traffic, rank, host, _, peer, end, _ in awaited.select(columns).iter_rows():
        if waiting := sent[traffic, peer, host]:
            process, posted = waiting.popleft()
            number += 1
            common: Event = {"name": "message", "cat": "message", "id": number}
            yield process, {**common, "ph": "s", "tid": _SENDS, "ts": posted}
            target = f"{traffic} rank {rank}: {host}"
            yield target, {**common, "ph": "f", "bp": "e", "tid": _AWAITS, "ts": end}


def _slice(track: int, name: str, begin: float, end: float, about: Event) -> Event:
    return {"name": name, "ph": "X", "tid": track, "ts": begin, "dur": end - begin, "args": about}
