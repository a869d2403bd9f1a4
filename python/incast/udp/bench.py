"""A path measured with messages and with bare sockets, in turn."""

import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from incast import _core
from incast._core import IncastError
from incast.udp import work
from incast.udp.host import Host, Request
from incast.udp.measured import quantile

_WORD = b"bare"
_WORK, _OPEN = _WORD + b"w", _WORD + b"o"
_ASKED = struct.Struct(">BBI")
"""The kind of a bare socket, whether it spins, and its time in milliseconds."""
_PORT = struct.Struct(">H")
KINDS = ("calls", "rtts", "stream", "written")
# A measurement takes 10 s at most.
_MOST_MS = 12_000
_SLACK_S = 1.0
_PATIENCE_S = 3.0

MESSAGES, BARE, WRITTEN = "messages", "bare", "by_hand"
ENDS = (MESSAGES, BARE, WRITTEN)

MEASURES = {
    "latency": "64 B calls one at a time, p50, us",
    "latency_p99": "the same, p99, us",
    "calls": "32 B calls, 64 in flight, thousands a second",
    "calls_core": "the same, thousands per core-second of the server",
    "peers": "32 B calls on 64 connections, thousands a second",
    "peers_core": "the same, thousands per core-second of the server",
    "goodput": "1 MB messages, 4 in flight, Gb/s",
    "goodput_core": "the same, Gb per core-second of the server",
    "rtt": "RTT told, and of a probe, p50, us",
    "rtt_p99": "the same, p99, us",
    "rtt_busy": "RTT with all CPUs busy, p50, us",
    "rtt_busy_p99": "the same, p99, us",
}
"""Figures; those of RTTs have a probe's in the place of bare sockets."""

Round = dict[str, float]


def is_of_bench(body: bytes) -> bool:
    """Whether a call asks for a bare socket, or for the work of the server."""
    return body[:4] == _WORD


def answer(request: Request, body: bytes, host: Host) -> None:
    """Answers a call of a bench: tells the server's work, or opens a bare socket for the caller.

    The socket answers for the time that the caller asks, 12 s at most, and there is one at a time.
    """
    asked = body[5:]
    if body == _WORK:
        request.reply(work.packed(work.told()))
        return
    if body[:5] != _OPEN or len(asked) != _ASKED.size:
        request.refuse("a bench asks for the server's work, or for a bare socket")
        return
    kind, spin, time_ms = _ASKED.unpack(asked)
    if kind >= len(KINDS) or spin > 1 or not 0 < time_ms <= _MOST_MS:
        request.refuse(f"a bare socket has a kind below {len(KINDS)} and 1 to {_MOST_MS} ms")
        return
    here, there = host.address.rpartition(":")[0], request.peer.address.rpartition(":")[0]
    try:
        port = host.bare(
            f"{here}:0", f"{there}:0", KINDS[kind], spin=bool(spin), most_s=time_ms / 1e3
        )
    except IncastError as error:
        request.refuse(str(error))
        return
    # Without a port another one answers.
    request.reply(b"" if port is None else _PORT.pack(port))


class Bench:
    """A client that measures a path to a server."""

    def __init__(
        self,
        options: _core.UdpOptions,
        control: _core.UdpOptions,
        address: str,
        key: str | None,
        *,
        spin: bool,
        time_s: float,
    ) -> None:
        """Connects to a server that offers bare sockets.

        Args:
            options: The settings of what is measured.
            control: The same without spinning, for the connection over which the server is asked.
            address: The server's address.
            key: The server's public key, with keys.
            spin: Whether both ends spin, messages and bare sockets.
            time_s: The time of each measurement.

        Raises:
            IncastError: The server does not answer, or offers no bare socket.
        """
        self._options, self._address, self._key = options, address, key
        self._spin, self._time_s = spin, time_s
        self._host = _core.UdpHost(control)
        self._peer = self._host.connect(address, key).wait()
        self.found: dict[str, list[Round]] = {}

    @property
    def missing_features(self) -> list[str]:
        """A sentence for each feature of this host's kernel that is missing."""
        return self._host.missing_features

    def work_there(self) -> work.Work:
        """The work of the server until now."""
        return work.unpacked(self._peer.call(_WORK).wait())

    def _port(self, kind: str) -> int:
        """The port of a bare socket that the server opens."""
        asked = _ASKED.pack(KINDS.index(kind), self._spin, round(1e3 * (self._time_s + _SLACK_S)))
        until = time.monotonic() + _PATIENCE_S
        # The socket before may not have heard yet that it is over.
        while not (answered := self._peer.call(_OPEN + asked).wait()):
            if time.monotonic() > until:
                raise IncastError(
                    f"another bench is under way at {self._address}; try again in some seconds"
                )
            time.sleep(0.01)
        if len(answered) != _PORT.size:
            raise IncastError(f"{self._address} has answered without a port")
        return int(_PORT.unpack(answered)[0])

    def _messages(self, size: int, in_flight: int, peers: int = 1) -> tuple[dict[str, Any], float]:
        """The outcome of a load, and the CPU time of the server."""
        before = self.work_there().cpu_s
        measured = _core.udp_load(
            self._options,
            self._address,
            key=self._key,
            size=size,
            in_flight=in_flight,
            peers=peers,
            reply=8 if size > 1000 else size,
            duration_s=self._time_s * 1.1,
            warmup_s=self._time_s * 0.1,
        )
        if measured["gone"] is not None:
            raise IncastError(measured["gone"])
        if measured["interrupted"]:
            raise KeyboardInterrupt
        return measured, self.work_there().cpu_s - before

    def _bare(self, kind: str, size: int = 0, in_flight: int = 0) -> tuple[dict[str, Any], float]:
        """The outcome of a bare socket, and the CPU time of the server."""
        before = self.work_there().cpu_s
        there = f"{self._address.rpartition(':')[0]}:{self._port(kind)}"
        measured = _core.udp_bare(there, kind, size, in_flight, self._spin, self._time_s)
        return measured, self.work_there().cpu_s - before

    def round(self, *, busy: bool) -> None:
        """Measures each figure once."""
        messages, _ = self._messages(64, 1)
        sockets, _ = self._bare("calls", 64, 1)
        both = {MESSAGES: messages["latency_us"], BARE: sockets["times_us"]}
        self._note_quantiles("latency", both)
        self._calls("calls", *self._messages(32, 64))
        self._calls("peers", *self._messages(32, 64, peers=64))
        self._goodput()
        probe, _ = self._bare("rtts")
        self._note_quantiles("rtt", {MESSAGES: messages["rtt_us"], BARE: probe["times_us"]})
        if busy:
            with _all_busy():
                messages, _ = self._messages(64, 1)
                probe, _ = self._bare("rtts")
            both = {MESSAGES: messages["rtt_us"], BARE: probe["times_us"]}
            self._note_quantiles("rtt_busy", both)

    def _calls(self, name: str, messages: dict[str, Any], cpu_s: float) -> None:
        sockets, bare_s = self._bare("calls", 32, 64)
        came, echoed = messages["replies"], len(sockets["times_us"])
        seconds = messages["elapsed_s"]
        rates = {MESSAGES: came / seconds / 1e3, BARE: echoed / self._time_s / 1e3}
        self._note(name, rates)
        in_all = messages["replies_in_all"]
        self._note_per_core(
            f"{name}_core", {MESSAGES: (in_all, cpu_s), BARE: (echoed, bare_s)}, 1e3
        )

    def _goodput(self) -> None:
        messages, cpu_s = self._messages(1_000_000, 4)
        stream, bare_s = self._bare("stream")
        written, hand_s = self._bare("written")
        bits = {MESSAGES: 8e6 * messages["replies"] / messages["elapsed_s"]}
        bits |= {BARE: 8 * stream["bytes"] / self._time_s}
        bits |= {WRITTEN: 8 * written["bytes"] / self._time_s}
        self._note("goodput", {end: value / 1e9 for end, value in bits.items()})
        per_core = {
            MESSAGES: (8e6 * messages["replies_in_all"], cpu_s),
            BARE: (8 * stream["bytes"], bare_s),
            WRITTEN: (8 * written["bytes"], hand_s),
        }
        self._note_per_core("goodput_core", per_core, 1e9)

    def _note_quantiles(self, name: str, times: Mapping[str, Sequence[float]]) -> None:
        for suffix, part in (("", 0.5), ("_p99", 0.99)):
            found = {end: quantile(sorted(all_), part) for end, all_ in times.items()}
            there = {end: value for end, value in found.items() if value is not None}
            if len(there) < len(found):
                missing = ", ".join(end for end in found if end not in there)
                raise IncastError(
                    f"{name}: {missing}: no reply or no timestamp came within {self._time_s:g} s; "
                    "measure longer"
                )
            self._note(name + suffix, there)

    def _note_per_core(
        self, name: str, done: Mapping[str, tuple[float, float]], unit: float
    ) -> None:
        """Notes what was done for each second of CPU time, if the server has taken any."""
        if all(cpu_s > 0 for _, cpu_s in done.values()):
            self._note(name, {end: count / s / unit for end, (count, s) in done.items()})

    def _note(self, name: str, one: Round) -> None:
        self.found.setdefault(name, []).append(one)


@contextmanager
def _all_busy() -> Iterator[None]:
    """Keeps all CPUs of this machine busy, with a process on each."""
    stop = work.busy(os.cpu_count() or 1)
    try:
        yield
    finally:
        stop()


def run(
    bench: Bench, *, rounds: int, busy: bool, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Measures each figure in rounds, with messages and with bare sockets in turn.

    Returns:
        The `rounds` of each figure; their `medians`; and `work`: the CPUs that the two ends are
        pinned to, and what others took of them.

    Raises:
        IncastError: The server does not answer, or offers no bare socket.
    """
    here, there = work.told(), bench.work_there()
    for turn in range(rounds):
        bench.round(busy=busy)
        progress(turn + 1, rounds)
    shares = work.shares((here, work.told()), (there, bench.work_there()))
    return {"rounds": bench.found, "medians": medians(bench.found), "work": shares}


def medians(found: Mapping[str, Sequence[Round]]) -> dict[str, dict[str, float]]:
    """The medians of each figure, and those of the rounds' ratios: of measurements in one round."""
    told: dict[str, dict[str, float]] = {}
    for name, rounds in found.items():
        one = {end: median(each[end] for each in rounds) for end in ENDS if end in rounds[0]}
        one["ratio"] = median(each[MESSAGES] / each[BARE] for each in rounds)
        if WRITTEN in rounds[0]:
            one["ratio_by_hand"] = median(each[MESSAGES] / each[WRITTEN] for each in rounds)
        told[name] = one
    return told


def table(found: Mapping[str, Any]) -> str:
    """The figures as a table, and what else the CPUs did."""
    rows = Table(box=None, pad_edge=False)
    columns = ("", "messages", "bare sockets", "ratio", "by hand", "ratio")
    for at, column in enumerate(columns):
        rows.add_column(column, justify="right" if at else "left")
    for name, one in found["medians"].items():
        cells = [f"{one[MESSAGES]:,.1f}", f"{one[BARE]:,.1f}", f"{one['ratio']:.2f}"]
        if WRITTEN in one:
            cells += [f"{one[WRITTEN]:,.1f}", f"{one['ratio_by_hand']:.2f}"]
        rows.add_row(MEASURES[name], *cells)
    console = Console(width=100, no_color=True)
    with console.capture() as captured:
        console.print(rows)
    return "\n".join([captured.get().rstrip(), *work.sentences(found["work"])])
