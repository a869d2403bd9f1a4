"""The blocks of a pcapng file (draft-ietf-opsawg-pcapng).

No library fits: those that write several interfaces are under the GPL or no longer kept. Tests read
the files with Scapy, and with tshark where it is installed.
"""

import struct
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import BinaryIO

_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
_MAGIC = 0x1A2B3C4D
_ETHERNET = 1
# Options: of any block, of a section, of an interface, of a packet.
_END, _COMMENT = 0, 1
_APPLICATION = 4
_IF_NAME, _IF_RESOLUTION = 2, 9
_FLAGS = 2
_OUTBOUND = 2
_IPV4 = 1


class Writer:
    """A file with one section. Interfaces come before the packets that they sent."""

    def __init__(self, out: BinaryIO, comment: str, application: str) -> None:
        self._out = out
        head = struct.pack("<IHHq", _MAGIC, 1, 0, -1)
        options = _option(_COMMENT, comment.encode()) + _option(_APPLICATION, application.encode())
        self._block(_SECTION, head + options + _option(_END, b""))

    def interface(self, name: str) -> None:
        """Adds an interface with Ethernet frames and nanoseconds; they count from 0."""
        options = _option(_IF_NAME, name.encode()) + _option(_IF_RESOLUTION, b"\x09")
        self._block(_INTERFACE, struct.pack("<HHI", _ETHERNET, 0, 0) + options + _option(_END, b""))

    def names(self, hosts: Iterable[tuple[IPv4Address, str]]) -> None:
        """Gives hosts names, which readers show in the place of addresses."""
        records = (_option(_IPV4, ip.packed + name.encode() + b"\0") for ip, name in hosts)
        self._block(_NAMES, b"".join(records) + _option(_END, b"") + _option(_END, b""))

    def packet(
        self, interface: int, time_ns: int, frame: bytes, length: int, comment: str = ""
    ) -> None:
        """Adds a packet that an interface sent: the beginning of its frame, and its whole length.

        A packet with a comment did not leave, and has no direction.
        """
        said = _option(_COMMENT, comment.encode()) + _LAST if comment else _SENT
        body = _padded(frame) + said
        size = _PACKET_HEAD.size + len(body) + 4
        head = _PACKET_HEAD.pack(
            _PACKET, size, interface, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), length
        )
        self._out.write(head + body + struct.pack("<I", size))

    def _block(self, kind: int, body: bytes) -> None:
        length = len(body) + 12
        self._out.write(struct.pack("<II", kind, length) + body + struct.pack("<I", length))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


_PACKET_HEAD = struct.Struct("<7I")
_LAST = _option(_END, b"")
_SENT = _option(_FLAGS, struct.pack("<I", _OUTBOUND)) + _LAST
