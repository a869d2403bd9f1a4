"""`incast kernel lab`: a scenario on Linux TCP, in network namespaces of this machine."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from incast._core import Run
from incast.api import scenarios
from incast.api.result import Result, add_figures
from incast.cli import options
from incast.cli.exits import INTERRUPTED
from incast.results import store
from incast.terminal import writing
from incast.terminal.progress import bar_of_runs


def lab(
    kernel: Path,
    scenario: options.ScenarioName,
    cc: options.Schemes = None,
    assignments: options.Assignments = None,
    knobs: Annotated[
        list[str] | None,
        typer.Option(
            "--knob",
            metavar="KEY=VALUE",
            help="Change a parameter of the schemes that incast attaches, such as t_low=200us, or "
            "timely.t_low=200us of one of them.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Runs of each scheme.")
    ] = 1,
    simulate: Annotated[bool, typer.Option(help="Print what the simulator predicts, too.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write tables and figures there, as `incast run`; of several runs, seed-N in it.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a scenario on Linux TCP, in network namespaces of this machine, beside the simulator."""
    # Late: numpy and the modules of the test bed, which no other command needs.
    from incast.lab import attach, bed, measure, plan, predict, report  # noqa: PLC0415
    from incast.lab.result import result  # noqa: PLC0415

    # TCP is a stream, whatever transport the scenario has, and hosts have Linux as installed.
    linux = ["transport.kind=stream", "transport.stream.preset=linux"]
    chosen = options.load(scenario, [*linux, *(assignments or [])])
    schemes = scenarios.check_schemes(chosen, cc or None)
    wanted = plan.read(chosen)
    turns = range(repeat)
    places = (
        [] if out is None else [out / f"seed-{turn + 1}" if repeat > 1 else out for turn in turns]
    )
    _check(places)
    bed.check()
    for scheme in schemes:
        # A scheme that cannot be attached is refused at once, not when its turn comes.
        with attach.attached(wanted, kernel, scheme, knobs or []):
            pass
    found: dict[tuple[int, str], measure.Measured] = {}
    simulated: dict[tuple[int, str], Run] = {}
    # Schemes take turns, so that other work on the machine meets all of them.
    order = [(turn, scheme) for turn in turns for scheme in schemes]
    delays = False
    try:
        with (
            bed.standing(wanted, kernel) as stands,
            bar_of_runs(visible=not as_json) as show,
        ):
            for done, (turn, scheme) in enumerate(order):
                show(total=len(order), completed=done, description=f"{scheme} on Linux")
                with attach.on_hosts(stands, kernel, scheme, knobs or []) as name:
                    delays = stands.delays
                    found[turn, scheme] = measure.run(stands, kernel, scheme, name, turn)
        with bar_of_runs(visible=simulate and not as_json) as show:
            for done, (turn, scheme) in enumerate(order if simulate else []):
                show(total=len(order), completed=done, description=f"{scheme} simulated")
                run = predict.simulate(chosen, kernel, scheme, knobs or [], turn + 1)
                if not run.complete:
                    raise KeyboardInterrupt
                simulated[turn, scheme] = run
        stopped = False
    except KeyboardInterrupt:
        stopped = True
    results = []
    for turn, place in enumerate(places):
        measured = {one: found[turn, one] for one in schemes if (turn, one) in found}
        runs = {one: simulated[turn, one] for one in schemes if (turn, one) in simulated}
        if measured:
            results.append((result(chosen, schemes, measured, runs, turn), place))
    stopped = not _write(results, figures=not stopped) or stopped
    predicted = {
        scheme: [predict.figures(chosen, run) for (_, of), run in simulated.items() if of == scheme]
        for scheme in schemes
    }
    rows = [one.row for one in found.values()]
    if as_json:
        said = {"rows": [asdict(row) for row in rows], "simulated": predicted}
        print(json.dumps(said, allow_nan=False))
    elif rows:
        report.print_rows(writing.console(), wanted.title, rows, predicted, delays=delays)
        if out is not None:
            writing.console().print(f"\nWrote {out}/")
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _check(places: list[Path]) -> None:
    """Finds out whether results can be written there, and says which earlier ones they replace."""
    for place in places:
        store.check(place)
        if of := store.replaces(place, "", (), 0):
            print(f"note: {of} in {place}/ will be replaced", file=sys.stderr)


def _write(results: list[tuple[Result, Path]], *, figures: bool) -> bool:
    """Writes results; whether Ctrl-C has left their figures be."""
    # All tables are written before matplotlib is imported.
    written = [(one, store.write(one, place)) for one, place in results]
    try:
        for one, where in written if figures else []:
            add_figures(one, where)
    except KeyboardInterrupt:
        return False
    return True
