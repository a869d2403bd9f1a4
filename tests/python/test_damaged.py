"""Damaged results: each is read, or refused in one sentence, whatever is in its files.

`INCAST_FUZZ_EXAMPLES=2000` tries so many others, as `make fuzz` does.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incast
from incast.results.stored import ResultError

# Other values for anything that run.json says.
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**63, 10**400, float("inf"), float("nan"), 1e308, "", "\x00", "../x"]),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)
# Few examples, equal everywhere, or as many others as are asked for.
EXAMPLES = os.environ.get("INCAST_FUZZ_EXAMPLES")
QUICK = settings(
    max_examples=int(EXAMPLES or 60),
    deadline=None,
    database=None,
    derandomize=EXAMPLES is None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def written(short: incast.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with every table that a run of milliseconds has."""
    result = incast.run(short, ["timely", "line-rate"], traces=["flows"])
    return result.write(tmp_path_factory.mktemp("damaged") / "good", figures=False).directory


def copied(written: Path) -> Path:
    """The result, to be damaged."""
    copy = written.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(written, copy)
    return copy


def read_all(directory: Path) -> None:
    """Everything that reads a result, which may refuse it in one sentence."""
    try:
        opened = incast.open_result(directory)
    except incast.IncastError as error:
        return sentence(error)
    look(lambda: opened.summary)
    look(lambda: opened.title)
    look(opened.to_dict)
    look(lambda: repr(opened))
    for name in opened.tables:
        look(lambda name=name: opened.table(name))
    return None


def look(at: Callable[[], object]) -> None:
    """Checks that reading gives what is asked for, or an error of one sentence."""
    try:
        at()
    except incast.IncastError as error:
        sentence(error)


def sentence(error: incast.IncastError) -> None:
    """Checks that an error is one line, and not empty."""
    assert str(error)
    assert "\n" not in str(error)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything in a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else []
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


@QUICK
@given(data=st.data())
def test_whatever_run_json_says(written: Path, data: st.DataObject) -> None:
    copy = copied(written)
    file = copy / "run.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    # The few at the top as often as the many within tables.
    every = places(said)
    upper = [path for path in every if len(path) <= 3]
    path = data.draw(st.sampled_from(upper) | st.sampled_from(every))
    at = said
    for key in path[:-1]:
        at = at[key]
    if data.draw(st.booleans()):
        del at[path[-1]]
    else:
        at[path[-1]] = data.draw(VALUES)
    file.write_text(json.dumps(said), encoding="utf-8")
    read_all(copy)


@QUICK
@given(data=st.data())
def test_whatever_bytes_a_file_has(written: Path, data: st.DataObject) -> None:
    copy = copied(written)
    names = sorted(path.name for path in copy.iterdir() if path.is_file())
    file = copy / data.draw(st.sampled_from(names))
    content = bytearray(file.read_bytes())
    kind = data.draw(st.sampled_from(["cut", "flip", "missing", "directory", "text"]))
    # The footer of a Parquet file, near its end, says where everything is.
    near = st.integers(max(0, len(content) - 400), max(0, len(content) - 1))
    place = data.draw(st.integers(0, max(0, len(content) - 1)) | near)
    if kind in ("missing", "directory"):
        file.unlink()
        if kind == "directory":
            file.mkdir()
    elif kind == "cut":
        file.write_bytes(content[:place])
    elif kind == "text":
        file.write_bytes(data.draw(st.binary(max_size=20)))
    else:
        for offset in range(place, min(place + 2, len(content))):
            content[offset] ^= data.draw(st.integers(1, 255))
        file.write_bytes(content)
    read_all(copy)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("runs", 0, "published", "throughput_gbps"), []),
        (("runs", 0, "published", "source"), 5),
        (("runs", 0, "measured", "rtt_mean_us"), "fast"),
        (("runs", 0, "measured", "drops"), 10**400),
        (("duration_s",), 10**400),
    ],
)
def test_figures_are_numbers(written: Path, path: tuple[str | int, ...], value: object) -> None:
    copy = copied(written)
    file = copy / "run.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    at = said
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    file.write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(ResultError, match=r"run.json: describes no result of incast"):
        incast.open_result(copy)


def test_a_reader_that_panics_is_a_damaged_file(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect(_frame: pl.LazyFrame) -> pl.DataFrame:
        raise pl.exceptions.PanicException("assertion failed")

    monkeypatch.setattr(pl.LazyFrame, "collect", collect)
    with pytest.raises(ResultError, match=r"flows.parquet: is damaged; run "):
        incast.open_result(written).table("flows")
