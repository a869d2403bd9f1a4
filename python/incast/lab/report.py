"""The table of a test bed: measurements and the simulator's predictions side by side."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from incast.lab.measure import Row
from incast.results.seeds import NOT_NEGATIVE, spread
from incast.terminal.numbers import measured, number
from incast.terminal.writing import print_columns, say, wrapped

_COLUMNS = (
    ("throughput\nMb/s", "throughput_mbps"),
    ("RTT p50\nus", "rtt_p50_us"),
    ("RTT p99\nus", "rtt_p99_us"),
    ("below 30 KB\np99 us", "urgent_p99_us"),
    ("others\np99 us", "others_p99_us"),
    ("incom-\nplete", "incomplete"),
    ("Jain\nindex", "jain_index"),
    ("sent\nagain", "retransmissions"),
    ("idle RTT\nus", "rtt_idle_us"),
    ("busy\n% CPU", "others_percent"),
    ("stolen\n% CPU", "stolen_percent"),
)


def print_rows(
    out: Console,
    title: str,
    rows: Sequence[Row],
    predicted: Mapping[str, Sequence[Mapping[str, float]]],
    *,
    delays: bool,
) -> None:
    """A row for each scheme: means over the repetitions; the simulator's prediction below each."""
    say(out, title, style="bold")
    shown = [one for one in _COLUMNS if any(getattr(row, one[1]) is not None for row in rows)]
    names, cells = [], []
    for scheme in dict.fromkeys(row.scheme for row in rows):
        own = [row for row in rows if row.scheme == scheme]
        names.append(scheme)
        found = [spread([getattr(row, key) for row in own], NOT_NEGATIVE) for _, key in shown]
        cells.append(["-" if one is None else measured(one) for one in found])
        if predicted.get(scheme):
            names.append("  simulated")
            said = [spread([run.get(key) for run in predicted[scheme]]) for _, key in shown]
            cells.append(["" if one is None else number(one.mean) for one in said])
    columns = [(heading, [line[at] for line in cells]) for at, (heading, _) in enumerate(shown)]
    print_columns(out, [("scheme", names)], columns)
    wrapped(
        out, "",
        "RTT: of datagrams through the same queue, of the simulator's what its flows measured. "
        "Busy: share of the CPUs that something else had just before; stolen: that other "
        "machines on the same host had meanwhile."
        + ("" if delays else " This kernel has no netem: links add no delay on Linux."),
    )  # fmt: skip
