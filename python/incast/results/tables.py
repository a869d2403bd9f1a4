"""Tables of a run as Polars frames. Whatever table or column comes is passed on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from incast._core import Table
from incast.results.columns import ColumnInfo, TableInfo


class FramedTable(Protocol):
    """A table that is a frame already, or becomes one when a result is read back."""

    @property
    def name(self) -> str:
        """The name, such as `flows`."""

    @property
    def info(self) -> TableInfo:
        """The meaning of its rows and columns."""

    def frame(self) -> pl.DataFrame:
        """The rows of one scheme, without a column that names the scheme."""


class SchemeRun(Protocol):
    """The run of one scheme in one scenario, just simulated or read back."""

    @property
    def scheme(self) -> str:
        """`algorithm` or `algorithm:preset`."""

    @property
    def seed(self) -> int:
        """The seed that was used."""

    @property
    def complete(self) -> bool:
        """Whether the simulation reached its end."""

    @property
    def summary(self) -> Mapping[str, float | int | None]:
        """The figures of the whole run, units in the keys."""

    @property
    def tables(self) -> Sequence[Table | FramedTable]:
        """All tables of the run, traces included."""


@dataclass(frozen=True)
class RecordedRun:
    """The run of one scheme that the core did not just simulate: read back, or measured."""

    scheme: str
    seed: int
    complete: bool
    summary: Mapping[str, float | int | None]
    tables: Sequence[Table | FramedTable]


@dataclass(frozen=True)
class HeldTable:
    """The rows of one scheme in memory, outside the core: of a run that was pickled."""

    name: str
    info: TableInfo
    rows: pl.DataFrame

    def frame(self) -> pl.DataFrame:
        """The rows, without a column that names the scheme."""
        return self.rows


def held(run: SchemeRun) -> SchemeRun:
    """The run with its tables as frames, which another process can be given.

    Tables of a result that was read stay in its directory.
    """
    if isinstance(run, RecordedRun):
        return run
    tables = [
        HeldTable(table.name, describe(table), frame(table)) if isinstance(table, Table) else table
        for table in run.tables
    ]
    return RecordedRun(run.scheme, run.seed, run.complete, run.summary, tables)


def concatenate(tables: Sequence[tuple[str, Table | FramedTable]]) -> pl.DataFrame:
    """The tables of several schemes as one, with the scheme as the first column."""
    frames = [
        frame(table).select(pl.lit(scheme, pl.String).alias("scheme"), pl.all())
        for scheme, table in tables
    ]
    # Diagonal: one scheme may have columns that another has not.
    return pl.concat(frames, how="diagonal")


def frame(table: Table | FramedTable) -> pl.DataFrame:
    """The rows of one table; a value that does not exist is null."""
    return pl.DataFrame(table) if isinstance(table, Table) else table.frame()


def describe(table: Table | FramedTable) -> TableInfo:
    """The meaning of the rows and columns of a table, with units."""
    if not isinstance(table, Table):
        return table.info
    scheme: ColumnInfo = {"unit": "", "doc": "scheme that was run"}
    info = table.info
    return {"doc": info["doc"], "columns": {"scheme": scheme, **info["columns"]}}
