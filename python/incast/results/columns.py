"""The description of tables and of their columns."""

from typing import TypedDict


class ColumnInfo(TypedDict):
    """The description of a column."""

    unit: str
    doc: str


class TableInfo(TypedDict):
    """The description of a table."""

    doc: str
    columns: dict[str, ColumnInfo]
