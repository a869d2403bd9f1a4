"""The ideal of a run's messages: its table, grey lines in figures, cases of experiments."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import incast
from incast.reproduce import driver, ideals
from incast.reproduce.experiment import SpecError
from incast.reproduce.spec import load

EXPERIMENT = """
title = "The ideal"
place = "nowhere"
about = "A star at two loads."
scenario = "star.toml"
columns = ["slowdown_mean", "taken_us", "queue_us"]

[axis]
name = "load"
values = [0.3, 0.6]
set = ["traffic.0.load={}"]

[[case]]
name = "timely"
scheme = "timely"

[[case]]
name = "fluid"
scheme = "timely"
ideal = "fluid"

[[case]]
name = "bound"
scheme = "timely"
ideal = "srpt"

[measure.taken_us]
sql = "SELECT AVG(completion_us) FROM messages"

[measure.queue_us]
sql = "SELECT MAX(mean_kb) FROM queues"

[curve.taken]
sql = "SELECT completion_us AS x, 1 AS y FROM messages"

[[figure]]
name = "taken"
kind = "lines"
columns = ["taken_us"]

[[figure]]
name = "all"
kind = "cdf"
curve = "taken"

[[claim]]
says = "No scheme is below the bound"
ours = "it is one"
value = "least(timely.taken_us / bound.taken_us)"
at_least = 1
"""
STAR = """
title = "A star"
[run]
duration = "30ms"
cooldown = "28ms"
schemes = ["timely", "dctcp"]
[network.star]
hosts = [{ name = "h", count = 6, rate = "10Gbps", delay = "1us" }]
[[traffic]]
kind = "poisson"
from = "h"
to = "h"
load = 0.6
stop = "2ms"
sizes = "web-search"
"""


@pytest.fixture(scope="module")
def result() -> incast.Result:
    return incast.run(incast.Scenario.parse(f"{STAR}[measure]\nideal = true\n", "star.toml"))


def test_the_table_has_every_message_and_a_bound_of_each_scheme(result: incast.Result) -> None:
    ideal, messages = result.table("ideal"), result.table("messages")
    assert ideal.select("scheme", "flow", "message", "bytes", "posted_us", "ideal_us").equals(
        messages.select("scheme", "flow", "message", "bytes", "posted_us", "ideal_us")
    )
    means = ideal.group_by("scheme").agg(pl.col("fluid_us", "greedy_us", "srpt_us").mean())
    taken = messages.group_by("scheme").agg(pl.col("completion_us").mean())
    assert messages["finished"].min() == 1
    for row in means.join(taken, on="scheme").iter_rows(named=True):
        assert row["srpt_us"] <= row["greedy_us"] <= row["completion_us"]
        assert row["srpt_us"] <= row["fluid_us"]


@pytest.mark.parametrize("name", ["fct-cdf", "fct-ccdf", "fct-by-size", "slowdown-by-size"])
def test_figures_have_two_grey_lines_where_the_table_is(result: incast.Result, name: str) -> None:
    figure = result.figure(name)
    labels = [line.get_label() for axes in figure.axes for line in axes.get_lines()]
    assert sum(str(label).startswith("ideal: ") for label in labels) == 2
    (legend,) = figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert sum(text.startswith("ideal: ") for text in shown) == 2
    assert "grey: the ideal of the messages of timely" in str(figure.get_label())


INCAST = """
[[traffic]]
kind = "incast"
name = "incasts"
from = "h"
to = "h0"
load = 0.2
senders = 3
size = "20KB"
stop = "2ms"
"""


@pytest.fixture(scope="module")
def with_requests() -> incast.Result:
    small = STAR.replace('"web-search"', '{ fixed = "20KB" }')
    return incast.run(incast.Scenario.parse(f"{small}{INCAST}[measure]\nideal = true\n", "i.toml"))


def lines(figure: Figure) -> dict[str, list[float]]:
    """Where the lines of the ideal begin on the x axis, by label, panel by panel."""
    found: dict[str, list[float]] = {}
    for axes in figure.axes:
        for line in axes.get_lines():
            if (label := str(line.get_label())).startswith("ideal: "):
                found.setdefault(label, []).append(float(np.asarray(line.get_xdata())[0]))
    return found


def test_requests_are_drawn_with_the_ends_of_their_last_messages(
    with_requests: incast.Result,
) -> None:
    requests = with_requests.table("requests").filter(pl.col("scheme") == "timely")
    drawn = lines(with_requests.figure("request-cdf"))
    for label, column in (("ideal: fluid max-min", "fluid_us"), ("ideal: greedy", "greedy_us")):
        assert requests[column].null_count() == 0
        assert drawn[label] == [requests[column].min()]


def test_bars_have_the_ideal_across_them(with_requests: incast.Result) -> None:
    ideal = with_requests.table("ideal").filter(pl.col("scheme") == "timely")
    slowdown = ideal["greedy_us"] / ideal["ideal_us"]
    p99 = slowdown.sort()[math.ceil(0.99 * ideal.height) - 1]
    drawn = lines(with_requests.figure("bars"))["ideal: greedy"]
    assert drawn == pytest.approx([slowdown.mean(), p99])
    drawn = lines(with_requests.figure("rpc-latency"))["ideal: fluid max-min"]
    for traffic, median, p99 in zip(
        ideal["traffic"].unique(maintain_order=True), drawn[::2], drawn[1::2], strict=True
    ):
        own = ideal.filter(pl.col("traffic") == traffic)["fluid_us"].sort()
        ranks = [math.ceil(fraction * own.len()) - 1 for fraction in (0.5, 0.99)]
        assert [median, p99] == [own[rank] for rank in ranks]


def test_sweeps_have_it_over_an_axis(tmp_path: Path) -> None:
    scenario = incast.Scenario.parse(f"{STAR}[measure]\nideal = true\n", "star.toml")
    found = incast.sweep(
        scenario, ["timely", "dctcp"], vary={"traffic.0.load": [0.3, 0.6]}, out=tmp_path / "sweep"
    )
    runs = found.runs
    assert runs["greedy_slowdown_mean"].null_count() == 0
    assert (runs["greedy_slowdown_mean"] <= runs["slowdown_mean"]).all()
    drawn = [
        line
        for line in found.figure("slowdown_p99").axes[0].get_lines()
        if str(line.get_label()) == "ideal: greedy"
    ]
    assert np.asarray(drawn[0].get_ydata()).tolist() == pytest.approx(
        runs.filter(pl.col("scheme") == "timely")["greedy_slowdown_p99"].to_list()
    )
    assert not lines(found.figure("throughput_gbps"))
    plain = incast.sweep(
        incast.Scenario.parse(STAR, "star.toml"), ["timely"], out=tmp_path / "plain"
    )
    assert "greedy_slowdown_mean" not in plain.runs.columns


def test_a_run_that_does_not_ask_has_neither(result: incast.Result) -> None:
    plain = incast.run(incast.Scenario.parse(STAR, "star.toml"), "timely")
    assert "ideal" not in plain.tables
    mine = result.table("messages").filter(pl.col("scheme") == "timely")
    assert plain.table("messages").equals(mine)
    figure = plain.figure("fct-cdf")
    assert "ideal" not in str([line.get_label() for line in figure.axes[0].get_lines()])


def test_a_case_is_the_ideal_of_its_run(tmp_path: Path) -> None:
    small = STAR.replace('"web-search"', '{ fixed = "20KB" }')
    (tmp_path / "star.toml").write_text(small)
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    (outcome,) = driver.reproduce([load(tmp_path / "mine.toml")], tmp_path / "out", jobs=1)
    for load_ in (0.3, 0.6):
        taken = {
            case: outcome.values(case, load_, "taken_us")[0]
            for case in ("timely", "fluid", "bound")
        }
        assert all(isinstance(value, float) for value in taken.values())
        # Max-min is no bound: of equal messages, a scheme that serves one by one has a lower mean.
        assert taken["bound"] < taken["timely"]  # type: ignore[operator]
        assert taken["bound"] < taken["fluid"]  # type: ignore[operator]
        assert taken["fluid"] != taken["timely"]
        assert outcome.values("fluid", load_, "queue_us") == [None]
        slowdown = outcome.values("fluid", load_, "slowdown_mean")[0]
        assert slowdown is not None
        assert slowdown >= 1
    assert [verdict.keeps for verdict in outcome.verdicts] == [True]
    assert (tmp_path / "out" / outcome.experiment.name / "taken.svg").exists()


def test_an_ideal_that_is_not_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(EXPERIMENT.replace('"srpt"', '"best"'))
    with pytest.raises(SpecError, match="Invalid enum value 'best'"):
        load(path)
    path.write_text(
        EXPERIMENT.replace(
            'scheme = "timely"\nideal = "srpt"', 'fluid = { model = "timely" }\nideal = "srpt"'
        )
    )
    with pytest.raises(SpecError, match="of the messages of a run; expected the scheme"):
        load(path)


def test_what_never_ends_in_a_reference_has_not_finished() -> None:
    messages = pl.DataFrame(
        {
            "flow": [0, 1], "message": [0, 0], "bytes": [10, 20], "delivered_bytes": [10, 5],
            "posted_us": [1.0, 2.0], "first_sent_us": [1.0, 2.0], "finished": [1, 0],
            "completed_us": [5.0, None], "completion_us": [4.0, None], "elapsed_us": [None, 9.0],
            "host_us": [1.0, 0.0], "network_us": [3.0, None], "ideal_us": [1.0, 2.0],
            "slowdown": [4.0, None], "deadline_us": [3.0, 3.0], "met_deadline": [0.0, 0.0],
        }
    )  # fmt: skip
    ideal = pl.DataFrame({"flow": [0, 1], "message": [0, 0], "fluid_us": [2.0, None]})
    queues = pl.DataFrame({"mean_kb": [1.0]})
    found = ideals.tables({"messages": messages, "ideal": ideal, "queues": queues}, "fluid")
    own = found["messages"].to_dict(as_series=False)
    assert own["completion_us"] == [2.0, None]
    assert own["completed_us"] == [3.0, None]
    assert own["finished"] == [1, 0]
    assert own["delivered_bytes"] == [10, 0]
    assert own["elapsed_us"] == [None, 9.0]
    assert own["slowdown"] == [2.0, None]
    assert own["met_deadline"] == [1.0, None]
    series = ideals.tables(
        {
            "messages": messages, "ideal": ideal,
            "series_queues": pl.DataFrame({"time_us": [1.0, 2.0], "mean_kb": [3.0, 4.0]}),
            "requests": messages.select(
                "posted_us", "finished", "completed_us", "completion_us", "elapsed_us",
                fluid_us=pl.lit(7.0),
            ),
        },
        "fluid",
    )  # fmt: skip
    assert series["series_queues"].to_dict(as_series=False) == {
        "time_us": [1.0, 2.0], "mean_kb": [None, None],
    }  # fmt: skip
    assert series["requests"]["completed_us"].to_list() == [8.0, 9.0]
    assert found["queues"].is_empty()
    assert not queues.is_empty()
