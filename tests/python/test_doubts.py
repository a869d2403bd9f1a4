"""Doubts that are shown and told: unfinished messages, bounds, runs not at rest."""

import io
import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import incast
from conftest import Command
from incast.api.result import Results
from incast.figures import distributions, latency
from incast.results import doubts, measures, seeds, sweeps
from incast.results.axes import Axis, points
from incast.results.study_files import Outcome, StudyFolder
from incast.terminal import numbers, report
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
    (told,) = Results((of(short, many, few),)).doubts
    assert told.startswith("traffic rpc: of the messages posted while measured")
    assert "2.0% under timely (11 of 552)" in told
    assert "dctcp" not in told
    assert "run.cooldown" in told
    assert told in of(short, many).warnings
    assert Results((of(short, few),)).doubts == []


def test_a_run_that_was_stopped_is_not_told_of_its_traffic(short: incast.Scenario) -> None:
    stopped = of(short, messages(5, 11))
    run = stopped.runs["timely"]
    assert isinstance(run, FakeRun)
    runs = {"timely": FakeRun("timely", 1, complete=False, summary=run.summary, tables=run.tables)}
    assert Results((incast.Result(short, ("timely",), 1, runs),)).doubts == []


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


def test_a_sweep_shows_a_figure_of_which_all_values_are_bounds(command: Command) -> None:
    Path("late.toml").write_text(SCENARIO)
    done = command(
        "sweep", "late.toml", "--vary", "transport.segment=16KB,32KB", "--metric", "slowdown_p99",
        "--out", "sweep", "--seeds", "2",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert re.search(r"16KB +line-rate +≥ \d", done.out), done.out
    assert "at least" not in done.out
    found = incast.Sweep.read("sweep")
    assert "slowdown_p99" in found.usual_metrics
    assert found.summary.filter(metric="slowdown_p99")["side"].to_list() == ["at least"] * 2
    (axes,) = found.figure("slowdown_p99").axes
    open_ones = [line for line in axes.get_lines() if line.get_fillstyle() == "none"]
    assert len(open_ones) == len(axes.texts) == 2
    assert not any(
        area.get_paths()[0].vertices.size for area in axes.collections if area.get_paths()
    )


def test_what_was_asked_for_is_shown_even_if_no_run_has_it(command: Command) -> None:
    Path("late.toml").write_text(SCENARIO)
    done = command(
        "sweep", "late.toml", "--metric", "late_mean_us", "--metric", "drops", "--out", "sweep",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "late_mean" in done.out
    assert "note: late_mean_us: no run has a value of it, or a bound" in done.err
    assert [path.name for path in Path("sweep/figures").glob("*.png")] == ["drops.png"]


def test_a_band_is_left_out_where_a_mean_is_a_bound() -> None:
    axis = Axis(("run.seed",), (("1",), ("2",), ("3",)))
    values: list[list[dict[str, float | None]]] = [
        [{"slowdown_p99": 4.0 + seed} for seed in range(2)],
        [{"slowdown_p99": 6.0 + seed} for seed in range(2)],
        [{"slowdown_p99": None, "slowdown_p99_bound": 9.0}, {"slowdown_p99": 8.0}],
    ]
    rows = [
        sweeps.Row(point, "timely", seed, f"{seed}", None, values[point.number][seed])
        for point in points((axis,))
        for seed in range(2)
    ]
    runs = sweeps.dataset((axis,), rows)
    found = incast.Sweep("made up", "made up", (axis,), ("timely",), (0, 1), runs)
    (axes,) = found.figure("slowdown_p99").axes
    (band,) = axes.collections
    assert {x for path in band.get_paths() for x in path.vertices[:, 0]} == {1, 2}  # type: ignore[index]
    assert [note.xy for note in axes.texts] == [(3.0, 8.5)]  # type: ignore[attr-defined]
    assert axes.get_lines()[0].get_markevery() == [0, 1]
    assert "open markers with arrows: at least so much" in found.figure("slowdown_p99").get_label()


def test_numbers_show_bounds_in_one_way() -> None:
    at_least = seeds.spread([(10.9, math.inf)])
    at_most = seeds.spread([(-math.inf, 3.0)])
    assert at_least is not None
    assert at_most is not None
    assert [numbers.measured(one) for one in (at_least, at_most)] == ["≥ 10.90", "≤ 3"]
    assert numbers.measured(at_least, signed=True) == "≥ +10.90"


@pytest.mark.parametrize("way", ["sweep", "saturate", "tune"])
def test_studies_warn_as_a_run_does_once_for_each_cause(command: Command, way: str) -> None:
    Path("late.toml").write_text(
        SCENARIO.replace("""kind = "connections"
name = "bulk"
from = "host0"
to = "host1"
message = "1MB"
count = 4
every = "100us"
""", """kind = "poisson"
name = "bulk"
from = "host"
load = 0.9
sizes = { fixed = "1MB" }
""").replace("schemes = [\"line-rate\"]", "schemes = [\"timely\"]"))  # fmt: skip
    run = command("run", "late.toml", "--out", "out")
    told = [line for line in run.err.splitlines() if "traffic bulk" in line]
    assert len(told) == 1
    begin, end = told[0].split(" under timely")[0].rpartition(": ")[0], told[0].split("; ")[1]
    arguments = {
        "sweep": ("--vary", "transport.segment=16KB,32KB"),
        "saturate": ("--from", "0.8", "--to", "0.9"),
        "tune": ("--cc", "timely", "--minimize", "rtt_p99_us", "--over", "beta", "--trials", "3"),
    }  # fmt: skip
    done = command(way, "late.toml", *arguments[way], "--out", way, "--json", "--jobs", "1")
    lines = [line for line in done.err.splitlines() if line.startswith(begin)]
    assert len(lines) == 1, done.err
    assert all(end in line for line in lines)
    said = json.loads(done.out)["warnings"]
    assert f"warning: {said[-1]}" in lines


def halves(*means: float, end_us: float = 5000.0) -> dict[str, pl.DataFrame]:
    """Two flows without end, and a queue, whose means are these one after the other."""
    count = 40
    values = [float(means[place * len(means) // count]) for place in range(count)]
    time = [end_us * (place + 1) / count for place in range(count)]
    flows = [
        pl.DataFrame({"time_us": time, "flow": [flow] * count, "goodput_gbps": values})
        for flow in range(2)
    ]
    return {
        "flows": pl.DataFrame({"flow": [0, 1], "start_us": [0.0, 10.0]}),
        "series_flows": pl.concat(flows),
        "series_queues": pl.DataFrame(
            {"time_us": time, "port": "tor->server", "queue_mean_kb": [10 * one for one in values]}
        ),
    }


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ((9, 5, 5, 5, 5), []),  # what happens in the warm-up is not measured
        ((5, 1, 2, 3, 4), ["3 to 7 Gb/s under timely (+133%)", "15 to 35 KB under timely (+"]),
        ((5, 4, 4, 3.7, 3.7), ["8 to 7.4 Gb/s under timely (-7%)"]),  # the queue by less than 25 %
        ((5, 4, 4, 3.9, 3.9), []),  # less than 5 %
        ((5, *[1, 9] * 16), []),  # it swings, and the halves are alike
    ],
)  # fmt: skip
def test_a_run_that_has_not_come_to_rest_is_told(
    short: incast.Scenario, means: tuple[float, ...], told: list[str]
) -> None:
    found = made_up(short, "timely", **halves(*means)).doubts
    assert len(found) == len(told)
    for sentence, numbers_of in zip(found, told, strict=True):
        assert f"from {numbers_of}" in sentence
        assert "measure later with run.warmup" in sentence


def test_changes_that_a_scenario_makes_are_no_unrest(short: incast.Scenario) -> None:
    tables = halves(5, 1, 2, 3, 4)
    assert made_up(short, "timely", **tables).doubts
    later = short.with_set("traffic.0.start=2ms")
    assert not made_up(later, "timely", **tables).doubts
    late = tables | {"flows": pl.DataFrame({"flow": [0, 1], "start_us": [0.0, 3000.0]})}
    assert not made_up(short, "timely", **late).doubts
    of_messages = messages(2, 0).with_columns(flow=pl.Series([0, 1]), posted_us=pl.lit(0.0))
    assert not made_up(short, "timely", **tables, messages=of_messages).doubts


def test_an_incast_that_is_cut_short_is_told_and_the_whole_one_is_not() -> None:
    cut = incast.load("incast").with_set("run.duration=60ms", "run.warmup=20ms")
    result = incast.run(cut, "timely")
    (told,) = result.doubts
    assert told.startswith("flows: their rate together has not come to rest")
    assert told in result.warnings
    assert incast.run("incast").doubts == []


def test_a_lossless_class_that_drops_is_told_with_the_headroom_that_would_do(
    command: Command,
) -> None:
    rows = pl.DataFrame(
        {"port": ["tor->a", "tor->b"], "class": "data", "drops": [40, 60], "headroom_kb": 3.0,
         "needed_kb": [14.3, 16.54]}
    )  # fmt: skip
    short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
    (told,) = made_up(short, "timely", lossless_drops=rows).doubts
    assert "class data" in told
    assert "100 packets under timely, most at tor->b; its headroom there is 3 KB" in told
    assert 'or raise it to "16.6KB"' in told
    tight = ("--set", "switch.pfc.headroom=3KB", "--set", "run.duration=5ms", "--set",
             "run.warmup=1ms")  # fmt: skip
    done = command("run", "incast", "--cc", "line-rate", *tight, "--out", "out")
    (line,) = [line for line in done.err.splitlines() if "class data: PFC" in line]
    enough = re.search(r'raise it to "(.*)"', line)
    assert enough is not None
    done = command("run", "incast", "--cc", "line-rate", *tight, "--set",
                   f"switch.pfc.headroom={enough[1]}", "--out", "out")  # fmt: skip
    assert "class data" not in done.err


def test_sentences_that_differ_in_numbers_are_of_one_cause() -> None:
    texts = [("a=1", "timely: 5 us is below 6"), ("a=2", "timely: 7 us is below 8"), ("a=3", ""),
             ("a=1", "no PFC"), ("a=2", "no PFC"), ("a=3", "no PFC")]  # fmt: skip
    assert doubts.once(texts) == [
        "timely: 5 us is below 6 (at a=1, and at 1 more point)", "no PFC",
    ]  # fmt: skip


def test_seeds_are_judged_together() -> None:
    def seen(first: float, second: float) -> doubts.Doubts:
        return (
            {"type": "halves", "figure": "rate", "first": first, "second": second, "error": 0.1},
        )

    assert doubts.sentences([("", {"timely": [seen(10, 8)]})])
    assert not doubts.sentences([("", {"timely": [seen(10, 8), seen(8, 10)]})])


def test_the_drain_that_is_named_does_and_its_limit_is_told(command: Command) -> None:
    Path("late.toml").write_text(SCENARIO)
    done = command("run", "late.toml", "--out", "out")
    named = re.search(r'by what is left .* some (.*) more: set run.drain to "(.*)", or', done.err)
    assert named is not None, done.err
    # 2.8 MB are left, and the link carries some 9.7 Gb/s of payload.
    assert (named[1], named[2]) == ("2.3ms", "4.6ms")
    drained = command("run", "late.toml", "--set", f"run.drain={named[2]}", "--out", "drained")
    assert (drained.code, drained.err) == (0, "")
    read = json.loads(Path("drained/run.json").read_text())
    assert read["drain_s"] == 0.0046
    measured = read["runs"][0]["measured"]
    assert measured["messages"] == measured["messages_posted"] == 4
    assert 0.0032 < measured["simulated_s"] < 0.0034
    short = command("run", "late.toml", "--set", "run.drain=100us", "--out", "short")
    lines = [line for line in short.err.splitlines() if line.startswith("warning: run.drain")]
    assert len(lines) == 1
    assert "at its end after 100us messages were still under way: 3 under line-rate" in lines[0]
    assert 'raise run.drain to "4.5ms"' in lines[0]
    assert command("show", "short").err == short.err


def test_numbers_that_nothing_is_doubted_by_are_of_a_damaged_file(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path, "sweep")
    folder.claim()
    seen: doubts.Doubts = ({"type": "limit", "left": 3, "drain_us": 100.0, "left_us": None},)
    for key in ("whole", "damaged"):
        folder.put(key, "timely", 1, Outcome({"drops": 0}, doubts=seen))
    file = tmp_path / "runs" / "damaged.json"
    file.write_text(file.read_text().replace('"left":3', '"left":-3'))
    assert folder.kept(["whole", "damaged"]) == {"whole": Outcome({"drops": 0}, doubts=seen)}
