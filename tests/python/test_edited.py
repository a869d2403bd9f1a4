"""Results that somebody has edited, cut or damaged: one sentence, exit code 2, never a trace."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incast
from conftest import Command

COMMANDS = (("show", "out"), ("show", "out", "--json"), ("plot", "out"), ("tables", "out"))


@pytest.fixture
def out(result: incast.Result, tmp_path: Path) -> Path:
    result.write(tmp_path / "out", figures=False)
    return tmp_path / "out"


def refused(command: Command, said: str) -> None:
    """Every command that reads a result refuses it."""
    for arguments in COMMANDS:
        done = command(*arguments)
        assert said in done.error, (arguments, done.err)
    assert not Path("figures").exists()


@pytest.mark.usefixtures("out")
@pytest.mark.parametrize("open_", ["[", '{"a":', '{"runs":[', '{"tables":{"flows":'])
def test_brackets_without_end(command: Command, open_: str) -> None:
    Path("out/run.json").write_text(open_ * 200_000)
    refused(command, "out/run.json: describes no result of incast")


@pytest.mark.usefixtures("out")
@pytest.mark.parametrize(
    "path",
    [
        "incast", "scenario", "title", "seed", "duration_s", "warmup_s", "schemes", "warnings",
        "runs", "runs.0", "runs.0.scheme", "runs.0.complete", "runs.0.measured",
        "runs.0.measured.throughput_gbps", "runs.0.published", "tables", "tables.flows",
        "tables.flows.doc", "tables.flows.columns", "tables.flows.columns.scheme",
        "tables.flows.columns.scheme.unit",
    ],
)  # fmt: skip
def test_values_of_other_types(command: Command, path: str) -> None:
    good = json.loads(Path("out/run.json").read_text())
    for value in (None, True, 1.5, "word", [1], {"a": [2]}, [], {}):
        said = json.loads(json.dumps(good))
        parent: Any = said
        *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for key in above:
            parent = parent[key]
        if type(parent[last]) is type(value) or (last, value) == ("throughput_gbps", None):
            continue
        parent[last] = value
        Path("out/run.json").write_text(json.dumps(said))
        done = command("show", "out")
        # An empty list of runs, or an empty table of columns, is one.
        if done.code != 0:
            assert "out/run.json: describes no result" in done.error, value


@pytest.mark.usefixtures("out")
@pytest.mark.parametrize("text", ["", "\0", "nan", '{"seed": 1e999}', "\xff", '"a', "5"])
def test_what_is_no_json(command: Command, text: str) -> None:
    Path("out/run.json").write_bytes(text.encode("latin-1"))
    refused(command, "out/run.json: describes no result")


@pytest.mark.usefixtures("out")
def test_a_table_is_found_in_the_directory_alone(command: Command) -> None:
    said = json.loads(Path("out/run.json").read_text())
    said["tables"]["../../flows"] = said["tables"]["flows"]
    Path("out/run.json").write_text(json.dumps(said))
    refused(command, "run.json: describes no result")


def edit(table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    path = Path(f"out/{table}.parquet")
    change(pl.read_parquet(path, glob=False)).write_parquet(path)


@pytest.mark.usefixtures("out")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop("count"), "has no column count"),
        (lambda rows: rows.drop("scheme"), "has no column scheme"),
        (lambda rows: rows.with_columns(pl.col("count").cast(pl.String)), "column count has Str"),
        (lambda rows: rows.with_columns(pl.lit(1).alias("scheme")), "column scheme has Int32"),
        (lambda rows: rows.with_columns(pl.lit([1]).alias("low_us")), "column low_us has List"),
        (lambda rows: rows.with_columns(pl.lit(value=True).alias("low_us")), "has Boolean"),
    ],
)
def test_a_table_of_other_columns(
    command: Command, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    edit("rtt_histogram", change)
    error = command("plot", "out").error
    assert "out/rtt_histogram.parquet: " in error
    assert said in error
    assert "run out/scenario.toml again" in error
    assert not Path("figures").exists()


@pytest.mark.usefixtures("out")
def test_a_table_that_is_cut_or_damaged(command: Command) -> None:
    path = Path("out/rtt_histogram.parquet")
    whole = path.read_bytes()
    cuts = [whole[:length] for length in (0, 1, 4, 100, len(whole) // 2, len(whole) - 1)]
    turned = [
        whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        for place in range(0, len(whole), len(whole) // 12)
    ]
    for text in (*cuts, *turned, b"PAR1" * 1000):
        path.write_bytes(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd number may still be one
            done = command("plot", "out", "--figure", "rtt-cdf", "--out", "drawn")
        if done.code != 0:
            assert "out/rtt_histogram.parquet: " in done.error
        shutil.rmtree("drawn", ignore_errors=True)


@pytest.mark.usefixtures("out")
def test_a_scenario_that_is_gone(command: Command) -> None:
    Path("out/scenario.toml").unlink()
    refused(command, "cannot read out/scenario.toml: No such file or directory")


@pytest.mark.usefixtures("out")
def test_a_scenario_that_has_no_end(command: Command) -> None:
    Path("out/scenario.toml").unlink()
    Path("out/scenario.toml").symlink_to("/dev/zero")
    refused(command, "out/scenario.toml: a device or a pipe is no regular file")
