"""Ctrl-C while modules are imported ends the command at once, with one line."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

_INTERRUPTED = 130


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Ends the process at Ctrl-C for as long as the block runs, unless somebody else hears it.

    An exception in the middle of an import would leave half of a module, and C code may lose it.
    """
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(*_: object) -> None:
    """Ends the process."""
    os.write(2, b"stopped\n")
    os._exit(_INTERRUPTED)
