"""Files in messages: the end that receives, on a thread of its own."""

import errno
import hashlib
import os
import queue
import secrets
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incast._core import IncastError
from incast.udp import files
from incast.udp.guarding import guarded, printable
from incast.udp.host import Peer, Request

_LOOK_S = 0.5
_NAME_SHOWN = 40
_NAME_BYTES = 255
# What a file takes beside its bytes: nobody fills a folder with empty ones.
_LEAST_BYTES = 64 << 10
# What a call takes beside its body.
_BOOKS_BYTES = 1_000
# FAT and some network file systems have no hard links.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True)
class Bounds:
    """The most that peers may store and keep open."""

    file_bytes: int = 10 * 10**9
    """The length of a file."""
    total_bytes: int = 100 * 10**9
    """All files of a receiver, those under way with them. A file counts as 64 KB at least."""
    of_peer: int = 16
    """Files on their way from a peer."""
    in_all: int = 1_000
    """Files on their way from all peers."""
    waiting_of_peer: int = 64 << 20
    """Bytes of calls of a peer that wait for the disk."""
    waiting_in_all: int = 1 << 30
    """Bytes of calls of all peers that wait for the disk."""
    idle_s: float = 60.0
    """The seconds without a part after which a file is dropped."""


@dataclass
class _Transfer:
    """A file on its way."""

    peer: Peer
    target: Path
    unfinished: Path
    size: int
    received: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    heard_at: float = field(default_factory=time.monotonic)

    @property
    def cost(self) -> int:
        """The bytes that count for the file."""
        return max(self.size, _LEAST_BYTES)


class Receiver:
    """The files that arrive in a folder until the block ends.

    A file has its name when it is whole. Its transfer belongs to the peer that opened it, and is
    dropped when that peer is gone, or sends nothing of it for a while. Disk and hash are the work
    of one thread, which keeps nobody waiting but those who send files.
    """

    def __init__(
        self,
        folder: Path | None,
        bounds: Bounds | None = None,
        *,
        tell: Callable[[str], None] = print,
        warn: Callable[[str], None] = print,
    ) -> None:
        """Writes to a folder; without one all files are refused.

        Args:
            folder: The folder.
            bounds: The most that peers may store.
            tell: Gets a line for each file that is whole.
            warn: Gets a line for each fault of the receiver's own.
        """
        self._folder, self._bounds = folder, bounds or Bounds()
        self._tell, self._warn = tell, warn
        self._transfers: dict[tuple[str, bytes], _Transfer] = {}
        self._stored = 0
        self._calls: queue.SimpleQueue[tuple[Request, bytes] | None] = queue.SimpleQueue()
        self._waiting: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._look_at = 0.0
        self._thread = threading.Thread(target=self._run, name="incast-files", daemon=True)

    def __enter__(self) -> "Receiver":  # noqa: PYI034 - Python 3.10 has no Self
        """The receiver itself, whose thread runs."""
        if self._folder is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the thread, and removes the files that are not whole."""
        if self._folder is not None:
            self._calls.put(None)
            self._thread.join()
        for key in list(self._transfers):
            self._drop(key)

    def take(self, request: Request, body: bytes) -> None:
        """Takes in a call of a transfer, which is answered later, or refused with the reason."""
        if self._folder is None:
            request.refuse("this server takes no files; start it with --into DIR")
            return
        peer, length = request.peer.address, len(body) + _BOOKS_BYTES
        with self._lock:
            # One call may always wait, whatever its length.
            waits = self._waiting[peer]
            is_too_much = waits > 0 and (
                waits + length > self._bounds.waiting_of_peer
                or self._waiting.total() + length > self._bounds.waiting_in_all
            )
            if not is_too_much:
                self._waiting[peer] += length
        if is_too_much:
            request.refuse("too many parts of files wait for the disk; wait for replies")
            return
        self._calls.put((request, body))

    def _run(self) -> None:
        while True:
            taken = None
            with suppress(queue.Empty):
                taken = self._calls.get(timeout=_LOOK_S)
                if taken is None:
                    return
            if taken is not None:
                self._take(*taken)
            guarded(self._forget, self._warn)

    def _take(self, request: Request, body: bytes) -> None:
        guarded(lambda: self._answer(request, body), self._warn, request)
        peer = request.peer.address
        with self._lock:
            self._waiting[peer] -= len(body) + _BOOKS_BYTES
            if self._waiting[peer] <= 0:
                del self._waiting[peer]

    def _forget(self) -> None:
        """Drops the files whose peers are gone or send nothing; looks twice a second."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_S
        for key, transfer in list(self._transfers.items()):
            idle = now - transfer.heard_at > self._bounds.idle_s
            if idle or transfer.peer.statistics() is None:
                self._drop(key)

    def _answer(self, request: Request, body: bytes) -> None:
        peer = request.peer
        kind, content = body[:5], memoryview(body)[5:]
        reply = b""
        try:
            if kind == files.OPEN:
                reply = self._open(peer, content)
            elif kind == files.PART:
                self._write(peer, content)
            elif kind == files.END:
                self._end(peer, content)
            else:
                raise IncastError(f"{kind!r} is no step of a transfer")
        except OSError as error:
            # Where its folders are is no peer's business.
            self._warn(f"{error.filename or self._folder}: {error.strerror or error}")
            request.refuse(f"the file cannot be stored there: {error.strerror or 'no reason told'}")
        except IncastError as error:
            request.refuse(str(error))
        else:
            request.reply(reply)

    def _open(self, peer: Peer, head: memoryview) -> bytes:
        assert self._folder is not None, "without a folder there is no thread"  # noqa: S101
        if len(head) < files.NUMBER.size:
            raise IncastError("a transfer begins without its length")
        (size,) = files.NUMBER.unpack_from(head)
        target = self._folder / _name(bytes(head[files.NUMBER.size :]))
        bounds = self._bounds
        if size > bounds.file_bytes:
            raise IncastError(
                f"{size} B are more than the {bounds.file_bytes} B that this server takes; "
                "it is started with another --max-file"
            )
        mine = sum(address == peer.address for address, _ in self._transfers)
        if mine >= bounds.of_peer or len(self._transfers) >= bounds.in_all:
            raise IncastError("too many files are on their way; send it again later")
        others = self._transfers.values()
        under_way = sum(other.cost for other in others)
        if self._stored + under_way + max(size, _LEAST_BYTES) > bounds.total_bytes:
            raise IncastError(
                f"there is no room for {size} B: all files have {bounds.total_bytes} B here; "
                "the server is started with another --max-total"
            )
        free = shutil.disk_usage(self._folder).free
        if size > free - sum(other.size - other.received for other in others):
            raise IncastError(f"there is no room for {size} B on the disk there")
        if target.exists():
            raise _taken(target)
        # A number that nobody guesses, and a name that no server before has left here.
        number = secrets.token_bytes(files.NUMBER.size)
        name = target.name[:_NAME_SHOWN]
        unfinished = self._folder / f".{name}.{number.hex()}.part"
        unfinished.touch(exist_ok=False)
        self._transfers[peer.address, number] = _Transfer(peer, target, unfinished, size)
        return number

    def _write(self, peer: Peer, content: memoryview) -> None:
        if len(content) < files.PLACE.size:
            raise IncastError("a part comes without its place")
        transfer = self._transfer(peer, content)
        _, offset = files.PLACE.unpack_from(content)
        part = content[files.PLACE.size :]
        if offset != transfer.received:
            raise IncastError(f"a part begins at {offset} B and not at {transfer.received} B")
        if offset + len(part) > transfer.size:
            raise IncastError(f"a part ends at {offset + len(part)} B of {transfer.size} B")
        with transfer.unfinished.open("ab") as file:
            file.write(part)
        transfer.digest.update(part)
        transfer.received += len(part)
        transfer.heard_at = time.monotonic()

    def _end(self, peer: Peer, content: memoryview) -> None:
        if len(content) != files.NUMBER.size + files.HASH_BYTES:
            raise IncastError("a transfer ends without its SHA-256")
        transfer, name = self._transfer(peer, content), ""
        try:
            name = transfer.target.name
            if transfer.received != transfer.size:
                raise IncastError(f"{transfer.received} B of {transfer.size} B of {name} have come")
            if transfer.digest.digest() != content[files.NUMBER.size :]:
                raise IncastError(f"{name} has arrived with another content; send it again")
            _give_name(transfer.unfinished, transfer.target)
            self._stored += transfer.cost
        finally:
            self._drop((peer.address, bytes(content[: files.NUMBER.size])))
        self._tell(f"received {printable(str(transfer.target))} ({transfer.size} B)")

    def _transfer(self, peer: Peer, content: memoryview) -> _Transfer:
        number = bytes(content[: files.NUMBER.size])
        found = self._transfers.get((peer.address, number))
        if found is None:
            raise IncastError(f"there is no transfer {number.hex()}; send the file again")
        return found

    def _drop(self, key: tuple[str, bytes]) -> None:
        """Ends a transfer; a file without its name is removed."""
        transfer = self._transfers.pop(key)
        # Where it cannot be removed nobody is there to be told.
        with suppress(OSError):
            transfer.unfinished.unlink()


def _name(raw: bytes) -> str:
    """The name of a file, if it is one that no terminal and no program takes for anything else."""
    name = raw.decode("utf-8", "replace")
    is_text = name.encode() == raw and name.isprintable()
    if not is_text or "/" in name or name.startswith(".") or not 0 < len(raw) <= _NAME_BYTES:
        raise IncastError(
            f"{printable(name[:_NAME_SHOWN])!r} is no name of a file here: 1 to {_NAME_BYTES} B of "
            "UTF-8 that can be printed, without a slash, and no dot at the start"
        )
    return name


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
