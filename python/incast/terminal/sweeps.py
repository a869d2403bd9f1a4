"""The command's output on sweeps, and on what changed between two results."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from incast.results import significance
from incast.results.axes import Point
from incast.results.changes import TESTS, Change, Comparison
from incast.results.seeds import SIGNS
from incast.results.settings import short
from incast.results.sweeps import DATASET, SUMMARY, SweepRecord, unit_of
from incast.terminal import cells, numbers
from incast.terminal.documents import Document
from incast.terminal.writing import Columns, of_seeds, print_columns, say, say_written, wrapped

# The most rows of a table on a terminal; files have all.
_MOST = 60
_MOST_SETTINGS = 10


def print_sweep(
    out: Console, sweep: SweepRecord, metrics: Sequence[str], baseline: str | None
) -> None:
    """The means over the seeds, then the differences to a baseline."""
    say(out, f"{sweep.title} ({of_seeds(sweep.seeds)})", style="bold")
    every = [(point, scheme) for point in sweep.points for scheme in sweep.schemes]
    _print_rows(out, sweep, every, metrics, None)
    if len(sweep.seeds) > 1:
        wrapped(out, "", "Means over the seeds, with 95 % confidence intervals by Student's t.")
    if len(sweep.schemes) > 1:
        base = sweep.schemes[0] if baseline is None else baseline
        pairs = [(point, scheme) for point, scheme in every if scheme != base]
        say(out, "")
        say(out, f"Differences to {base}, seed by seed", style="bold")
        _print_rows(out, sweep, pairs, metrics, base)
    _print_state(out, sweep)


def _print_rows(
    out: Console,
    sweep: SweepRecord,
    every: Sequence[tuple[Point, str]],
    metrics: Sequence[str],
    base: str | None,
) -> None:
    rows = every if isinstance(out, Document) else every[:_MOST]
    keys = [key for axis in sweep.axes for key in axis.keys]
    names = short(keys) if keys else []
    front: Columns = [
        (name, [point.values[key] for point, _ in rows])
        for name, key in zip(names, keys, strict=True)
    ]
    front.append(("scheme", [scheme for _, scheme in rows]))
    columns: Columns = []
    for metric in metrics:
        texts = [
            _mean(sweep, point.number, scheme, metric)
            if base is None
            else _difference(sweep, point.number, scheme, base, metric)
            for point, scheme in rows
        ]
        columns.append((heading(metric), texts))
    print_columns(out, front, cells.plain(out, columns))
    if len(every) > len(rows):
        say(out, f"and {len(every) - len(rows)} more rows, which the files have")


def heading(metric: str) -> str:
    """A figure of the summary above a column."""
    unit = unit_of(metric)
    words = metric.removesuffix("_us").removesuffix("_kb").removesuffix("_gbps")
    return f"{words}\n{unit}" if unit and unit != "packets" else words


def _mean(sweep: SweepRecord, point: int, scheme: str, metric: str) -> str:
    found = sweep.spread(point, scheme, metric)
    return "-" if found is None else numbers.measured(found)


def _difference(sweep: SweepRecord, point: int, scheme: str, base: str, metric: str) -> str:
    found = sweep.difference(point, scheme, base, metric)
    if found is None:
        return "-"
    value, mean = found
    text = numbers.measured(value, signed=True)
    return f"{text} ({value.mean / mean:+.1%})" if mean and not value.side else text


def _print_state(out: Console, sweep: SweepRecord) -> None:
    missing = sweep.planned - sweep.done - sweep.failed
    if missing:
        say(out, f"* incomplete: {missing} of {sweep.planned} runs are missing.", style="bold")
    if sweep.failed:
        say(out, f"* {sweep.failed} of {sweep.planned} runs failed:", style="bold")
        errors = list(sweep.errors.items())
        for text, count in errors[:5]:
            wrapped(out, "  ", f"{count}: {text}")
        if len(errors) > 5:
            say(out, f"  and {len(errors) - 5} more reasons, in the column error")


def print_sweep_written(out: Console, sweep: SweepRecord, drawn: Sequence[Path]) -> None:
    """The files of a sweep."""
    files = f"dataset  {DATASET}, a row for each run; {SUMMARY}"
    say_written(out, sweep.directory, files, drawn)


def print_comparison(out: Console, found: Comparison, *, everything: bool) -> None:
    """The differences of two results: settings, the first one of a seed, figures that changed."""
    ours, theirs = found.first, found.second
    say(out, f"{ours.place} and {theirs.place}", style="bold")
    if ours.version != theirs.version:
        say(out, f"versions: incast {ours.version} and {theirs.version}")
    _print_settings(out, found)
    for side, where in (("first", ours.place), ("second", theirs.place)):
        only = [case for case, one in found.missing if one == side]
        if only:
            more = f" and {len(only) - 3} more" if len(only) > 3 else ""
            wrapped(out, "", f"only in {where}: {'; '.join(only[:3])}{more}")
    _print_first(out, found)
    shown = list(found.changes) if everything else found.of("changed", "one seed", "bound")
    shown.sort(key=lambda change: (change.p is None, change.p))
    if shown:
        _print_changes(out, shown[: None if everything else _MOST])
        if not everything and len(shown) > _MOST:
            say(out, f"and {len(shown) - _MOST} more; --json has all")
    _print_verdict(out, found)


def _print_settings(out: Console, found: Comparison) -> None:
    for key, ours, theirs in found.settings[:_MOST_SETTINGS]:
        before, after = (("not set" if one is None else one) for one in (ours, theirs))
        wrapped(out, "", f"{key}: {before} and {after}")
    if len(found.settings) > _MOST_SETTINGS:
        say(out, f"and {len(found.settings) - _MOST_SETTINGS} more settings")


def _print_first(out: Console, found: Comparison) -> None:
    place = found.place
    if place is None:
        say(out, "The tables of the first common seed are equal.")
        return
    where = "columns" if place.row is None else f"row {place.row}"
    column = f", column {place.column}" if place.column else ""
    wrapped(
        out, "",
        f"First difference, seed {place.seed}: table {place.table}, {where}{column}: "
        f"{place.first} and {place.second}.",
    )  # fmt: skip


def _print_changes(out: Console, shown: Sequence[Change]) -> None:
    front: Columns = [
        ("case", [change.case for change in shown]),
        ("figure", [change.metric for change in shown]),
    ]
    columns: Columns = [
        ("first", [f"{SIGNS[one.sides[0]]}{numbers.number(one.first)}" for one in shown]),
        ("second", [f"{SIGNS[one.sides[1]]}{numbers.number(one.second)}" for one in shown]),
        ("difference", [_difference_of(change) for change in shown]),
        ("", ["" if one.relative is None else f"{one.relative:+.1%}" for one in shown]),
        ("p", ["-" if change.p is None else f"{change.p:.2g}" for change in shown]),
        ("", [change.verdict for change in shown]),
    ]
    print_columns(out, front, cells.plain(out, columns))


def _difference_of(change: Change) -> str:
    return "-" if change.difference is None else numbers.measured(change.difference)


def _print_verdict(out: Console, found: Comparison) -> None:
    counts = {verdict: len(found.of(verdict)) for verdict in ("changed", "noise", "equal")}
    alone = len(found.of("one seed"))
    text = (
        f"Of {len(found.changes)} figures {counts['changed']} changed, {counts['noise']} differ by "
        f"no more than noise, and {counts['equal']} are equal"
    )
    if alone:
        text += f"; {alone} differ in a single seed, which says nothing about noise"
    if bounds := len(found.of("bound")):
        text += f"; {bounds} are known by bounds, which no test compares"
    wrapped(
        out, "",
        f"{text}. {TESTS[found.test][0].upper()}{TESTS[found.test][1:]} over the seeds at "
        f"{significance.LEVEL:.0%}, p adjusted for the number of tests (Holm).",
    )  # fmt: skip
