"""A case that is the ideal: the messages of a run, complete as in one of its references."""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from incast._core import Scenario
from incast.results.measures import percentile, posted_while_measured

Kind = Literal["", "fluid", "greedy", "srpt"]
"""The reference: fluid max-min, the greedy schedule, the bound by shortest remaining first."""

SETTING = "measure.ideal=true"
"""The change of a scenario without which a run has no ideal."""
NEEDED = ("messages", "ideal")
"""The tables that it is made of."""


def tables(found: Mapping[str, pl.DataFrame], kind: Kind) -> dict[str, pl.DataFrame]:
    """The tables of the ideal: messages and requests with its times.

    Time series have their times and nothing else. Other tables are there and have no rows.
    """
    times = found["ideal"].select("flow", "message", pl.col(f"{kind}_us").alias("_taken"))
    nothing = pl.lit(None, pl.Float64)
    messages = _complete(
        found["messages"].join(times, on=["flow", "message"], how="left", maintain_order="left"),
        delivered_bytes=pl.when(pl.col("_taken").is_not_null()).then("bytes").otherwise(0),
        slowdown=pl.col("_taken") / pl.col("ideal_us"),
        first_sent_us=nothing,
        host_us=nothing,
        network_us=nothing,
    )
    others = {name: _empty(rows) for name, rows in found.items()}
    requests = found.get("requests")
    if requests is not None and f"{kind}_us" in requests.columns:
        others["requests"] = _complete(requests.with_columns(pl.col(f"{kind}_us").alias("_taken")))
    return {**others, "messages": messages, "ideal": found["ideal"]}


def _complete(rows: pl.DataFrame, **more: pl.Expr) -> pl.DataFrame:
    """Messages or requests that take the time `_taken`; those without it have not finished."""
    taken = pl.col("_taken")
    if "deadline_us" in rows.columns:
        late = pl.when(pl.col("deadline_us").is_not_null() & taken.is_not_null())
        more["met_deadline"] = late.then((taken <= pl.col("deadline_us")).cast(pl.Float64))
    if "late_us" in rows.columns:
        more["late_us"] = taken - pl.col("deadline_us")
    return rows.with_columns(
        finished=taken.is_not_null().cast(pl.UInt64),
        completed_us=pl.col("posted_us") + taken,
        completion_us=taken,
        elapsed_us=pl.when(taken.is_null()).then("elapsed_us"),
        **more,
    ).drop("_taken")


def _empty(rows: pl.DataFrame) -> pl.DataFrame:
    """A table without what the run has measured."""
    if "time_us" not in rows.columns:
        return rows.clear()
    return rows.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in rows.schema.items() if name != "time_us"
    )


def summary(messages: pl.DataFrame, scenario: Scenario) -> dict[str, float | int | None]:
    """The figures of the summary that messages give; the ideal has no others."""
    counted = posted_while_measured(messages, scenario)
    value, bound = percentile(pl.col("slowdown"), pl.col("elapsed_us") / pl.col("ideal_us"), 0.99)
    found = counted.select(
        messages=pl.col("finished").sum(),
        messages_posted=pl.len(),
        slowdown_mean=pl.col("slowdown").mean(),
        slowdown_p99=value,
        slowdown_p99_bound=bound,
    )
    return found.row(0, named=True)
