"""What part of a run is measured, and figures that are worked out here, from the tables."""

import polars as pl

from incast._core import Scenario
from incast.stored import StoredScenario


def window_us(scenario: Scenario | StoredScenario) -> tuple[float, float]:
    """When measuring begins and ends: after the warm-up, before the cool-down."""
    return scenario.warmup_s * 1e6, (scenario.duration_s - scenario.cooldown_s) * 1e6


def posted_while_measured(rows: pl.DataFrame, scenario: Scenario | StoredScenario) -> pl.DataFrame:
    """Of messages or requests, those that count."""
    begin, end = window_us(scenario)
    return rows.filter(pl.col("posted_us") >= begin, pl.col("posted_us") < end)


def p99_slowdown(messages: pl.DataFrame, scenario: Scenario | StoredScenario) -> float | None:
    """The slowdown that 99 % of the messages posted while it was measured do not exceed.

    None where no slowdown was measured. It is that of a message, number ⌈0.99 n⌉ of n in order.
    """
    if not {"slowdown", "posted_us"} <= set(messages.columns):
        return None
    slowdowns = posted_while_measured(messages, scenario)["slowdown"].drop_nulls()
    found = slowdowns.quantile(0.99, "equiprobable")
    return None if found is None else float(found)
