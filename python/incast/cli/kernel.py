"""Linux TCP, by `incast-kernel`: a program of its own, since nothing else here needs libbpf."""

import inspect
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from incast._core import IncastError
from incast.cli import late, program

_PROGRAM = "incast-kernel"
# Commands in Python: a test bed needs the simulator, an observation needs tables and figures.
_OWN = ("lab", "observe")


def kernel(context: typer.Context) -> None:
    """Attach TIMELY, RTCP or DCTCP to Linux TCP, and watch them.

    `make kernel` builds the program that does so.
    """
    found = _program()
    if found is None:
        raise IncastError(
            f"{_PROGRAM} is not built: `make kernel` builds it, and says what that needs"
        )
    if context.args and context.args[0] in _OWN:
        _run_own(found, *context.args)
        return
    # The program is a child: its exit code goes through `main`, as that of every command.
    code = program.run([found, *context.args])
    if context.args[:1] in ([], ["--help"], ["-h"]):
        print("\nAnd of Python:\n  lab      Run a scenario on Linux TCP, in network namespaces")
    if code:
        raise typer.Exit(code)


def _run_own(found: str, name: str, *arguments: str) -> None:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    help_names = {"help_option_names": ["--help", "-h"]}
    own = late.lab.lab if name == "lab" else late.observing.observe
    app.command(name, context_settings=help_names)(_bound(own, Path(found)))
    code = app(list(arguments), standalone_mode=False, prog_name=f"incast kernel {name}")
    if code:
        raise typer.Exit(code)


def _bound(own: Callable[..., None], found: Path) -> Callable[..., None]:
    """The command with the program in its place; Typer reads the other parameters."""
    signature = inspect.signature(own)

    def command(**given: object) -> None:
        own(found, **given)

    command.__doc__ = own.__doc__
    parameters = [one for name, one in signature.parameters.items() if name != "kernel"]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _program() -> str | None:
    """Beside the interpreter, where `make kernel` puts it, or on the path."""
    beside = Path(sys.prefix) / "bin" / _PROGRAM
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(_PROGRAM)
