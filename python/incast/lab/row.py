"""The figures of a scheme over a carrier, and the samples behind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

URGENT_BELOW = 30_000
"""Requests of fewer bytes are told apart, as the paper on Regulated TCP does."""


@dataclass(frozen=True)
class Row:
    """The figures of one scheme over one carrier in one repetition.

    None is what the carrier does not tell, or what only other traffic has.
    """

    carrier: str
    scheme: str
    repeat: int
    throughput_mbps: float
    """Payload that the receivers got, after the warm-up."""
    rtt_p50_us: float | None
    """Median RTT: of the probe's datagrams on Linux TCP, elsewhere of the flows' samples."""
    rtt_p99_us: float | None
    ping_p50_us: float | None = None
    """Median RTT of an independent prober's datagrams through the same queue."""
    ping_p99_us: float | None = None
    jain_index: float | None = None
    """Jain's index of the connections that stay."""
    urgent_p99_us: float | None = None
    """Completion time of requests below 30 KB."""
    others_p99_us: float | None = None
    """Completion time of all other requests."""
    incomplete: int | None = None
    """Requests without their answer in the end."""
    drops: int | None = None
    """Drops of all switch ports, warm-up included.

    Of Linux they are sends: one may be many packets (segmentation offload).
    """
    retransmissions: int | None = None
    """Packets that all hosts sent again, warm-up included."""
    rtt_idle_us: float | None = None
    """The median before anything was sent."""
    probes_lost: int | None = None
    others_percent: float | None = None
    """Share of all CPUs that something else took just before."""
    stolen_percent: float | None = None
    """Share of all CPUs that other machines on the same host took meanwhile."""


@dataclass(frozen=True)
class Carried:
    """The outcome of the traffic; None where it is of the other kind."""

    tables: dict[str, pl.DataFrame]
    """`flows` and `series_flows`, or `requests`, or `messages`: the simulator's columns."""
    throughput_mbps: float
    jain_index: float | None = None
    urgent_p99_us: float | None = None
    others_p99_us: float | None = None
    incomplete: int | None = None


@dataclass(frozen=True)
class Measured:
    """The row of one scheme in one repetition, and the samples behind it."""

    row: Row
    rtts_us: tuple[float, ...]
    """RTTs while measured."""
    carried: Carried


def percentile(values: Sequence[float], percent: float) -> float:
    """A percentile, interpolated between the two values beside it."""
    found = pl.Series(values, dtype=pl.Float64).quantile(percent / 100, "linear")
    return float("nan") if found is None else found


def of_flows(flows: Sequence[dict[str, Any]], series: pl.DataFrame) -> Carried:
    """The outcome of connections that stay."""
    goodputs = [flow["goodput_gbps"] for flow in flows]
    total, squares = sum(goodputs), sum(one**2 for one in goodputs)
    return Carried(
        tables={"flows": pl.DataFrame(flows), "series_flows": series},
        throughput_mbps=total * 1e3,
        jain_index=total**2 / (len(goodputs) * squares) if squares else None,
    )


def of_requests(
    rows: Sequence[dict[str, Any]],
    *,
    alone: bool,
    asked: int,
    measured_us: tuple[float, float],
) -> Carried:
    """The outcome of requests, of which so many were asked."""
    begin_us, end_us = measured_us
    answers = pl.DataFrame(rows)
    measured = answers.filter(pl.col("posted_us").is_between(begin_us, end_us, closed="left"))
    arrived = answers.filter(pl.col("completed_us").is_between(begin_us, end_us, closed="left"))
    return Carried(
        tables={"messages": answers.drop("client", "fan_out")} if alone else {"requests": answers},
        throughput_mbps=8 * float(sum(arrived["bytes"].to_list())) / (end_us - begin_us),
        incomplete=asked - len(rows),
        **by_urgency(measured),
    )


def by_urgency(answers: pl.DataFrame) -> dict[str, float | None]:
    """The 99th percentiles of the completion times of small requests and of others."""
    urgent = pl.col("bytes") < URGENT_BELOW
    p99 = pl.col("completion_us").quantile(0.99, "linear")
    return {
        "urgent_p99_us": answers.filter(urgent).select(p99).item(),
        "others_p99_us": answers.filter(~urgent).select(p99).item(),
    }
