"""Programs that are run as a part of the command."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from incast._core import IncastError
from incast.base import leaving

KERNEL = "incast-kernel"
_PATIENCE_S = 2.0


def incast_kernel() -> str | None:
    """The program beside the interpreter, where `make kernel` and pip put it, or on the path."""
    beside = Path(sys.prefix) / "bin" / KERNEL
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(KERNEL)


def run(command: Sequence[str], read: Callable[[IO[str]], None] | None = None) -> int:
    """Waits for the program; `read` has its standard output, which otherwise is the command's.

    Raises:
        IncastError: It cannot be run.
    """
    try:
        process = subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE if read else None, text=True
        )
    except OSError as error:
        raise IncastError(f"{command[0]}: cannot be run: {error.strerror or error}") from None
    with process:
        try:
            if read is not None and process.stdout is not None:
                read(process.stdout)
            return process.wait()
        except KeyboardInterrupt:  # the program has got Ctrl-C too, and ends by itself
            if leaving.code() != signal.SIGINT + 128:
                process.send_signal(signal.SIGINT)  # SIGTERM came to this process alone
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_PATIENCE_S)
            return leaving.code()
        finally:
            if process.poll() is None:
                process.kill()
