"""What keeps a server up: faults of its own are told, and end the request alone."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from incast._core import IncastError
from incast.udp.host import Request

_SHOWN = 200


def guarded(
    work: Callable[[], None], warn: Callable[[str], None], request: Request | None = None
) -> None:
    """Does a piece of work. Its fault is told here, and to the peer that it happened.

    Args:
        work: The work.
        warn: Gets a line that names the fault.
        request: The request that it is for, which is refused unless it was answered.
    """
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever it is, others are to be served
        of = "" if request is None else f" of {request.peer.address}"
        what = printable(f"{type(error).__name__}: {error}"[:_SHOWN])
        with suppress(Exception):
            warn(f"failed: a request{of}: {what}" if request is not None else f"failed: {what}")
        if request is not None and request.wants_reply:
            with suppress(IncastError):
                request.refuse("the server has failed at this request; its log says how")


def printable(text: str) -> str:
    """A text without what would control a terminal, or is no text."""
    return "".join(one if one.isprintable() else " " for one in text)


class Refusing(Protocol):
    """A host, of whichever kind, that tells whom it has refused."""

    def rejected(self) -> list[tuple[str, str]]:
        """The hosts refused or dropped since the last call: the address of each, and the reason."""


class Refusals:
    """The hosts that a server refuses, and its own faults, each with its reason once."""

    MOST = 1000
    """So many are remembered: beyond, the oldest may be told again."""

    def __init__(self, lines: Callable[[str], None]) -> None:
        """Tells them to `lines`."""
        self._lines = lines
        self._told: dict[tuple[str, str], None] = {}

    def show(self, host: Refusing) -> None:
        """Tells of hosts that were refused or dropped since the last call."""
        for address, reason in host.rejected():
            # A host that tries again has another port each time, and may have any version.
            kind = re.sub(r"\d+", "", reason.replace(address, ""))
            self._once((address.rpartition(":")[0], kind), f"refused: {reason}")

    def say(self, fault: str) -> None:
        """Tells of a fault of the server."""
        self._once(("", fault), fault)

    def _once(self, one: tuple[str, str], text: str) -> None:
        if one not in self._told:
            if len(self._told) >= self.MOST:
                del self._told[next(iter(self._told))]
            self._told[one] = None
            self._lines(text)
