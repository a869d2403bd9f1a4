"""The command `incast`."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from incast import _core
from incast._core import AlgorithmError, IncastError
from incast.base import leaving, system, words
from incast.cli import (
    advising,
    algorithms,
    completing,
    expecting,
    exporting,
    importing,
    kernel,
    lab,
    late,
    manual,
    options,
    page,
    plotting,
    reading,
    reproducing,
    running,
    scenario,
    sweeping,
    tuning,
)
from incast.cli.exits import USAGE


class _Commands(typer.core.TyperGroup):
    """All commands; Ctrl-C, where none of them has its own answer, gets one line."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
            raise typer.Exit(leaving.code()) from None


app = typer.Typer(
    cls=_Commands,
    help="Datacenter congestion control, simulated packet by packet, checked against the papers.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    running.run,
    running.saturate,
    sweeping.sweep,
    sweeping.compare,
    tuning.tune,
    advising.advise,
    expecting.expect,
    page.ui,
    lab.lab,
    reproducing.reproduce,
    reading.show,
    plotting.plot,
    exporting.export,
    reading.tables,
    algorithms.algorithms,
    algorithms.workloads,
    manual.docs,
):
    app.command()(command)
app.command("import")(importing.import_)
app.command("completion")(completing.completion)
# All arguments are taken, --help too.
_WHATEVER = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": list[str](),
}
# Its program reads them itself.
app.command("kernel", context_settings=_WHATEVER)(kernel.kernel)
app.add_typer(scenario.app, name="scenario")
if sys.platform == "linux":
    from incast.cli import udp

    app.add_typer(udp.app, name="udp")
else:

    @app.command("udp", context_settings=_WHATEVER)
    def _udp() -> None:
        """Messages between real hosts over UDP: Linux alone."""
        raise IncastError(system.no_linux("incast udp"))


completing.offer()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command; bad input gets one line and exit code 2."""
    # `--cc my_module:MyControl` is found where the user is, after all that is installed.
    sys.path.append("")
    try:
        with words.of_the_command():
            code = app(arguments, standalone_mode=False, complete_var=completing.VARIABLE) or 0
        if leaving.untold(code):
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (IncastError, typer.TyperException) as error:
        code = _fail(error)
    except BrokenPipeError:
        code = _reader_went_away()
    except SystemExit as left:
        # Typer and Rich turn a closed pipe into an exit of their own.
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        code = _reader_went_away()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        code = leaving.code()
    except MemoryError:
        print(
            "error: the memory that this process may have does not suffice; raise its limit "
            "(ulimit -v), or take less",
            file=sys.stderr,
        )
        code = USAGE
    sys.exit(code)


def _reader_went_away() -> int:
    """The reader has seen enough. Python would flush again at exit and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"incast {_core.__version__} ({_core.build_profile} build)")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _incast(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    options.commands(context)


def _print_trace(cause: BaseException) -> None:
    """Prints the trace of an exception in an algorithm of the user's own, if it has one."""
    if isinstance(cause, late.pool.RemoteError):
        print(str(cause).strip(), file=sys.stderr)
    elif cause.__traceback__ is not None:
        traceback.print_exception(cause)


def _fail(error: IncastError | typer.TyperException) -> int:
    text = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    if isinstance(error, AlgorithmError) and error.__cause__ is not None:
        _print_trace(error.__cause__)
    line = " ".join(part.strip() for part in text.splitlines() if part.strip())
    print(f"error: {line}", file=sys.stderr)
    return USAGE
