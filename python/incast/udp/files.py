"""Files in messages of a megabyte: those of the sender and of the receiver.

A transfer is a row of calls. Their bodies begin with the word `file` and the kind of the call: `o`
opens a transfer, with JSON of name and size, and is answered by its number; `p` brings a part, with
number and offset; `e` ends it, with JSON of number and SHA-256.
"""

import errno
import hashlib
import json
import os
import secrets
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from incast import _core
from incast._core import IncastError
from incast.udp.host import Peer, Request

PART_BYTES = 1 << 20
_IN_FLIGHT = 8
_LOOK_S = 0.5
_NAME_SHOWN = 40
_MOST_TRANSFERS = 1_000
# FAT and some network file systems have no hard links.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
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


@dataclass(frozen=True)
class _Transfer:
    """A file on its way."""

    peer: Peer
    target: Path
    unfinished: Path
    size: int


class Receiver:
    """The files that arrive in a folder until the block ends.

    A file has its name when it is whole. Its transfer belongs to the peer that opened it, and is
    dropped when that peer is gone.
    """

    def __init__(self, folder: Path | None) -> None:
        """Writes to a folder; without one all files are refused."""
        self._folder = folder
        self._transfers: dict[tuple[str, int], _Transfer] = {}
        self._look_at = 0.0

    def __enter__(self) -> "Receiver":  # noqa: PYI034 - Python 3.10 has no Self
        """The receiver itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Removes the files that are not whole."""
        for key in list(self._transfers):
            self._drop(key)

    def forget_gone(self) -> None:
        """Removes the files that are not whole and whose peers are gone; looks twice a second."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_S
        for key, transfer in list(self._transfers.items()):
            if transfer.peer.statistics() is None:
                self._drop(key)

    def answer(self, request: Request) -> str | None:
        """Answers a call of a transfer; returns a sentence when a file is whole.

        What cannot be done is refused with the reason.
        """
        body, peer = request.body, request.peer
        try:
            kind = body[4:5]
            if kind == b"o":
                request.reply(self._open(peer, json.loads(body[5:])).to_bytes(8, "big"))
            elif kind == b"p":
                self._write(peer, body)
                request.reply(b"")
            elif kind == b"e":
                said = self._end(peer, json.loads(body[5:]))
                request.reply(b"")
                return said
            else:
                request.refuse(f"{kind!r} is no step of a transfer")
        except OSError as error:
            request.refuse(f"{error.filename}: {error.strerror or error}")
        except (IncastError, ValueError, KeyError, TypeError, struct.error) as error:
            request.refuse(str(error))
        return None

    def _open(self, peer: Peer, head: dict[str, object]) -> int:
        if self._folder is None:
            raise IncastError("this server takes no files; start it with --into DIR")
        # A name has no folders: it stays in ours.
        name = Path(str(head["name"])).name
        if name in ("", ".", ".."):
            raise IncastError(f"{head['name']!r} is no name of a file")
        target, size = self._folder / name, int(str(head["size"]))
        if target.exists():
            raise _taken(target)
        if len(self._transfers) >= _MOST_TRANSFERS:
            raise IncastError(f"{_MOST_TRANSFERS} files are on their way; send it again later")
        # A number that nobody guesses, and a name that no server before has left here.
        number = secrets.randbits(64)
        unfinished = self._folder / f".{name[:_NAME_SHOWN]}.{number:016x}.part"
        unfinished.touch(exist_ok=False)
        self._transfers[peer.address, number] = _Transfer(peer, target, unfinished, size)
        return number

    def _write(self, peer: Peer, body: bytes) -> None:
        _, number, offset = _PART.unpack_from(body)
        transfer = self._transfer(peer, number)
        part = body[_PART.size :]
        if offset + len(part) > transfer.size:
            raise IncastError(f"a part ends at {offset + len(part)} B of {transfer.size} B")
        with transfer.unfinished.open("r+b") as file:
            file.seek(offset)
            file.write(part)

    def _end(self, peer: Peer, end: dict[str, object]) -> str:
        number, told = int(str(end["number"])), end["sha256"]
        transfer = self._transfer(peer, number)
        try:
            digest = hashlib.sha256()
            with transfer.unfinished.open("rb") as file:
                while part := file.read(PART_BYTES):
                    digest.update(part)
            if digest.hexdigest() != told:
                name = transfer.target.name
                raise IncastError(f"{name} has arrived with another content; send it again")
            _give_name(transfer.unfinished, transfer.target)
        finally:
            self._drop((peer.address, number))
        return f"{_printable(str(transfer.target))} ({transfer.size} B)"

    def _transfer(self, peer: Peer, number: int) -> _Transfer:
        found = self._transfers.get((peer.address, number))
        if found is None:
            raise IncastError(f"there is no transfer {number}; send the file again")
        return found

    def _drop(self, key: tuple[str, int]) -> None:
        """Ends a transfer; a file without its name is removed."""
        transfer = self._transfers.pop(key)
        # Where it cannot be removed nobody is there to be told.
        with suppress(OSError):
            transfer.unfinished.unlink()


def _give_name(unfinished: Path, target: Path) -> None:
    """Gives a file its name, unless another one has it."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # An empty file takes the name, which others then cannot have.
        try:
            target.touch(exist_ok=False)
        except FileExistsError:
            raise _taken(target) from None
        unfinished.replace(target)


def _taken(target: Path) -> IncastError:
    return IncastError(f"{target.name} is there already; give the file another name")


_SHOWN = 200


def said(request: Request) -> str:
    """A message of a peer in a line: its text, or its length if it is none."""
    body, sender = request.body, request.peer.address
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"message from {sender}: {len(body)} B"
    shown = _printable(text[:_SHOWN])
    more = f" ... ({len(body)} B)" if len(text) > _SHOWN else ""
    return f"message from {sender}: {shown}{more}"


def _printable(text: str) -> str:
    """A text without what would control a terminal."""
    return "".join(one if one.isprintable() else " " for one in text)
