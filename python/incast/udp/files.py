"""Files in messages of a megabyte: their format, and the end that sends.

A transfer is a row of calls. Their bodies begin with the word `file` and the kind of the call. All
numbers have eight bytes, in network byte order.

- `o` opens a transfer: the length of the file, then its name. The reply is the transfer's number.
- `p` brings a part: the number, the offset, then the bytes. Parts come in order.
- `e` ends it: the number, then the SHA-256 of all bytes.
"""

import hashlib
import os
import struct
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from incast import _core
from incast._core import IncastError

PART_BYTES = 1 << 20
_IN_FLIGHT = 8
_WORD = b"file"
OPEN, PART, END = _WORD + b"o", _WORD + b"p", _WORD + b"e"
NUMBER = struct.Struct(">Q")
PLACE = struct.Struct(">QQ")
HASH_BYTES = 32


def is_of_file(body: bytes) -> bool:
    """Whether a call belongs to the transfer of a file."""
    return body[:4] == _WORD


def send(
    peer: _core.UdpPeer, path: Path, progress: Callable[[int, int], None] | None = None
) -> int:
    """Sends a file, and returns its length when the peer has it whole.

    Raises:
        IncastError: The file cannot be read, the peer takes none, or it is gone.
    """
    try:
        with path.open("rb") as file:
            return _send(peer, file, path.name, os.fstat(file.fileno()).st_size, progress)
    except OSError as error:
        raise IncastError(f"{path}: cannot be read: {error.strerror or error}") from None


def _send(
    peer: _core.UdpPeer,
    file: BinaryIO,
    name: str,
    size: int,
    progress: Callable[[int, int], None] | None,
) -> int:
    head = OPEN + NUMBER.pack(size) + os.fsencode(name)
    number = peer.call(head).wait()
    if len(number) != NUMBER.size:
        raise IncastError(f"{peer.address} has answered without a number; it is of another version")
    digest, offset, done = hashlib.sha256(), 0, 0
    under_way: deque[tuple[_core.UdpPending, int]] = deque()
    while True:
        # A file that grows meanwhile is sent as long as it was.
        part = file.read(min(PART_BYTES, size - offset))
        if part:
            digest.update(part)
            body = PART + number + NUMBER.pack(offset) + part
            # By its size the last part would overtake others.
            under_way.append((peer.call(body, priority="low"), len(part)))
            offset += len(part)
        if not part and not under_way:
            break
        while under_way and (not part or len(under_way) >= _IN_FLIGHT):
            pending, length = under_way.popleft()
            pending.wait()
            done += length
            if progress is not None:
                progress(done, size)
    peer.call(END + number + digest.digest()).wait()
    return offset
