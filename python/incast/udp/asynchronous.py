"""Hosts and peers for event loops."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from typing_extensions import Unpack

from incast import _core
from incast._core import IncastError
from incast.udp.guarding import Refusals
from incast.udp.host import Priority, Request, Settings, options

# Requests that a handler has at a time: how many, and the bytes of their bodies.
_MOST_TASKS = 1_000
_MOST_BYTES = 256 << 20
# Refused hosts are logged so often, in seconds.
_REFUSALS_S = 0.5
_LOGGER = logging.getLogger("incast.udp")

Handler = Callable[[Request], Awaitable[bytes | None]]
"""The answer to a request: the reply to a call; None for notes, and for calls answered already."""


class AsyncPeer:
    """A host at the other end of a connection."""

    def __init__(self, host: "AsyncHost", peer: _core.UdpPeer) -> None:
        self._host = host
        self._peer = peer

    @property
    def address(self) -> str:
        """The address, HOST:PORT."""
        return self._peer.address

    async def call(
        self, body: bytes, timeout_s: float | None = None, *, priority: Priority = "by-size"
    ) -> bytes:
        """Calls the peer. Cancelling the task cancels the call.

        Raises:
            IncastError: The peer is gone, has refused the call, or takes none of this length.
            TimeoutError: No reply came in time. The message says whether the peer may have done
                what it was called for, or the call could not leave.
        """
        return bytes(await self._host.result(self._peer.call(body, timeout_s, priority)))

    async def note(
        self, body: bytes, timeout_s: float | None = None, *, priority: Priority = "by-size"
    ) -> None:
        """Sends a message that wants no reply; returns when the peer has it.

        Cancelling the task cancels the note: what has not left of it never will.

        Raises:
            IncastError: The peer is gone, or takes no message of this length.
            TimeoutError: The peer did not have it in time. The message says whether it may still
                get it, or the note could not leave and never will.
        """
        await self._host.result(self._peer.note(body, timeout_s, priority))

    def statistics(self) -> dict[str, Any] | None:
        """The state of the connection; None if the peer is gone."""
        return self._peer.statistics()

    def close(self) -> None:
        """Ends the connection. What is under way fails."""
        self._peer.close()


class AsyncHost:
    """A host with a thread of its own, for the event loop that is running when it is opened."""

    def __init__(self, address: str = "0.0.0.0:0", **settings: Unpack[Settings]) -> None:
        """Opens the host at an address, HOST:PORT; the `Settings` are keyword arguments.

        Raises:
            IncastError: The address is taken, or a setting cannot work.
        """
        self._open: _core.UdpHost | None = _core.UdpHost(options(address, **settings))
        self._notices = _core.UdpNotices()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._notices.fileno(), self._hear)

    @property
    def _host(self) -> _core.UdpHost:
        if self._open is None:
            raise IncastError("the host is closed; open another one")
        return self._open

    @property
    def address(self) -> str:
        """The address, with its port."""
        return self._host.address

    def _hear(self) -> None:
        """Wakes those whose results may have come."""
        for number in self._notices.take():
            future = self._waiting.pop(number, None)
            if future is not None and not future.done():
                future.set_result(None)

    async def _notice(self, number: int) -> None:
        future = self._loop.create_future()
        self._waiting[number] = future
        try:
            await future
        finally:
            self._waiting.pop(number, None)

    async def result(self, pending: _core.UdpPending) -> Any:  # noqa: ANN401
        """The result of something that is still to come."""
        number = next(self._numbers)
        try:
            while (found := pending.poll_with(self._notices, number)) is None:
                await self._notice(number)
                _ = self._host  # or what is waited for never comes
        except BaseException:
            pending.cancel()
            raise
        return found[0]

    async def connect(self, address: str, key: str | None = None) -> AsyncPeer:
        """Connects to a host, which has the public key `key` if connections are protected by keys.

        Raises:
            SecurityError: The two ends do not fit; the message says why.
            IncastError: Nothing answers there.
        """
        return AsyncPeer(self, await self.result(self._host.connect(address, key)))

    async def accept(self) -> Request:
        """The next message of any peer."""
        return Request(await self.result(self._host.accepting()))

    @property
    def missing_features(self) -> list[str]:
        """A sentence for each feature of the kernel that is missing, which says what is lost."""
        return self._host.missing_features

    def peers(self) -> list[dict[str, Any]]:
        """The state of each peer whose connection is open."""
        return self._host.peers()

    def rejected(self) -> list[tuple[str, str]]:
        """The hosts refused or dropped since the last call: the address of each, and the reason.

        `handle` logs them, and takes them away from here. Of more than 64 hosts they are the last.
        """
        return self._host.rejected()

    def counters(self) -> dict[str, int]:
        """Counts of datagrams since the host was opened."""
        return self._host.counters()

    async def handle(self, handler: Handler) -> None:
        """Answers all requests by a handler, each in a task of its own, until it is cancelled.

        A call whose handler fails is refused, and the caller hears that it has failed. The error is
        logged here, by the logger `incast.udp`: its text may tell what no peer should know. The
        logger also has each host that was refused, with the reason, once.
        """
        tasks: dict[asyncio.Task[None], int] = {}
        watching = asyncio.create_task(self._log_refusals())
        try:
            while True:
                # What is not taken waits in the host, which slows its callers down.
                while len(tasks) >= _MOST_TASKS or sum(tasks.values()) >= _MOST_BYTES:
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                request = await self.accept()
                task = asyncio.create_task(_answer(request, handler))
                tasks[task] = len(request.body)
                task.add_done_callback(tasks.pop)
        finally:
            watching.cancel()
            for task in tasks:
                task.cancel()

    async def _log_refusals(self) -> None:
        refusals = Refusals(_LOGGER.warning)
        while self._open is not None:
            refusals.show(self)
            await asyncio.sleep(_REFUSALS_S)

    def close(self) -> None:
        """Ends all connections, and the host's thread. Whoever waits hears that it is closed."""
        if self._open is not None:
            self._loop.remove_reader(self._notices.fileno())
            self._open = None
            for future in self._waiting.values():
                if not future.done():
                    future.set_result(None)

    async def __aenter__(self) -> "AsyncHost":  # noqa: PYI034 - Python 3.10 has no Self
        """The host itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the host."""
        self.close()


async def _answer(request: Request, handler: Handler) -> None:
    try:
        reply = await handler(request)
        if reply is not None and request.wants_reply:
            request.reply(reply)
    except Exception:
        _LOGGER.exception("the handler has failed at a request of %s", request.peer.address)
        if request.wants_reply:
            # It may have answered before.
            with suppress(IncastError):
                request.refuse("the handler has failed; the server's log says how")


@asynccontextmanager
async def connect(
    address: str,
    key: str | None = None,
    **settings: Unpack[Settings],
) -> AsyncIterator[AsyncPeer]:
    """A connection to a host, which ends with the block; the `Settings` are keyword arguments.

    Raises:
        SecurityError: The two ends do not fit; the message says why.
        IncastError: Nothing answers there, or a setting cannot work.
    """
    settings.setdefault("listens", False)
    here = "[::]:0" if address.startswith("[") else "0.0.0.0:0"
    async with AsyncHost(here, **settings) as host:
        peer = await host.connect(address, key)
        try:
            yield peer
        finally:
            peer.close()


@asynccontextmanager
async def serve(
    address: str,
    handler: Handler,
    **settings: Unpack[Settings],
) -> AsyncIterator[AsyncHost]:
    """A host that answers all requests by a handler, and ends with the block.

    The `Settings` are keyword arguments.

    Raises:
        IncastError: The address is taken, or a setting cannot work.
    """
    async with AsyncHost(address, **settings) as host:
        handling = asyncio.create_task(host.handle(handler))
        try:
            yield host
        finally:
            handling.cancel()
            await asyncio.gather(handling, return_exceptions=True)
