"""The measured part of a run, and figures that are computed from its tables."""

import polars as pl

from incast._core import Scenario
from incast.results.stored import StoredScenario

_KEYS = ("scheme", "traffic")


def window_us(scenario: Scenario | StoredScenario) -> tuple[float, float]:
    """The begin and the end of measuring: after the warm-up, before the cool-down."""
    return scenario.warmup_s * 1e6, (scenario.duration_s - scenario.cooldown_s) * 1e6


def posted_while_measured(rows: pl.DataFrame, scenario: Scenario | StoredScenario) -> pl.DataFrame:
    """The messages or requests that were posted while measured, finished or not.

    Rows that do not say whether they had finished are of what had if they have a completion time,
    and left out if not. `elapsed_us` is then null.
    """
    begin, end = window_us(scenario)
    rows = rows.filter(pl.col("posted_us") >= begin, pl.col("posted_us") < end)
    if "finished" in rows.columns:
        return rows
    if "completion_us" in rows.columns:
        rows = rows.filter(pl.col("completion_us").is_not_null())
    return rows.with_columns(finished=pl.lit(1, pl.UInt64), elapsed_us=pl.lit(None, pl.Float64))


def bound_of(name: str) -> str:
    """The column that says what a percentile is at least, where its own column is null."""
    return f"{name.removesuffix('_us')}_bound_us" if name.endswith("_us") else f"{name}_bound"


def percentile(value: pl.Expr, least: pl.Expr, fraction: float) -> tuple[pl.Expr, pl.Expr]:
    """A percentile of nearest rank, and what it is at least where it is null.

    `value` is null of what had not finished, which counts as slower than all that had; `least` is
    then what it is at least.
    """
    rank = ((pl.len() * fraction).ceil() - 1).clip(0).cast(pl.Int64)
    found = value.sort(nulls_last=True).get(rank, null_on_oob=True)
    bound = value.fill_null(least).sort(nulls_last=True).get(rank, null_on_oob=True)
    return found, pl.when(found.is_null()).then(bound)


_COMPLETION = percentile(pl.col("completion_us"), pl.col("elapsed_us"), 0.99)
_SLOWDOWN = percentile(pl.col("slowdown"), pl.col("elapsed_us") / pl.col("ideal_us"), 0.99)
_KINDS = {
    "messages": {
        "messages": pl.col("finished").sum(),
        "messages_posted": pl.len().cast(pl.UInt64),
        "slowdown_mean": pl.col("slowdown").mean(),
        "slowdown_p99": _SLOWDOWN[0],
        "slowdown_p99_bound": _SLOWDOWN[1],
        "completion_mean_us": pl.col("completion_us").mean(),
        "completion_p99_us": _COMPLETION[0],
        "completion_p99_bound_us": _COMPLETION[1],
    },
    "requests": {
        "requests": pl.col("finished").sum(),
        "requests_posted": pl.len().cast(pl.UInt64),
        "request_mean_us": pl.col("completion_us").mean(),
        "request_p99_us": _COMPLETION[0],
        "request_p99_bound_us": _COMPLETION[1],
    },
}


def by_traffic(
    messages: pl.DataFrame,
    requests: pl.DataFrame,
    load: pl.DataFrame,
    scenario: Scenario | StoredScenario,
) -> pl.DataFrame:
    """The messages and requests of each traffic and scheme that were posted while measured.

    Percentiles take the nearest rank, and count unfinished messages as the slowest; means count
    finished ones. Traffic has a row even if none of its messages arrived.
    """
    found = [
        _known(rows, figures, scenario)
        for rows, figures in zip((messages, requests), _KINDS.values(), strict=True)
    ]
    table = _deadlines_met(load).join(
        found[0], on=_KEYS, how="full", coalesce=True, maintain_order="left_right"
    )
    table = table.join(found[1], on=_KEYS, how="left", maintain_order="left")
    figures = [*_KINDS["messages"], "deadlines_met", *_KINDS["requests"]]
    counts = pl.col("messages", "messages_posted").fill_null(0)
    return table.select(*_KEYS, *figures).with_columns(counts)


def _deadlines_met(load: pl.DataFrame) -> pl.DataFrame:
    """The share of met deadlines, for each traffic that posted messages."""
    if not {*_KEYS, "posted", "deadlines", "deadlines_met"} <= set(load.columns):
        schema = {"scheme": pl.String, "traffic": pl.String, "deadlines_met": pl.Float64}
        return pl.DataFrame(schema=schema)
    share = pl.col("deadlines_met") / pl.col("deadlines")
    return load.filter(pl.col("posted") > 0).select(
        *_KEYS, pl.when(pl.col("deadlines") > 0).then(share).alias("deadlines_met")
    )


def _known(
    rows: pl.DataFrame, figures: dict[str, pl.Expr], scenario: Scenario | StoredScenario
) -> pl.DataFrame:
    """The figures whose columns there are, for each scheme and traffic; the others are null."""
    if {"scheme", "traffic", "posted_us"} <= set(rows.columns):
        rows = posted_while_measured(rows, scenario)
    else:
        rows = pl.DataFrame(schema={"scheme": pl.String, "traffic": pl.String})
    there = set(rows.columns)
    return rows.group_by("scheme", "traffic", maintain_order=True).agg(
        (value if set(value.meta.root_names()) <= there else pl.lit(None, pl.Float64)).alias(name)
        for name, value in figures.items()
    )


def p99_slowdown(
    messages: pl.DataFrame, scenario: Scenario | StoredScenario
) -> tuple[float | None, float | None]:
    """The slowdown that 99 % of the messages posted while it was measured do not exceed.

    Message number ⌈0.99 n⌉ of n in order has this slowdown. None where that message had not
    finished, and then followed by a lower bound; None twice where no slowdown was measured.
    """
    if not {"slowdown", "posted_us"} <= set(messages.columns):
        return None, None
    counted = posted_while_measured(messages, scenario)
    there = set(counted.columns)
    value, bound = (
        counted.select(one).item() if set(one.meta.root_names()) <= there else None
        for one in _SLOWDOWN
    )
    return value, bound
