"""The traces of one scheme of a stored result."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from incast.results.stored import ResultError, StoredTable
from incast.results.tables import SchemeRun

PACKETS, PAUSES, QUEUES = "trace_packets", "trace_pauses", "trace_queues"
SAMPLES, GAUGES = "trace_flows", "trace_gauges"
STEPS = "steps"


class Source:
    """The tables of one scheme, read in batches, since traces are larger than all else."""

    def __init__(self, directory: Path, run: SchemeRun) -> None:
        self.directory = directory
        self.run = run
        self._tables = {one.name: one for one in run.tables if isinstance(one, StoredTable)}

    def has(self, table: str) -> bool:
        """Whether there is such a table, with rows of the scheme."""
        return table in self._tables and next(self._tables[table].batches(1), None) is not None

    def need(self, table: str, columns: Sequence[str]) -> None:
        """Refuses a result whose table lacks columns.

        Raises:
            ResultError: It does.
        """
        missing = [one for one in columns if one not in self._tables[table].info["columns"]]
        if missing:
            raise ResultError(
                f"{self.directory}: {table} has no column {missing[0]}, which results have since "
                f"incast 0.1.0; run {self.directory}/scenario.toml again"
            )

    def batches(self, table: str) -> Iterator[pl.DataFrame]:
        """The rows of a table, some at a time; none of a table that there is not."""
        return self._tables[table].batches() if table in self._tables else iter(())

    def rows(self, table: str, *columns: str) -> Iterator[tuple[object, ...]]:
        """The values of these columns, row by row."""
        for batch in self.batches(table):
            yield from batch.select(columns).iter_rows()

    def whole(self, table: str) -> pl.DataFrame:
        """A table that is no trace; without columns where there is none."""
        return self._tables[table].frame() if table in self._tables else pl.DataFrame()
