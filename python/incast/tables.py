"""Tables of the core as Polars frames. Whatever table or column comes is passed on."""

from collections.abc import Sequence
from typing import TypedDict

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


def concatenate(tables: Sequence[tuple[str, Table]]) -> pl.DataFrame:
    """The tables of several schemes as one, with the scheme as the first column."""
    frames = [
        frame(table).select(pl.lit(scheme, pl.String).alias("scheme"), pl.all())
        for scheme, table in tables
    ]
    # Diagonal: one scheme may have columns that another has not.
    return pl.concat(frames, how="diagonal")


def frame(table: Table) -> pl.DataFrame:
    """One table of the core; a value that does not exist, NaN in the core, is null."""
    return pl.DataFrame([_series(column) for column in table.columns])


def describe(table: Table) -> TableInfo:
    """What the rows and columns of a table mean, with units."""
    columns: dict[str, ColumnInfo] = {"scheme": {"unit": "", "doc": "The scheme that was run."}}
    for column in table.columns:
        columns[column.name] = {"unit": column.unit, "doc": column.doc}
    return {"doc": table.doc, "columns": columns}


def _series(column: Column) -> pl.Series:
    data = column.data
    if not isinstance(data, bytes):
        return pl.Series(column.name, data, pl.String)
    series = pl.Series(column.name, np.frombuffer(data, _NUMPY[column.dtype]))
    return series.fill_nan(None) if column.dtype == "f64" else series
