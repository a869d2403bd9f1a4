"""The iterations of jobs, counted."""

import polars as pl

from incast._core import Scenario
from incast.results.measures import percentile, posted_while_measured
from incast.results.stored import StoredScenario


def by_traffic(rows: pl.DataFrame, scenario: Scenario | StoredScenario) -> pl.DataFrame:
    """The iterations of each scheme and traffic that began while measured, finished or not.

    Percentiles are as for messages. `last_host` and `after_median_us` are of the longest iteration
    that had finished.
    """
    rows = posted_while_measured(rows.rename({"start_us": "posted_us"}), scenario)
    took = pl.col("duration_us")
    p50, p50_bound = percentile(took, pl.col("elapsed_us"), 0.5)
    most, most_bound = percentile(took, pl.col("elapsed_us"), 1.0)
    last = pl.col("last_host", "after_median_us").sort_by("duration_us", maintain_order=True).last()
    return rows.group_by("scheme", "traffic", maintain_order=True).agg(
        last,
        finished=pl.col("finished").sum(),
        begun=pl.len(),
        p50_us=p50,
        p50_bound_us=p50_bound,
        max_us=most,
        max_bound_us=most_bound,
    )
