"""The directory of a result: all or nothing, and never at the cost of something else."""

import json
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

import incast
from incast.results import store
from synthetic import made_up


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_tables_read_back_as_they_were(result: incast.Result, tmp_path: Path) -> None:
    written = result.write(tmp_path / "out")
    assert written.directory == tmp_path / "out"
    for name in result.tables:
        assert pl.read_parquet(tmp_path / "out" / f"{name}.parquet").equals(result.table(name))
    assert [path.stem for path in written.tables] == result.tables


def test_a_parquet_file_explains_itself(result: incast.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "out")
    metadata = pl.read_parquet_metadata(tmp_path / "out" / "flows.parquet")
    about = json.loads(metadata["incast"])
    assert about["columns"]["goodput_gbps"]["unit"] == "Gb/s"


def test_run_json_says_what_was_run(result: incast.Result, tmp_path: Path) -> None:
    written = result.write(tmp_path / "out")
    run = json.loads(written.run.read_text())
    assert run["incast"] == incast.__version__
    assert run["seed"] == result.seed
    assert run["complete"] is True
    assert run["runs"] == result.to_dict()["runs"]
    assert set(run["files"]) == names(written.directory)
    assert run["tables"] == result.describe_tables()


def test_the_written_scenario_gives_the_same_result(result: incast.Result, tmp_path: Path) -> None:
    written = result.write(tmp_path / "out")
    again = incast.run(written.scenario, list(result.schemes), seed=result.seed)
    assert again.table("flows").equals(result.table("flows"))


@pytest.mark.figures
def test_a_result_and_what_is_read_of_it_give_the_same_files(
    result: incast.Result, tmp_path: Path
) -> None:
    first = result.write(tmp_path / "first").directory
    incast.Result.read(first).write(tmp_path / "read")
    result.write(tmp_path / "tables", figures=False)
    for path in first.iterdir():
        other = tmp_path / ("tables" if path.suffix == ".parquet" else "read") / path.name
        assert path.read_bytes() == other.read_bytes(), path.name


def test_parents_are_made_and_nothing_else_is_left(result: incast.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "a" / "b")
    assert names(tmp_path) == {"a"}
    assert names(tmp_path / "a") == {"b"}


def test_an_earlier_result_is_replaced(result: incast.Result, tmp_path: Path) -> None:
    target = tmp_path / "out"
    result.write(target)
    # As if an earlier version had written one more file.
    (target / "old.parquet").touch()
    run = json.loads((target / "run.json").read_text())
    (target / "run.json").write_text(json.dumps({**run, "files": [*run["files"], "old.parquet"]}))
    result.write(target)
    assert "old.parquet" not in names(target)
    assert names(tmp_path) == {"out"}


def test_a_link_to_a_directory_stays_one(result: incast.Result, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    for _ in range(2):
        result.write(tmp_path / "out")
    assert (tmp_path / "out").is_symlink()
    assert "run.json" in names(tmp_path / "disk")
    assert names(tmp_path) == {"disk", "out"}


@pytest.mark.parametrize("content", ["notes.txt", "run.json"])
def test_a_foreign_directory_is_refused(
    result: incast.Result, tmp_path: Path, content: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / content).write_text("[]")
    for attempt in (store.check, result.write):
        with pytest.raises(incast.OutputError, match="something else"):
            attempt(tmp_path / "out")
    assert names(tmp_path / "out") == {content}
    assert names(tmp_path) == {"out"}


def test_a_file_that_was_added_to_a_result_is_not_lost(
    result: incast.Result, tmp_path: Path
) -> None:
    result.write(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(incast.OutputError, match=r"notes\.txt"):
        result.write(tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_failure_half_way_leaves_the_earlier_result(
    result: incast.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result.write(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    for target in ("out", "new"):
        with pytest.raises(incast.OutputError, match="No space left"):
            result.write(tmp_path / target)
    assert names(tmp_path) == {"out"}
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.figures
def test_a_figure_that_cannot_be_written_leaves_the_result_without_figures(
    result: incast.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, done = Figure.savefig, []

    def nearly_full(self: Figure, *arguments: object, **options: object) -> None:
        if len(done) == 2:
            raise OSError(28, "No space left on device")
        done.append(self)
        real(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", nearly_full)
    with pytest.raises(incast.OutputError, match="No space left"):
        result.write(tmp_path / "out")
    assert names(tmp_path) == {"out"}
    assert not list((tmp_path / "out").glob("*.png"))
    assert incast.Result.read(tmp_path / "out").complete
    monkeypatch.undo()
    assert result.write(tmp_path / "out").figures


def test_a_stopped_result_is_marked(stopped: incast.Result, tmp_path: Path) -> None:
    written = stopped.write(tmp_path / "out")
    assert written.directory == tmp_path / "out"
    assert json.loads(written.run.read_text())["complete"] is False


def test_a_stopped_result_never_replaces_a_complete_one(
    result: incast.Result, stopped: incast.Result, tmp_path: Path
) -> None:
    result.write(tmp_path / "out")
    for _ in range(2):
        assert stopped.write(tmp_path / "out").directory == tmp_path / "out-incomplete"
    assert json.loads((tmp_path / "out" / "run.json").read_text())["complete"] is True
    assert names(tmp_path) == {"out", "out-incomplete"}


def test_a_complete_result_replaces_a_stopped_one(
    result: incast.Result, stopped: incast.Result, tmp_path: Path
) -> None:
    stopped.write(tmp_path / "out")
    with pytest.warns(incast.OutputWarning, match="was replaced"):
        result.write(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["complete"] is True


def test_the_check_makes_parents_only(tmp_path: Path) -> None:
    store.check(tmp_path / "a" / "b")
    assert names(tmp_path / "a") == set()


def test_python_warns_of_another_result_that_is_replaced(
    short: incast.Scenario, tmp_path: Path
) -> None:
    timely, dctcp = made_up(short, "timely"), made_up(short, "dctcp", seed=4)
    assert timely.write(tmp_path / "out", figures=False).replaced is None
    assert timely.write(tmp_path / "out", figures=False).replaced is None
    said = r"out: the result of timely \(seed 1, written .*\) was replaced"
    with pytest.warns(incast.OutputWarning, match=said):
        written = dctcp.write(tmp_path / "out", figures=False)
    assert str(written.replaced).startswith("the result of timely (seed 1, written ")
    other = made_up(short.with_set("run.duration=6ms"), "dctcp", seed=4)
    with pytest.warns(incast.OutputWarning, match=r"the result of dctcp \(seed 4"):
        other.write(tmp_path / "out", figures=False)


def test_a_stopped_result_replaces_no_whole_one(
    short: incast.Scenario, stopped: incast.Result, tmp_path: Path
) -> None:
    made_up(short, "hpcc").write(tmp_path / "out", figures=False)
    written = stopped.write(tmp_path / "out", figures=False)
    assert written.directory == tmp_path / "out-incomplete"
    assert written.replaced is None
    assert incast.Result.read(tmp_path / "out").schemes == ("hpcc",)
