"""The figure of state over time: its panels, its curves, the flows that it shows."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import incast
from conftest import SHORT, Command
from synthetic import made_up


@pytest.fixture(scope="module")
def streams() -> incast.Result:
    scenario = incast.load("tcp-incast").with_set("run.duration=6ms", "run.warmup=1ms")
    return incast.run(scenario, ["newreno", "bbr", "timely"], traces=["flows"])


def panels(results: incast.Result | incast.Results, **options: object) -> dict[str, Axes]:
    figure = results.figure("state", **options)  # type: ignore[arg-type]
    return {axes.get_ylabel().replace("\n", " "): axes for axes in figure.axes}


def keys(axes: Axes) -> list[str]:
    """The quantities of a panel by the key beside it."""
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def test_a_panel_for_each_unit_and_each_gauge_without_one(streams: incast.Result) -> None:
    found = panels(streams)
    assert list(found) == [
        "rate (Gb/s)", "window (KB)", "RTT (us)", "pacing gain", "gradient",
    ]  # fmt: skip
    assert keys(found["rate (Gb/s)"]) == ["rate", "bandwidth"]
    assert keys(found["window (KB)"]) == ["window", "in flight", "ssthresh"]
    assert keys(found["RTT (us)"]) == ["RTT", "min RTT"]
    assert keys(found["gradient"]) == []
    assert len({axes.get_xlim() for axes in found.values()}) == 1


def test_curves_are_the_samples_of_the_trace(streams: incast.Result) -> None:
    first = pl.col("flow") == 0
    trace = streams.table("trace_flows").filter(first, pl.col("scheme") == "newreno")
    gauges = streams.table("trace_gauges").filter(first, pl.col("scheme") == "newreno")
    assert 10 < trace.height < 2000
    found = panels(streams)
    for panel, column in (("rate (Gb/s)", "rate_gbps"), ("window (KB)", "window_kb"),
                          ("RTT (us)", "rtt_us")):  # fmt: skip
        drawn = found[panel].lines[0]
        assert np.allclose(np.asarray(drawn.get_xdata()), trace["time_us"].to_numpy() / 1e3)
        assert np.array_equal(np.asarray(drawn.get_ydata()), trace[column].to_numpy())
    # The window in the trace is the one that the algorithm shows.
    shown = gauges.filter(pl.col("gauge") == "cwnd_kb")["value"]
    assert shown.to_list() == trace["window_kb"].to_list()


def test_rates_alone_have_no_window(streams: incast.Result) -> None:
    trace = streams.table("trace_flows").filter(pl.col("scheme") == "timely")
    assert trace["window_kb"].null_count() == trace.height
    assert trace["in_flight_kb"].null_count() < trace.height
    alone = incast.Results((streams,)).of_schemes(["timely"])
    assert list(panels(alone)) == ["rate (Gb/s)", "in flight (KB)", "RTT (us)", "gradient"]


def legend(results: incast.Result, **options: object) -> list[str]:
    figure = results.figure("state", **options)  # type: ignore[arg-type]
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_flows_can_be_chosen(streams: incast.Result) -> None:
    assert legend(streams) == ["newreno", "bbr", "timely"]
    assert legend(streams, flows=[3]) == ["newreno", "bbr", "timely"]
    assert legend(streams, schemes=["bbr"], flows=[3, 1]) == ["bbr: flow 3", "bbr: flow 1"]
    figure = streams.figure("state", flows=[3, 1])
    assert figure.get_label() == "flows 1, 3"
    with pytest.raises(incast.FigureError, match=r"state: flow 99 has no RTT samples; .* 0, 1, 2"):
        streams.figure("state", flows=[1, 99])


def test_of_several_seeds_the_first_is_drawn(streams: incast.Result) -> None:
    second = incast.run(streams.scenario, "bbr", seed=2, traces=["flows"])  # type: ignore[arg-type]
    both = incast.Results((streams, second)).of_schemes(["bbr"])
    figure = both.figure("state")
    assert figure.get_label() == "flow 0, seed 1"
    alone = panels(incast.Results((streams,)).of_schemes(["bbr"]))["RTT (us)"].lines[0]
    drawn = next(axes for axes in figure.axes if axes.get_ylabel() == "RTT (us)").lines[0]
    assert np.array_equal(np.asarray(drawn.get_ydata()), np.asarray(alone.get_ydata()))


def test_long_traces_keep_the_last_sample_of_each_bin(short: incast.Scenario) -> None:
    time = np.arange(50_000) * 1.0
    trace = pl.DataFrame(
        {"time_us": time, "flow": np.uint64(0), "rtt_us": time % 7, "rate_gbps": time / 1e4}
    )
    lines = panels(made_up(short, "timely", trace_flows=trace))["rate (Gb/s)"].lines[0]
    drawn = np.asarray(lines.get_ydata(), dtype=float)
    assert len(drawn) == 2000
    assert (np.diff(drawn) > 0).all()
    assert drawn[-1] == trace["rate_gbps"][-1]


def test_the_command_draws_it(command: Command) -> None:
    settings = [word for one in SHORT for word in ("--set", one)]
    assert command("run", "incast", *settings, "--out", "plain").code == 0
    error = command("plot", "plain", "--figure", "state", "--out", "f").error
    assert "there is no table trace_flows, which `--trace flows` records" in error
    traced = command("run", "incast", *settings, "--trace", "flows", "--out", "out")
    assert traced.code == 0
    done = command(
        "plot", "out", "--figure", "state", "--flow", "2", "--flow", "5", "--format", "svg",
        "--no-title", "--out", "f",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "for the caption of state: flows 2, 5" in done.err
    assert "timely: flow 5" in Path("f/state.svg").read_text()
    error = command("plot", "out", "--figure", "queue", "--flow", "2").error
    assert "--flow 2: only the figure state shows single flows; name it with --figure" in error
