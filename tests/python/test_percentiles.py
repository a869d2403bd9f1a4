"""Percentiles and means of a run against numpy's, from the traces of the same run."""

import numpy as np
import polars as pl
import pytest

import incast

WARMUP_US, END_US = 2_000.0, 10_000.0
# A bucket of a histogram is at most 1/128 of its value wide, and a percentile is the middle of one.
HALF_A_BUCKET = 0.5 / 128
# Histograms count RTTs in whole nanoseconds.
NANOSECOND_US = 1e-3


@pytest.fixture(scope="module")
def result() -> incast.Result:
    """An incast of streams that marks hold back, so that the queue swings, with its traces."""
    scenario = incast.load("tcp-incast").with_set(
        f"run.duration={END_US:.0f}us",
        f"run.warmup={WARMUP_US:.0f}us",
        "switch.ecn_threshold=96850B",
    )
    return incast.run(scenario, "dctcp", traces=["queues", "flows"])


def nearest(samples: pl.DataFrame, percent: float) -> float:
    """The percentile of RTTs by nearest rank."""
    return float(np.percentile(samples["rtt_us"].to_numpy(), percent, method="inverted_cdf"))


def test_percentiles_of_rtts_are_those_of_the_samples(result: incast.Result) -> None:
    summary = result.summary.row(0, named=True)
    samples = result.table("trace_flows").filter(pl.col("time_us") > WARMUP_US)
    assert summary["rtt_samples"] == samples.height > 3_000
    assert summary["rtt_mean_us"] == pytest.approx(samples["rtt_us"].mean(), abs=NANOSECOND_US)
    for percent, name in ((50, "rtt_p50_us"), (99, "rtt_p99_us")):
        assert summary[name] == pytest.approx(nearest(samples, percent), rel=HALF_A_BUCKET), name
    for flow, p99 in result.table("flows").select("flow", "rtt_p99_us").iter_rows():
        own = samples.filter(pl.col("flow") == flow)
        assert p99 == pytest.approx(nearest(own, 99), rel=HALF_A_BUCKET), flow


def test_queues_are_averaged_and_ranked_by_time(result: incast.Result) -> None:
    summary = result.summary.row(0, named=True)
    trace = result.table("trace_queues").filter(pl.col("port") == "switch->receiver")
    kb = trace["queue_bytes"].to_numpy() / 1e3
    until = np.append(trace["time_us"].to_numpy()[1:], END_US).clip(min=WARMUP_US)
    lasts = until - trace["time_us"].to_numpy().clip(min=WARMUP_US)
    assert lasts.sum() == pytest.approx(END_US - WARMUP_US)
    assert summary["queue_mean_kb"] == pytest.approx(np.average(kb, weights=lasts), rel=1e-9)
    order = np.argsort(kb)
    share = np.cumsum(lasts[order]) / lasts.sum()
    for part, name in ((0.95, "queue_p95_kb"), (0.99, "queue_p99_kb")):
        least = kb[order][np.searchsorted(share, part)]
        assert summary[name] == pytest.approx(least, rel=HALF_A_BUCKET), name
    assert summary["queue_max_kb"] == kb[lasts > 0].max()
    # Or one bucket would do for all of it.
    assert summary["queue_mean_kb"] * 1.1 < summary["queue_p95_kb"] < summary["queue_p99_kb"]
