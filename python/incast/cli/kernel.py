"""Linux TCP, by `incast-kernel`: a program of its own, since nothing else here needs libbpf."""

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from incast._core import IncastError
from incast.cli import lab

_PROGRAM = "incast-kernel"


def kernel(context: typer.Context) -> None:
    """Attach TIMELY, RTCP or DCTCP to Linux TCP, change and watch them (needs `make kernel`)."""
    found = _program()
    if found is None:
        raise IncastError(
            f"{_PROGRAM} is not built: `make kernel` builds it, and says what that needs"
        )
    if context.args[:1] == ["lab"]:
        _lab(found, context.args[1:])
        return
    # Not replaced by it: the exit code goes through `main`, as that of every command.
    try:
        done = subprocess.run([found, *context.args], check=False)  # noqa: S603
    except OSError as error:
        raise IncastError(f"{found}: cannot be run: {error.strerror or error}") from None
    except KeyboardInterrupt:  # the program has had it, too, and ends by itself
        raise typer.Exit(130) from None
    if context.args[:1] in ([], ["--help"], ["-h"]):
        print("\nAnd of Python:\n  lab      Run a scenario on Linux TCP, in network namespaces")
    if done.returncode:
        raise typer.Exit(done.returncode)


def _lab(program: str, arguments: list[str]) -> None:
    """The one part that is Python's: it needs scenarios, and the simulator."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command("lab")(_bound(program))
    code = app(arguments, standalone_mode=False, prog_name="incast kernel lab")
    if code:
        raise typer.Exit(code)


def _bound(program: str) -> Callable[..., None]:
    """The command with the program in its place; Typer reads the other parameters."""
    signature = inspect.signature(lab.lab)

    def command(**given: object) -> None:
        lab.lab(Path(program), **given)  # type: ignore[arg-type]

    command.__doc__ = lab.lab.__doc__
    parameters = [one for name, one in signature.parameters.items() if name != "kernel"]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _program() -> str | None:
    """Beside the interpreter, where `make kernel` puts it, or on the path."""
    beside = Path(sys.prefix) / "bin" / _PROGRAM
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(_PROGRAM)
