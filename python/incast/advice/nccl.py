"""The tables that nccl-tests prints: read from its text and its JSON, and written as both.

Form of version 2.17 and later, `src/util.cu`: a line for each size with the columns that its header
names. mpirun and srun may put a prefix before each line.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from incast._core import ParameterError, ScenarioError
from incast.base import inputs

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce")
"""The collectives whose bus bandwidth is defined."""
PROGRAMS = {
    "all_reduce_perf": "all-reduce",
    "all_gather_perf": "all-gather",
    "reduce_scatter_perf": "reduce-scatter",
    "alltoall_perf": "all-to-all",
    "broadcast_perf": "broadcast",
    "reduce_perf": "reduce",
}
"""The collective of each program."""

# What mpirun (`[1,0]<stdout>:`) and srun (`0: `) put before a line.
_PREFIX = re.compile(r"^\s*(?:\[\d+,\d+\]\s*<std\w+>:\s?|\d+:\s)")
_STARTING = re.compile(r"#\s*Collective test starting:\s*(\S+)")
_DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s")
_LEFT = ("size", "count", "type", "redop", "root")
_USUAL = (*_LEFT, *("time", "algbw", "busbw", "#wrong") * 2)
_WORD_BYTES = 4
_MOST_BYTES = 64_000_000
# Those of which each rank has a part of the size.
_SHARED = ("all-gather", "reduce-scatter", "all-to-all")


def factor(collective: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md)."""
    if collective in ("broadcast", "reduce"):
        return 1.0
    others = (ranks - 1) / ranks
    return others if collective in _SHARED else 2 * others


@dataclass(frozen=True)
class Line:
    """A size, and what was measured or is expected of it."""

    size: int
    """Bytes, as the collective counts them."""
    time_us: float
    busbw: float
    """GB/s, 1e9 bytes each."""


@dataclass(frozen=True)
class Log:
    """The table of one collective."""

    place: str
    collective: str | None
    """The collective, None where the log does not say."""
    ranks: int | None
    """The number of ranks, None where the log does not say."""
    lines: tuple[Line, ...]
    """A line for each size, in ascending order: means of all measurements of the size."""


def read(path: Path) -> Log:
    """Reads a log of nccl-tests: what it printed, or its JSON (`-J FILE`).

    Raises:
        ParameterError: The file cannot be read, or is no such log.
    """
    try:
        text = inputs.read(path, _MOST_BYTES).decode("utf-8", errors="replace")
    except ScenarioError as error:
        raise ParameterError(f"--log: {error}; name a file that nccl-tests printed") from None
    return _of_json(text, str(path)) if text.lstrip().startswith("{") else of_text(text, str(path))


def of_text(text: str, place: str) -> Log:
    """Reads what nccl-tests printed.

    Raises:
        ParameterError: A line has not the columns of the header, or there is none.
    """
    columns: Sequence[str] = _USUAL
    program: str | None = None
    ranks: set[int] = set()
    found: list[Line] = []
    for number, whole in enumerate(text.splitlines(), 1):
        line = _PREFIX.sub("", whole)
        if starting := _STARTING.match(line):
            program = starting[1].rpartition("/")[2]
        elif device := _DEVICE.match(line):
            ranks.add(int(device[1]))
        elif line.startswith("#") and line[1:].split()[:1] == ["size"]:
            columns = line[1:].split()
        elif (values := line.split()) and values[0].isdigit():
            found += _row(values, columns, f"{place}:{number}")
    return _log(place, program, len(ranks) or None, found)


def _row(values: Sequence[str], columns: Sequence[str], place: str) -> list[Line]:
    """The measurements of a line: out of place, in place, or one of the two."""
    left = next((i for i, name in enumerate(columns) if name in ("time", "cputime")), len(columns))
    timed = [name for name in columns[left:] if name != "timestamp"]
    half = len(timed) // 2
    given = [*values]
    if "timestamp" in columns:
        given = given[:-2]  # a date and a time
    right = given[left:]
    if half < 4 or len(right) not in (half, 2 * half):
        raise ParameterError(
            f"{place}: {len(values)} columns; expected {left + 2 * half} as the header says "
            f"({' '.join(columns)}): give the log as nccl-tests printed it"
        )
    try:
        size = int(given[0])
        parts = [right[at : at + 3] for at in range(0, len(right), half)]
        return [Line(size, float(time), float(bus)) for time, _, bus in parts]
    except ValueError:
        raise ParameterError(
            f"{place}: {' '.join(values)}: not a line of numbers; give the log as nccl-tests "
            "printed it"
        ) from None


def _of_json(text: str, place: str) -> Log:
    hint = "give the file that nccl-tests wrote with -J"
    try:
        whole = json.loads(text)
        results = cast("list[Mapping[str, Any]]", whole["results"])
        devices = whole.get("devices") or whole.get("config", {}).get("devices") or []
        ranks = len({one["rank"] for one in devices}) or None
        words = [str(one).rpartition("/")[2] for one in whole.get("args") or []]
        found = []
        for row in results:
            for half in ("out_of_place", "in_place"):
                if measured := row.get(half):
                    time = measured.get("time", measured.get("cpu_time"))
                    found.append(Line(int(row["size"]), float(time), float(measured["bus_bw"])))
    except json.JSONDecodeError as error:
        raise ParameterError(f"{place}:{error.lineno}: no JSON: {error.msg}; {hint}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParameterError(f"{place}: not the JSON of nccl-tests ({error}); {hint}") from None
    program = next((one for one in words if one.endswith("_perf")), None)
    return _log(place, program, ranks, found)


def _log(place: str, program: str | None, ranks: int | None, found: Iterable[Line]) -> Log:
    by_size: dict[int, list[Line]] = {}
    for line in found:
        if line.size > 0:
            by_size.setdefault(line.size, []).append(line)
    if not by_size:
        raise ParameterError(
            f"{place}: no line of a size; expected the table that nccl-tests prints, or its JSON"
        )
    if program is not None and program not in PROGRAMS:
        raise ParameterError(f"{place}: a log of {program}; expected one of {', '.join(PROGRAMS)}")
    lines = [
        Line(
            size,
            sum(one.time_us for one in own) / len(own),
            sum(one.busbw for one in own) / len(own),
        )
        for size, own in sorted(by_size.items())
    ]
    return Log(place, PROGRAMS[program] if program else None, ranks, tuple(lines))


def text(
    collective: str,
    ranks: int,
    lines: Sequence[Line],
    about: Sequence[str],
    tolerances: Sequence[float],
) -> str:
    """Lines in the columns that nccl-tests prints, with remarks above them and tolerances below."""
    program = _program(collective)
    out = [f"# Collective test starting: {program}", *(f"# {one}" for one in about), "#"]
    out.append(f"#{'out-of-place':>73}{'in-place':>33}          ")
    halves = [("time", "(us)"), ("algbw", "(GB/s)"), ("busbw", "(GB/s)"), ("#wrong", "")]
    for names in (
        [*_LEFT, *(name for name, _ in halves * 2)],
        ["(B)", "(elements)", "", "", "", *(unit for _, unit in halves * 2)],
    ):
        left, right = names[:5], names[5:]
        widths = (7, 6, 6, 6)
        row = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}".format(*left)
        padded = (f"{name:>{width}}" for name, width in zip(right, widths * 2, strict=True))
        out.append("  ".join([row, *padded]) + " ")
    for line in lines:
        cells = _cells(collective, ranks, line)
        half = "  {:>7}  {:>6}  {:>6}     N/A".format(*cells[5:])
        out.append("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}".format(*cells[:5]) + half * 2)
    average = sum(line.busbw for line in lines) / len(lines)
    out += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {average:g} ", "#"]
    out += [
        f"# Tolerance of busbw   : {line.size} B: {100 * tolerance:.1f} %"
        for line, tolerance in zip(lines, tolerances, strict=True)
    ]
    out += ["#", f"# Collective test concluded: {program}"]
    return "\n".join(out) + "\n"


def document(
    collective: str,
    ranks: int,
    lines: Sequence[Line],
    about: Mapping[str, Any],
    tolerances: Sequence[float],
) -> dict[str, Any]:
    """Lines as nccl-tests writes them with `-J`, each with its `tolerance`."""
    results = []
    for line, tolerance in zip(lines, tolerances, strict=True):
        size, count, kind, redop, root, *_ = _cells(collective, ranks, line)
        half = {
            "time": line.time_us,
            "alg_bw": _algbw(line),
            "bus_bw": line.busbw,
            "nwrong": None,
        }
        results.append({
            "size": int(size), "count": int(count), "type": kind, "redop": redop, "root": root,
            "out_of_place": half, "in_place": half, "tolerance": tolerance,
        })  # fmt: skip
    average = sum(line.busbw for line in lines) / len(lines)
    return {
        "args": [_program(collective)],
        **about,
        "results": results,
        "out_of_bounds": {"count": 0, "okay": True},
        "average_bus_bandwidth": {"bandwidth": average, "okay": "unchecked"},
    }


def _program(collective: str) -> str:
    return next(program for program, own in PROGRAMS.items() if own == collective)


def _algbw(line: Line) -> float:
    return line.size / line.time_us / 1e3


def _cells(collective: str, ranks: int, line: Line) -> list[str]:
    """The cells of a line up to the bus bandwidth."""
    shared = collective in _SHARED
    count = line.size // _WORD_BYTES // (ranks if shared else 1)
    reduces = collective in ("all-reduce", "reduce-scatter", "reduce")
    rooted = collective in ("broadcast", "reduce")
    return [
        str(line.size), str(count), "float", "sum" if reduces else "none", "0" if rooted else "-1",
        _number(line.time_us, 7), _number(_algbw(line), 6), _number(line.busbw, 6),
    ]  # fmt: skip


def _number(value: float, width: int) -> str:
    """A number with as many decimals as there is room for."""
    digits = len(str(int(value))) if value >= 1 else 0
    if digits < width - 2:
        return f"{value:.2f}"
    if digits < width - 1:
        return f"{value:.1f}"
    return f"{value:.0f}" if digits < width + 1 else f"{value:.1e}"
