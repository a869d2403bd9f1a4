"""What changed between two results: tests against published values, and the first difference."""

import json
import math
import random
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import incast
from conftest import SET, Command
from incast.results import changes, seeds, significance
from incast.results.changes import compare


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 29, 30, 60, 120])
def test_the_t_distribution_is_that_of_the_tables(freedom: int) -> None:
    # Printed in four digits: so exact is the probability.
    assert significance.beyond(seeds.t95(freedom), freedom) == pytest.approx(0.05, rel=2e-3)
    assert significance.beyond(0.0, freedom) == pytest.approx(1.0)


def test_student_is_the_textbook_test() -> None:
    # "Student", The probable error of a mean (1908): additional hours of sleep of ten patients
    # under two drugs; t = 4.0621, p = 0.00283.
    gains = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    assert significance.student(gains) == pytest.approx(0.002833, abs=1e-6)
    assert significance.student([1.0]) is None
    assert significance.student([0.0, 0.0]) == 1.0
    assert significance.student([2.0, 2.0, 2.0]) == 0.0


def by_counting(values: list[float]) -> float:
    """The two-sided p-value of the signed-rank test by all signs."""
    sizes = sorted(abs(value) for value in values if value)
    rank = {
        size: sum(place + 1 for place, one in enumerate(sizes) if one == size) / sizes.count(size)
        for size in sizes
    }
    plus = sum(rank[abs(value)] for value in values if value > 0)
    whole = sum(rank[size] for size in sizes)
    sums = [
        sum(rank[size] for size, sign in zip(sizes, signs, strict=True) if sign)
        for signs in product((False, True), repeat=len(sizes))
    ]
    low = sum(one <= min(plus, whole - plus) for one in sums)
    return min(1.0, 2 * low / len(sums))


def test_wilcoxon_is_what_counting_all_signs_gives() -> None:
    luck = random.Random(5)  # noqa: S311
    for _ in range(30):
        values = [float(luck.randint(-4, 6)) for _ in range(luck.randint(2, 9))]
        if any(values):
            assert significance.wilcoxon(values) == pytest.approx(by_counting(values)), values
    assert significance.wilcoxon([0.0, 0.0]) == 1.0
    assert significance.wilcoxon([1.0]) is None
    # Of many pairs by the normal distribution, close to counting at the border.
    many = [luck.gauss(0.4, 1) for _ in range(50)]
    exact = significance.wilcoxon(many)
    near = significance.wilcoxon([*many, 1e-9])
    assert exact is not None
    assert near == pytest.approx(exact, rel=0.15)


def test_p_values_grow_with_their_number() -> None:
    assert significance.holm([0.01, None, 0.04, 0.03]) == pytest.approx(
        [0.03, None, 0.06, 0.06], nan_ok=True
    )
    assert significance.holm([]) == []


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, short: incast.Scenario) -> dict[str, Path]:
    """Results of six seeds: twice the same, with another start, and with twice the flows."""
    folder = tmp_path_factory.mktemp("places")
    found = {}
    for name, change in {
        "base": (),
        "again": (),
        "noise": ("traffic.0.start_spread=101us",),
        "flows": ("traffic.0.connections=8",),
    }.items():
        scenario = short.with_set(*change)
        found[name] = folder / name
        results = incast.run(scenario, ["timely"], seed=range(1, 7))
        results.write(found[name], figures=False)
    return found


def test_equal_results_are_equal(places: dict[str, Path]) -> None:
    found = compare(places["base"], places["again"])
    assert found.same
    assert {change.verdict for change in found.changes} == {"equal"}
    assert (found.place, found.settings, found.missing) == (None, (), ())


def test_noise_is_told_from_a_change(places: dict[str, Path]) -> None:
    noise = compare(places["base"], places["noise"])
    assert noise.of("noise")
    assert not noise.of("changed")
    assert not noise.same
    for test in ("t", "wilcoxon"):
        flows = compare(places["base"], places["flows"], test=test, metrics=["rtt_mean_us"])  # type: ignore[arg-type]
        (change,) = flows.changes
        assert change.verdict == "changed", (test, change)
        assert change.difference.mean == pytest.approx(change.second - change.first)
        assert flows.settings == (("traffic.0.connections", "4", "8"),)
    # One more figure, one more test.
    two = compare(places["base"], places["flows"], metrics=["rtt_mean_us", "rtt_p99_us"])
    one = compare(places["base"], places["flows"], metrics=["rtt_mean_us"])
    assert one.changes[0].p is not None
    assert two.changes[0].p is not None
    assert two.changes[0].p >= one.changes[0].p


def test_the_first_difference_is_a_table_a_row_and_a_column(
    places: dict[str, Path], tmp_path: Path
) -> None:
    result = incast.Result.read(places["base"] / "seed-1")
    result.write(tmp_path / "one", figures=False)
    result.write(tmp_path / "other", figures=False)
    path = tmp_path / "other" / "flows.parquet"
    rows = pl.read_parquet(path)
    column = next(name for name, kind in rows.schema.items() if kind == pl.Float64)
    values = rows[column].to_list()
    values[7] = 1e9
    rows.with_columns(pl.Series(column, values)).write_parquet(
        path, metadata=pl.read_parquet_metadata(path)
    )
    place = compare(tmp_path / "one", tmp_path / "other").place
    assert place is not None
    assert (place.seed, place.table, place.row, place.column) == (1, "flows", 7, column)
    assert (place.first, place.second) == (result.table("flows")[column][7], 1e9)
    rows.head(5).write_parquet(path, metadata=pl.read_parquet_metadata(path))
    place = compare(tmp_path / "one", tmp_path / "other").place
    assert place is not None
    assert (place.table, place.row, place.second) == ("flows", 5, None)


def test_a_single_seed_says_nothing_about_noise(places: dict[str, Path]) -> None:
    found = compare(places["base"] / "seed-1", places["flows"] / "seed-1")
    assert {change.verdict for change in found.changes} <= {"equal", "one seed"}
    assert found.of("one seed")
    assert all(change.p is None for change in found.changes)


def test_sweeps_are_paired_by_point(short: incast.Scenario, tmp_path: Path) -> None:
    vary = {"traffic.0.connections": "1,4"}
    for name, scenario, values in (
        ("one", short, vary), ("two", short.with_set("cc.timely.t_high=1ms"), vary),
        ("more", short, {"traffic.0.connections": "4,8"}),
    ):  # fmt: skip
        incast.sweep(scenario, "timely", vary=values, seeds=2, out=tmp_path / name)
    found = compare(tmp_path / "one", tmp_path / "two")
    assert {change.case for change in found.changes} == {
        "traffic.0.connections=1, timely", "traffic.0.connections=4, timely",
    }  # fmt: skip
    assert found.settings == (("cc.timely.t_high", "100us", "1ms"),)
    found = compare(tmp_path / "one", tmp_path / "more")
    assert found.missing == (
        ("traffic.0.connections=1, timely", "first"),
        ("traffic.0.connections=8, timely", "second"),
    )
    assert {change.verdict for change in found.changes} == {"equal"}


def test_the_command_says_what_changed(command: Command, places: dict[str, Path]) -> None:
    base, flows = str(places["base"]), str(places["flows"])
    done = command("compare", base, flows)
    assert done.code == 0, done.err
    assert "traffic.0.connections: 4 and 8" in done.out
    assert "First difference, seed 1: table" in done.out
    words = " ".join(done.out.split())
    assert "Paired t test over the seeds at 5%, p adjusted for the number of tests (Holm)" in words
    assert "rtt_mean_us" in done.out
    said = json.loads(command("compare", base, flows, "--json", "--test", "wilcoxon").out)
    assert said["test"] == "Wilcoxon's signed-rank test"
    assert all(math.isfinite(change["first"]) for change in said["changes"])
    assert "The tables of the first common seed are equal" in command("compare", base, base).out


def test_bad_input_is_one_sentence(command: Command, places: dict[str, Path]) -> None:
    base = str(places["base"])
    assert "no such directory" in command("compare", base, "nowhere").error
    assert "expected t or wilcoxon" in command("compare", base, base, "--test", "f").error
    assert "no figure of a run" in command("compare", base, base, "--metric", "x").error
    Path("empty").mkdir()
    assert "there is no run.json" in command("compare", "empty", base).error
    done = command("run", "incast", *SET, "--cc", "dctcp", "--seed", "9", "--out", "dctcp", "-q")
    assert done.code == 0
    assert "no run in common" in command("compare", base, "dctcp").error


def test_figures_that_are_known_by_bounds_are_shown_and_not_tested(tmp_path: Path) -> None:
    values: dict[str, list[dict[str, float | None]]] = {
        "a": [{"slowdown_p99": None, "slowdown_p99_bound": 9.0}, {"slowdown_p99": 8.0}],
        "b": [{"slowdown_p99": 4.0}, {"slowdown_p99": 5.0}],
        "c": [{"slowdown_p99": None, "slowdown_p99_bound": 2.0}] * 2,
    }
    sides = {
        name: changes.Side(tmp_path, "1", "", {"timely": dict(enumerate(own))}, lambda _: {})
        for name, own in values.items()
    }

    def change(first: str, second: str) -> changes.Change:
        (found,) = changes._changes(sides[first], sides[second], ["timely"], ["slowdown_p99"], "t")
        return found

    one = change("b", "a")
    assert (one.first, one.second, one.sides) == (4.5, 8.5, ("", "at least"))
    assert one.verdict == "bound"
    assert one.relative is None
    assert one.difference is not None
    assert (one.difference.mean, one.difference.side) == (4.0, "at least")
    both = change("c", "a")
    assert both.difference is None
    assert both.to_dict()["sides"] == ["at least", "at least"]
