"""The start of the command: Ctrl-C is heard before anything of size is imported."""

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INTERRUPTED = 130


def main() -> "NoReturn":
    """Runs the command `incast`."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _leave)
    # Late: only now is Ctrl-C heard.
    from incast.cli import main as run  # noqa: PLC0415

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except SystemExit:
        # The command is done: Ctrl-C now would only print a trace of the interpreter's end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:
        # Ctrl-C came after the command had handled its own.
        _leave()
    sys.exit(0)


def _leave(*_: object) -> None:
    """Ends at once: an exception in the middle of an import would leave half of it."""
    os.write(2, b"stopped\n")
    os._exit(_INTERRUPTED)
