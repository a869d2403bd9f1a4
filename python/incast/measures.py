"""What part of a run is measured, and figures that are worked out here, from the tables."""

import polars as pl

from incast._core import Scenario
from incast.stored import StoredScenario

_KEYS = ("scheme", "traffic")


def window_us(scenario: Scenario | StoredScenario) -> tuple[float, float]:
    """When measuring begins and ends: after the warm-up, before the cool-down."""
    return scenario.warmup_s * 1e6, (scenario.duration_s - scenario.cooldown_s) * 1e6


def posted_while_measured(rows: pl.DataFrame, scenario: Scenario | StoredScenario) -> pl.DataFrame:
    """Of messages or requests, those that count."""
    begin, end = window_us(scenario)
    return rows.filter(pl.col("posted_us") >= begin, pl.col("posted_us") < end)


def by_traffic(
    messages: pl.DataFrame,
    requests: pl.DataFrame,
    load: pl.DataFrame,
    scenario: Scenario | StoredScenario,
) -> pl.DataFrame:
    """What became of each traffic of each scheme: of what was posted while it was measured.

    Percentiles are those of nearest rank. Traffic has a row even if none of its messages arrived.
    """
    kinds = (
        (
            messages,
            {
                "messages": pl.len(),
                "slowdown_mean": pl.col("slowdown").mean(),
                "slowdown_p99": _p99("slowdown"),
                "completion_mean_us": pl.col("completion_us").mean(),
                "completion_p99_us": _p99("completion_us"),
            },
        ),
        (
            requests,
            {
                "requests": pl.len(),
                "request_mean_us": pl.col("completion_us").mean(),
                "request_p99_us": _p99("completion_us"),
            },
        ),
    )
    found = [_known(rows, figures, scenario) for rows, figures in kinds]
    table = _deadlines_met(load).join(
        found[0], on=_KEYS, how="full", coalesce=True, maintain_order="left_right"
    )
    table = table.join(found[1], on=_KEYS, how="left", maintain_order="left")
    figures = [name for _, of_kind in kinds for name in of_kind]
    figures.insert(figures.index("requests"), "deadlines_met")
    return table.select(*_KEYS, *figures).with_columns(pl.col("messages").fill_null(0))


def _deadlines_met(load: pl.DataFrame) -> pl.DataFrame:
    """Of each traffic that posted messages; the table of messages has none that never arrived."""
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
    there = set(rows.columns)
    if {"scheme", "traffic", "posted_us"} <= there:
        rows = posted_while_measured(rows, scenario)
    else:
        rows = pl.DataFrame(schema={"scheme": pl.String, "traffic": pl.String})
        there = set(rows.columns)
    return rows.group_by("scheme", "traffic", maintain_order=True).agg(
        (value if set(value.meta.root_names()) <= there else pl.lit(None, pl.Float64)).alias(name)
        for name, value in figures.items()
    )


def _p99(column: str) -> pl.Expr:
    return pl.col(column).quantile(0.99, "equiprobable")


def p99_slowdown(messages: pl.DataFrame, scenario: Scenario | StoredScenario) -> float | None:
    """The slowdown that 99 % of the messages posted while it was measured do not exceed.

    None where no slowdown was measured. It is that of a message, number ⌈0.99 n⌉ of n in order.
    """
    if not {"slowdown", "posted_us"} <= set(messages.columns):
        return None
    slowdowns = posted_while_measured(messages, scenario)["slowdown"].drop_nulls()
    found = slowdowns.to_frame().select(_p99("slowdown")).item()
    return None if found is None else float(found)
