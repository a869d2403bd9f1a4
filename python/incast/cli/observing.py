"""`incast kernel observe`: connections on Linux TCP, live and as a table."""

import ipaddress
import json
import re
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from incast.base import leaving
from incast.base.lazy import lazy
from incast.cli import options, program
from incast.results import observations, store
from incast.terminal import progress, writing

if TYPE_CHECKING:
    from incast.figures import observations as figures
else:
    figures = lazy("incast.figures.observations", "figures")

_GONE_AFTER_S = 3.0
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# The gauges of an algorithm: heading, key of a report, decimals.
_GAUGES = {
    "timely": (("gradient\nus", "gauge", 1),),
    "rtcp": (("price", "gauge", 1), ("counter", "counter", 0)),
    "dctcp": (("alpha", "gauge", 3),),
}
_AROUND = 5  # lines of the screen beside the connections: title, headings in two, rule, cursor


def observe(
    kernel: Path,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which; needless if there is one.")
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="For how long, such as 10s; until Ctrl-C if not given."),
    ] = None,
    interval: Annotated[
        str, typer.Option(metavar="TIME", help="From one report of a connection to its next.")
    ] = "100ms",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write all reports to this directory, as a table and figures."
        ),
    ] = None,
    figure_formats: options.Figures = None,
    no_figures: options.NoFigures = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each report.")
    ] = False,
) -> None:
    """Watch connections on Linux TCP: a live table, or a line for each report in a pipe."""
    formats = options.formats_in(out, figure_formats, no_figures=no_figures, shown=not as_json)
    screen = Console(highlight=False, markup=False)
    live = sys.stdout.isatty() and not screen.is_dumb_terminal and not as_json
    command = [str(kernel), "observe", *([name] if name else []), "--interval", interval]
    command += ["--duration", duration] if duration else []
    command += ["--json"] if live or as_json else []
    observed = _observed(kernel, name) if live or out else None
    read = Watched(screen, observed, _seconds(interval)).follow if live and observed else None
    if out is None or observed is None:
        code = program.run(command, read)
    else:
        with store.filling(out, observations.KIND) as directory:
            record = directory / "record"
            code = program.run([*command, "--record", str(record)], read)
            if code not in (0, leaving.code()):
                raise typer.Exit(code)
            observations.fill(directory, observed, record, formats)
        try:
            if formats:
                with progress.drawing(visible=not as_json):
                    figures.write(out, observed, formats)
        except KeyboardInterrupt:
            print(f"stopped: the table is kept in {out}/, without figures", file=sys.stderr)
            raise typer.Exit(leaving.code()) from None
        if not as_json:
            writing.say(writing.console(), f"Wrote {out}/")
            writing.say_figures(writing.console())
    if code:
        raise typer.Exit(code)


def _observed(kernel: Path, name: str | None) -> observations.Observed:
    """The attached algorithm, as the program describes it; ends the command if there is none."""
    said: list[str] = []
    shown = [str(kernel), "show", *([name] if name else []), "--json"]
    if code := program.run(shown, lambda output: said.append(output.read())):
        raise typer.Exit(code)
    found = json.loads(said[0])
    return observations.Observed(found["name"], found["algorithm"], found["parameters"])


def _seconds(span: str) -> float:
    """Seconds of a time such as `10s`; zero if the program will refuse it."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *(ns|us|ms|s)", span)
    return float(parts[1]) * _UNITS[parts[2]] if parts else 0.0


class Watched:
    """The connections that have reported lately."""

    def __init__(self, screen: Console, observed: observations.Observed, interval_s: float) -> None:
        self._screen = screen
        self._observed = observed
        self._gone_after_s = max(_GONE_AFTER_S, 3 * interval_s)
        self._last: dict[tuple[str, int], tuple[float, dict[str, Any]]] = {}

    def follow(self, reports: IO[str]) -> None:
        """Shows the reports, a line of JSON each, until there are no more."""
        with Live(get_renderable=self.drawn, console=self._screen, refresh_per_second=4):
            for line in reports:
                self.take(line)

    def take(self, line: str) -> None:
        """A report."""
        report = json.loads(line)
        key = (report["remote"], report["local_port"])
        if report["rtt_us"] is None and key in self._last:
            report["rtt_us"] = self._last[key][1]["rtt_us"]
        self._last[key] = (time.monotonic(), report)

    def drawn(self) -> Group:
        """The newest reports, as many as the screen has room for; another thread calls this."""
        since = time.monotonic() - self._gone_after_s
        now = [report for at, report in list(self._last.values()) if at >= since]
        now.sort(key=_place)
        room = max(1, self._screen.height - _AROUND)
        # The line with the number of hidden connections takes the place of one.
        shown = now if len(now) <= room else now[: max(1, room - 1)]
        grid, _ = writing.first_columns(self._screen, *self._columns(shown))
        count = f"{len(now)} connection{'' if len(now) == 1 else 's'}"
        parts: list[RenderableType] = [Text(f"{self._observed.title}: {count}", style="bold"), grid]
        if len(shown) < len(now):
            parts.append(Text(f"and {len(now) - len(shown)} more"))
        return Group(*parts)

    def _columns(self, shown: list[dict[str, Any]]) -> tuple[writing.Columns, writing.Columns]:
        flows = [f"{report['local_port']} -> {report['remote']}" for report in shown]
        columns = [
            ("rate\nMb/s", [f"{report['rate_mbps']:.1f}" for report in shown]),
            ("RTT\nus", [_or_none(report["rtt_us"]) for report in shown]),
        ]
        for heading, key, decimals in _GAUGES[self._observed.algorithm]:
            columns.append((heading, [f"{report[key]:.{decimals}f}" for report in shown]))
        if any(report["branch"] for report in shown):
            columns.append(("branch", [report["branch"] for report in shown]))
        for heading, key in (
            ("cwnd", "cwnd"), ("in\nflight", "in_flight"), ("sent\nagain", "retransmissions")
        ):  # fmt: skip
            columns.append((heading, [str(report[key]) for report in shown]))
        return [("flow", flows)], columns


def _place(report: dict[str, Any]) -> tuple[int, int, int, int]:
    """The key that sorts reports by address and port, as numbers."""
    host, _, port = report["remote"].rpartition(":")
    address = ipaddress.ip_address(host.strip("[]"))
    return address.version, int(address), int(port), report["local_port"]


def _or_none(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
