"""Linux TCP, by `incast-kernel`: a program of its own, since nothing else here needs libbpf."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import typer

from incast._core import IncastError

_PROGRAM = "incast-kernel"


def kernel(context: typer.Context) -> None:
    """Attach TIMELY, RTCP or DCTCP to Linux TCP, change and watch them (needs `make kernel`)."""
    found = _program()
    if found is None:
        raise IncastError(
            f"{_PROGRAM} is not built: `make kernel` builds it, and says what that needs"
        )
    # Not replaced by it: the exit code goes through `main`, as that of every command.
    try:
        done = subprocess.run([found, *context.args], check=False)  # noqa: S603
    except OSError as error:
        raise IncastError(f"{found}: cannot be run: {error.strerror or error}") from None
    except KeyboardInterrupt:  # the program has had it, too, and ends by itself
        raise typer.Exit(130) from None
    if done.returncode:
        raise typer.Exit(done.returncode)


def _program() -> str | None:
    """Beside the interpreter, where `make kernel` puts it, or on the path."""
    beside = Path(sys.prefix) / "bin" / _PROGRAM
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(_PROGRAM)
