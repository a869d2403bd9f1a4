"""What the command prints: the comparison of a result, and what there is to choose from."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from incast._core import Algorithm, Scenario, Workload
from incast.comparison import Ratio
from incast.result import Result
from incast.results import Results
from incast.saturation import Saturation
from incast.seeds import spread
from incast.store import Written
from incast.tables import TableInfo

if TYPE_CHECKING:  # half a second that only figures cost
    from incast.plots.drawing import Drawing

_PLAIN_WIDTH = 100  # of a pipe or a file
_LEAST_WIDTH = 80

# Columns of the comparison: heading, key of the summary.
_COLUMNS = (
    ("throughput\nGb/s", "throughput_gbps"),
    ("mean RTT\nus", "rtt_mean_us"),
    ("p99 RTT\nus", "rtt_p99_us"),
    ("p99\nslowdown", "slowdown_p99"),
    ("queue\nmean KB", "queue_mean_kb"),
    ("queue\np99 KB", "queue_p99_kb"),
    ("PFC\npauses", "pfc_pauses"),
    ("ECN\nmarks", "ecn_marks"),
    ("drops", "drops"),
    ("Jain\nindex", "jain_index"),
)
_ONLY_WHERE_USED = {"slowdown_p99", "pfc_pauses", "ecn_marks"}
_RATIO_NAMES = {"rtt_mean_us": "Mean RTT", "rtt_p99_us": "p99 RTT"}


def console() -> Console:
    """Standard output: as wide as the terminal, or 100 columns where there is none.

    Not below 80, where the terminal folds lines: a number that is cut is a wrong one. Without
    markup: a name in brackets is a name.
    """
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH) if known else _PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False)


def print_comparison(out: Console, result: Result) -> None:
    """The table of all schemes, then the ratios between them against the published ones."""
    grid = _grid(out)
    grid.add_column("scheme")
    rows = result.to_dict()["runs"]
    columns = [
        (heading, key)
        for heading, key in _COLUMNS
        if key not in _ONLY_WHERE_USED or any(row["measured"].get(key) for row in rows)
    ]
    for heading, _ in columns:
        grid.add_column(heading, justify="right")
    for row in rows:
        name = row["scheme"] if row["complete"] else f"{row['scheme']} *"
        cells = (_cell(key, row["measured"], row["published"]) for _, key in columns)
        grid.add_row(name, *cells)
    _say(out, f"{result.scenario.title or result.scenario.name} (seed {result.seed})", style="bold")
    out.print()
    out.print(grid)
    if any(row["published"] for row in rows):
        named = dict.fromkeys(row["published"].get("source") for row in rows)
        sources = "; ".join(source for source in named if source)
        _list(out, "", f"In parentheses: published values ({sources or 'source not stated'}).")
    _print_unfinished(out, result)
    for ratio in result.ratios:
        _list(out, "", describe_ratio(ratio))


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
    grid = _grid(out)
    grid.add_column("scheme", overflow="fold")
    grid.add_column("seeds", justify="right")
    columns = [
        (heading, key)
        for heading, key in _COLUMNS
        if key not in _ONLY_WHERE_USED or any(any(case.values(key)) for case in results.cases)
    ]
    for heading, _ in columns:
        grid.add_column(heading, justify="right")
    for case in results.cases:
        name = case.label if all(run.complete for run in case.runs) else f"{case.label} *"
        cells = (_spread(case.values(key), key, sign) for _, key in columns)
        grid.add_row(name, str(len(case.runs)), *cells)
    _say(out, results.title, style="bold")
    out.print()
    out.print(grid)
    _list(out, "", f"Mean over the seeds {sign} half the 95 % confidence interval (Student's t).")
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
    _say(out, f"{title} (seed {found.seed})", style="bold")
    for scheme in found.schemes:
        grid = _grid(out)
        grid.add_column("scheme")
        for heading in (
            "load", "offered\nGb/s", "carried\nGb/s", "carried /\noffered", "p99\nslowdown",
        ):  # fmt: skip
            grid.add_column(heading, justify="right")
        for point in found.of(scheme):
            slowdown = "-" if point.slowdown_p99 is None else f"{point.slowdown_p99:.1f}"
            grid.add_row(
                scheme, f"{point.load:g}", f"{point.offered_gbps:.2f}", f"{point.carried_gbps:.2f}",
                f"{point.ratio:.4f}", slowdown,
            )  # fmt: skip
        out.print()
        out.print(grid)
        _say(out, _saturated(found, scheme))
    if not found.complete:
        _say(out, "* incomplete: stopped; the same command goes on from here.", style="bold")
    out.print()
    _say(out, f"Wrote {directory}{os.sep}")


def _saturated(found: Saturation, scheme: str) -> str:
    carried, above = found.saturated(scheme)
    if carried is None:
        return f"{scheme}: " + ("not run" if above is None else f"saturated already at {above:g}")
    if above is None:
        return f"{scheme}: not saturated up to {carried:g}"
    return f"{scheme}: saturated load {carried:g}; at {above:g} it is below {found.threshold:g}"


def print_figures(
    out: Console, drawings: "Iterable[Drawing]", results: Results | None = None
) -> None:
    """A line for each figure; with results, why some of them cannot be drawn."""
    grid = _grid(out, wrap=True)
    for heading in ("figure", "shows", *(("drawn",) if results else ())):
        grid.add_column(heading, no_wrap=heading == "figure")
    for drawing in drawings:
        why = (
            [] if results is None else [f"no: {no}" if (no := drawing.why_not(results)) else "yes"]
        )
        grid.add_row(drawing.name, drawing.about, *why)
    out.print(grid)


def print_drawn(out: Console, paths: list[Path]) -> None:
    """Where the figures are."""
    for path in paths:
        _say(out, f"Wrote {path}")


def print_tables(out: Console, tables: Mapping[str, TableInfo]) -> None:
    """Every table with its columns, their units and what they mean."""
    for place, (name, table) in enumerate(tables.items()):
        if place:
            out.print()
        _say(out, f"{name}: {table['doc']}", style="bold")
        grid = _grid(out, wrap=True)
        for heading in ("column", "unit", "meaning"):
            grid.add_column(heading, no_wrap=heading != "meaning")
        for column, about in table["columns"].items():
            grid.add_row(column, about["unit"], about["doc"])
        out.print(grid)


def print_written(out: Console, written: Written, *, short: bool = False) -> None:
    """Where the result is, and unless `short`, what is in it."""
    if short:
        _say(out, f"Wrote {written.directory}{os.sep}")
        return
    out.print()
    _say(out, f"Wrote {written.directory}{os.sep}")
    _say(out, f"  run      {written.run.name}, {written.scenario.name}")
    figures = ", ".join(dict.fromkeys(path.stem for path in written.figures))
    _list(out, "  figures  ", f"{figures} (each .png and .svg)")
    _list(out, "  tables   ", f"{', '.join(path.stem for path in written.tables)} (each .parquet)")


def print_algorithms(out: Console, algorithms: Iterable[Algorithm]) -> None:
    """One line for each algorithm."""
    grid = _grid(out, wrap=True)
    for heading in ("algorithm", "kind", "signal", "needs", "source"):
        grid.add_column(heading)
    for algorithm in algorithms:
        cells = (algorithm.kind, algorithm.signal, algorithm.needs, algorithm.source)
        grid.add_row(algorithm.name, *cells)
    out.print(grid)


def print_workloads(out: Console, workloads: Iterable[Workload]) -> None:
    """One line for each distribution of flow sizes."""
    grid = _grid(out, wrap=True)
    for heading in ("sizes", "what was measured"):
        grid.add_column(heading)
    for heading in ("mean", "median", "p99"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for table in workloads:
        sizes = (table.mean_bytes, table.quantile(0.5), table.quantile(0.99))
        grid.add_row(table.name, table.what, *map(_bytes, sizes))
    out.print(grid)


def workload_to_dict(workload: Workload) -> dict[str, Any]:
    """A distribution of flow sizes, ready for JSON."""
    fields = ("name", "what", "source", "note", "mean_bytes", "points")
    return {field: getattr(workload, field) for field in fields}


def _bytes(size: float) -> str:
    """A size with three digits; 1 KB is 1,000 B."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def print_algorithm(out: Console, algorithm: Algorithm) -> None:
    """Everything that is known about an algorithm."""
    _say(out, f"{algorithm.name}: {algorithm.summary}", style="bold")
    out.print()
    for label in ("kind", "signal", "needs", "source"):
        if text := getattr(algorithm, label):
            out.print(f"{label:8} {text}")
    for item in algorithm.parameters:
        out.print()
        accepted = ", ".join(text for text in (item.unit, item.range) if text)
        _say(out, f"  {item.name}={item.default}" + (f"  ({accepted})" if accepted else ""))
        _list(out, "      ", f"{item.doc.rstrip('.')} [{item.source}]")
    for preset in algorithm.presets:
        out.print()
        _say(out, f"--cc {algorithm.name}:{preset.name}", style="bold")
        _list(out, "  ", preset.source)
        if preset.values:
            _list(out, "  ", ", ".join(f"{key}={value}" for key, value in preset.values.items()))


def print_scenarios(out: Console, scenarios: Iterable[Scenario]) -> None:
    """One line for each scenario."""
    grid = _grid(out, wrap=True)
    for heading in ("scenario", "schemes", "title"):
        grid.add_column(heading)
    for scenario in scenarios:
        grid.add_row(scenario.name, ", ".join(scenario.schemes), scenario.title)
    out.print(grid)


def algorithm_to_dict(algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm, ready for JSON."""
    fields = ("name", "summary", "kind", "signal", "needs", "source")
    parameter = ("name", "doc", "unit", "default", "source", "range")
    return {
        **{field: getattr(algorithm, field) for field in fields},
        "presets": [
            {"name": preset.name, "source": preset.source, "values": preset.values}
            for preset in algorithm.presets
        ],
        "parameters": [
            {field: getattr(item, field) for field in parameter} for item in algorithm.parameters
        ],
    }


def _grid(out: Console, *, wrap: bool = False) -> Table:
    """A table with one rule under its heading, which stays readable in a pipe."""
    gap = 1 if out.width >= 90 else 0
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, gap, 0, 0))
    if not wrap:
        grid.header_style = "bold"
    return grid


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
    if key == "jain_index":
        return f"{value:.3f}"
    digits = 2 if abs(value) < 10 or key == "throughput_gbps" else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def _print_unfinished(out: Console, result: Result) -> None:
    for scheme, run in result.runs.items():
        if not run.complete:
            ended_ms = (run.summary.get("simulated_s") or 0.0) * 1e3
            whole_ms = result.scenario.duration_s * 1e3
            text = f"* incomplete: {scheme} was stopped after {ended_ms:.1f} of {whole_ms:g} ms."
            _say(out, text, style="bold")
    missing = [scheme for scheme in result.schemes if scheme not in result.runs]
    if missing:
        _say(out, f"* incomplete: {', '.join(missing)} was not run.", style="bold")


def _list(out: Console, label: str, text: str) -> None:
    indent = " " * len(label)
    lines = textwrap.wrap(
        text,
        out.width,
        initial_indent=label,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    _say(out, "\n".join(lines))


def _say(out: Console, text: str, style: str | None = None) -> None:
    """A line as it is: not wrapped, so that a path can be copied."""
    out.print(text, style=style, soft_wrap=True)
