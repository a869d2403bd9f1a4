"""Tables of a run as Polars frames. Whatever table or column comes is passed on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

import numpy as np
import polars as pl

from incast._core import Column, Table

_NUMPY = {"f64": "<f8", "u64": "<u8", "i64": "<i8"}


class ColumnInfo(TypedDict):
    """What is known about a column."""

    unit: str
    doc: str


class TableInfo(TypedDict):
    """What is known about a table."""

    doc: str
    columns: dict[str, ColumnInfo]


class FramedTable(Protocol):
    """A table that is a frame already, or becomes one: that of a result read back."""

    @property
    def name(self) -> str:
        """The name, such as `flows`."""

    @property
    def info(self) -> TableInfo:
        """What its rows and columns mean."""

    def frame(self) -> pl.DataFrame:
        """The rows of one scheme, without a column that names the scheme."""


class SchemeRun(Protocol):
    """What one scheme did in one scenario, just simulated or read back."""

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
    """What one scheme did, known from elsewhere than the core: read back, or measured."""

    scheme: str
    seed: int
    complete: bool
    summary: Mapping[str, float | int | None]
    tables: Sequence[Table | FramedTable]


def concatenate(tables: Sequence[tuple[str, Table | FramedTable]]) -> pl.DataFrame:
    """The tables of several schemes as one, with the scheme as the first column."""
    frames = [
        frame(table).select(pl.lit(scheme, pl.String).alias("scheme"), pl.all())
        for scheme, table in tables
    ]
    # Diagonal: one scheme may have columns that another has not.
    return pl.concat(frames, how="diagonal")


def frame(table: Table | FramedTable) -> pl.DataFrame:
    """The rows of one table; a value that does not exist, NaN in the core, is null."""
    if isinstance(table, Table):
        return pl.DataFrame([_series(column) for column in table.columns])
    return table.frame()


def describe(table: Table | FramedTable) -> TableInfo:
    """What the rows and columns of a table mean, with units."""
    if not isinstance(table, Table):
        return table.info
    scheme: ColumnInfo = {"unit": "", "doc": "scheme that was run"}
    return {"doc": table.doc, "columns": {"scheme": scheme, **own_columns(table)}}


def own_columns(table: Table) -> dict[str, ColumnInfo]:
    """What the columns of a table mean that the core gave it."""
    return {column.name: {"unit": column.unit, "doc": column.doc} for column in table.columns}


def _series(column: Column) -> pl.Series:
    data = column.data
    if not isinstance(data, bytes):
        return pl.Series(column.name, data, pl.String)
    series = pl.Series(column.name, np.frombuffer(data, _NUMPY[column.dtype]))
    return series.fill_nan(None) if column.dtype == "f64" else series
