"""Lists of what there is to choose from: algorithms, sizes, figures, tables."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console

from incast._core import Algorithm, Scenario, Workload
from incast.results.columns import TableInfo
from incast.terminal.writing import grid_of, say, wrapped


def print_algorithms(out: Console, algorithms: Iterable[Algorithm]) -> None:
    """Prints a line for each algorithm."""
    grid = grid_of(out, wrap=True)
    for heading in ("algorithm", "kind", "signal", "needs", "source"):
        grid.add_column(heading)
    for algorithm in algorithms:
        cells = (algorithm.kind, algorithm.signal, algorithm.needs, algorithm.source)
        grid.add_row(algorithm.name, *cells)
    out.print(grid)


def print_algorithm(out: Console, algorithm: Algorithm) -> None:
    """Prints all that is known about an algorithm."""
    say(out, f"{algorithm.name}: {algorithm.summary}", style="bold")
    out.print()
    for label in ("kind", "signal", "needs", "source"):
        if text := getattr(algorithm, label):
            out.print(f"{label:8} {text}")
    for item in algorithm.parameters:
        out.print()
        accepted = ", ".join(text for text in (item.unit, item.range) if text)
        say(out, f"  {item.name}={item.default}" + (f"  ({accepted})" if accepted else ""))
        wrapped(out, "      ", item.doc.rstrip(".") + (f" [{item.source}]" if item.source else ""))
    for preset in algorithm.presets:
        out.print()
        say(out, f"--cc {algorithm.name}:{preset.name}", style="bold")
        wrapped(out, "  ", preset.source)
        if preset.values:
            wrapped(out, "  ", ", ".join(f"{key}={value}" for key, value in preset.values.items()))


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


def print_workloads(out: Console, workloads: Iterable[Workload]) -> None:
    """Prints a line for each distribution of flow sizes."""
    grid = grid_of(out, wrap=True)
    for heading in ("sizes", "what was measured"):
        grid.add_column(heading)
    for heading in ("mean", "median", "p99"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for table in workloads:
        sizes = (table.mean_bytes, table.quantile(0.5), table.quantile(0.99))
        grid.add_row(table.name, table.what, *map(_bytes, sizes))
    out.print(grid)


def print_workload(out: Console, workload: Workload) -> None:
    """Prints all that is known about a distribution of flow sizes."""
    say(out, f"{workload.name}: {workload.what}", style="bold")
    if workload.source:
        wrapped(out, "source   ", workload.source)
    if workload.note:
        wrapped(out, "note     ", workload.note)
    say(out, f"between  two points: {workload.interpolation}")
    say(out, f"mean     {_bytes(workload.mean_bytes)}")
    for fraction in (0.5, 0.9, 0.99, 0.999):
        say(out, f"p{f'{fraction * 100:g}':7} {_bytes(workload.quantile(fraction))}")
    out.print()
    grid = grid_of(out)
    for heading in ("size\nB", "no larger"):
        grid.add_column(heading, justify="right")
    for size, below in workload.points:
        grid.add_row(f"{size:,.0f}", f"{below:g}")
    out.print(grid)


def workload_to_dict(workload: Workload) -> dict[str, Any]:
    """A distribution of flow sizes, ready for JSON."""
    fields = ("name", "what", "source", "note", "interpolation", "mean_bytes", "points")
    return {field: getattr(workload, field) for field in fields}


def _bytes(size: float) -> str:
    """A size with three digits; 1 KB is 1,000 B."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def print_scenarios(out: Console, scenarios: Iterable[Scenario]) -> None:
    """Prints a line for each scenario."""
    grid = grid_of(out, wrap=True)
    for heading in ("scenario", "schemes", "title"):
        grid.add_column(heading)
    for scenario in scenarios:
        grid.add_row(scenario.name, ", ".join(scenario.schemes), scenario.title)
    out.print(grid)


def print_facts(out: Console, rows: Iterable[tuple[str, str]]) -> None:
    """Prints facts, each beside its name."""
    found = list(rows)
    width = max(len(label) for label, _ in found)
    for label, text in found:
        wrapped(out, f"{label:{width}}  ", text)


def print_keys(
    out: Console, keys: Iterable[Mapping[str, Any]], inside: Mapping[str, str], *, short: bool
) -> None:
    """Prints keys of scenarios with their meanings; `inside` has the meanings inside sections."""
    for place, key in enumerate(keys):
        if place and not short:
            out.print()
        kind = f'kind = "{key["of_kind"]}"' if key["of_kind"] else None
        about = [*([kind] if kind else []), key["type"], *(["required"] if key["required"] else [])]
        about += [f"{key['default']} by default"] if key["default"] is not None else []
        if short:
            wrapped(out, f"{key['key']:12} ", key["doc"])
            continue
        say(out, f"{key['key']}  ({', '.join(about)})", style="bold")
        if key["doc"]:
            wrapped(out, "  ", key["doc"])
        for value in key["values"]:
            wrapped(out, f"    {value['value']:12} ", value["doc"])
        names = {path: path.rpartition(".")[2] for path in key["keys"]}
        width = max(map(len, names.values()), default=0)
        for path, name in names.items():
            wrapped(out, f"    {name:{width}}  ", _first_sentence(inside[path]))


def _first_sentence(text: str) -> str:
    """A text up to its first full stop."""
    before, stop, _ = text.partition(". ")
    return f"{before}." if stop else text


def print_experiments(out: Console, experiments: Iterable[tuple[str, str, int]]) -> None:
    """Prints a line for each experiment: its name, what it is, and how many claims it has."""
    grid = grid_of(out, wrap=True)
    for heading in ("experiment", "title", "claims"):
        grid.add_column(heading, no_wrap=heading == "experiment")
    for name, title, claims in experiments:
        grid.add_row(name, title, str(claims))
    out.print(grid)


def print_figures(
    out: Console, figures: Mapping[str, str], why_not: Mapping[str, str | None] | None
) -> None:
    """A line for each figure, its name and what it shows; with results, why some are not drawn."""
    grid = grid_of(out, wrap=True)
    for heading in ("figure", "shows", *(() if why_not is None else ("drawn",))):
        grid.add_column(heading, no_wrap=heading == "figure")
    for name, about in figures.items():
        why = [] if why_not is None else [f"no: {no}" if (no := why_not[name]) else "yes"]
        grid.add_row(name, about, *why)
    out.print(grid)


def print_tables(out: Console, tables: Mapping[str, TableInfo]) -> None:
    """Every table with its columns, their units and what they mean."""
    for place, (name, table) in enumerate(tables.items()):
        if place:
            out.print()
        wrapped(out, "", f"{name}: {table['doc']}", style="bold")
        grid = grid_of(out, wrap=True)
        for heading in ("column", "unit", "meaning"):
            grid.add_column(heading, no_wrap=heading != "meaning")
        for column, about in table["columns"].items():
            grid.add_row(column, about["unit"], about["doc"])
        out.print(grid)
