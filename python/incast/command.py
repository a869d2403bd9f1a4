"""The start of the command: Ctrl-C is heard before anything of size is imported."""

import signal
import sys

from incast.base import leaving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Runs the command `incast`."""
    with leaving.at_once():
        # Late: only now is Ctrl-C heard.
        from incast.cli import main as run  # noqa: PLC0415
    try:
        run()
    except SystemExit:
        # The command is done: Ctrl-C now would only print a trace of the interpreter's end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:
        # Ctrl-C came after the command had handled its own.
        leaving.leave()
    sys.exit(0)
