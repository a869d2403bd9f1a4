"""Tunings: what is searched and found, constraints, what is kept, and what is said of bad input."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import incast
from conftest import Command
from incast import _core
from incast.api import tuning_plan, tuning_space
from incast.base import extras
from incast.results import goals
from incast.results.goals import Objective

ASSIGNMENTS = ("run.duration=20ms", "run.warmup=5ms")
OVER = ["t_high=50us..2ms", "t_low=5us..100us", "beta"]
LIMIT = "throughput_gbps >= 0.9 * best"


def scenario(name: str = "incast") -> incast.Scenario:
    return incast.load(name).with_set(*ASSIGNMENTS)


def tuned(out: Path, **options: Any) -> incast.Tuning:  # noqa: ANN401
    settings: dict[str, Any] = {
        "minimize": "rtt_p99_us", "subject_to": LIMIT, "over": OVER, "trials": 14, "batch": 4,
        "jobs": 1, **options,
    }  # fmt: skip
    return incast.tune(settings.pop("scenario", None) or scenario(), "timely", out=out, **settings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> incast.Tuning:
    return tuned(tmp_path_factory.mktemp("whole") / "tuning")


def files(out: Path) -> dict[str, bytes]:
    """The tables, and what the tuning says, but for what it says of time."""
    return {name: (out / name).read_bytes() for name in ("trials.parquet", "runs.parquet")}


def of(found: incast.Tuning) -> Path:
    assert found.directory is not None
    return found.directory


def test_the_first_trial_is_the_scheme_as_given_and_each_has_its_runs(
    whole: incast.Tuning,
) -> None:
    assert whole.complete
    assert whole.trials["trial"].to_list() == list(range(14))
    assert whole.trials["batch"].to_list() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 2
    first = whole.every[0]
    assert (first.scheme, first.settings) == (
        "timely", {"t_high": "100us", "t_low": "50us", "beta": "0.8"},
    )  # fmt: skip
    row = whole.trials.row(7, named=True)
    summary = incast.run(scenario(), row["scheme"], seed=1).runs[row["scheme"]].summary
    assert row["rtt_p99_us"] == summary["rtt_p99_us"]
    assert 50 <= row["t_high_us"] <= 2000
    assert 5 <= row["t_low_us"] <= min(100, row["t_high_us"])
    assert 0.08 <= row["beta"] <= 1


def test_the_best_is_the_best_of_those_that_hold_the_limits(whole: incast.Tuning) -> None:
    trials = whole.trials
    best = trials["throughput_gbps"].max()
    assert isinstance(best, float)
    holds = trials["throughput_gbps"] >= 0.9 * best
    assert trials["feasible"].to_list() == holds.to_list()
    assert not holds.all(), "all trials hold the limit: it decides nothing"
    found = whole.best
    assert found is not None
    assert found.values == (trials.filter(feasible=True)["rtt_p99_us"].min(),)
    assert trials.filter(front=True)["trial"].to_list() == [found.number]
    broken = trials.filter(feasible=False).row(0, named=True)
    assert broken["violation"] == pytest.approx(1 - broken["throughput_gbps"] / (0.9 * best))


def test_results_depend_neither_on_jobs_nor_on_how_far_a_tuning_went(
    whole: incast.Tuning, tmp_path: Path
) -> None:
    beside = tuned(tmp_path / "two", jobs=2)
    assert files(of(beside)) == files(of(whole))
    tuned(tmp_path / "longer", trials=6)
    assert files(of(tuned(tmp_path / "longer"))) == files(of(whole))
    other = tuned(tmp_path / "other", sampler_seed=1, trials=4)
    assert other.trials["t_high_us"][1] != whole.trials["t_high_us"][1]


def test_a_tuning_that_is_stopped_has_whole_batches_and_goes_on(
    whole: incast.Tuning, made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = _core.run

    def stopped(*arguments: Any, **options: Any) -> _core.Run:  # noqa: ANN401
        if len(made) == 7:
            raise KeyboardInterrupt
        return run(*arguments, **options)

    monkeypatch.setattr(_core, "run", stopped)
    with pytest.raises(incast.Interrupted) as interrupted:
        tuned(tmp_path / "out")
    found = interrupted.value.result
    assert isinstance(found, incast.Tuning)
    assert (len(found.every), found.complete) == (4, False)
    made.clear()
    monkeypatch.setattr(_core, "run", run)
    assert files(of(tuned(tmp_path / "out"))) == files(of(whole))
    assert len(made) == 14 - 6


def test_several_scenarios_are_combined_by_their_ratios_to_the_scheme_as_given(
    tmp_path: Path,
) -> None:
    both = [scenario(), scenario("tcp-incast")]
    found = tuned(
        tmp_path / "out", scenario=both, trials=5, seeds=[3, 5], subject_to=(),
        maximize="throughput_gbps", over=["beta", "startup=on,off"],
    )  # fmt: skip
    assert found.every[0].values == (1.0, 1.0)
    assert found.runs.height == 5 * 2 * 2
    means = found.runs.group_by("trial", "scenario").agg(pl.col("rtt_p99_us").mean())
    of_trial = {(trial, name): value for trial, name, value in means.iter_rows()}
    ratios = [of_trial[4, one.name] / of_trial[0, one.name] for one in both]
    assert found.trials["rtt_p99_us"][4] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    assert set(found.trials["startup"]) == {"on", "off"}
    pairs = [one.values for one in found.every if one.values is not None]
    for one in found.front:
        assert one.values in pairs
        assert not any(
            other[0] <= one.values[0] and other[1] >= one.values[1] and other != one.values
            for other in pairs
        )
    figure = found.figure("pareto")
    assert [text.get_text() for text in figure.legends[0].get_texts()][-2:] == ["as given", "front"]


def test_a_validation_runs_what_was_found_beside_presets_on_other_seeds(
    whole: incast.Tuning, tmp_path: Path
) -> None:
    found = tuned(of(whole), validate_seeds=[2, 3])
    assert whole.best is not None
    sweep = found.validation["incast"]
    assert sweep.schemes[:3] == (whole.best.scheme, "timely", "timely:zhu")
    assert sweep.seeds == (2, 3)
    assert sweep.complete
    assert_frame_equal(incast.Sweep.read(sweep.directory or tmp_path).runs, sweep.runs)


def test_where_no_trial_holds_the_limits_the_nearest_is_told(
    command: Command, tmp_path: Path
) -> None:
    words = [word for one in ASSIGNMENTS for word in ("--set", one)]
    done = command(
        "tune", "incast", *words, "--cc", "timely", "--minimize", "rtt_p99_us", "--subject-to",
        "rtt_mean_us <= 1", "--over", "t_high=100us..1ms", "--trials", "3", "--out", "out",
    )  # fmt: skip
    assert done.code == 1, done.err
    said = json.loads((tmp_path / "out" / "tuning.json").read_text())
    trials = pl.read_parquet(tmp_path / "out" / "trials.parquet")
    nearest = int(trials["violation"].arg_min() or 0)
    assert said["best"] is None
    assert said["nearest"]["trial"] == nearest
    assert f"No trial holds rtt_mean_us <= 1. The nearest is trial {nearest}, off by" in done.out
    assert (tmp_path / "out" / "figures" / "pareto.png").stat().st_size > 10_000


def test_the_command_prints_the_best_and_json_has_all(command: Command) -> None:
    words = [word for one in ASSIGNMENTS for word in ("--set", one)]
    line = [
        "tune", "incast", *words, "--cc", "timely", "--minimize", "rtt_p99_us", "--over",
        "t_high=50us..2ms", "--trials", "4", "--no-figures", "--validate-seeds", "2",
    ]  # fmt: skip
    done = command(*line)
    assert done.code == 0, done.err
    said = json.loads(command(*line, "--json").out)
    assert said["best"]["scheme"] in done.out
    assert "Validation: incast (2 seeds)" in done.out
    assert said["validation"]["incast"]["seeds"] == [2, 3]
    assert said["trials"] == {"planned": 4, "done": 4}
    assert Path("results/incast-tune-timely/tuning.json").is_file()


@pytest.mark.parametrize("name", [one.name for one in incast.algorithms()])
def test_every_algorithm_has_ranges_whose_values_it_takes(name: str) -> None:
    there = incast.load("tcp-incast")
    try:
        space = tuning_space.searched(there, name)
    except incast.ParameterError as error:
        assert "nothing to tune" in str(error)  # noqa: PT017 - line-rate has no parameter
        return
    for one in space:
        assert 0 < one.low < one.high
        texts = [one.text(value) for value in (one.low, one.high, (one.low * one.high) ** 0.5)]
        numbers = [one.number(text) for text in texts]
        assert numbers[:2] == [one.low, one.high]
        refused = 0
        for text in texts:
            try:
                there.check(tuning_space.with_settings(name, {one.name: text}))
            except incast.ParameterError as error:  # noqa: PERF203 - three of them
                refused += 1
                assert f"{one.name} =" in str(error)  # noqa: PT017 - and another one contradicts
                assert "must" in str(error)  # noqa: PT017
        assert refused < 3


BAD: list[tuple[dict[str, Any], str]] = [
    ({"trials": 0}, "trials 0: expected a number from 1 to"),
    ({"batch": 0}, "batch 0: expected a number from 1 to"),
    ({"minimize": ()}, "no objective: expected a figure to minimize or to maximize"),
    ({"minimize": "rtt_p98_us"}, "'rtt_p98_us' is no figure of a run; did you mean rtt_p99_us"),
    ({"maximize": "rtt_p99_us"}, "rtt_p99_us is an objective already; name it once"),
    ({"subject_to": "throughput <= 3"}, "'throughput' is no figure of a run; did you mean"),
    ({"subject_to": "throughput_gbps > 3"}, "throughput_gbps > 3: expected <= or >="),
    ({"subject_to": "throughput_gbps >= most"}, "expected a number of 0 or above, or one times"),
    ({"subject_to": "throughput_gbps >= 1.1 * best"}, "so no trial can hold it; take a factor of"),
    (
        {"subject_to": ["rtt_p99_us <= 10", "rtt_p99_us >= 20"]},
        "rtt_p99_us >= 20 and rtt_p99_us <= 10: no value of rtt_p99_us holds both",
    ),
    ({"over": ["t_hihg"]}, "over t_hihg: no parameter of timely; did you mean t_high"),
    ({"over": ["t_high=50us.."]}, "over t_high=50us..: an unbounded range; expected both ends"),
    ({"over": ["t_high=2ms..50us"]}, "expected a range that begins below its end"),
    ({"over": ["t_high=1us..10s"]}, "over t_high=1us..10s: expected a range within 1ns to 1s"),
    ({"over": ["t_high=1MB..2MB"]}, "over t_high=1MB..2MB: expected a time, such as 100us"),
    ({"over": ["window"]}, "over window: 0ps has no range round it; name one"),
    ({"over": ["startup=on,of"]}, 'over startup=on,of: startup = "of" is not one of on, off'),
    ({"over": ["beta", "beta=0.1..0.2"]}, "over beta: named twice; a parameter has one range"),
    ({"validate_seeds": [1, 2]}, "validate_seeds 1: the tuning has seen this seed of incast"),
    ({"scenario": []}, "no scenario: expected one to tune in, or several"),
    ({"minimize": "slowdown_p99"}, "slowdown_p99: no run of timely in incast has this figure"),
    ({"jobs": 2, "scheduler": "tcp://127.0.0.1:1"}, "jobs 2 and scheduler tcp://127.0.0.1:1: a"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[text[:40] for _, text in BAD])
def test_bad_input_gets_one_sentence(
    options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    given = {"scenario": scenario(), "cc": "timely", **options}
    aims = {"minimize": "rtt_p99_us", "trials": 2, **given}
    with pytest.raises(incast.ParameterError) as error:
        incast.tune(**aims, out=tmp_path / "out")
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_refuses_on_one_line(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["tune", "incast", "--cc", "timely", "--minimize", "rtt_p99_us"]
    assert "--trials 0: expected a number from 1" in command(*line, "--trials", "0").error
    assert 'unknown algorithm "timley"' in command(*line[:3], "timley", *line[4:]).error
    monkeypatch.setitem(extras._MODULES, "tune", ("optuna", "no_such_module"))
    assert command(*line).error == (
        "error: tunings need no_such_module, which is not installed: pip install 'incast[tune]'\n"
    )


def test_limits_follow_the_best_value_and_the_defaults() -> None:
    (one,) = goals.constraints("throughput_gbps >= 0.5 * best")
    assert one.limit(3.0, [1.0, 8.0, 2.0]) == 4.0
    (one,) = goals.constraints("rtt_p99_us <= best * 2")
    assert one.limit(3.0, [1.0, 8.0, 2.0]) == 2.0
    (one,) = goals.constraints("rtt_p99_us <= 1.5*defaults")
    assert one.limit(4.0, [1.0]) == 6.0
    assert one.violation(9.0, 6.0) == pytest.approx(0.5)
    (one,) = goals.constraints("drops <= 0")
    assert (one.violation(3.0, 0.0), one.violation(0.0, 0.0)) == (3.0, 0.0)


def test_what_is_as_good_and_better_by_one_dominates() -> None:
    aims = [Objective("rtt_p99_us"), Objective("throughput_gbps", maximize=True)]
    assert goals.dominates((1.0, 5.0), (2.0, 5.0), aims)
    assert not goals.dominates((1.0, 5.0), (1.0, 5.0), aims)
    assert not goals.dominates((1.0, 4.0), (2.0, 5.0), aims)


def test_values_contradict_each_other_in_no_trial(whole: incast.Tuning) -> None:
    plan = tuning_plan.planned([scenario()], "timely", minimize="rtt_p99_us", over=OVER)
    assert not plan.fits("timely[t_high=60us,t_low=90us,beta=0.5]")
    assert all(plan.fits(one.scheme) for one in whole.every)
