"""What the command prints of results: comparisons, spreads over seeds, searches for saturation."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from incast.comparison import Ratio, number
from incast.result import Result
from incast.results import Results
from incast.saturation import Saturation
from incast.seeds import spread
from incast.store import Written
from incast.terminal import grid_of, print_columns, say, wrapped

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
_RATIO_NAMES = {"rtt_mean_us": "Mean RTT", "rtt_p99_us": "p99 RTT"}


def print_comparison(out: Console, result: Result) -> None:
    """The table of all schemes, then the ratios between them against the published ones."""
    rows = result.rows()
    names = [row["scheme"] if row["complete"] else f"{row['scheme']} *" for row in rows]
    columns = [
        (heading, [_cell(key, row["measured"], row["published"]) for row in rows])
        for heading, key in _shown(
            [row["measured"].get for row in rows], {key for row in rows for key in row["published"]}
        )
    ]
    say(out, f"{result.scenario.title or result.scenario.name} (seed {result.seed})", style="bold")
    print_columns(out, [("scheme", names)], columns)
    _print_traffic(out, result)
    if any(row["published"] for row in rows):
        named = dict.fromkeys(row["published"].get("source") for row in rows)
        sources = "; ".join(source for source in named if source)
        wrapped(out, "", f"In parentheses: published values ({sources or 'source not stated'}).")
    _print_unfinished(out, result)
    for ratio in result.ratios:
        wrapped(out, "", describe_ratio(ratio))


def describe_ratio(ratio: Ratio) -> str:
    """What falls short of the publication is said, not left to be worked out."""
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


def print_spread(out: Console, results: Results) -> None:
    """A row for each scheme: mean over the seeds, and half the width of its 95 % interval."""
    sign = "+-" if out.options.ascii_only else "±"
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
    columns = [
        (heading, [_spread(case.values(key), key, sign) for case in results.cases])
        for heading, key in _shown([run.summary.get for case in results.cases for run in case.runs])
    ]
    say(out, results.title, style="bold")
    print_columns(out, front, columns)
    wrapped(out, "", f"Mean over the seeds {sign} half the 95 % confidence interval (Student's t).")
    for result in results.members:
        _print_unfinished(out, result)


def spread_to_dict(results: Results) -> list[dict[str, Any]]:
    """What the seeds say together, ready for JSON: for each scheme, each value of its summary."""
    rows = []
    for case in results.cases:
        keys = dict.fromkeys(key for run in case.runs for key in run.summary)
        known = {key: spread(case.values(key)) for key in keys}
        rows.append(
            {
                "case": case.label,
                "scheme": case.scheme,
                "seeds": [result.seed for result in case.results],
                "values": {
                    key: {"mean": value.mean, "half_width": value.half_width, "runs": value.count}
                    for key, value in known.items()
                    if value is not None
                },
            }
        )
    return rows


def print_saturation(out: Console, found: Saturation, directory: Path) -> None:
    """For each scheme a row for each load, then the load at which it saturates."""
    title = found.scenario.title or found.scenario.name
    say(out, f"{title} (seed {found.seed})", style="bold")
    for scheme in found.schemes:
        grid = grid_of(out)
        grid.add_column("scheme")
        for heading in (
            "load", "offered\nGb/s", "carried\nGb/s", "carried /\noffered", "p99\nslowdown",
            "messages",
        ):  # fmt: skip
            grid.add_column(heading, justify="right")
        for point in found.of(scheme):
            slowdown = "-" if point.slowdown_p99 is None else f"{point.slowdown_p99:.1f}"
            grid.add_row(
                scheme, f"{point.load:g}", f"{point.offered_gbps:.2f}", f"{point.carried_gbps:.2f}",
                f"{point.ratio:.4f}", slowdown, str(point.messages),
            )  # fmt: skip
        out.print()
        out.print(grid)
        say(out, _saturated(found, scheme))
        if doubts := found.doubts(scheme):
            wrapped(out, "", f"warning: {doubts}")
    if not found.complete:
        say(out, "* incomplete: stopped; the same command goes on from here.", style="bold")
    out.print()
    say(out, f"Wrote {directory}{os.sep}")


def _saturated(found: Saturation, scheme: str) -> str:
    carried, above = found.saturated(scheme)
    if carried is None:
        return f"{scheme}: " + ("not run" if above is None else f"saturated already at {above:g}")
    if above is None:
        return f"{scheme}: not saturated up to {carried:g}"
    return f"{scheme}: saturated load {carried:g}; at {above:g} it is below {found.threshold:g}"


def print_drawn(out: Console, paths: list[Path]) -> None:
    """Where the figures are."""
    for path in paths:
        say(out, f"Wrote {path}")


def print_written(out: Console, written: Written, *, short: bool = False) -> None:
    """Where the result is, and unless `short`, what is in it."""
    if short:
        say(out, f"Wrote {written.directory}{os.sep}")
        return
    out.print()
    say(out, f"Wrote {written.directory}{os.sep}")
    say(out, f"  run      {written.run.name}, {written.scenario.name}")
    figures = ", ".join(dict.fromkeys(path.stem for path in written.figures))
    if figures:
        wrapped(out, "  figures  ", f"{figures} (each .png and .svg)")
    tables = ", ".join(path.stem for path in written.tables)
    wrapped(out, "  tables   ", f"{tables} (each .parquet)")


def _shown(
    figures: Sequence[Callable[[str], Any]], published: Collection[str] = ()
) -> list[tuple[str, str]]:
    """The columns that say something, of runs each of which is a function from key to value."""

    def used(key: str) -> bool:
        return any(number(figure(key)) for figure in figures)

    return [
        (heading, key)
        for heading, key in _COLUMNS
        if (key not in _ONLY_WHERE_USED or used(key))
        and (key in published or not (key in _ONLY_WITHOUT_MESSAGES and used("messages")))
    ]


def _print_traffic(out: Console, result: Result) -> None:
    """A row for each scheme and traffic, where there is more to say than in the whole."""
    rows = result.traffic.to_dicts()
    if not any(row["requests"] for row in rows) and len({row["traffic"] for row in rows}) < 2:
        return
    front = [
        ("scheme", [row["scheme"] for row in rows]),
        ("traffic", [row["traffic"] for row in rows]),
    ]
    columns = [
        (heading, ["-" if row[key] is None else _figures(row[key], key) for row in rows])
        for heading, key in _TRAFFIC_COLUMNS
        if any(row[key] is not None for row in rows)
    ]
    print_columns(out, front, columns)


def _cell(key: str, measured: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    value = measured.get(key)
    text = "-" if value is None else _figures(value, key)
    return f"{text} ({published[key]:g})" if key in published else text


def _spread(values: list[float | int | None], key: str, sign: str) -> str:
    found = spread(values)
    if found is None:
        return "-"
    whole = all(isinstance(value, int) for value in values)
    if found.half_width is None:
        return _figures(int(found.mean) if whole else found.mean, key)
    # A count that is the same under every seed is shown as that count.
    mean, half = (
        _figures(int(value) if whole and value == int(value) else value, key)
        for value in (found.mean, found.half_width)
    )
    return f"{mean}\n{sign} {half}"


def _figures(value: float, key: str) -> str:
    """A number with as many digits as are worth reading."""
    if isinstance(value, int):
        return str(value)
    if key in ("jain_index", "deadlines_met"):
        return f"{value:.3f}"
    digits = 2 if abs(value) < 10 or key == "throughput_gbps" else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def _print_unfinished(out: Console, result: Result) -> None:
    for scheme, run in result.runs.items():
        if not run.complete:
            ended_ms = (run.summary.get("simulated_s") or 0.0) * 1e3
            whole_ms = result.scenario.duration_s * 1e3
            text = f"* incomplete: {scheme} was stopped after {ended_ms:.1f} of {whole_ms:g} ms."
            say(out, text, style="bold")
    missing = [scheme for scheme in result.schemes if scheme not in result.runs]
    if missing:
        say(out, f"* incomplete: {', '.join(missing)} was not run.", style="bold")
