"""Ethernet, IPv4, TCP and UDP headers for packets that the simulator had without any."""

import struct
from functools import lru_cache
from ipaddress import IPv4Address

_ETHERTYPE_IPV4, _ETHERTYPE_CONTROL = 0x0800, 0x8808
_ETHERNET = 14
_IP = 20
_TCP, _UDP = 6, 17
_SIZES = {_TCP: 20, _UDP: 8}
_ACK = 0x10
_WINDOW = 0xFFFF
# The ECN field (RFC 3168), by the name in the trace.
_ECN = {"not-ect": 0, "ect": 2, "ce": 3}
# The frames of PFC (IEEE 802.1Qbb) go to the neighbour, and end at 60 B without their checksum.
_PFC_TO = bytes.fromhex("0180c2000001")
_PFC_FROM = bytes.fromhex("02ffffffffff")
_PFC_OPCODE = 0x0101
_PFC_SIZE = 60
_LONGEST_PAUSE = 0xFFFF

Ends = tuple[int, int, int, int]
"""The numbers of the sending and the receiving host, and their ports."""


def address(host: int) -> IPv4Address:
    """The address of a host, by its number: from 10.0.0.1 on."""
    return IPv4Address((10 << 24) + host + 1)


def tcp(ends: Ends, kind: str, sequence: int, payload: int, ecn: str) -> tuple[bytes, int]:
    """The headers of a packet of a stream, and the length of its frame.

    Streams begin at sequence number 1, as behind a SYN that took number 0.
    """
    source, destination, from_port, to_port = ends
    number = (sequence + 1) & 0xFFFFFFFF
    sent, received = (number, 1) if kind == "data" else (1, number)
    head = struct.pack(
        ">HHIIBBHHH", from_port, to_port, sent, received, 5 << 4, _ACK, _WINDOW, 0, 0
    )
    return _under(source, destination, _TCP, payload, ecn, 0) + head, _length(_TCP, payload)


def udp(ends: Ends, sequence: int, payload: int, ecn: str) -> tuple[bytes, int]:
    """The headers of a packet of a message, and the length of its frame.

    The identification of IP has the lowest bits of the packet's number.
    """
    source, destination, from_port, to_port = ends
    head = struct.pack(">HHHH", from_port, to_port, _SIZES[_UDP] + payload, 0)
    under = _under(source, destination, _UDP, payload, ecn, sequence & 0xFFFF)
    return under + head, _length(_UDP, payload)


def pfc(traffic_class: int, *, pause: bool) -> bytes:
    """A frame of PFC, whole. The simulator's pauses last until they are taken back."""
    times = [0] * 8
    times[traffic_class] = _LONGEST_PAUSE if pause else 0
    head = struct.pack(">HHH8H", _ETHERTYPE_CONTROL, _PFC_OPCODE, 1 << traffic_class, *times)
    return (_PFC_TO + _PFC_FROM + head).ljust(_PFC_SIZE, b"\0")


def _length(protocol: int, payload: int) -> int:
    return _ETHERNET + _IP + _SIZES[protocol] + payload


def _under(
    source: int, destination: int, protocol: int, payload: int, ecn: str, identification: int
) -> bytes:
    """The headers of Ethernet and IPv4."""
    before, rest, total = _fixed(source, destination, protocol, payload, ecn)
    total += identification
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    middle = _IDENTIFICATION.pack(identification, 0, 64, protocol, checksum)
    return before + middle + rest


_IDENTIFICATION = struct.Struct(">HHBBH")


@lru_cache(maxsize=65536)
def _fixed(
    source: int, destination: int, protocol: int, payload: int, ecn: str
) -> tuple[bytes, bytes, int]:
    """The bytes before the identification of IPv4, the addresses, and the sum of their words."""
    from_, to = address(source).packed, address(destination).packed
    length = _length(protocol, payload) - _ETHERNET
    head = struct.pack(">BBH", 0x45, _ECN[ecn], length)
    words = struct.unpack(">7H", head + struct.pack(">BB", 64, protocol) + from_ + to)
    ethernet = b"\x02\0" + to + b"\x02\0" + from_ + struct.pack(">H", _ETHERTYPE_IPV4)
    return ethernet + head, from_ + to, sum(words)
