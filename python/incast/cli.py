"""The command `incast`."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from incast import _core, experiment, imports, report, store
from incast._core import IncastError, Scenario

_USAGE = 2  # exit code of bad input
_INTERRUPTED = 130  # exit code of Ctrl-C: 128 + SIGINT

app = typer.Typer(
    help="Datacenter congestion control, simulated packet by packet, checked against the papers.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
scenario_app = typer.Typer(help="The scenarios that ship, and checks of your own.")
app.add_typer(scenario_app, name="scenario")


_Scenario = Annotated[str, typer.Argument(help="A TOML file, or the name of one that ships.")]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command; bad input gets one line and exit code 2."""
    try:
        code = app(arguments, standalone_mode=False) or 0
        sys.stdout.flush()
    except (IncastError, typer.TyperException) as error:
        code = _fail(error)
    except BrokenPipeError:
        code = _reader_went_away()
    except SystemExit as left:
        # Typer and Rich turn a reader that went away into an exit of their own.
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        code = _reader_went_away()
    except KeyboardInterrupt:
        code = _INTERRUPTED
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
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    scenario: _Scenario,
    cc: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A scheme to run, such as timely or timely:zhu; repeat it to compare several.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one value of the scenario, such as transport.segment=16KB.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**64 - 1, metavar="N", help="The seed, if not the scenario's."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write; results/<scenario> if not given."),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="|".join(experiment.TRACES),
            help="Record every event of these; may be repeated.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object in place of the table.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, and no table.")
    ] = False,
) -> None:
    """Simulate a scenario once per scheme, compare them, and write tables and figures."""
    chosen = _load(scenario, assignments)
    schemes = experiment.check_schemes(chosen, cc or None)
    _warn(chosen, schemes)
    traces = experiment.check_traces(trace or ())
    directory = Path("results") / chosen.name if out is None else out
    store.check(directory)
    result = experiment.run(
        chosen,
        schemes,
        seed=seed,
        traces=traces,
        progress=not quiet,
    )
    written = result.write(directory)
    if as_json:
        print(json.dumps({**result.to_dict(), "written": written.to_dict()}, allow_nan=False))
    elif not quiet:
        console = report.console()
        report.print_comparison(console, result)
        report.print_written(console, written)
    if not result.complete:
        raise typer.Exit(_INTERRUPTED)


@app.command("import")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="HPCC's configuration, topology, flows and trace, or htsim's .cm and .topo.",
        ),
    ],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="What a FILE is, such as hpcc-flows, if its text does not tell; once for each.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the scenario.")] = Path(
        "scenario.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Make a scenario from files of another simulator, and say what was not taken over."""
    written, notes = imports.write(files, formats or (), out, force=force)
    for note in notes:
        print(f"note: {note}")
    for path in written:
        print(f"wrote {path}")


@app.command()
def algorithms(
    name: Annotated[str | None, typer.Argument(help="Show everything about this one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the algorithms, or the parameters and presets of one."""
    known = {algorithm.name: algorithm for algorithm in _core.algorithms()}
    if name is not None and name not in known:
        near = experiment.nearest(name, known)
        raise _core.ParameterError(f"{name}: no such algorithm; {near}")
    chosen = list(known.values()) if name is None else [known[name]]
    if as_json:
        items = [report.algorithm_to_dict(algorithm) for algorithm in chosen]
        print(json.dumps(items if name is None else items[0]))
    elif name is None:
        report.print_algorithms(report.console(), chosen)
    else:
        report.print_algorithm(report.console(), chosen[0])


@scenario_app.command("list")
def list_scenarios() -> None:
    """List the scenarios that ship with the package."""
    shipped = [Scenario.load(path) for path in experiment.shipped().values()]
    report.print_scenarios(report.console(), shipped)


@scenario_app.command("check")
def check_scenario(file: _Scenario) -> None:
    """Check a scenario, with every scheme that it names, without running it."""
    scenario = experiment.load(file)
    schemes = experiment.check_schemes(scenario)
    _warn(scenario, schemes)
    print(f"{file}: good, {scenario.duration_s * 1e3:g} ms of {', '.join(schemes)}")


@scenario_app.command("schema")
def scenario_schema() -> None:
    """Print the JSON Schema of a scenario, from which editors complete."""
    print(_core.schema())


def _load(scenario: str, assignments: list[str] | None) -> Scenario:
    chosen = experiment.load(scenario)
    return chosen.with_set(*assignments) if assignments else chosen


def _warn(scenario: Scenario, schemes: Sequence[str]) -> None:
    for scheme in schemes:
        for text in scenario.warnings(scheme):
            print(f"warning: {text}", file=sys.stderr)


def _fail(error: IncastError | typer.TyperException) -> int:
    text = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    line = " ".join(part.strip() for part in text.splitlines() if part.strip())
    print(f"error: {line}", file=sys.stderr)
    return _USAGE
