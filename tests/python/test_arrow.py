"""Tables leave the core as Arrow streams: values, and in each field its unit and meaning."""

import nanoarrow as na
import polars as pl
import pytest

import incast
from incast import _core
from incast._core import Run, Table
from incast.results.tables import frame

# A host whose name is longer than the 12 bytes that Arrow's views hold without a buffer.
SCENARIO = """
title = "Two senders, one of which sends nothing while it is measured"

[run]
duration = "300us"
warmup = "100us"
schemes = ["timely"]

[network.star]
hosts = [{ name = "a-client-with-a-long-name", count = 2, rate = "10Gbps", delay = "1us" },
         { name = "server", rate = "10Gbps", delay = "1us" }]

[[traffic]]
kind = "connections"
from = "a-client-with-a-long-name0"
to = "server"

[[traffic]]
kind = "connections"
from = "a-client-with-a-long-name1"
to = "server"
start = "290us"
"""


@pytest.fixture(scope="module")
def run() -> Run:
    return _core.run(incast.Scenario.parse(SCENARIO), "timely", traces=["queues", "flows"])


def fields(table: Table) -> na.Schema:
    return na.Schema(na.c_array_stream(table).get_schema())


def test_each_field_has_its_unit_and_meaning(run: Run) -> None:
    for table in run.tables:
        schema = fields(table)
        assert dict(schema.metadata) == {
            b"name": table.name.encode(),
            b"doc": table.info["doc"].encode(),
        }
        assert [field.name for field in schema.fields] == list(table.info["columns"])
        for field in schema.fields:
            about = table.info["columns"][field.name]
            said = {key.encode(): value.encode() for key, value in about.items()}
            assert dict(field.metadata) == said


def test_polars_has_the_types_of_the_fields(run: Run) -> None:
    kinds = {na.Type.DOUBLE: pl.Float64, na.Type.UINT64: pl.UInt64, na.Type.STRING_VIEW: pl.String}
    for table in run.tables:
        told = {field.name: kinds[field.type] for field in fields(table).fields}
        assert frame(table).schema == pl.Schema(told)


def test_polars_has_the_values_of_the_core(run: Run) -> None:
    tables = {table.name: frame(table) for table in run.tables}
    flows = tables["flows"]
    assert flows["source"].to_list() == [f"a-client-with-a-long-name{at}" for at in (0, 1)]
    assert flows["destination"].to_list() == ["server", "server"]
    assert flows["flow"].to_list() == [0, 1]
    total = flows["goodput_gbps"].sum()
    assert total == pytest.approx(run.summary["throughput_gbps"], rel=1e-12)
    assert tables["rtt_histogram"]["count"].sum() == run.summary["rtt_samples"]


def test_a_value_that_does_not_exist_is_null(run: Run) -> None:
    tables = [frame(table) for table in run.tables]
    # The core may have no value for a number, but has one for each count and name.
    numbers = [column for rows in tables for column in rows.select(pl.selectors.float())]
    others = [column for rows in tables for column in rows.select(~pl.selectors.float())]
    assert any(column.null_count() for column in numbers)
    assert not any(column.is_nan().any() for column in numbers)
    assert not any(column.null_count() for column in others)


def test_a_table_can_be_read_again_and_after_its_run_is_gone() -> None:
    gone = _core.run(incast.Scenario.parse(SCENARIO), "timely")
    table = next(table for table in gone.tables if table.name == "flows")
    first = frame(table)
    again = pl.DataFrame(table)
    del gone, table
    assert again.equals(first)


def test_a_table_without_rows_has_its_columns() -> None:
    table = _core.read_results("fct.txt", "", "hpcc-fct")
    assert table is not None
    rows = frame(table)
    assert rows.is_empty()
    assert rows.columns == list(table.info["columns"])
