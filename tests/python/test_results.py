"""Results read back, and several together."""

import json
from pathlib import Path

import polars as pl
import pytest

import incast
from incast.api.result import Results
from synthetic import made_up


@pytest.fixture(scope="module")
def written(result: incast.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result.write(tmp_path_factory.mktemp("results") / "incast", figures=False).directory


@pytest.fixture(scope="module")
def other_seed(short: incast.Scenario, written: Path) -> Path:
    return incast.run(short, seed=2).write(written.parent / "second", figures=False).directory


def test_a_result_reads_back_as_it_was(result: incast.Result, written: Path) -> None:
    read = incast.Result.read(written)
    assert read.to_dict() == result.to_dict()
    assert read.describe_tables() == result.describe_tables()
    assert read.summary.equals(result.summary)
    assert read.tables == result.tables
    for name in result.tables:
        assert read.table(name).equals(result.table(name)), name


def test_the_scenario_of_a_result_runs_again(written: Path) -> None:
    read = incast.Result.read(written)
    again = incast.Scenario.parse(read.scenario.toml(), read.scenario.name)
    assert again.duration_s == read.scenario.duration_s == pytest.approx(5e-3)
    assert again.warmup_s == read.scenario.warmup_s == pytest.approx(1e-3)


def test_a_stopped_result_reads_back_as_stopped(stopped: incast.Result, tmp_path: Path) -> None:
    read = incast.Result.read(stopped.write(tmp_path / "out").directory)
    assert not read.complete
    assert read.schemes == ("timely", "line-rate")
    assert list(read.runs) == ["timely"]


def test_a_result_that_this_version_would_not_run_is_read(written: Path, tmp_path: Path) -> None:
    copy = incast.Result.read(written).write(tmp_path / "old").directory
    text = (copy / "scenario.toml").read_text()
    (copy / "scenario.toml").write_text(text + "\n[abolished]\nsetting = 1\n")
    with pytest.raises(incast.ScenarioError):
        incast.load(copy / "scenario.toml")
    assert incast.Result.read(copy).summary.height == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such directory"),
        ({}, "there is no run.json"),
        ({"run.json": "{"}, "describes no result"),
        ({"run.json": "[]", "scenario.toml": ""}, "describes no result"),
        ({"run.json": "{}", "scenario.toml": ""}, "describes no result"),
        ({"run.json": "{}"}, "describes no result"),
    ],
)
def test_what_is_no_result_is_refused(
    tmp_path: Path, content: dict[str, str] | None, said: str
) -> None:
    target = tmp_path / "out"
    if content is not None:
        target.mkdir()
        for name, text in content.items():
            (target / name).write_text(text)
    with pytest.raises(incast.ResultError, match=said) as error:
        incast.open_result(target)
    assert "\n" not in str(error.value)


def test_the_parent_of_results_names_them(written: Path, other_seed: Path) -> None:
    assert other_seed.parent == written.parent
    with pytest.raises(incast.ResultError, match="there is one in incast, second"):
        incast.open_result(written.parent)


def test_a_table_that_is_gone_is_named(written: Path, tmp_path: Path) -> None:
    copy = incast.Result.read(written).write(tmp_path / "copy").directory
    (copy / "flows.parquet").unlink()
    with pytest.raises(
        incast.ResultError, match=r"flows\.parquet: is missing; run .*scenario\.toml again"
    ):
        incast.Result.read(copy).table("flows")


def test_seeds_of_one_scenario_are_one_case_for_each_scheme(
    written: Path, other_seed: Path
) -> None:
    results = incast.open_result(written, other_seed)
    assert [case.label for case in results.cases] == ["timely", "line-rate"]
    assert results.seeds == [1, 2]
    assert results.title.endswith("(2 seeds)")
    timely = results.cases[0]
    counted = sum(run.summary["rtt_samples"] or 0 for run in timely.runs)
    assert timely.table("rtt_histogram")["count"].sum() == counted
    assert timely.table("flows")["seed"].unique(maintain_order=True).to_list() == [1, 2]


def test_the_summary_of_several_has_a_row_for_each_run(written: Path, other_seed: Path) -> None:
    summary = incast.open_result(written, other_seed).summary
    assert summary.select("seed", "scheme").rows() == [
        (1, "timely"), (1, "line-rate"), (2, "timely"), (2, "line-rate"),
    ]  # fmt: skip
    assert summary.columns[:2] == ["seed", "scheme"]


def test_one_run_is_not_counted_twice(written: Path) -> None:
    with pytest.raises(incast.ResultError, match="both hold the run of timely with seed 1"):
        incast.open_result(written, written)


def test_schemes_that_ran_apart_come_together(short: incast.Scenario) -> None:
    first, second = made_up(short, "timely"), made_up(short, "line-rate")
    assert [case.label for case in Results((first, second)).cases] == ["timely", "line-rate"]


def test_other_scenarios_are_called_by_their_names(short: incast.Scenario) -> None:
    other = incast.load("tcp-incast")
    results = Results((made_up(short, "timely"), made_up(other, "cubic")))
    assert [case.label for case in results.cases] == ["timely, incast", "cubic, tcp-incast"]
    assert results.summary["result"].to_list() == ["incast", "tcp-incast"]
    assert results.title == "incast and tcp-incast"


def test_scenarios_with_many_other_settings_are_called_by_their_directories(
    written: Path, short: incast.Scenario
) -> None:
    changed = short.with_set(
        "transport.segment=16KB", "run.seed=2", "cc.timely.beta=0.5", "cc.timely.t_high=1ms"
    )
    place = incast.run(changed, "timely").write(written.parent / "small").directory
    results = incast.open_result(written, place)
    assert [case.label for case in results.cases] == [
        "timely, incast", "line-rate, incast", "timely, small",
    ]  # fmt: skip


def test_tables_of_other_columns_come_together(short: incast.Scenario) -> None:
    first = made_up(short, "timely", links=pl.DataFrame({"link": ["a"], "layer": ["leaf"]}))
    second = made_up(short, "timely", seed=2, links=pl.DataFrame({"link": ["b"]}))
    rows = Results((first, second)).table("links")
    assert rows["layer"].to_list() == ["leaf", None]
    with pytest.raises(KeyError, match="links"):
        Results((first,)).table("link")


def test_what_is_read_is_ready_for_json(written: Path, other_seed: Path) -> None:
    both = json.loads(json.dumps(incast.open_result(written, other_seed).to_dict()))
    assert [item["seed"] for item in both["results"]] == [1, 2]
