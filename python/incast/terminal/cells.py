"""Cells of printed tables: numbers in few digits, and what they leave out."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from incast.results.differences import Difference
from incast.results.measures import bound_of
from incast.results.records import Case
from incast.results.seeds import SIGNS
from incast.terminal.writing import Columns

# Counts of finished things, each with the count of posted ones; means leave unfinished ones out.
_POSTED = {"messages": "messages_posted", "requests": "requests_posted"}
_OF_FINISHED = {
    "slowdown_mean": "messages", "completion_mean_us": "messages", "request_mean_us": "requests",
}  # fmt: skip


def heading(heading: str, key: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The heading of a column; a mean that leaves out what had not finished says so."""
    return f"{heading},\nfinished" if leaves_out(key, rows) else heading


def leaves_out(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a figure is a mean that leaves out what had not finished in any of the rows."""
    count = _OF_FINISHED.get(key)
    return count is not None and any(_lacks(row, count) for row in rows)


def _lacks(row: Mapping[str, Any], count: str) -> bool:
    """Whether some of what was posted had not finished."""
    return (row.get(_POSTED[count]) or 0) > (row.get(count) or 0)


def value(key: str, row: Mapping[str, Any]) -> str:
    """A figure or its lower bound; a count beside the number posted, if it is less."""
    value, bound = row.get(key), row.get(bound_of(key))
    if value is None:
        return "-" if bound is None else f"{SIGNS['at least']}{figures(bound, key)}"
    text = figures(value, key)
    return f"{text} of {row[_POSTED[key]]}" if key in _POSTED and _lacks(row, key) else text


def cell(key: str, measured: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """A figure, with the published one in parentheses."""
    text = value(key, measured)
    return f"{text} ({published[key]:g})" if key in published else text


def of_case(case: Case, key: str) -> str:
    """The mean over the seeds, and below it how far that can be off."""
    found, values = case.spread(key), case.values(key)
    if found is None:
        return "-"
    whole = all(isinstance(one, int) for one in values)
    if found.side:
        return f"{SIGNS[found.side]}{figures(found.mean, key)}"
    if len(case.runs) == 1:
        return value(key, case.runs[0].summary)
    if found.half_width is None:
        return figures(int(found.mean) if whole else found.mean, key)
    # A count that all seeds share is shown as a whole number.
    mean, half, low, high = (
        figures(int(one) if whole and one == int(one) else one, key)
        for one in (found.mean, found.half_width, *(found.interval or (0.0, 0.0)))
    )
    posted = case.spread(_POSTED[key]) if key in _POSTED else None
    if posted is not None and posted.mean > found.mean:
        mean += f" of {figures(posted.mean, key)}"
    # A cut that is smaller than the shown digits is not told.
    seen = found.cut and float(half) > 0
    return f"{mean}\n{low} - {high}" if seen else f"{mean}\n± {half}"


def of_difference(difference: Difference, key: str) -> str:
    """The mean difference, how far it can be off, and percent of the baseline."""
    found = difference.values.get(key)
    if found is None:
        return "-"
    if found.side:
        return f"{SIGNS[found.side]}{_signed(found.mean, key)}"
    lines = [_signed(found.mean, key)]
    half = found.half_width
    if half is not None:
        whole = found.mean == int(found.mean) and half == int(half)
        lines.append(f"± {figures(int(half) if whole else half, key)}")
    relative = difference.relative(key)
    if relative is not None:
        lines.append(_unsigned_zero(f"{relative:+.1%}"))
    return "\n".join(lines)


def _signed(value: float, key: str) -> str:
    text = figures(int(value) if value == int(value) else value, key)
    return _unsigned_zero(f"+{text}" if value > 0 else text)


def _unsigned_zero(text: str) -> str:
    """A number without its sign where no digit but zero is shown."""
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


def sign(out: Console) -> str:
    """Plus or minus, as the terminal has it."""
    return plainly(out, "±")


def plain(out: Console, columns: Columns) -> Columns:
    """The cells, with signs that the terminal has."""
    return [(heading, [plainly(out, cell) for cell in cells]) for heading, cells in columns]


def plainly(out: Console, text: str) -> str:
    """A text, with signs that the terminal has."""
    if not out.options.ascii_only:
        return text
    return text.replace("±", "+-").replace("≥", ">=").replace("≤", "<=")


def figures(value: float, key: str) -> str:
    """A number with as many digits as are worth reading."""
    if isinstance(value, int):
        return str(value)
    if key in ("jain_index", "deadlines_met", "goodput_share"):
        return f"{value:.3f}"
    digits = 2 if abs(value) < 10 or key == "throughput_gbps" else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"
