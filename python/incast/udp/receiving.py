"""Files in messages: the end that receives, on a thread of its own."""

import errno
import hashlib
import ipaddress
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
# The part of a disk that is left to others.
_LEFT = 0.01
_LEAVE_S = 2.0
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
    of_host: int = 64
    """Files on their way from a host, whatever its ports, or from a network of 64 bits of IPv6."""
    in_all: int = 1_000
    """Files on their way from all hosts."""
    waiting_of_host: int = 256 << 20
    """Bytes of calls of a host that wait for the disk."""
    waiting_in_all: int = 1 << 30
    """Bytes of calls of all hosts that wait for the disk."""
    idle_s: float = 60.0
    """The seconds without a byte after which a file is dropped."""


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
        """The bytes that count for the file until now: who promises much takes no room with it."""
        return max(self.received, _LEAST_BYTES)

    @property
    def host(self) -> str:
        """The host of the sender."""
        return _host(self.peer)


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
            self._thread.join(_LEAVE_S)
        if self._thread.is_alive():
            self._warn(f"{self._folder}: the disk does not answer; files that are not whole stay")
            return
        for key in list(self._transfers):
            self._drop(key)

    def take(self, request: Request, body: bytes) -> None:
        """Takes in a call of a transfer, which is answered later, or refused with the reason."""
        if self._folder is None:
            request.refuse("this server takes no files; start it with --into DIR")
            return
        host, length = _host(request.peer), len(body) + _BOOKS_BYTES
        with self._lock:
            # One call may always wait, whatever its length.
            of_host, in_all = self._waiting[host], self._waiting.total()
            is_too_much = (of_host > 0 and of_host + length > self._bounds.waiting_of_host) or (
                in_all > 0 and in_all + length > self._bounds.waiting_in_all
            )
            if not is_too_much:
                self._waiting[host] += length
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
        host = _host(request.peer)
        with self._lock:
            self._waiting[host] -= len(body) + _BOOKS_BYTES
            if self._waiting[host] <= 0:
                del self._waiting[host]

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
        self._make_place(peer)
        self._find_room(max(size, _LEAST_BYTES))
        if target.exists():
            raise _taken(target)
        # A number that nobody guesses, and a name that no server before has left here.
        number = secrets.token_bytes(files.NUMBER.size)
        name = target.name[:_NAME_SHOWN]
        unfinished = self._folder / f".{name}.{number.hex()}.part"
        unfinished.touch(exist_ok=False)
        self._transfers[peer.address, number] = _Transfer(peer, target, unfinished, size)
        return number

    def _make_place(self, peer: Peer) -> None:
        """Drops the file that has been idle for longest of the host with the most, if need be."""
        by_host = Counter(transfer.host for transfer in self._transfers.values())
        mine, most = by_host[_host(peer)], max(by_host.values(), default=0)
        is_full = len(self._transfers) >= self._bounds.in_all
        if mine >= self._bounds.of_host or (is_full and mine >= most):
            raise IncastError("too many files are on their way; send it again later")
        if is_full:
            of_most = [key for key, one in self._transfers.items() if by_host[one.host] == most]
            self._drop(min(of_most, key=lambda key: self._transfers[key].heard_at))

    def _find_room(self, size: int) -> None:
        """Refuses what is more than all files may have, or the disk has."""
        assert self._folder is not None, "without a folder there is no thread"  # noqa: S101
        under_way = sum(transfer.cost for transfer in self._transfers.values())
        if self._stored + under_way + size > self._bounds.total_bytes:
            raise IncastError(
                f"there is no room for {size} B: all files have {self._bounds.total_bytes} B "
                "here; the server is started with another --max-total"
            )
        disk = shutil.disk_usage(self._folder)
        if size > disk.free - _LEFT * disk.total:
            raise IncastError(f"there is no room for {size} B on the disk there")

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
        if not part:
            return
        try:
            self._find_room(len(part))
            # A file that somebody has removed is not made anew.
            with transfer.unfinished.open("r+b") as file:
                file.seek(offset)
                file.write(part)
        except (OSError, IncastError):
            self._drop((peer.address, bytes(content[: files.NUMBER.size])))
            raise
        transfer.digest.update(part)
        transfer.received += len(part)
        transfer.heard_at = time.monotonic()

    def _end(self, peer: Peer, content: memoryview) -> None:
        if len(content) != files.NUMBER.size + files.HASH_BYTES:
            raise IncastError("a transfer ends without its SHA-256")
        transfer, name = self._transfer(peer, content), ""
        try:
            name = transfer.target.name
            stored = transfer.unfinished.stat().st_size
            if transfer.received != transfer.size:
                raise IncastError(f"{transfer.received} B of {transfer.size} B of {name} have come")
            if stored != transfer.size or transfer.digest.digest() != content[files.NUMBER.size :]:
                raise IncastError(f"{name} has arrived with another content; send it again")
            _give_name(transfer.unfinished, transfer.target)
            self._stored += max(transfer.size, _LEAST_BYTES)
        finally:
            self._drop((peer.address, bytes(content[: files.NUMBER.size])))
        told = f"received {printable(str(transfer.target))} ({transfer.size} B)"
        guarded(lambda: self._tell(told), self._warn)

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


def _host(peer: Peer) -> str:
    """The host of a peer: its address, or of IPv6 the network, in which one host may have any."""
    text = peer.address.rpartition(":")[0].strip("[]").partition("%")[0]
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return text


def _name(raw: bytes) -> str:
    """The name of a file, if it is one that no terminal and no program takes for anything else."""
    name = raw.decode("utf-8", "replace")
    is_text = name.encode() == raw and name.isprintable() and name == name.strip()
    if not is_text or "/" in name or name[:1] in ".-" or len(raw) > _NAME_BYTES:
        raise IncastError(
            f"{printable(name[:_NAME_SHOWN])!r} is no name of a file here: 1 to {_NAME_BYTES} B of "
            "UTF-8 that can be printed, without a slash, without a dot or a dash at the start, and "
            "without spaces at the ends"
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
