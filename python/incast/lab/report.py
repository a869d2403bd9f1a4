"""The table of a test bed: measurements and the simulator's predictions."""

from collections.abc import Sequence

from rich.console import Console

from incast.lab.carriers import LINUX, UDP
from incast.lab.row import Row
from incast.results.seeds import NOT_NEGATIVE, spread
from incast.terminal.numbers import measured
from incast.terminal.writing import print_columns, say, wrapped

_COLUMNS = (
    ("goodput\nMb/s", "throughput_mbps"),
    ("RTT p50\nus", "rtt_p50_us"),
    ("RTT p99\nus", "rtt_p99_us"),
    ("ping p50\nus", "ping_p50_us"),
    ("ping p99\nus", "ping_p99_us"),
    ("below 30 KB\np99 us", "urgent_p99_us"),
    ("others\np99 us", "others_p99_us"),
    ("here over\npredicted", "over_predicted"),
    ("incom-\nplete", "incomplete"),
    ("drops", "drops"),
    ("Jain\nindex", "jain_index"),
    ("sent\nagain", "retransmissions"),
    ("idle RTT\nus", "rtt_idle_us"),
    ("busy\n% CPU", "others_percent"),
    ("stolen\n% CPU", "stolen_percent"),
)

_OF_RTTS = (
    "RTT: on linux-tcp of the prober's datagrams, elsewhere of the flows' own samples; ping: of a "
    "prober's datagrams through the same queue."
)
_OF_PAIRS = (
    "Here over predicted: completion of a message here over its completion in the simulator, the "
    "median."
)
_OF_DROPS = "Drops: where it is not simulated they are sends, of up to 44 packets each."
_OF_CPUS = (
    "Busy: share of the CPUs that something else had just before; stolen: that other machines on "
    "the same host had meanwhile."
)


def print_rows(out: Console, title: str, rows: Sequence[Row], *, delay: str) -> None:
    """A row for each scheme and carrier: means over the repetitions.

    `delay` is a sentence on the delays of links, if there is one to say.
    """
    say(out, title, style="bold")
    shown = [one for one in _COLUMNS if any(getattr(row, one[1]) is not None for row in rows)]
    names = list(dict.fromkeys((row.scheme, row.carrier) for row in rows))
    cells = []
    for scheme, carrier in names:
        own = [row for row in rows if (row.scheme, row.carrier) == (scheme, carrier)]
        found = [spread([getattr(row, key) for row in own], NOT_NEGATIVE) for _, key in shown]
        cells.append(["-" if one is None else measured(one) for one in found])
    columns = [(heading, [line[at] for line in cells]) for at, (heading, _) in enumerate(shown)]
    front = [("algorithm", [one for one, _ in names]), ("carrier", [one for _, one in names])]
    print_columns(out, front, columns)
    there = {row.carrier for row in rows}
    notes = [_OF_DROPS, _OF_CPUS] if there & {LINUX, UDP} else []
    if LINUX in there or any(row.ping_p50_us is not None for row in rows):
        notes.insert(0, _OF_RTTS)
    if any(row.over_predicted is not None for row in rows):
        notes.append(_OF_PAIRS)
    if said := " ".join([*notes, delay]).strip():
        wrapped(out, "", said)
