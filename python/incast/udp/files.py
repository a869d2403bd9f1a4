"""Files in messages of a megabyte: those of the sender and of the receiver.

A transfer is a row of calls. Their bodies begin with the word `file` and the kind of the call: `o`
opens a transfer, with JSON of name and size, and is answered by its number; `p` brings a part, with
number and offset; `e` ends it, with JSON of number and SHA-256.
"""

import hashlib
import json
import os
import struct
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from incast import _core
from incast._core import IncastError
from incast.udp.host import Request

PART_BYTES = 1 << 20
_IN_FLIGHT = 8
_WORD = b"file"
_PART = struct.Struct(">5sQQ")


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
    head = json.dumps({"name": name, "size": size}).encode()
    number = int.from_bytes(peer.call(_WORD + b"o" + head).wait(), "big")
    digest, offset, done = hashlib.sha256(), 0, 0
    under_way: deque[tuple[_core.UdpPending, int]] = deque()
    while True:
        part = file.read(PART_BYTES)
        if part:
            digest.update(part)
            body = _PART.pack(_WORD + b"p", number, offset) + part
            under_way.append((peer.call(body), len(part)))
            offset += len(part)
        if not part and not under_way:
            break
        while under_way and (not part or len(under_way) >= _IN_FLIGHT):
            pending, length = under_way.popleft()
            pending.wait()
            done += length
            if progress is not None:
                progress(done, size)
    end = json.dumps({"number": number, "sha256": digest.hexdigest()}).encode()
    peer.call(_WORD + b"e" + end).wait()
    return offset


class Receiver:
    """The files that arrive in a folder. A file has its name when it is whole."""

    def __init__(self, folder: Path | None) -> None:
        """Writes to a folder; without one all files are refused."""
        self._folder = folder
        self._files: dict[int, tuple[Path, Path, int]] = {}
        self._last = 0

    def answer(self, request: Request) -> str | None:
        """Answers a call of a transfer; returns a sentence when a file is whole.

        What cannot be done is refused with the reason.
        """
        body = request.body
        try:
            kind = body[4:5]
            if kind == b"o":
                request.reply(self._open(json.loads(body[5:])).to_bytes(8, "big"))
            elif kind == b"p":
                self._write(body)
                request.reply(b"")
            elif kind == b"e":
                said = self._end(json.loads(body[5:]))
                request.reply(b"")
                return said
            else:
                request.refuse(f"{kind!r} is no step of a transfer")
        except OSError as error:
            request.refuse(f"{error.filename}: {error.strerror or error}")
        except (IncastError, ValueError, KeyError, TypeError, struct.error) as error:
            request.refuse(str(error))
        return None

    def _open(self, head: dict[str, object]) -> int:
        if self._folder is None:
            raise IncastError("this server takes no files; start it with --into DIR")
        # A name has no folders: it stays in ours.
        name = Path(str(head["name"])).name
        if name in ("", ".", ".."):
            raise IncastError(f"{head['name']!r} is no name of a file")
        target = self._folder / name
        if target.exists():
            raise IncastError(f"{name} is there already; give the file another name")
        self._last += 1
        unfinished = self._folder / f".{name}.{self._last}.part"
        unfinished.touch(exist_ok=False)
        self._files[self._last] = (target, unfinished, int(str(head["size"])))
        return self._last

    def _write(self, body: bytes) -> None:
        _, number, offset = _PART.unpack_from(body)
        _, unfinished, size = self._file(number)
        part = body[_PART.size :]
        if offset + len(part) > size:
            raise IncastError(f"a part ends at {offset + len(part)} B of {size} B")
        with unfinished.open("r+b") as file:
            file.seek(offset)
            file.write(part)

    def _end(self, end: dict[str, object]) -> str:
        target, unfinished, size = self._file(int(str(end["number"])))
        digest = hashlib.sha256()
        with unfinished.open("rb") as file:
            while part := file.read(PART_BYTES):
                digest.update(part)
        del self._files[int(str(end["number"]))]
        if digest.hexdigest() != end["sha256"]:
            unfinished.unlink()
            raise IncastError(f"{target.name} has arrived with another content; send it again")
        unfinished.rename(target)
        return f"{target} ({size} B)"

    def _file(self, number: int) -> tuple[Path, Path, int]:
        found = self._files.get(number)
        if found is None:
            raise IncastError(f"there is no transfer {number}; send the file again")
        return found


_SHOWN = 200


def said(request: Request) -> str:
    """A message of a peer in a line: its text, or its length if it is none."""
    body, sender = request.body, request.peer.address
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"message from {sender}: {len(body)} B"
    shown = "".join(one if one.isprintable() else " " for one in text[:_SHOWN])
    more = f" ... ({len(body)} B)" if len(text) > _SHOWN else ""
    return f"message from {sender}: {shown}{more}"
