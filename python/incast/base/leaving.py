"""Ctrl-C and SIGTERM: what hears them, and the exit code of a command that they end."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_last: int = signal.SIGINT
_told = False


def terminate(number: int, _frame: FrameType | None) -> None:
    """The command's answer to SIGTERM: what Ctrl-C does, with another exit code."""
    heard(number)
    raise KeyboardInterrupt


USUAL: dict[signal.Signals, Callable[..., Any]] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: terminate,
}
"""The usual answers. Programs of users have none to SIGTERM, and may have their own to Ctrl-C."""


def heard(number: int) -> None:
    """Remembers the signal that ends the command."""
    global _last  # noqa: PLW0603 - signals are the process's
    _last = number


def code() -> int:
    """The exit code of a command that a signal ended: 128 and the signal's number.

    Who asks has said a sentence, or says it next.
    """
    global _told  # noqa: PLW0603 - as above
    _told = True
    return 128 + _last


def untold(exit_code: int) -> bool:
    """Whether a command ends with this code by a signal of which nobody has said a sentence.

    Typer makes an exit of its own of a KeyboardInterrupt outside the commands.
    """
    return exit_code == 128 + signal.SIGINT and not _told


def ours() -> list[signal.Signals]:
    """The signals with their usual answers, which a block may take in hand: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [one for one, usual in USUAL.items() if signal.getsignal(one) is usual]


def begin() -> None:
    """Has SIGTERM heard from here on, in a command; a caller may have it ignored."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Ends the process at a signal for as long as the block runs, unless somebody else hears it.

    An exception in the middle of an import would leave half of a module, and C code may lose it.
    """
    held = ours()
    for one in held:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in held:
            signal.signal(one, USUAL[one])


@contextlib.contextmanager
def not_now() -> Iterator[None]:
    """Puts signals off to the end of the block, which has to be short.

    What a block has made is known to who has to remove it, and what is to go goes.
    """
    came: list[int] = []
    held = {}
    if threading.current_thread() is threading.main_thread():
        held = {one: answer for one in USUAL if callable(answer := signal.getsignal(one))}
    try:
        for one in held:
            signal.signal(one, lambda number, _frame: came.append(number))
        yield
    finally:
        for one, answer in held.items():
            signal.signal(one, answer)
        if came:
            signal.raise_signal(came[0])


def leave(number: int = 0, *_: object) -> None:
    """Ends the process."""
    if number:
        heard(number)
    os.write(2, b"stopped\n")
    os._exit(code())
