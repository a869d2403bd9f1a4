"""What keeps a server up: faults of its own are told, and end the request alone."""

from collections.abc import Callable
from contextlib import suppress

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
