"""Iterations of a collective: a line for each scheme says how long they took and who was last."""

import io
import json
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import incast
from incast.results import iterations
from incast.terminal import report
from incast.traces import exporting
from synthetic import made_up


def rows(*took: float | None) -> pl.DataFrame:
    """Iterations that began while measured; the last host is called after the iteration."""
    table = pl.DataFrame({"duration_us": took}, schema={"duration_us": pl.Float64})
    known = pl.col("duration_us").is_not_null()
    return table.with_row_index("iteration").with_columns(
        traffic=pl.lit("training"),
        start_us=pl.lit(2000.0),
        finished=known.cast(pl.UInt64),
        elapsed_us=pl.when(~known).then(3000.0),
        last_host=pl.format("h{}", "iteration"),
        after_median_us=pl.when(known).then(300.0),
    )


def line(result: incast.Result) -> str:
    out = Console(width=140, record=True, file=io.StringIO())
    report.print_comparison(out, result)
    (found,) = (one for one in out.export_text().splitlines() if one.startswith("iterations"))
    return found


@pytest.mark.parametrize(
    ("took", "said"),
    [
        ((4000, 4900, 500), "3, p50 4.00 ms, max 4.90 ms, last host h1 (+300 us after the median)"),
        (
            (4900, 4000, None),
            (
                "2 of 3, p50 4.90 ms, max ≥ 4.90 ms; of the longest that ended, last host h0 "
                "(+300 us after the median)"
            ),
        ),
        ((None,), "0 of 1, p50 ≥ 3.00 ms, max ≥ 3.00 ms"),
    ],
)
def test_a_line_says_how_long_they_took(
    short: incast.Scenario, took: tuple[float | None, ...], said: str
) -> None:
    result = made_up(short, "timely", iterations=rows(*took))
    assert line(result) == f"iterations  training, timely: {said}"


def test_iterations_before_the_measurement_do_not_count(short: incast.Scenario) -> None:
    early = rows(4000, 9000).with_columns(start_us=pl.Series([2000.0, 0.0]))
    (row,) = iterations.by_traffic(early.with_columns(scheme=pl.lit("x")), short).to_dicts()
    assert (row["begun"], row["max_us"]) == (1, 4000)


def test_a_run_of_a_collective_says_its_iterations(short: incast.Scenario) -> None:
    text = short.toml() + (
        '[[traffic]]\nname = "training"\nkind = "collective"\nfrom = "client"\n'
        'collective = "all-reduce"\nsize = "10KB"\nrounds = 2\nstart = "2ms"\n'
    )
    result = incast.run(incast.Scenario.parse(text, "ring.toml"), "timely")
    assert result.table("iterations")["finished"].to_list() == [1, 1]
    assert line(result).startswith("iterations  training, timely: 2, p50 ")


RING = """
title = "A ring of four hosts"
run = { duration = "100us", schemes = ["line-rate"] }
switch = { buffer = "4MB" }
traffic = [{ kind = "collective", from = "host", collective = "all-reduce", size = "40KB" }]

[network.star]
hosts = [{ name = "host", count = 4, rate = "100Gbps", delay = "1us" }]
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> incast.Result:
    folder = tmp_path_factory.mktemp("ring")
    incast.run(incast.Scenario.parse(RING, "ring")).write(folder, figures=False)
    return incast.open_result(folder).members[0]


def test_a_timeline_has_a_row_for_each_host_and_the_critical_path(ring: incast.Result) -> None:
    figure = ring.figure("timeline")
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"host{n}" for n in range(4)]
    path = ring.table("critical_path")
    lines = [(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in axes.get_lines()]
    ranks = {f"host{n}": n for n in range(4)}
    assert lines == [
        ((begin, end), (ranks[host], ranks[peer]))
        for host, peer, begin, end in path.select("host", "peer", "start_us", "end_us").iter_rows()
    ]
    assert path["end_us"][-1] == ring.table("iterations")["end_us"][0]


def test_perfetto_has_a_track_for_each_rank_and_an_arrow_for_each_message(
    ring: incast.Result, tmp_path: Path
) -> None:
    (written,) = exporting.export(ring, "perfetto", out=tmp_path / "ring.json")
    assert "ports, flows and ranks" in written.holds
    events = json.loads((tmp_path / "ring.json").read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    of = {name: [e for e in events if e["pid"] == pid] for pid, name in names.items()}
    steps = ring.table("steps")
    assert steps.height == 4 * 12
    for rank in range(4):
        own = of[f"collective rank {rank}: host{rank}"]
        begun = [e for e in own if e["ph"] == "b" and e["cat"] == "step"]
        assert len(begun) == 12
        sends = steps.filter(pl.col("kind") == "send", pl.col("rank") == rank)
        assert [e["ts"] for e in own if e["ph"] == "s"] == sends["end_us"].to_list()
    starts, ends = ([e for e in events if e["ph"] == phase] for phase in "sf")
    assert {e["id"] for e in starts} == {e["id"] for e in ends}
    assert len(ends) == 4 * 6
    moments = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X" and e["dur"] == 0}
    assert {(e["pid"], e["tid"], e["ts"]) for e in starts + ends} <= moments
    received = steps.filter(pl.col("kind") == "receive")["end_us"].sort().to_list()
    assert sorted(e["ts"] for e in ends) == received
