"""Messages that are unfinished at the end of a run are counted, shown and told."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import incast
from conftest import Command
from incast.api.result import Results
from incast.figures import distributions, latency
from incast.results import measures
from incast.terminal import report
from synthetic import FakeRun, made_up


def messages(finished: int, under_way: int, elapsed_us: float = 3000.0) -> pl.DataFrame:
    """Message n takes n us, ten times its ideal; the others had been under way for so long."""
    took = [*map(float, range(1, finished + 1)), *[None] * under_way]
    rows = pl.DataFrame({"completion_us": took}, schema={"completion_us": pl.Float64})
    known = pl.col("completion_us").is_not_null()
    return rows.with_columns(
        traffic=pl.lit("rpc"),
        posted_us=pl.lit(2000.0),
        finished=known.cast(pl.UInt64),
        elapsed_us=pl.when(~known).then(elapsed_us),
        ideal_us=pl.lit(10.0),
        slowdown=pl.col("completion_us") / 10,
        host_us=pl.col("completion_us") / 10,
        network_us=pl.col("completion_us") * 0.9,
    )


def of(short: incast.Scenario, *tables: pl.DataFrame) -> incast.Result:
    """A result whose schemes have these tables of messages."""
    runs = {}
    for scheme, rows in zip(("timely", "dctcp"), tables, strict=False):
        held = made_up(short, scheme, messages=rows).runs[scheme]
        done = rows["completion_us"].drop_nulls()
        summary = {
            **held.summary, "messages": done.len(), "messages_posted": rows.height,
            "slowdown_mean": float(done.mean() or 0) / 10, "slowdown_p99": None,
            "slowdown_p99_bound": 300.0,
        }  # fmt: skip
        runs[scheme] = FakeRun(scheme, 1, summary=summary, tables=tuple(held.tables))  # type: ignore[arg-type]
    return incast.Result(short, tuple(runs), 1, runs)


def printed(result: incast.Result) -> str:
    out = Console(width=100, record=True, file=io.StringIO())
    report.print_comparison(out, result)
    return out.export_text()


def test_a_percentile_counts_what_had_not_finished(short: incast.Scenario) -> None:
    # Of 552, number ⌈0.99 · 552⌉ = 547 is one of the eleven that had not finished.
    (row,) = of(short, messages(541, 11)).traffic.to_dicts()
    assert (row["messages"], row["messages_posted"]) == (541, 552)
    assert row["completion_mean_us"] == 271
    assert (row["completion_p99_us"], row["completion_p99_bound_us"]) == (None, 3000)
    assert (row["slowdown_p99"], row["slowdown_p99_bound"]) == (None, 300)
    # With five it is number 541 of 546: of all, not of those that had finished (536).
    (row,) = of(short, messages(541, 5)).traffic.to_dicts()
    assert (row["completion_p99_us"], row["completion_p99_bound_us"]) == (541, None)
    assert measures.p99_slowdown(messages(541, 11), short) == (None, 300)


def test_a_bound_is_what_the_percentile_is_if_all_end_with_the_run(short: incast.Scenario) -> None:
    # Eleven that were posted 100.5 us before the end: 547 of 552 is then number 536 of those known.
    (row,) = of(short, messages(541, 11, elapsed_us=100.5)).traffic.to_dicts()
    assert row["completion_p99_bound_us"] == 536


def test_the_table_says_how_many_of_how_many(short: incast.Scenario) -> None:
    text = printed(of(short, messages(541, 11), messages(552, 0)))
    assert "541 of 552" in text
    assert "≥ 300" in text
    assert "finished" in text
    whole = printed(of(short, messages(552, 0)))
    assert " of 552" not in whole
    assert "finished" not in whole


def test_more_than_one_percent_is_told_with_the_remedy(short: incast.Scenario) -> None:
    few, many = messages(541, 5), messages(541, 11)
    (told,) = Results((of(short, many, few),)).unfinished
    assert told.startswith("traffic rpc: of the messages posted while measured")
    assert "2.0% under timely (11 of 552)" in told
    assert "dctcp" not in told
    assert "run.cooldown" in told
    assert told in of(short, many).warnings
    assert Results((of(short, few),)).unfinished == []


def test_a_run_that_was_stopped_is_not_told_of_its_traffic(short: incast.Scenario) -> None:
    stopped = of(short, messages(5, 11))
    run = stopped.runs["timely"]
    assert isinstance(run, FakeRun)
    runs = {"timely": FakeRun("timely", 1, complete=False, summary=run.summary, tables=run.tables)}
    assert Results((incast.Result(short, ("timely",), 1, runs),)).unfinished == []


def test_a_curve_ends_at_the_share_that_had_finished(short: incast.Scenario) -> None:
    result = of(short, messages(541, 11))
    (curve,) = result.figure("fct-cdf").axes[0].get_lines()
    assert curve.get_ydata()[-1] == pytest.approx(541 / 552)
    assert "beyond the end of a curve" in result.figure("fct-cdf").get_suptitle()
    (tail,) = result.figure("fct-ccdf").axes[0].get_lines()
    assert tail.get_ydata()[-1] == pytest.approx(11 / 552)
    values, below = distributions.of_samples(messages(99, 1))
    assert np.interp(50, values, below) == pytest.approx(0.5)


def test_parts_of_a_percentile_that_had_not_finished_are_not_known() -> None:
    rows = messages(541, 11)
    assert latency.parts(rows, 0.99) is None
    middle = latency.parts(rows, 0.5)
    assert middle is not None
    assert middle.host + middle.network == pytest.approx(276.5, abs=1)


def test_a_scheme_under_which_nothing_finished_is_named(short: incast.Scenario) -> None:
    figure = of(short, messages(552, 0), messages(0, 552)).figure("fct-cdf")
    (legend,) = figure.legends
    assert "dctcp: none" in [text.get_text() for text in legend.get_texts()]


def test_a_bin_whose_percentile_is_a_bound_has_an_arrow(short: incast.Scenario) -> None:
    fct = pl.DataFrame(
        {
            "traffic": "rpc", "size_from_bytes": [1000, 10_000], "size_to_bytes": [10_000, 10**6],
            "posted": 200, "finished": [200, 150], "slowdown_p50": 2.0,
            "slowdown_p50_bound": None, "slowdown_p99": [4.0, None],
            "slowdown_p99_bound": [None, 7.0],
        }
    )  # fmt: skip
    figure = made_up(short, "timely", fct=fct).figure("slowdown-by-size")
    (axes,) = figure.axes
    assert [note.xy[1] for note in axes.texts] == [7.0]  # type: ignore[attr-defined]
    assert "arrows: at least so much" in figure.get_suptitle()
    assert next(iter(axes.get_lines())).get_ydata().tolist() == [4, 7]


SCENARIO = """
title = "Messages that take too long"
[run]
duration = "1ms"
schemes = ["line-rate"]
[[network.star.hosts]]
name = "host"
count = 2
rate = "10Gbps"
delay = "1us"
[switch.pfc]
enabled = true
[[traffic]]
kind = "connections"
name = "bulk"
from = "host0"
to = "host1"
message = "1MB"
count = 4
every = "100us"
"""


def test_a_run_ends_with_a_warning(command: Command) -> None:
    # A message takes 0.83 ms of its link: the first is there after 1 ms, the others are not.
    Path("late.toml").write_text(SCENARIO)
    done = command("run", "late.toml", "--out", "out")
    assert done.code == 0
    assert "warning: traffic bulk: of the messages posted while measured" in done.err
    assert "75.0% under line-rate (3 of 4)" in done.err
    assert "1 of 4" in done.out
    assert "≥" in done.out
    read = json.loads(Path("out/run.json").read_text())
    measured = read["runs"][0]["measured"]
    assert (measured["messages"], measured["messages_posted"]) == (1, 4)
    assert measured["slowdown_p99"] is None
    assert measured["slowdown_p99_bound"] > 1
    assert read["traffic"][0]["messages_posted"] == 4
    assert "75.0% under line-rate" in read["warnings"][-1]
    shown = command("show", "out")
    assert shown.err == done.err
    rows = pl.read_parquet("out/messages.parquet")
    assert rows["finished"].to_list() == [1, 0, 0, 0]
    assert rows["completion_us"].null_count() == rows["elapsed_us"].drop_nulls().len() == 3


def test_time_to_finish_takes_the_warning_away(command: Command) -> None:
    Path("late.toml").write_text(SCENARIO)
    more = ("--set", "run.duration=5ms", "--set", "run.cooldown=4ms")
    done = command("run", "late.toml", "--out", "out", *more)
    assert done.err == ""
    assert " of 4" not in done.out
