"""The command's output on results: comparisons, spreads over seeds, saturation."""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from incast.base.machine import Meter, peak_bytes, usable_cores
from incast.results import iterations
from incast.results.comparison import Ratio, number
from incast.results.differences import Difference, comparable, differences, without_baseline
from incast.results.measures import bound_of
from incast.results.pairs import SlowdownRatio
from incast.results.record import Record
from incast.results.records import Records
from incast.results.saturation import Point, Saturation
from incast.results.seeds import SIGNS
from incast.results.store import Written
from incast.terminal import cells, numbers
from incast.terminal.writing import grid_of, print_columns, say, say_figures, wrapped

# Columns of the comparison: heading, key of the summary.
_COLUMNS = (
    ("throughput\nGb/s", "throughput_gbps"),
    ("messages", "messages"),
    ("slowdown\nmean", "slowdown_mean"),
    ("slowdown\np99", "slowdown_p99"),
    ("mean RTT\nus", "rtt_mean_us"),
    ("p99 RTT\nus", "rtt_p99_us"),
    ("queue\nmean KB", "queue_mean_kb"),
    ("queue\np99 KB", "queue_p99_kb"),
    ("deadlines\nmissed %", "deadlines_missed_percent"),
    ("late\nmean us", "late_mean_us"),
    ("PFC\npauses", "pfc_pauses"),
    ("ECN\nmarks", "ecn_marks"),
    ("drops", "drops"),
    ("held by\nPFC", "pfc_watchdog_reports"),
    ("dead-\nlocks", "deadlocks"),
    ("Jain\nindex", "jain_index"),
)
_ONLY_WHERE_USED = {
    "messages", "slowdown_mean", "slowdown_p99", "pfc_pauses", "ecn_marks", "pfc_watchdog_reports",
    "deadlocks",
}  # fmt: skip
# Messages of known size are compared by slowdown: flows of different sizes have no fair share, and
# means of RTT and queue say less than the tails. JSON has them.
_ONLY_WITHOUT_MESSAGES = {"jain_index", "rtt_mean_us", "queue_mean_kb"}
_ONLY_WITH_DEADLINES = {"deadlines_missed_percent", "late_mean_us"}
_TRAFFIC_COLUMNS = (
    ("messages", "messages"),
    ("slowdown\nmean", "slowdown_mean"),
    ("slowdown\np99", "slowdown_p99"),
    ("message\nmean us", "completion_mean_us"),
    ("message\np99 us", "completion_p99_us"),
    ("deadlines\nmet", "deadlines_met"),
    ("requests", "requests"),
    ("request\nmean us", "request_mean_us"),
    ("request\np99 us", "request_p99_us"),
)
_MIX_COLUMNS = (
    ("flows", "flows"),
    ("goodput\nGb/s", "goodput_gbps"),
    ("share of\nall", "goodput_share"),
    ("a flow\nGb/s", "flow_gbps"),
    ("message\nmean us,\nfinished", "completion_mean_us"),
    ("message\np50 us", "completion_p50_us"),
    ("message\np99 us", "completion_p99_us"),
    ("slowdown\np99", "slowdown_p99"),
)
_RATIO_NAMES = {"rtt_mean_us": "Mean RTT", "rtt_p99_us": "p99 RTT"}


def print_results(out: Console, results: Records, baseline: str | None, *, one: bool) -> None:
    """The table of one result, or what several say together; below it the differences."""
    if one:
        print_comparison(out, results.members[0])
    else:
        print_spread(out, results)
    if baseline is not None and comparable(results, baseline):
        print_differences(out, results, baseline)


def to_dict(
    results: Records, items: list[dict[str, Any]], baseline: str | None, *, one: bool
) -> dict[str, Any]:
    """The output, ready for JSON: one result, or the items of several and their spread."""
    whole = items[0] if one else {"results": items, "spread": spread_to_dict(results)}
    if baseline is None or not comparable(results, baseline):
        return whole
    found = [difference.to_dict() for difference in differences(results, baseline)]
    return {**whole, "differences": found}


def print_comparison(out: Console, result: Record) -> None:
    """The table of all schemes, then the ratios between them against the published ones."""
    rows = result.rows()
    names = [row["scheme"] if row["complete"] else f"{row['scheme']} *" for row in rows]
    measured = [row["measured"] for row in rows]
    columns = [
        (
            cells.heading(heading, key, measured),
            [cells.cell(key, row["measured"], row["published"]) for row in rows],
        )
        for heading, key in _shown(
            [one.get for one in measured], {key for row in rows for key in row["published"]}
        )
    ]
    say(out, f"{result.title} (seed {result.seed})", style="bold")
    print_columns(out, [("scheme", names)], cells.plain(out, columns))
    _print_traffic(out, result)
    _print_mix(out, result)
    _print_iterations(out, result)
    if any(row["published"] for row in rows):
        named = dict.fromkeys(row["published"].get("source") for row in rows)
        sources = "; ".join(source for source in named if source)
        wrapped(out, "", f"In parentheses: published values ({sources or 'source not stated'}).")
    _print_unfinished(out, result)
    for ratio in result.ratios:
        wrapped(out, "", describe_ratio(ratio))


def describe_ratio(ratio: Ratio) -> str:
    """A sentence on a ratio, which names what falls short of the publication."""
    text = (
        f"{_RATIO_NAMES[ratio.key]}, {ratio.against} over {ratio.scheme}: "
        f"{ratio.measured:.3g} (published {ratio.published:.3g})"
    )
    if ratio.shortfall:
        text += f", which falls short by {ratio.shortfall:.0%}"
    # A ratio can be right, or better, while both of its values are wrong.
    return (
        f"{text}. Measured over published: {ratio.against} {ratio.above.deviation:.2f}, "
        f"{ratio.scheme} {ratio.below.deviation:.2f}."
    )


def print_spread(out: Console, results: Records) -> None:
    """A row for each scheme: mean over the seeds, and its 95 % confidence interval."""
    front = [
        (
            "scheme",
            [
                case.label if all(run.complete for run in case.runs) else f"{case.label} *"
                for case in results.cases
            ],
        ),
        ("seeds", [str(len(case.runs)) for case in results.cases]),
    ]
    summaries = [run.summary for case in results.cases for run in case.runs]
    columns = [
        (
            cells.heading(heading, key, summaries),
            [cells.of_case(case, key) for case in results.cases],
        )
        for heading, key in _shown([summary.get for summary in summaries])
    ]
    say(out, results.title, style="bold")
    print_columns(out, front, cells.plain(out, columns))
    wrapped(
        out, "",
        f"Mean over the seeds {cells.sign(out)} half the 95 % confidence interval (Student's t); "
        "low - high where that ends at zero, which nothing here is below, or a share at one.",
    )  # fmt: skip
    for result in results.members:
        _print_unfinished(out, result)


def spread_to_dict(results: Records) -> list[dict[str, Any]]:
    """The mean of each value of the summary over the seeds, for each scheme, ready for JSON."""
    rows = []
    for case in results.cases:
        keys = dict.fromkeys(key for run in case.runs for key in run.summary)
        known = {key: case.spread(key) for key in keys}
        rows.append(
            {
                "case": case.label,
                "scheme": case.scheme,
                "seeds": [result.seed for result in case.results],
                "values": {
                    key: value.to_dict() for key, value in known.items() if value is not None
                },
            }
        )
    return rows


def print_differences(out: Console, results: Records, baseline: str) -> None:
    """A row for each other scheme: mean difference to the baseline, its interval, and percent."""
    found = differences(results, baseline)
    paired = [difference for difference in found if difference.seeds]
    summaries = [run.summary for case in results.cases for run in case.runs]
    columns = [
        (heading, [cells.of_difference(difference, key) for difference in paired])
        for heading, key in _shown([summary.get for summary in summaries])
        if any(key in difference.values for difference in paired)
    ]
    say(out, "")
    say(out, f"Difference to {baseline}, seed by seed", style="bold")
    if paired:
        front = [
            ("scheme", [difference.case for difference in paired]),
            ("seeds", [str(len(difference.seeds)) for difference in paired]),
        ]
        print_columns(out, front, cells.plain(out, columns))
        text = f"Scheme less {baseline} in the same seed, which had the same arrivals: "
        if any(len(difference.seeds) > 1 for difference in paired):
            text += (
                f"mean over the seeds, {cells.sign(out)} half the 95 % confidence interval of "
                "these differences (Student's t), "
            )
        if any(len(difference.seeds) == 1 for difference in paired):
            text += "of one seed, which says nothing of how far it can be off, without interval, "
        text += "and percent of the baseline's mean."
        wrapped(out, "", text)
    for difference in found:
        if difference.slowdown_ratio is not None:
            wrapped(out, "", _of_messages(difference, difference.slowdown_ratio))
    for difference in found:
        if difference.left_out:
            seeds = ", ".join(map(str, difference.left_out))
            many = "seeds" if len(difference.left_out) > 1 else "seed"
            wrapped(
                out, "",
                f"{difference.case}: left out is {many} {seeds}, with which it or {baseline} was "
                "not run to the end.",
            )  # fmt: skip
    for name in without_baseline(results, baseline):
        wrapped(out, "", f"{name}: left out, it has no run of {baseline}.")


def _of_messages(difference: Difference, ratio: SlowdownRatio) -> str:
    """A sentence on the slowdown ratio, message by message."""
    sure = (
        "" if ratio.interval is None else f" ({ratio.interval[0]:.3g} to {ratio.interval[1]:.3g})"
    )
    return (
        f"{difference.case}: message by message, the slowdown is {ratio.median:.3g}{sure} times "
        f"that under {difference.baseline} in the median, of {ratio.messages} pairs."
    )


def print_saturation(out: Console, found: Saturation) -> None:
    """Prints a row for each scheme and load, then the load at which each scheme saturates."""
    say(out, f"{found.title} (seed {found.seed})", style="bold")
    for scheme in found.schemes:
        grid = grid_of(out)
        grid.add_column("scheme")
        for heading in (
            "load", "offered\nGb/s", "carried\nGb/s", "carried /\noffered", "p99\nslowdown",
            "messages",
        ):  # fmt: skip
            grid.add_column(heading, justify="right")
        for point in found.of(scheme):
            grid.add_row(
                scheme, f"{point.load:g}", f"{point.offered_gbps:.2f}", f"{point.carried_gbps:.2f}",
                f"{point.ratio:.4f}", cells.plainly(out, _slowdown(point)), str(point.messages),
            )  # fmt: skip
        out.print()
        out.print(grid)
        say(out, _saturated(found, scheme))
        if doubts := found.doubts(scheme):
            wrapped(out, "", f"warning: {doubts}")
    if not found.complete:
        say(out, "* incomplete: stopped; the same command goes on from here.", style="bold")


def print_saturation_written(out: Console, directory: Path, drawn: Sequence[Path]) -> None:
    """The directory of a search."""
    out.print()
    say(out, f"Wrote {directory}{os.sep}")
    say_figures(out, drawn, "figures")


def _slowdown(point: Point) -> str:
    if point.slowdown_p99 is not None:
        return f"{point.slowdown_p99:.1f}"
    bound = point.slowdown_p99_bound
    return "-" if bound is None else f"{SIGNS['at least']}{bound:.1f}"


def _saturated(found: Saturation, scheme: str) -> str:
    carried, above = found.saturated(scheme)
    if carried is None:
        return f"{scheme}: " + ("not run" if above is None else f"saturated already at {above:g}")
    if above is None:
        return f"{scheme}: not saturated up to {carried:g}"
    return f"{scheme}: saturated load {carried:g}; at {above:g} it is below {found.threshold:g}"


def print_used(out: Console, packet_hops: float, used: Meter) -> None:
    """Prints how fast runs were, and what they took of the machine."""
    millions = packet_hops / 1e6
    rate = millions / max(used.seconds, 1e-9)
    cores = usable_cores()
    memory = (peak_bytes() + used.others_bytes) / 1e6
    wrapped(
        out, "",
        f"{numbers.number(millions)} M packet-hops in {numbers.number(used.seconds)} s, "
        f"{numbers.number(rate)} M/s, with {used.cores:.1f} of {cores} "
        f"core{'s' if cores > 1 else ''}{f' and {memory:.0f} MB of memory' if memory else ''}.",
    )  # fmt: skip


def print_drawn(out: Console, paths: list[Path]) -> None:
    """Prints the paths of the figures."""
    for path in paths:
        say(out, f"Wrote {path}")


def print_written(out: Console, written: Written, *, short: bool = False) -> None:
    """Prints the directory of the result, and unless `short`, its files."""
    if short:
        say(out, f"Wrote {written.directory}{os.sep}")
        say_figures(out)
        return
    out.print()
    say(out, f"Wrote {written.directory}{os.sep}")
    say(out, f"  run      {written.run.name}, {written.scenario.name}")
    say_figures(out, written.figures)
    tables = ", ".join(path.stem for path in written.tables)
    wrapped(out, "  tables   ", f"{tables} (each .parquet)")


def _shown(
    figures: Sequence[Callable[[str], Any]], published: Collection[str] = ()
) -> list[tuple[str, str]]:
    """The columns that say something, of runs each of which is a function from key to value."""

    def used(key: str) -> bool:
        return any(number(figure(key)) or number(figure(bound_of(key))) for figure in figures)

    return [
        (heading, key)
        for heading, key in _COLUMNS
        if (key not in _ONLY_WHERE_USED or used(key))
        and (key not in _ONLY_WITH_DEADLINES or used("deadlines"))
        and (key in published or not (key in _ONLY_WITHOUT_MESSAGES and used("messages")))
    ]


def _print_traffic(out: Console, result: Record) -> None:
    """A row for each scheme and traffic, where there is more to say than in the whole."""
    rows = result.traffic.to_dicts()
    if not any(row["requests"] for row in rows) and len({row["traffic"] for row in rows}) < 2:
        return
    front = [
        ("scheme", [row["scheme"] for row in rows]),
        ("traffic", [row["traffic"] for row in rows]),
    ]
    columns = [
        (cells.heading(heading, key, rows), [cells.value(key, row) for row in rows])
        for heading, key in _TRAFFIC_COLUMNS
        if any(row[key] is not None or row.get(bound_of(key)) is not None for row in rows)
    ]
    print_columns(out, front, cells.plain(out, columns))


def _print_mix(out: Console, result: Record) -> None:
    """A row for each traffic and scheme of a run whose traffic names schemes."""
    if "mix" not in result.tables:
        return
    rows = result.table("mix").to_dicts()
    front = [
        (heading, [row[key] for row in rows])
        for heading, key in (("run", "scheme"), ("traffic", "traffic"), ("scheme", "own_scheme"))
    ]
    columns = [
        (heading, [cells.value(key, row) for row in rows])
        for heading, key in _MIX_COLUMNS
        if any(row[key] is not None for row in rows)
    ]
    print_columns(out, front, cells.plain(out, columns))


def _print_iterations(out: Console, result: Record) -> None:
    """A line for each scheme and traffic whose hosts do their rounds together."""
    if "iterations" not in result.tables:
        return
    rows = iterations.by_traffic(result.table("iterations"), result.scenario).to_dicts()
    if rows:
        out.print()
    for row in rows:
        text = f"{row['traffic']}, {row['scheme']}: {row['finished']}"
        if row["finished"] < row["begun"]:
            text += f" of {row['begun']}"
        text += f", p50 {_time_of('p50', row)}, max {_time_of('max', row)}"
        if row["after_median_us"] is not None:
            text += ", " if row["max_us"] is not None else "; of the longest that ended, "
            text += (
                f"last host {row['last_host']} (+{_time(row['after_median_us'])} after the median)"
            )
        wrapped(out, "iterations  ", cells.plainly(out, text))


def _time_of(name: str, row: dict[str, Any]) -> str:
    """A time of a row, or its bound."""
    time = row[f"{name}_us"]
    return f"≥ {_time(row[f'{name}_bound_us'])}" if time is None else _time(time)


def _time(us: float) -> str:
    return f"{us / 1e3:.2f} ms" if us >= 1e3 else f"{numbers.number(us)} us"


def _print_unfinished(out: Console, result: Record) -> None:
    for scheme, run in result.runs.items():
        if not run.complete:
            ended_ms = (run.summary.get("simulated_s") or 0.0) * 1e3
            whole_ms = result.scenario.duration_s * 1e3
            text = f"* incomplete: {scheme} was stopped after {ended_ms:.1f} of {whole_ms:g} ms."
            say(out, text, style="bold")
    missing = [scheme for scheme in result.schemes if scheme not in result.runs]
    if missing:
        say(out, f"* incomplete: {', '.join(missing)} was not run.", style="bold")
