"""Message by message: how much slower each was under one scheme than under another.

Arrivals that are drawn in advance are the same under all schemes of a seed, so that each message of
one run has its like in the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from incast.results.measures import posted_while_measured
from incast.results.record import Record
from incast.results.seeds import spread

_MESSAGE = ("traffic", "flow", "message", "posted_us", "bytes")


@dataclass(frozen=True)
class SlowdownRatio:
    """The median, over the messages of a seed, of slowdown over slowdown; then over the seeds."""

    median: float
    """The geometric mean of the medians of the seeds."""
    interval: tuple[float, float] | None
    """The 95 % confidence interval over the seeds, by the logarithms; None for a single seed."""
    messages: int
    """Pairs, of all seeds together."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, ready for JSON."""
        low, high = self.interval or (None, None)
        return {"median": self.median, "low": low, "high": high, "messages": self.messages}


def slowdown_ratio(
    pairs: Sequence[tuple[Record, Record]], scheme: str, baseline: str
) -> SlowdownRatio | None:
    """The ratio of a scheme's slowdowns to those of a baseline, in pairs of equal seed.

    Counted are messages that were posted while measured, at the same time and of the same size in
    both runs. One that had not finished is slower than one that had; of two that had not, nothing
    is known. None where there are no pairs, or their median is none of these numbers.
    """
    medians, count = [], 0
    for ours, theirs in pairs:
        ratios = _ratios(ours, scheme, theirs, baseline)
        if ratios is None or ratios.is_empty():
            continue
        median = float(ratios.sort()[math.ceil(ratios.len() / 2) - 1])
        if not 0 < median < math.inf:
            return None
        medians.append(math.log(median))
        count += ratios.len()
    found = spread(medians)
    if found is None:
        return None
    low, high = found.interval or (None, None)
    interval = None if low is None or high is None else (math.exp(low), math.exp(high))
    return SlowdownRatio(math.exp(found.mean), interval, count)


def _ratios(ours: Record, scheme: str, theirs: Record, baseline: str) -> pl.Series | None:
    """The slowdown ratio of each pair of messages of which one had finished."""
    rows = []
    for result, name in ((ours, scheme), (theirs, baseline)):
        if "messages" not in result.tables:
            return None
        table = result.table("messages")
        if not {*_MESSAGE, "scheme", "slowdown"} <= set(table.columns):
            return None
        own = table.filter(pl.col("scheme") == name)
        counted = posted_while_measured(own, result.scenario)
        rows.append(counted.select(*_MESSAGE, pl.col("slowdown").fill_null(math.inf)))
    both = rows[0].join(rows[1], on=_MESSAGE, how="inner", suffix="_of_baseline")
    ratio: pl.Series = both["slowdown"] / both["slowdown_of_baseline"]
    known: pl.Series = ratio.filter(ratio.is_not_nan())
    return known
