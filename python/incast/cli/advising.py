"""The command that advises on thresholds."""

import json
import sys
from typing import Annotated

import typer

from incast.cli import completing, late, options
from incast.cli.exits import FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:  # it imports Polars
    from incast.api.advising import Advice


def advise(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A TOML file, or the name of one that ships, whose network is taken.",
            autocompletion=completing.scenarios,
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="The rate of links, such as 100Gbps.")
    ] = None,
    cable: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH", help="The length of cables, at 5 ns a metre; 100m if not given."
        ),
    ] = None,
    hosts: Annotated[
        int | None,
        typer.Option(metavar="N", help="Hosts, or ports of the switch; 32 if not given."),
    ] = None,
    mtu: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The largest packet; 1500B if not given.")
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="The buffer; 12 MB for 32 ports of 40 Gb/s, and in proportion, if not given.",
        ),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The unit of the buffer; 144B if not given.")
    ] = None,
    small_packets: Annotated[
        float | None,
        typer.Option(
            metavar="%",
            help="The most bytes after a pause that small packets have; 100 if not given.",
        ),
    ] = None,
    mac_phy_delay: Annotated[
        str | None,
        typer.Option(metavar="TIME|SIZE", help="The delay of MACs and PHYs; 0.8KiB if not given."),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(metavar="TIME|SIZE", help="The delay of the pipeline; 19KiB if not given."),
    ] = None,
    response: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|SIZE",
            help="The peer's response to a pause; what IEEE 802.3 allows if not given.",
        ),
    ] = None,
    cc: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="NAME",
            help="dcqcn, dctcp, timely or swift; may be repeated; all if not given.",
            autocompletion=completing.advised,
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a value of the check's runs, such as switch.pfc.headroom=20KB.",
        ),
    ] = None,
    no_check: Annotated[bool, typer.Option("--no-check", help="Run nothing.")] = False,
    as_scenario: Annotated[
        bool, typer.Option("--scenario", help="Print a scenario with these values.")
    ] = False,
    as_sonic: Annotated[
        bool, typer.Option("--sonic", help="Print them as SONiC's config_db.json.")
    ] = False,
    port: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A port that --sonic configures; may be repeated."),
    ] = None,
    table: options.Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Advise on thresholds for a switch, and check them.

    It tells PFC headroom, XOFF and XON, marks for DCQCN and DCTCP, and delays for TIMELY and Swift,
    each with its formula and source. Short runs at these values check them.
    """
    forms = {"--scenario": as_scenario, "--sonic": as_sonic, "--json": as_json, "--table": table}
    wanted = [name for name, one in forms.items() if one]
    if len(wanted) > 1:
        raise typer.BadParameter(f"{' with '.join(wanted)}: ask for one of them")
    if port and not as_sonic:
        raise typer.BadParameter(f"--port {port[0]}: only --sonic names ports; add it")
    form = options.check_table(table, as_json=as_json)
    advice = late.advising.advise(
        scenario,
        rate=rate, cable=cable, hosts=hosts, mtu=mtu, buffer=buffer, cell=cell,
        small_packets=small_packets, mac_phy_delay=mac_phy_delay, pipeline=pipeline,
        response=response, cc=cc or None, settings=assignments or (), check=False,
    )  # fmt: skip
    # What cannot be printed is refused before anything is run.
    text = advice.scenario.toml() if as_scenario else ""
    if not no_check:
        advice = advice.checked()
    if as_json:
        print(json.dumps(advice.to_dict(), allow_nan=False))
    elif as_sonic:
        print(json.dumps(advice.sonic(port or ()), indent=4))
    elif as_scenario:
        print(text, end="")
    else:
        _print(advice, form)
    for fault in advice.faults:
        print(f"warning: {fault}", file=sys.stderr)
    if advice.faults:
        raise typer.Exit(FAILED)


def _print(advice: "Advice", form: str | None) -> None:
    out = late.writing.console(form)
    late.advice.print_values(out, advice.rows)
    if advice.outcomes:
        late.advice.print_checks(out, [{**vars(one), "name": one.name} for one in advice.outcomes])
        out.print()
        lossless = sum(one.drops for one in advice.outcomes if one.lossless)
        verdict = "does not hold" if advice.faults else "holds"
        late.writing.say(
            out,
            f"checked: the advice {verdict}; {lossless} drops in the lossless class, "
            f"{len(advice.outcomes)} runs",
        )
