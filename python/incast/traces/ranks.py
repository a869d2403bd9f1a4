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

_AWAITED = {
    "receive": "message of {peer}",
    "acknowledged": "acknowledgement of {peer}",
    "wait": "a stream",
}


def events(source: Source) -> Iterator[tuple[str, Event]]:
    """The events of all ranks, each with the name of its process."""
    rows = source.whole(STEPS)
    if rows.is_empty():
        return
    names = rows.group_by("traffic", "group", "rank", "host", maintain_order=True)
    for (traffic, group, rank, host), own in names:
        process = _process(traffic, group, rank, host)
        for track, name in _TRACKS.items():
            yield process, {"name": "thread_name", "ph": "M", "tid": track, "args": {"name": name}}
        yield from ((process, event) for event in _steps(own))
    yield from _arrows(rows)


def _process(traffic: object, group: object, rank: object, host: object) -> str:
    """The name of a rank; the first group, which most jobs have alone, is not told."""
    return f"{traffic} {f'group {group} ' if group else ''}rank {rank}: {host}"


def _steps(own: pl.DataFrame) -> Iterator[Event]:
    of = ".".join(str(own[name][0]) for name in ("traffic", "group", "rank"))
    columns = ("iteration", "step", "kind", "peer", "ready_us", "end_us", "bytes", "arrived_us")
    for iteration, step, kind, peer, ready, end, size, arrived in own.select(columns).iter_rows():
        about = {"iteration": iteration, "step": step}
        if kind == "compute":
            yield _slice(_COMPUTES, "compute", ready, end, about)
        elif kind == "send":
            # Messages overlap, which only asynchronous events may.
            common = {"cat": "step", "id": f"{of}.{iteration}.{step}", "tid": _SENDS}
            common["name"] = f"to {peer}"
            yield {**common, "ph": "b", "ts": end, "args": {**about, "bytes": size}}
            if arrived is not None:
                yield {**common, "ph": "e", "ts": arrived}
        elif end > ready:
            name = _AWAITED[kind].format(peer=peer)
            common = {"cat": "step", "id": f"{of}.{iteration}.{step}", "tid": _AWAITS}
            common["name"] = name
            yield {**common, "ph": "b", "ts": ready, "args": about}
            yield {**common, "ph": "e", "ts": end}


def _arrows(rows: pl.DataFrame) -> Iterator[tuple[str, Event]]:
    """Arrows from sends to the receives that took their messages."""
    sent: dict[tuple[str, int, str, str], deque[tuple[str, float]]] = defaultdict(deque)
    columns = ("traffic", "group", "rank", "host", "peer", "end_us")
    awaited = rows.filter(pl.col("kind") == "receive").sort("end_us", maintain_order=True)
    sends = rows.filter(pl.col("kind") == "send", pl.col("arrived_us").is_not_null())
    for traffic, group, rank, host, peer, posted in (
        sends.sort("arrived_us", maintain_order=True).select(columns).iter_rows()
    ):
        sent[traffic, group, host, peer].append((_process(traffic, group, rank, host), posted))
    number = 0
    for traffic, group, rank, host, peer, end in awaited.select(columns).iter_rows():
        if waiting := sent[traffic, group, peer, host]:
            process, posted = waiting.popleft()
            number += 1
            common: Event = {"name": "message", "cat": "message", "id": number}
            # Arrows lead from slice to slice of threads; those of moments do not overlap.
            yield process, _slice(_SENDS, f"posts to {host}", posted, posted, {})
            yield process, {**common, "ph": "s", "tid": _SENDS, "ts": posted}
            target = _process(traffic, group, rank, host)
            yield target, _slice(_AWAITS, f"has it of {peer}", end, end, {})
            yield target, {**common, "ph": "f", "bp": "e", "tid": _AWAITS, "ts": end}


def _slice(track: int, name: str, begin: float, end: float, about: Event) -> Event:
    return {"name": name, "ph": "X", "tid": track, "ts": begin, "dur": end - begin, "args": about}
