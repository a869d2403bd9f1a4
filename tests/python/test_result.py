"""The tables of a result, and what goes into JSON."""

import dataclasses
import io
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import incast
from incast.results import comparison, measures
from incast.terminal import report
from synthetic import everything, made_up


def test_summary_has_a_row_for_each_scheme(result: incast.Result) -> None:
    assert result.summary["scheme"].to_list() == ["timely", "line-rate"]
    assert result.summary["complete"].to_list() == [True, True]
    assert (result.summary["throughput_gbps"] > 1).all()
    assert (result.summary["drops"] == 0).all()


def test_summary_has_what_was_published(result: incast.Result) -> None:
    row = result.summary.row(by_predicate=pl.col("scheme") == "line-rate", named=True)
    assert row["published_throughput_gbps"] == pytest.approx(19.5)
    assert row["published_rtt_mean_us"] == pytest.approx(658)
    assert row["published_rtt_p99_us"] == pytest.approx(1036)
    assert row["published_source"]


def test_tables_have_the_scheme_first(result: incast.Result) -> None:
    assert {"flows", "messages", "rtt_histogram", "queues", "links"} <= set(result.tables)
    assert {"series_queues", "series_flows"} <= set(result.tables)
    for name in result.tables:
        assert result.table(name).columns[0] == "scheme"


def test_tables_agree_with_the_summary(result: incast.Result) -> None:
    for scheme, run in result.runs.items():
        own = pl.col("scheme") == scheme
        flows = result.table("flows").filter(own)
        assert flows.height == 40
        total = math.fsum(flows["goodput_gbps"])
        assert total == pytest.approx(run.summary["throughput_gbps"], rel=0.01)
        counted = result.table("rtt_histogram").filter(own)["count"].sum()
        assert counted == run.summary["rtt_samples"]


def test_no_table_holds_nan(result: incast.Result) -> None:
    for name in result.tables:
        table = result.table(name)
        for column in table.select(pl.selectors.float()).columns:
            assert not table[column].is_nan().any(), f"{name}.{column}"


def test_every_column_has_a_meaning(result: incast.Result) -> None:
    for name, table in result.describe_tables().items():
        assert table["doc"], name
        assert list(table["columns"]) == result.table(name).columns
        for column, about in table["columns"].items():
            assert about["doc"], f"{name}.{column}"
            for suffix, unit in (("_us", "us"), ("_gbps", "Gb/s"), ("_kb", "KB")):
                if column.endswith(suffix):
                    assert about["unit"] == unit, f"{name}.{column}"


def test_an_unknown_table_names_those_there_are(result: incast.Result) -> None:
    with pytest.raises(KeyError, match="flows"):
        result.table("flow")


def test_json_is_the_summary(result: incast.Result) -> None:
    read = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert read["schemes"] == ["timely", "line-rate"]
    assert read["complete"] is True
    for row in read["runs"]:
        table = result.summary.row(by_predicate=pl.col("scheme") == row["scheme"], named=True)
        for key, value in row["measured"].items():
            assert table[key] == value
        for key, value in row["published"].items():
            assert table[f"published_{key}"] == value


def test_presets_of_one_algorithm_have_no_published_ratio(short: incast.Scenario) -> None:
    presets = incast.run(short, ["timely", "timely:zhu"])
    assert presets.ratios == []


def test_ratios_are_those_of_the_summary(result: incast.Result) -> None:
    timely, line_rate = result.summary.rows(named=True)
    mean, p99 = result.ratios
    assert (mean.key, p99.key) == ("rtt_mean_us", "rtt_p99_us")
    assert mean.measured == line_rate["rtt_mean_us"] / timely["rtt_mean_us"]
    assert mean.published == pytest.approx(658 / 61)
    assert p99.published == pytest.approx(1036 / 116)


@pytest.mark.parametrize(
    ("measured", "said"),
    [(4.0, "falls short by 60%"), (9.0, "falls short by 10%"), (9.95, "9.95"), (12.0, "12")],
)
def test_a_ratio_that_falls_short_says_so(measured: float, said: str) -> None:
    below, above = comparison.Pair(2.0, 4.0), comparison.Pair(2 * measured, 40.0)
    text = report.describe_ratio(
        comparison.Ratio("rtt_mean_us", "timely", "line-rate", below, above)
    )
    assert said in text
    assert "(published 10)" in text
    assert "timely 0.50" in text
    assert ("short" in text) == (measured < 9.9)


def test_a_preset_is_compared_with_its_algorithm(short: incast.Scenario) -> None:
    assert comparison.published(short, "timely:zhu") == short.published["timely"]
    assert comparison.published(short, "patched-timely") == {}


def test_a_stopped_result_has_its_tables_and_no_ratios(stopped: incast.Result) -> None:
    assert stopped.summary["complete"].to_list() == [False]
    assert stopped.ratios == []
    assert "flows" in stopped.tables
    assert json.dumps(stopped.to_dict(), allow_nan=False)


def test_the_cool_down_is_not_measured(short: incast.Scenario, tmp_path: Path) -> None:
    written = made_up(short, "timely").write(tmp_path / "out", figures=False)
    run = json.loads(written.run.read_text())
    written.run.write_text(json.dumps({**run, "cooldown_s": 2e-3}))
    read = incast.Result.read(written.directory)
    assert measures.window_us(read.scenario) == pytest.approx((1000, 3000))
    messages = pl.DataFrame({"posted_us": [999.0, 1000, 2999, 3000], "slowdown": [9.0, 1, 2, 9]})
    assert measures.p99_slowdown(messages, read.scenario) == (2, None)


def test_p99_is_that_of_nearest_rank(short: incast.Scenario) -> None:
    # Of 200 values in order, number 198: ⌈0.99 · 200⌉.
    messages = pl.DataFrame({"posted_us": 2000.0, "slowdown": np.arange(200, 0, -1.0)})
    assert measures.p99_slowdown(messages, short) == (198, None)
    assert measures.p99_slowdown(messages.head(0), short) == (None, None)


def test_the_slowdown_is_in_the_table_where_it_was_measured(short: incast.Scenario) -> None:
    out = Console(width=100, record=True, file=io.StringIO())
    report.print_comparison(out, made_up(short, "timely"))
    assert "slowdown" not in out.export_text()
    slow = everything(short, "timely", messages=10)
    slow.runs["timely"].summary.update(slowdown_p99=7.25, messages=10)  # type: ignore[attr-defined]
    report.print_comparison(out, slow)
    text = out.export_text()
    assert "slowdown" in text
    assert "7.25" in text


def test_the_table_shows_what_there_is_and_fits(short: incast.Scenario) -> None:
    plain = made_up(short, "timely:authors-snippet", "integral-timely")
    shown = table_of(plain)
    for heading in ("slowdown", "messages", "PFC", "ECN", "held", "dead-"):
        assert heading not in shown
    assert "Jain" in shown
    counts = dict.fromkeys(("messages", "pfc_pauses", "ecn_marks", "drops"), 123_456_789)
    found = {"pfc_watchdog_reports": 3, "deadlocks": 1, "slowdown_mean": 1.5, "slowdown_p99": 9.0}
    runs = {
        scheme: dataclasses.replace(run, summary={**run.summary, **counts, **found})
        for scheme, run in plain.runs.items()
    }
    result = dataclasses.replace(plain, runs=runs)
    for width in (80, 100):
        shown = table_of(result, width)
        for heading in ("slowdown", "messages", "PFC", "ECN", "held", "dead-", "drops"):
            assert heading in shown
        # What does not fit is in a second part; no number is cut, and no part without its scheme.
        assert shown.count("123456789") == 4 * len(result.schemes)
        assert shown.count("integral-timely") == shown.count("scheme") > 1
        assert max(map(len, shown.splitlines())) <= width
    assert "Jain" not in shown


def table_of(result: incast.Result, width: int = 100) -> str:
    out = Console(width=width, record=True, file=io.StringIO())
    report.print_comparison(out, result)
    # The remarks below are wrapped elsewhere.
    return out.export_text().split("In parentheses")[0].partition("\n")[2]


def test_each_traffic_has_its_row(short: incast.Scenario) -> None:
    # Of 200 messages that were posted while it was measured: mean 100.5, number 198 in order.
    count = 200
    late = pl.DataFrame({"posted_us": [0.0], "slowdown": [1e6], "completion_us": [1e6]})
    messages = pl.DataFrame(
        {
            "posted_us": 2000.0, "slowdown": np.arange(1.0, count + 1),
            "completion_us": np.arange(1.0, count + 1) * 2,
        }
    )  # fmt: skip
    messages = pl.concat([messages, late]).select(pl.lit("rpc").alias("traffic"), pl.all())
    requests = pl.DataFrame(
        {"traffic": "rpc", "posted_us": 2000.0, "completion_us": [30.0, 50.0, 70.0]}
    )
    result = made_up(short, "timely", "dctcp", messages=messages, requests=requests)
    assert result.traffic["scheme"].to_list() == ["timely", "dctcp"]
    assert result.traffic.row(0, named=True) == {
        "scheme": "timely", "traffic": "rpc", "messages": 200, "messages_posted": 200,
        "slowdown_mean": 100.5, "slowdown_p99": 198.0, "slowdown_p99_bound": None,
        "completion_mean_us": 201.0, "completion_p99_us": 396.0, "completion_p99_bound_us": None,
        "deadlines_met": None, "requests": 3, "requests_posted": 3, "request_mean_us": 50.0,
        "request_p99_us": 70.0, "request_p99_bound_us": None,
    }  # fmt: skip
    assert "request" in table_of(result)
    assert result.to_dict()["traffic"] == result.traffic.to_dicts()
    assert made_up(short, "timely").traffic.is_empty()


def test_messages_that_never_arrived_miss_their_deadlines(short: incast.Scenario) -> None:
    # Of "some" 30 of 56 arrived, one of them late; of "lost" none; the deadlines of "early" have
    # not passed, "none" has none, and connections that stay post no messages.
    met = [*[1.0] * 29, 0.0]
    messages = pl.DataFrame({"traffic": "some", "posted_us": 2000.0, "met_deadline": met})
    load = pl.DataFrame(
        {
            "traffic": ["lost", "some", "early", "none", "stay"], "posted": [9, 56, 3, 4, 0],
            "deadlines": [9, 50, 0, 0, 0], "deadlines_met": [0, 29, 0, 0, 0],
        }
    )  # fmt: skip
    rows = made_up(short, "timely", messages=messages, load=load).traffic
    assert rows.select("traffic", "messages", "deadlines_met").rows() == [
        ("lost", 0, 0.0), ("some", 30, 29 / 50), ("early", 0, None), ("none", 0, None),
    ]  # fmt: skip


def test_a_result_says_what_it_is_in_one_line(
    result: incast.Result, stopped: incast.Result, short: incast.Scenario
) -> None:
    assert repr(result) == "Result('incast', timely, line-rate, seed 1)"
    assert repr(stopped) == "Result('incast', timely, line-rate, seed 1, incomplete)"
    one = incast.Results((result,))
    assert repr(one) == f"Results({result!r})"
    both = incast.Results((result, made_up(short, "dctcp", seed=2)))
    assert repr(both).splitlines()[2] == "    Result('incast', dctcp, seed 2),"
    for shown in (result, one, both):
        assert "<table" in shown._repr_html_()
