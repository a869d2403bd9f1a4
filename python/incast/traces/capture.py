"""A trace of packets as a pcapng file, for Wireshark, tshark and their like."""

import heapq
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple, cast

import polars as pl

from incast import _core
from incast._core import IncastError, ParameterError
from incast.base.words import nearest
from incast.traces import frames, pcapng
from incast.traces.source import PACKETS, PAUSES, Source

# A flow has at most two connections, and an address has room for so many at one port.
_PORTS = 50_000
_FIRST_CLIENT_PORT, _FIRST_SERVER_PORT = 10_000, 5_000
# The kinds of event, in the order in which simultaneous ones are written.
_PACKET, _PAUSE = 0, 1
# The comment on a packet that did not leave as it is.
_SAID = {"dropped": "dropped here", "trimmed": "cut to its header here"}
_COLUMNS = (
    "time_us", "place", "event", "transport", "kind", "source", "destination", "flow", "connection",
    "sequence", "bytes", "payload_bytes", "ecn",
)  # fmt: skip


class Counts(NamedTuple):
    """Counts of a file of packets."""

    packets: int
    interfaces: int


def write(source: Source, title: str, out: BinaryIO, only: Sequence[str] = ()) -> Counts:
    """Writes the packets and the PFC frames of one scheme, in the order of time.

    Args:
        source: The traces.
        title: That of the result.
        out: The file.
        only: The ports whose packets it gets; all of them if none is named.

    Raises:
        IncastError: The result has no trace of packets, or none of such a port.
        ResultError: It cannot be read.
    """
    if not source.has(PACKETS):
        raise IncastError(
            f"{source.directory}: no packets of {source.run.scheme} were recorded; run it again "
            "with --trace packets"
        )
    source.need(PACKETS, _COLUMNS)
    flows = source.whole("flows")
    ends = list(flows.select("source", "destination").iter_rows())
    hosts = {name: number for number, name in enumerate(dict.fromkeys(sum(ends, ())))}
    scheme = source.run.scheme
    writer = pcapng.Writer(out, _comment(title, scheme), f"incast {_core.__version__}")
    ports = _interfaces(source, only)
    for port in ports:
        writer.interface(port)
    writer.names((frames.address(number), name) for name, number in hosts.items())
    lanes = _first_connections(source)
    count = 0
    for time_us, kind, row in heapq.merge(_packets(source), _pauses(source), key=lambda e: e[:2]):
        place = cast("str", row[0])
        if place not in ports:
            continue
        time_ns = round(time_us * 1e3)
        count += 1
        if kind == _PAUSE:
            _, pause, traffic_class = cast("tuple[str, str, int]", row)
            frame = frames.pfc(traffic_class, pause=pause == "pause")
            writer.packet(ports[place], time_ns, frame, len(frame) + _CHECKSUM)
            continue
        _, event, transport, what, from_, to, flow, connection, sequence, size, payload, ecn = cast(
            "tuple[str, str, str, str, str, str, int, int, int, int, int, str]", row
        )
        lane = connection - lanes[flow, to]
        client = _FIRST_CLIENT_PORT + flow % _PORTS
        server = _FIRST_SERVER_PORT + 2 * (flow // _PORTS) + lane
        there = from_ == ends[flow][0]
        numbers = (hosts[from_], hosts[to], *((client, server) if there else (server, client)))
        if transport == "stream":
            frame, length = frames.tcp(numbers, what, sequence, payload, ecn)
        else:
            frame, length = frames.udp(numbers, sequence, payload, ecn)
        said = _SAID.get(event, "")
        writer.packet(ports[place], time_ns, frame, max(size, length), said)
    return Counts(count, len(ports))


_CHECKSUM = 4  # of an Ethernet frame, which captures leave out


def _comment(title: str, scheme: str) -> str:
    return (
        f"Simulated by incast: {title}; {scheme}. No network carried these packets. Made up: all "
        "headers of Ethernet, IPv4, TCP and UDP, their addresses and ports, and TCP's windows and "
        "the numbers that a direction without payload has; there are no SYNs, no options and no "
        "checksums of TCP and UDP. True: times, ports of switches, ECN fields, sequence and "
        "acknowledgement numbers of streams, lengths of payload, drops. The length of a frame is "
        "that of the simulation, or where its scenario has smaller headers, that of these. Payload "
        "is cut off. The identification of an IPv4 packet with UDP is the packet's number in its "
        "connection, modulo 65,536."
    )


def _interfaces(source: Source, only: Sequence[str]) -> dict[str, int]:
    """The numbers of the ports that sent something, or of the wanted ones among them."""
    found: dict[str, None] = {}
    for table, column in ((PACKETS, "place"), (PAUSES, "port")):
        for batch in source.batches(table):
            found |= dict.fromkeys(batch.get_column(column).unique(maintain_order=True))
    for name in only:
        if name not in found:
            raise ParameterError(f"{name}: no port that sent a packet; {nearest(name, found)}")
    chosen = dict.fromkeys(only) or found
    return {name: number for number, name in enumerate(chosen)}


def _first_connections(source: Source) -> dict[tuple[int, str], int]:
    """The least number of a flow's connections at each of its hosts.

    A read has two connections, one after the other, of which the second has the requests.
    """
    least: dict[tuple[int, str], int] = {}
    for batch in source.batches(PACKETS):
        found = batch.group_by("flow", "destination").agg(pl.col("connection").min())
        for flow, host, connection in found.iter_rows():
            least[flow, host] = min(connection, least.get((flow, host), connection))
    return least


_Event = tuple[float, int, tuple[object, ...]]


def _packets(source: Source) -> Iterator[_Event]:
    for time_us, *row in source.rows(PACKETS, *_COLUMNS):
        yield cast("float", time_us), _PACKET, tuple(row)


def _pauses(source: Source) -> Iterator[_Event]:
    for time_us, *row in source.rows(PAUSES, "time_us", "port", "event", "traffic_class"):
        yield cast("float", time_us), _PAUSE, tuple(row)
