"""Figures that are worked out here, from the tables."""

import polars as pl


def p99_slowdown(messages: pl.DataFrame, warmup_s: float) -> float | None:
    """The slowdown that 99 % of the messages posted after the warm-up do not exceed.

    None where no slowdown was measured. It is that of a message, number ⌈0.99 n⌉ of n in order.
    """
    if not {"slowdown", "posted_us"} <= set(messages.columns):
        return None
    measured = messages.filter(pl.col("posted_us") >= warmup_s * 1e6)
    found = measured["slowdown"].drop_nulls().quantile(0.99, "equiprobable")
    return None if found is None else float(found)
