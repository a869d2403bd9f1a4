"""Tables of results for whatever reads Arrow streams, without pyarrow."""

from dataclasses import dataclass

import polars as pl

from incast import _core
from incast.results.columns import TableInfo


@dataclass(frozen=True)
class ArrowTable:
    """A table as an Arrow C stream: `pyarrow.table(...)`, DuckDB and pandas take it as it is.

    The metadata of each field has `unit` and `doc`, and of the schema `name` and `doc`.
    """

    name: str
    """The name, such as `flows`."""
    info: TableInfo
    """The meaning of a row, and unit and meaning of each column."""
    rows: pl.DataFrame

    def __repr__(self) -> str:
        """A line with the name and the size."""
        return f"ArrowTable({self.name!r}, {self.rows.height} rows)"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream; their types stay the same whatever is requested."""
        del requested_schema
        info = self.info
        return _core.described_stream(self.rows, self.name, info["doc"], info["columns"])
