"""What was measured of a collective beside what is expected, and what would explain the rest."""

from rich.console import Console

from incast.advice.expected import Expectation
from incast.terminal.numbers import number
from incast.terminal.writing import Columns, print_columns, say


def print_compared(out: Console, found: Expectation) -> None:
    """Prints a line for each size, then runs with a fault each, the nearest first."""
    say(out, found.about)
    say(out, f"{found.collective}, {found.algorithm}, under {found.scheme}")
    lines = found.lines
    columns: Columns = [
        ("measured\nbusbw GB/s", [_gb(line.measured) for line in lines]),
        ("expected\nbusbw GB/s", [_gb(line.busbw) for line in lines]),
        ("tolerance\n%", [f"{100 * line.tolerance:.1f}" for line in lines]),
        ("reached\n%", [f"{100 * (line.measured or 0.0) / line.busbw:.1f}" for line in lines]),
        ("", ["short" if line.short else "" for line in lines]),
    ]
    print_columns(out, [("size\nB", [str(line.size) for line in lines])], columns)
    short = sum(line.short for line in lines)
    out.print()
    if not short:
        say(out, f"All {len(lines)} sizes reach what is expected.")
        return
    say(out, f"{short} of {len(lines)} sizes fall short.")
    if found.explanations:
        _print_explanations(out, found)


def _print_explanations(out: Console, found: Expectation) -> None:
    sizes = list(found.explanations[0].busbw)
    measured = {line.size: line.measured for line in found.lines}
    rows = [*found.explanations]
    names = ["measured", *(one.name for one in rows)]
    columns: Columns = [
        (f"{size} B\nbusbw GB/s", [_gb(measured[size]), *(_gb(one.busbw[size]) for one in rows)])
        for size in sizes
    ]
    fits = ["", *("explains it" if one.fits else "" for one in rows)]
    print_columns(out, [("runs with one fault", names), ("", fits)], columns)
    if not any(one.fits for one in rows):
        out.print()
        say(out, "None of these faults shows what was measured.")


def _gb(value: float | None) -> str:
    return "-" if value is None else number(value)
