"""Traces as a timeline of ports and flows, for Perfetto: Chrome's format of trace events, JSON.

Each port, each flow and each rank of a job is a process, since readers group tracks by process.
Times are microseconds.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO, cast

import polars as pl

from incast import _core
from incast._core import IncastError
from incast.traces import ranks
from incast.traces.source import GAUGES, PACKETS, PAUSES, QUEUES, SAMPLES, STEPS, Source

_Event = dict[str, object]
_COUNTERS = (("rate_gbps", "rate, Gb/s"), ("window_kb", "window, KB"),
             ("in_flight_kb", "in flight, KB"), ("rtt_us", "RTT, us"))  # fmt: skip
# The thread of a port's drops, and of a flow's life; the threads of PFC's classes follow.
_FIRST_THREAD = 1


class Counts(NamedTuple):
    """Counts of a timeline."""

    events: int
    tracks: int


class _Processes:
    """The numbers of ports and flows, each named when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self.new: list[_Event] = []

    def of(self, name: str) -> int:
        if name not in self._known:
            number = self._known[name] = len(self._known) + 1
            self.new.append(_named("process_name", number, 0, name))
            order = {"name": "process_sort_index", "ph": "M", "pid": number}
            self.new.append({**order, "args": {"sort_index": number}})
        return self._known[name]

    def __len__(self) -> int:
        return len(self._known)


def write(source: Source, title: str, duration_us: float, out: TextIO) -> Counts:
    """Writes the tracks of one scheme.

    Raises:
        IncastError: The result has no trace.
        ResultError: It cannot be read.
    """
    if not any(source.has(table) for table in (PACKETS, QUEUES, SAMPLES, STEPS)):
        raise IncastError(
            f"{source.directory}: nothing of {source.run.scheme} was recorded; run it again with "
            "--trace queues --trace flows, and --trace packets for drops and pauses"
        )
    processes = _Processes()
    about = {"scenario": title, "scheme": source.run.scheme, "incast": _core.__version__}
    out.write(f'{{"otherData":{json.dumps(about)},"displayTimeUnit":"ns","traceEvents":[')
    count = 0
    for event in _all(source, duration_us, processes):
        for one in (*processes.new, event):
            out.write("\n" if count == 0 else ",\n")
            out.write(json.dumps(one, separators=(",", ":"), allow_nan=False))
            count += 1
        processes.new.clear()
    out.write("\n]}\n")
    return Counts(count, len(processes))


def _all(source: Source, duration_us: float, processes: _Processes) -> Iterator[_Event]:
    yield from _queues(source, processes)
    yield from _drops(source, processes)
    yield from _pauses(source, duration_us, processes)
    for process, event in ranks.events(source):
        yield {**event, "pid": processes.of(process)}
    flows = source.whole("flows")
    names = {
        number: f"flow {number}: {from_} -> {to}"
        for number, from_, to in flows.select("flow", "source", "destination").iter_rows()
    }
    yield from _lives(source, flows, names, duration_us, processes)
    for column, name in _COUNTERS:
        rows = source.rows(SAMPLES, "time_us", "flow", column)
        yield from _counters(
            ((at, flow, name, value) for at, flow, value in rows), names, processes
        )
    gauges = source.rows(GAUGES, "time_us", "flow", "gauge", "value")
    yield from _counters(gauges, names, processes)


def _queues(source: Source, processes: _Processes) -> Iterator[_Event]:
    """The length of each queue: every change, or what each packet saw that left."""
    if source.has(QUEUES):
        rows = source.rows(QUEUES, "time_us", "port", "queue_bytes")
    else:
        rows = source.rows(PACKETS, "time_us", "place", "queue_bytes")
    for at, port, waiting in rows:
        if waiting is not None:
            process = processes.of(f"port {port}")
            yield _counter(process, at, "queue, KB", cast("float", waiting) / 1e3)


def _drops(source: Source, processes: _Processes) -> Iterator[_Event]:
    for batch in source.batches(PACKETS):
        dropped = batch.filter(pl.col("event") == "dropped")
        for at, place, kind, flow, size in dropped.select(
            "time_us", "place", "kind", "flow", "bytes"
        ).iter_rows():
            process = processes.of(f"port {place}")
            yield {
                "name": "drop", "ph": "i", "s": "t", "pid": process, "tid": _FIRST_THREAD, "ts": at,
                "args": {"kind": kind, "flow": flow, "bytes": size},
            }  # fmt: skip


def _pauses(source: Source, duration_us: float, processes: _Processes) -> Iterator[_Event]:
    """A slice for each pause, at the port that is paused, from pause frame to resume frame."""
    open_: dict[tuple[int, int], float] = {}
    named: set[tuple[int, int]] = set()
    for at, port, event, traffic_class in source.rows(
        PAUSES, "time_us", "port", "event", "traffic_class"
    ):
        switch, _, node = cast("str", port).partition("->")
        process = processes.of(f"port {node}->{switch}")
        key = process, _FIRST_THREAD + 1 + cast("int", traffic_class)
        if key not in named:
            named.add(key)
            yield _named("thread_name", *key, f"PFC, class {traffic_class}")
        if event == "pause":
            open_.setdefault(key, cast("float", at))
        elif key in open_:
            begun = open_.pop(key)
            yield _slice(*key, "paused", begun, cast("float", at))
    for key, begun in open_.items():
        yield _slice(*key, "paused", begun, duration_us)


def _lives(
    source: Source,
    flows: pl.DataFrame,
    names: dict[int, str],
    duration_us: float,
    processes: _Processes,
) -> Iterator[_Event]:
    """A slice for each flow, to the end of its last message, and one for each message."""
    messages = source.whole("messages")
    ends: dict[int, float] = {}
    if not messages.is_empty():
        done = messages.group_by("flow").agg(
            pl.col("completed_us").max().alias("end"), pl.col("finished").min().alias("all")
        )
        ends = {
            flow: end for flow, end, all_ in done.select("flow", "end", "all").iter_rows() if all_
        }
    for flow, start in flows.select("flow", "start_us").iter_rows():
        if start is not None:
            process = processes.of(names[flow])
            yield _slice(process, _FIRST_THREAD, "flow", start, ends.get(flow, duration_us))
    if messages.is_empty():
        return
    columns = ("flow", "message", "bytes", "posted_us", "completed_us")
    for flow, message, size, posted, completed in messages.select(columns).iter_rows():
        # Messages of a flow overlap, which only asynchronous events may.
        common = {"cat": "message", "id": f"{flow}.{message}", "pid": processes.of(names[flow])}
        name = f"message {message}"
        yield {"name": name, "ph": "b", "ts": posted, "args": {"bytes": size}, **common}
        end = duration_us if completed is None else completed
        yield {"name": name, "ph": "e", "ts": end, **common}


def _counters(
    rows: Iterable[tuple[object, ...]], names: dict[int, str], processes: _Processes
) -> Iterator[_Event]:
    for at, flow, name, value in rows:
        if value is not None:
            process = processes.of(names[cast("int", flow)])
            yield _counter(process, at, cast("str", name), cast("float", value))


def _counter(process: int, at: object, name: str, value: float) -> _Event:
    return {"name": name, "ph": "C", "pid": process, "ts": at, "args": {"value": value}}


def _slice(process: int, thread: int, name: str, begin: float, end: float) -> _Event:
    duration = max(end - begin, 0.0)
    return {"name": name, "ph": "X", "pid": process, "tid": thread, "ts": begin, "dur": duration}


def _named(what: str, process: int, thread: int, name: str) -> _Event:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
