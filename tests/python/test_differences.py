"""Differences between schemes, seed by seed."""

import json
from pathlib import Path

import polars as pl
import pytest

import incast
from conftest import RUN, Command
from incast.api.result import Results
from incast.figures import gallery
from incast.results import differences, pairs
from incast.results.seeds import spread, t95
from synthetic import FakeRun, made_up

SEEDS = ("--seed", "1", "--seed", "2", "--seed", "5")

Pair = tuple[incast.Result, incast.Result]
Values = dict[str, float | int | None]


def results(
    scenario: incast.Scenario, values: dict[str, dict[int, Values]], *stopped: tuple[str, int]
) -> Results:
    """Results of schemes by seed, with these summaries."""
    members = []
    for seed in sorted({seed for of_scheme in values.values() for seed in of_scheme}):
        runs = {
            scheme: FakeRun(scheme, seed, (scheme, seed) not in stopped, of_scheme[seed])
            for scheme, of_scheme in values.items()
            if seed in of_scheme
        }
        members.append(incast.Result(scenario, tuple(runs), seed, runs))
    return Results(tuple(members))


def rtt(*values: float, first: int = 1) -> dict[int, Values]:
    return {seed: {"rtt_mean_us": value} for seed, value in enumerate(values, first)}


def test_differences_are_paired_by_seed(short: incast.Scenario) -> None:
    # The seeds differ by hundreds, the schemes by -10, -12 and -14 in each: their mean is -12, s is
    # 2, and the interval 4.303 · 2 / √3. The means of the schemes are off by a hundred times that.
    both = results(short, {"timely": rtt(90, 488, 886), "dctcp": rtt(100, 500, 900)})
    (found,) = differences.differences(both, "dctcp")
    value = found.values["rtt_mean_us"]
    assert (found.scheme, found.baseline, found.seeds, found.left_out) == (
        "timely", "dctcp", (1, 2, 3), (),
    )  # fmt: skip
    assert value.mean == pytest.approx(-12)
    assert value.half_width == pytest.approx(4.303 * 2 / 3**0.5)
    assert found.relative("rtt_mean_us") == pytest.approx(-12 / 500)
    alone = both.cases[0].spread("rtt_mean_us")
    assert alone is not None
    assert alone.half_width is not None
    assert alone.half_width > 100 * value.half_width


def test_seeds_that_one_was_not_run_with_are_left_out(short: incast.Scenario) -> None:
    some = results(
        short,
        {"timely": rtt(9, 8, 7, 6), "dctcp": rtt(1, 2, 3, 4, first=2)},
        ("timely", 4),
    )
    (found,) = differences.differences(some, "dctcp")
    assert (found.seeds, found.left_out) == ((2, 3), (1, 4, 5))
    assert found.values["rtt_mean_us"].mean == pytest.approx((8 - 1 + 7 - 2) / 2)


def test_one_seed_has_a_difference_without_interval(short: incast.Scenario) -> None:
    (found,) = differences.differences(results(short, {"timely": rtt(9), "dctcp": rtt(4)}), "dctcp")
    assert found.values["rtt_mean_us"].mean == 5
    assert found.values["rtt_mean_us"].interval is None


def test_a_difference_of_bounds_is_a_bound(short: incast.Scenario) -> None:
    def p99(value: float | None, bound: float | None) -> dict[int, Values]:
        return {1: {"slowdown_p99": value, "slowdown_p99_bound": bound}}

    known, bounded = p99(4.0, None), p99(None, 9.0)
    for ours, theirs, said in (
        (bounded, known, (5.0, "at least")),
        (known, bounded, (-5.0, "at most")),
    ):
        (found,) = differences.differences(results(short, {"a": ours, "b": theirs}), "b")
        value = found.values["slowdown_p99"]
        assert (value.mean, value.side) == said
        assert found.relative("slowdown_p99") is None
    (found,) = differences.differences(results(short, {"a": bounded, "b": bounded}), "b")
    assert found.values == {}


def test_a_mean_of_bounds_is_a_bound(short: incast.Scenario) -> None:
    # The seed that is not known would be left out, and was the slowest.
    seeds: dict[int, Values] = {
        1: {"slowdown_p99": 4.0, "slowdown_p99_bound": None},
        2: {"slowdown_p99": None, "slowdown_p99_bound": 10.0},
    }
    found = results(short, {"timely": seeds}).cases[0].spread("slowdown_p99")
    assert found is not None
    assert (found.mean, found.side, found.interval) == (7.0, "at least", None)


def test_scenarios_are_not_paired_with_each_other(short: incast.Scenario) -> None:
    here, there = made_up(short, "timely", "dctcp"), made_up(incast.load("tcp-incast"), "cubic")
    found = differences.differences(Results((here, there)), "dctcp")
    assert [one.case for one in found] == ["timely, incast"]
    assert differences.without_baseline(Results((here, there)), "dctcp") == ["tcp-incast"]
    with pytest.raises(incast.ParameterError, match="no other scheme was run in its scenario"):
        differences.differences(Results((here, there)), "cubic")


def slowdowns(*values: float | None, late: float = 0.0) -> pl.DataFrame:
    """Messages with these slowdowns, posted one after the other."""
    count = len(values)
    return pl.DataFrame(
        {
            "traffic": "rpc", "flow": range(count), "message": 0, "bytes": 1000,
            "posted_us": [2000.0 + late + at for at in range(count)], "slowdown": values,
            "finished": [int(value is not None) for value in values],
        },
        schema_overrides={"slowdown": pl.Float64},
    )  # fmt: skip


def paired(short: incast.Scenario, seed: int, ours: pl.DataFrame, theirs: pl.DataFrame) -> Pair:
    return made_up(short, "timely", seed=seed, messages=ours), made_up(
        short, "dctcp", seed=seed, messages=theirs
    )


def test_messages_are_paired_one_by_one(short: incast.Scenario) -> None:
    # Twice as slow, four times, and half: 2 in the median, though the means are 5 and 34.
    first = paired(short, 1, slowdowns(2, 4, 50), slowdowns(1, 1, 100))
    (found,) = differences.differences(Results(first), "dctcp")
    assert found.slowdown_ratio is not None
    assert found.slowdown_ratio.median == pytest.approx(2)
    assert found.slowdown_ratio.messages == 3
    assert found.slowdown_ratio.interval is None
    # Under another seed eight times: the geometric mean of both is 4, and the interval is even
    # about it by factors, t · ln(8 / 2) / 2 up and down.
    second = paired(short, 2, slowdowns(8, 8), slowdowns(1, 1))
    (found,) = differences.differences(Results((*first, *second)), "dctcp")
    assert found.slowdown_ratio is not None
    assert found.slowdown_ratio.median == pytest.approx(4)
    low, high = found.slowdown_ratio.interval or (0, 0)
    assert (low > 0, high / 4) == (True, pytest.approx(4 / low))
    assert high / 4 == pytest.approx(2 ** t95(1))


def test_a_message_that_had_not_finished_is_the_slower_of_a_pair(short: incast.Scenario) -> None:
    def ratio(ours: pl.DataFrame, theirs: pl.DataFrame) -> pairs.SlowdownRatio | None:
        found = pairs.slowdown_ratio([paired(short, 1, ours, theirs)], "timely", "dctcp")
        assert found is None or found.interval is None
        return found

    # Endless, 3 and 2 times: 3. Of the last pair nothing is known.
    found = ratio(slowdowns(None, 3, 2, None), slowdowns(1, 1, 1, None))
    assert found is not None
    assert (found.median, found.messages) == (pytest.approx(3), 3)
    assert ratio(slowdowns(None, None), slowdowns(1, 1)) is None
    # Posted at other times, as in a closed loop, messages are not the same ones.
    assert ratio(slowdowns(2, 2, late=0.5), slowdowns(1, 1)) is None


def test_a_run_prints_differences_to_its_baseline(command: Command) -> None:
    done = command(*RUN, *SEEDS, "--baseline", "line-rate", "--out", "out")
    assert done.code == 0, done.err
    _, _, below = done.out.partition("Difference to line-rate, seed by seed")
    assert "timely" in below
    assert "Student's t" in below
    assert max(map(len, done.out.splitlines())) <= 100
    seeds = [f"out/seed-{seed}" for seed in (1, 2, 5)]
    assert done.out.startswith(command("show", *seeds, "--baseline", "line-rate").out)
    read = json.loads(command("show", *seeds, "--baseline", "line-rate", "--json").out)
    (row,) = read["differences"]
    assert (row["scheme"], row["baseline"], row["seeds"]) == ("timely", "line-rate", [1, 2, 5])
    pairs = [[run["measured"]["rtt_mean_us"] for run in one["runs"]] for one in read["results"]]
    expected = spread([timely - base for timely, base in pairs])
    assert expected is not None
    assert expected.interval is not None
    value = row["values"]["rtt_mean_us"]
    assert [value["low"], value["high"]] == pytest.approx(expected.interval)
    assert value["runs"] == 3
    assert value["relative"] == pytest.approx(expected.mean * 3 / sum(base for _, base in pairs))


def test_one_result_has_differences_too(command: Command) -> None:
    done = command(*RUN, "--baseline", "line-rate", "--json", "--out", "out")
    (row,) = json.loads(done.out)["differences"]
    assert row["values"]["rtt_mean_us"]["low"] is None
    text = command("show", "out", "--baseline", "line-rate").out
    assert "without interval" in " ".join(text.split())


def test_left_out_seeds_are_named(command: Command) -> None:
    command(*RUN, "--seed", "1", "--seed", "2", "--cc", "timely", "--out", "ours")
    command(*RUN, "--seed", "1", "--cc", "line-rate", "--out", "theirs")
    done = command("show", "ours/seed-1", "ours/seed-2", "theirs", "--baseline", "line-rate")
    assert "timely: left out is seed 2" in " ".join(done.out.split())


def test_plot_draws_differences(command: Command) -> None:
    command(*RUN, *SEEDS, "--out", "out", "-q")
    seeds = [f"out/seed-{seed}" for seed in (1, 2, 5)]
    chosen = ("--figure", "bars", "--baseline", "line-rate")
    assert command("plot", *seeds, *chosen).code == 0
    assert Path("figures/bars.png").exists()
    figure = gallery.draw("bars", incast.open_result(*seeds), "line-rate")
    assert "mean differences to line-rate, seed by seed" in figure.get_suptitle()
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["timely"]
    (rtt_panel,) = (axes for axes in figure.axes if axes.get_xlabel() == "mean RTT (us)")
    assert rtt_panel.patches[0].get_width() < 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*RUN, "--baseline", "line-rat"), "did you mean line-rate?"),
        ((*RUN, "--cc", "timely", "--baseline", "timely"), "there is no other scheme"),
        (("show", "RESULT", "--baseline", "timly"), "did you mean timely?"),
        (("plot", "RESULT", "--baseline", "timly"), "did you mean timely?"),
        (
            ("plot", "RESULT", "--figure", "queue", "--baseline", "timely"),
            "only the figure bars shows differences",
        ),
    ],
)
def test_a_baseline_that_is_none_is_refused(
    command: Command, result: incast.Result, arguments: tuple[str, ...], said: str
) -> None:
    result.write("RESULT")
    assert said in command(*arguments).error
    assert not Path("results").exists()
    assert not Path("figures").exists()


def test_what_cannot_be_negative_has_no_interval_below_zero(short: incast.Scenario) -> None:
    # Drops of 0 and 100: mean 50, half width 12.706 · 70.7 / √2, eleven times as much.
    drops: dict[int, Values] = {
        1: {"drops": 0, "jain_index": 0.9},
        2: {"drops": 100, "jain_index": 1},
    }
    case = results(short, {"timely": drops}).cases[0]
    found, jain = case.spread("drops"), case.spread("jain_index")
    assert found is not None
    assert jain is not None
    assert found.interval == pytest.approx((0, 50 + t95(1) * 50))
    assert jain.interval == pytest.approx((0.95 - t95(1) * 0.05, 1))
    # A difference may be below zero.
    none: dict[int, Values] = {1: {"drops": 0}, 2: {"drops": 0}}
    (less,) = differences.differences(results(short, {"a": none, "b": drops}), "b")
    interval = less.values["drops"].interval
    assert interval is not None
    assert interval[0] < -50
