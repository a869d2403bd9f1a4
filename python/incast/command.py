"""The start of the command: signals are heard before anything of size is imported."""

import signal
import sys

from incast.base import leaving, loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Runs the command `incast`."""
    _start("incast.cli")


def goal() -> "NoReturn":
    """Runs the command `incast-goal`."""
    _start("incast.cli.goal")


def _start(module: str) -> "NoReturn":
    leaving.begin()
    loading.begin()
    if sys.platform == "win32":
        # Files and pipes have the code page of the system there, in which tables have no lines.
        for one in (sys.stdout, sys.stderr):
            one.reconfigure(encoding="utf-8")
    with leaving.at_once():
        run = loading.module(module).main
    try:
        run()
    except SystemExit:
        # The command is done: a signal now would only print a trace of the interpreter's end.
        for one in leaving.ours():
            signal.signal(one, signal.SIG_IGN)
        # After a KeyboardInterrupt within an evaluated text `python -m` ends itself by SIGINT,
        # whatever came of it, unless another text is evaluated.
        eval("0")  # noqa: S307 - a constant
        raise
    except KeyboardInterrupt:
        # Ctrl-C came after the command had handled its own.
        leaving.leave()
    sys.exit(0)
