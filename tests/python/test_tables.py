"""docs/reference/tables.md says of every table and column what the code says."""

import os
import re
from pathlib import Path

import polars as pl
import pytest

import incast
from conftest import Command
from incast.api.saturation import OpenLoop, Point, Saturation
from incast.results import described
from synthetic import everything

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"
START = "<!-- what follows is printed by `incast tables --markdown` -->\n\n"


def test_the_page_is_what_the_code_says() -> None:
    head, _, _ = PAGE.read_text().partition(START)
    expected = f"{head}{START}{described.markdown(described.all_tables())}"
    if os.environ.get("INCAST_UPDATE_GOLDEN"):
        PAGE.write_text(expected)
    assert PAGE.read_text() == expected, "INCAST_UPDATE_GOLDEN=1 renews it"


def test_the_page_of_keys_is_what_the_schema_says(command: Command) -> None:
    page = PAGE.with_name("scenario.md")
    start = "<!-- what follows is printed by `incast scenario explain --markdown` -->\n\n"
    head, _, _ = page.read_text().partition(start)
    expected = head + start + command("scenario", "explain", "--markdown").out
    if os.environ.get("INCAST_UPDATE_GOLDEN"):
        page.write_text(expected)
    assert page.read_text() == expected, "INCAST_UPDATE_GOLDEN=1 renews it"
    for said in ("| `duration` |", "## `cc.timely`", "## `traffic.poisson`", "| `t_high` |"):
        assert said in expected


def test_every_column_has_a_meaning_and_the_unit_of_its_name() -> None:
    units = {"_us": "us", "_kb": "KB", "_gbps": "Gb/s", "_bytes": "B"}
    for name, table in described.all_tables().items():
        assert table["doc"]
        for column, about in table["columns"].items():
            assert about["doc"], (name, column)
            for suffix, unit in units.items():
                if column.endswith(suffix) and column != "queue_bytes":
                    assert about["unit"] == unit, (name, column)


def test_no_table_of_a_run_is_missing(result: incast.Result) -> None:
    known = described.all_tables()
    for name, table in result.describe_tables().items():
        # Columns that only runs with deadlines, with the ideal, with mixes, or that trim, have.
        assert known[name]["doc"] == table["doc"]
        assert known[name]["columns"].items() >= table["columns"].items()
        missing = known[name]["columns"].keys() - table["columns"].keys()
        some = {
            "deadline_us", "met_deadline", "late_us", "own_scheme", "fluid_us", "greedy_us", "trims"
        }  # fmt: skip
        assert missing <= some, (name, missing)


def test_the_tables_of_python_have_the_columns_that_are_described(short: incast.Scenario) -> None:
    known = described.all_tables()
    traffic = everything(short, "timely", messages=10).traffic
    assert traffic.columns == list(known["traffic"]["columns"])
    point = Point("timely", 0.5, 1.0, 1.0, None, 1, 1.0)
    found = Saturation(
        short, OpenLoop(0, "rpc", "poisson"), ("timely",), 1, 0.95, (point,), complete=True
    )
    assert found.table.columns == list(known["saturation"]["columns"])


def test_the_command_needs_no_result(command: Command) -> None:
    out = command("tables").out
    for name in ("summary", "messages", "link_failures", "trace_packets"):
        assert re.search(rf"^{name}: ", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 100
    assert command("tables", "--markdown").out == described.markdown(described.all_tables())
    assert not list(Path().iterdir())


def test_metadata_of_a_file_says_the_same(result: incast.Result, tmp_path: Path) -> None:
    written = result.write(tmp_path / "out", figures=False)
    said = pl.read_parquet_metadata(written.directory / "queues.parquet")["incast"]
    assert described.all_tables()["queues"]["columns"]["drops_aqm"]["doc"] in said


@pytest.mark.parametrize("name", ["flow", "sumary"])
def test_a_table_that_there_is_not(command: Command, result: incast.Result, name: str) -> None:
    result.write("out", figures=False)
    assert f"{name}: no such table; there is" in command("tables", "out", name).error
