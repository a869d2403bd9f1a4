"""`incast kernel lab`: a scenario on Linux TCP, in network namespaces of this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from incast import terminal
from incast.cli import options
from incast.cli.exits import INTERRUPTED


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
            help="Change a parameter of the schemes that incast attaches, such as t_low=200us.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Runs of each scheme.")
    ] = 1,
    simulate: Annotated[bool, typer.Option(help="Print what the simulator predicts, too.")] = True,
    as_json: options.AsJson = False,
) -> None:
    """Run a scenario on Linux TCP, in network namespaces of this machine, beside the simulator."""
    from incast.lab import bed, measure, plan, predict, report  # noqa: PLC0415

    chosen = options.load(scenario, assignments)
    schemes = tuple(cc or chosen.schemes)
    wanted = plan.read(chosen)
    line_rate = max(host.rate_mbps for host in wanted.hosts)
    bed.check()
    rows = []
    stopped = False
    try:
        with bed.standing(wanted, kernel) as stands:
            # In turn: what the machine does in the meantime meets all schemes.
            for turn in range(repeat):
                for scheme in schemes:
                    with measure.attached(kernel, scheme, knobs or [], line_rate) as name:
                        rows.append(measure.run(stands, kernel, scheme, name, turn))
    except KeyboardInterrupt:
        stopped = True
    predicted = {} if stopped or not simulate else predict.predicted(chosen, schemes)
    if as_json:
        found = [measure.to_dict(row) for row in rows]
        print(json.dumps({"rows": found, "simulated": predicted}, allow_nan=False))
    elif rows:
        report.print_rows(terminal.console(), wanted.title, rows, predicted)
    if stopped:
        raise typer.Exit(INTERRUPTED)
