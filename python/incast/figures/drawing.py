"""The description of a figure: its name, the rows that it needs, and how it is drawn."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from incast.results.measures import posted_while_measured
from incast.results.records import Case, Records

Panels = dict[str, list[tuple[int, Case, pl.DataFrame]]]
"""The cases of each panel, with their numbers and rows, by the name of the traffic."""


@dataclass(frozen=True)
class Rows:
    """The rows that a figure needs."""

    table: str
    columns: tuple[str, ...]
    only: pl.Expr | None = None
    """A filter: the rows that count."""
    measured: bool = False
    """Whether only what was posted while it was measured counts."""
    some: pl.Expr | None = None
    """A condition that at least one row must meet, or there is nothing to draw."""

    def of(self, case: Case) -> pl.DataFrame | None:
        """The rows of a case, None where there are none."""
        rows = case.table(self.table)
        if not set(self.columns) <= set(rows.columns):
            return None
        if self.only is not None:
            rows = rows.filter(self.only)
        if self.measured:
            rows = posted_while_measured(rows, case.results[0].scenario)
        enough = rows if self.some is None else rows.filter(self.some)
        return None if enough.is_empty() else rows

    def each(self, results: Records) -> Iterator[tuple[int, Case, pl.DataFrame]]:
        """The cases that have rows, each with its number, which gives its colour."""
        for index, case in enumerate(results.cases):
            rows = self.of(case)
            if rows is not None:
                yield index, case, rows

    def by_traffic(self, results: Records) -> Panels:
        """The cases that have rows, by traffic; all together where the table has no traffic."""
        found: Panels = {}
        for index, case, rows in self.each(results):
            if "traffic" not in rows.columns:
                found.setdefault("", []).append((index, case, rows))
                continue
            for own in rows.partition_by("traffic", maintain_order=True):
                if self.some is None or not own.filter(self.some).is_empty():
                    found.setdefault(own["traffic"][0], []).append((index, case, own))
        return found

    def without(self, results: Records) -> list[str]:
        """The labels of the cases that have none."""
        return [case.label for case in results.cases if self.of(case) is None]

    def why_not(self, results: Records) -> str | None:
        """The reason why there is nothing to draw, None if there is something."""
        if self.table not in results.tables:
            why = f"there is no table {self.table}"
            trace = self.table.removeprefix("trace_")
            return why if trace == self.table else f"{why}, which `--trace {trace}` records"
        if any(True for _ in self.each(results)):
            return None
        there = set(results.table(self.table).columns)
        lacking = [column for column in self.columns if column not in there]
        if lacking:
            return f"the table {self.table} has no column {lacking[0]}"
        return f"the table {self.table} has nothing in it"


@dataclass(frozen=True)
class Drawing:
    """A figure that results can be drawn as."""

    name: str
    """A name of the catalogue."""
    rows: Rows | None
    """The rows without which there is nothing to draw; None if the summary is enough."""
    draw: Callable[[Records], Figure]
    empty: Callable[[Records], str | None] = lambda _: None
    """The reason why a figure of rows that are there would have nothing in it."""
    too_little: Callable[[Records], str | None] = lambda _: None
    """The reason why it shows no more than a number would: it is drawn only if it is named."""

    def why_not(self, results: Records) -> str | None:
        """The reason why the figure cannot be drawn, None if it can."""
        if not results.cases:
            return "nothing was run"
        why = None if self.rows is None else self.rows.why_not(results)
        return why or self.empty(results)

    def why_left_out(self, results: Records) -> str | None:
        """The reason why nobody gets the figure without naming it, None if it is drawn."""
        return self.why_not(results) or self.too_little(results)
