"""The table of advice, and what the runs that checked it showed."""

from collections.abc import Sequence

from rich.console import Console

from incast.advice.row import Row
from incast.terminal.documents import Document
from incast.terminal.numbers import number
from incast.terminal.writing import Columns, grid_of, print_columns

_TITLES = {
    "given": "given", "headroom": "headroom", "pfc": "PFC", "dcqcn": "DCQCN",
    "dctcp": "DCTCP", "timely": "TIMELY", "swift": "Swift",
}  # fmt: skip


def print_values(out: Console, rows: Sequence[Row]) -> None:
    """Prints the values with formulas and sources, those of a kind below each other."""
    if isinstance(out, Document):
        print_columns(out, [], _columns(rows))
        return
    grid = grid_of(out, wrap=True)
    grid.add_column("")
    grid.add_column("value", justify="right", no_wrap=True)
    grid.add_column("formula")
    grid.add_column("source")
    before = None
    for row in rows:
        title = ", ".join(filter(None, (_TITLES[row.kind], row.link)))
        if before not in (None, title):
            grid.add_section()
        if title != before:
            grid.add_row(title, style="bold")
        grid.add_row(f"  {row.name}", row.shown, row.formula, row.source)
        before = title
    out.print(grid)


def _columns(rows: Sequence[Row]) -> Columns:
    return [
        ("kind", [row.kind for row in rows]),
        ("for", [f"links of {row.link}" if row.link else "all" for row in rows]),
        ("name", [row.name for row in rows]),
        ("value", [f"{row.value:.10g}" for row in rows]),
        ("unit", [row.unit or "-" for row in rows]),
        ("formula", [f"= {row.formula}" if row.formula else "-" for row in rows]),
        ("source", [row.source for row in rows]),
    ]


def print_checks(out: Console, rows: Sequence[dict[str, object]]) -> None:
    """Prints a line for each run that checked the values."""
    columns: Columns = [
        ("drops", [str(row["drops"]) for row in rows]),
        ("link used\n%", [f"{100 * float(str(row['utilisation'])):.1f}" for row in rows]),
        ("queue\np99 KB", [number(float(str(row["queue_p99_kb"]))) for row in rows]),
        ("ECN\nmarks", [str(row["marks"]) for row in rows]),
        ("PFC\npauses", [str(row["pauses"]) for row in rows]),
    ]
    print_columns(out, [("checked by a run", [str(row["name"]) for row in rows])], columns)
