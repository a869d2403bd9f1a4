"""The figures of a scheme over a carrier, and the samples behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from incast.lab.plan import BedPlan, LabError, Work

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
    """Completion time of requests, or of messages without, below 30 KB."""
    others_p99_us: float | None = None
    """Completion time of all others."""
    incomplete: int | None = None
    """Requests, or messages where there are no requests, that were not complete in the end."""
    over_predicted: float | None = None
    """Completion of a message over that of the same one as predicted: the median."""
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
    """The outcome of traffic; None where it has no connections that stay, or no messages."""

    tables: dict[str, pl.DataFrame]
    """`flows` and `series_flows`, `messages` and `requests`: the simulator's columns."""
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


def measured(
    carrier: str,
    scheme: str,
    repeat: int,
    carried: Carried,
    rtts: tuple[float, ...],
    pings: Sequence[float],
    **more: Any,  # noqa: ANN401 - fields of a row
) -> Measured:
    """The row of what was carried, with percentiles of RTTs and of a prober's; `more` goes in."""
    figures = ("throughput_mbps", "jain_index", "urgent_p99_us", "others_p99_us", "incomplete")
    row = Row(
        carrier,
        scheme,
        repeat,
        rtt_p50_us=percentile(rtts, 50),
        rtt_p99_us=percentile(rtts, 99),
        ping_p50_us=percentile(pings, 50) if pings else None,
        ping_p99_us=percentile(pings, 99) if pings else None,
        **{name: getattr(carried, name) for name in figures},
        **more,
    )
    return Measured(row, rtts, carried)


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


def of_messages(plan: BedPlan, work: Work, completed: pl.DataFrame) -> Carried:
    """The outcome of messages; `completed` has the places in the list, `at`, and `completed_us`.

    Raises:
        LabError: None was complete.
    """
    if completed.is_empty():
        raise LabError(f"{plan.name}: no message was complete; run longer")
    begin_us, end_us = plan.measured_us
    schema = pl.Schema({"at": pl.UInt32, "completed_us": pl.Float64})
    messages = _ended(
        work.messages.with_row_index("at")
        .join(completed.cast(schema), on="at", how="left")
        .drop("at", "sender", "receiver")
        .sort("flow", "message"),
        plan.seconds,
    )
    # A message of an incast goes to the client.
    incasts = work.requests.filter(kind="incast")["traffic"].unique()
    client = pl.when(pl.col("traffic").is_in(incasts.implode())).then("destination")
    keys = ("traffic", "client", "posted_us")
    parts = messages.group_by(
        "traffic", client.otherwise("source").alias("client"), "posted_us"
    ).agg(
        pl.col("finished").sum().alias("messages_finished"),
        pl.when(pl.col("finished").all()).then(pl.col("completed_us").max()).alias("completed_us"),
    )
    requests = _ended(
        work.requests.join(parts, on=keys, how="left", maintain_order="left"), plan.seconds
    )
    counted = messages if requests.is_empty() else requests
    arrived = messages.filter(pl.col("completed_us").is_between(begin_us, end_us, closed="left"))
    return Carried(
        tables={"messages": messages, "requests": requests},
        throughput_mbps=8 * float(arrived["bytes"].sum()) / (end_us - begin_us),
        incomplete=counted.filter(finished=0).height,
        **by_urgency(
            counted.filter(pl.col("posted_us").is_between(begin_us, end_us, closed="left"))
        ),
    )


def _ended(rows: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """Messages or requests with the columns that tell their completion."""
    done = pl.col("completed_us").is_not_null()
    posted = pl.col("posted_us")
    return rows.with_columns(
        finished=done.cast(pl.UInt64),
        completion_us=pl.col("completed_us") - posted,
        elapsed_us=pl.when(~done).then(seconds * 1e6 - posted),
    )


def beside(parts: Sequence[Carried]) -> Carried:
    """The outcome of connections that stay and of messages, or of one of the two."""
    first, *others = parts
    for one in others:
        first = replace(
            one,
            tables=first.tables | one.tables,
            throughput_mbps=first.throughput_mbps + one.throughput_mbps,
            jain_index=first.jain_index,
        )
    return first


def by_urgency(answers: pl.DataFrame) -> dict[str, float | None]:
    """The 99th percentiles of the completion times of small requests and of others."""
    urgent = pl.col("bytes") < URGENT_BELOW
    p99 = pl.col("completion_us").quantile(0.99, "linear")
    return {
        "urgent_p99_us": answers.filter(urgent).select(p99).item(),
        "others_p99_us": answers.filter(~urgent).select(p99).item(),
    }
