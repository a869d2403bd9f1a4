"""Linux TCP, by `incast-kernel`: a program of its own, since nothing else here needs libbpf."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from incast._core import IncastError
from incast.base import system
from incast.cli import completing, lab, late, program

# Commands in Python: a test bed needs the simulator, an observation needs tables and figures.
_OWN = ("lab", "observe")


def kernel(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND...", autocompletion=completing.kernel_words),
    ] = None,
) -> None:
    """Attach TIMELY, RTCP or DCTCP to Linux TCP, and watch them.

    The program that does so is incast-kernel: pip install 'incast[kernel]', or `make kernel`.
    """
    if why := system.no_linux("incast kernel"):
        raise IncastError(why)
    found = program.incast_kernel()
    if found is None:
        raise IncastError(
            f"{program.KERNEL} is not installed: `make kernel` builds it in a checkout, and says "
            "what that needs; elsewhere: pip install 'incast[kernel]'"
        )
    # All of them in their order, options of the program included: none is known here.
    arguments = words or []
    if arguments and arguments[0] in _OWN:
        _run_own(found, *arguments)
        return
    # The program is a child: its exit code goes through `main`, as every command's.
    code = program.run([found, *arguments])
    if arguments[:1] in ([], ["--help"], ["-h"]):
        print("\nAnd of Python:\n  lab      Run a scenario on Linux TCP, in network namespaces")
    if code:
        raise typer.Exit(code)


def _run_own(found: str, name: str, *arguments: str) -> None:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    help_names = {"help_option_names": ["--help", "-h"]}
    command = lab.on_linux if name == "lab" else _bound(late.observing.observe, Path(found))
    app.command(name, context_settings=help_names)(command)
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
