"""Jobs from traces, on a network of a line or two, with the messages that they took."""

import os
from pathlib import Path

import polars as pl

from incast import _core
from incast._core import Scenario, ScenarioError
from incast.api.running import run
from incast.base import inputs

COLUMNS = (
    "profile",
    "flow_id",
    "source",
    "destination",
    "tag",
    "payload_bytes",
    "start_time_ps",
    "completion_time_ps",
    "fct_ps",
)
"""The columns of a table of completions."""


def run_job(
    trace: str | os.PathLike[str],
    cc: str = "dcqcn",
    *,
    rate_bps: int = 400_000_000_000,
    topology: str | os.PathLike[str] | None = None,
    delay_ps: int = 1_000_000,
    seed: int = 1,
    profile: str | None = None,
) -> pl.DataFrame:
    """Runs a job from a trace, and gives the messages that it sent.

    The ranks are hosts around one switch, or the first hosts of htsim's topology. Links have PFC
    and mark by RED as DCQCN asks for, in proportion to their rate.

    Args:
        trace: The file of the trace, with `{rank}` in place of the rank's number where each rank
            has a file: GOAL as text or binary, or Chakra.
        cc: The scheme.
        rate_bps: The rate of each host's link in bits per second, without a topology.
        topology: A file of htsim (`.topo`), whose hosts have the ranks in their order.
        delay_ps: The propagation delay of each link in picoseconds, without a topology.
        seed: The seed.
        profile: What the column `profile` says; the scheme if None.

    Returns:
        A row for each message in the order of completion: `flow_id` (the place of the message among
        all that were posted), `source` and `destination` (ranks), `tag`, `payload_bytes`, and in
        integer picoseconds `start_time_ps` (posted), `completion_time_ps` (its last byte arrived)
        and `fct_ps`, the time between.

    Raises:
        ScenarioError: The trace or the topology cannot be read, or the job has not ended in 1000 s.

    Example:
        ```python
        import incast
        from pathlib import Path

        ranks = ["rank 0 {", "send 1000b to 1", "}", "rank 1 {", "recv 1000b from 0", "}"]
        Path("two.goal").write_text(chr(10).join(["num_ranks 2", *ranks, ""]))
        messages = incast.run_job("two.goal", "line-rate")
        messages.select("source", "destination", "fct_ps")
        ```
    """
    fabric = None if topology is None else (os.fspath(topology), inputs.text(Path(topology)))
    text, _ = _core.import_job(
        os.fspath(trace),
        rate_bps=rate_bps,
        delay_ps=delay_ps,
        topology=fabric,
        scheme=cc,
    )
    scenario = Scenario.parse(text, "job.toml")
    result = run(scenario, cc, seed=seed, whatever_it_costs=True)
    messages = result.table("messages")
    rounds = result.table("iterations")
    late = messages["completed_us"].null_count()
    if late or rounds["end_us"].null_count():
        raise ScenarioError(
            f"{os.fspath(trace)}: the job had not ended after 1000 s, the longest run, with {late} "
            f"of {messages.height} messages under way; lower its sizes or times"
        )
    ways = scenario.job_connections(0) or []
    ends = [ways[flow] for flow in messages["flow"]]
    source, destination, tag = zip(*ends, strict=True)
    told = messages.select(
        pl.lit(profile or cc).alias("profile"),
        pl.Series("source", source, pl.Int64),
        pl.Series("destination", destination, pl.Int64),
        pl.Series("tag", tag, pl.Int64),
        pl.col("bytes").cast(pl.Int64).alias("payload_bytes"),
        _ps("posted_us").alias("start_time_ps"),
        _ps("completed_us").alias("completion_time_ps"),
        pl.col("message").alias("place"),
    )
    told = told.sort("start_time_ps", "source", "destination", "tag", "place")
    told = told.with_row_index("flow_id").with_columns(
        pl.col("flow_id").cast(pl.Int64),
        fct_ps=pl.col("completion_time_ps") - pl.col("start_time_ps"),
    )
    return told.select(COLUMNS).sort("completion_time_ps", "flow_id")


def _ps(column: str) -> pl.Expr:
    """A column of microseconds in whole picoseconds."""
    return (pl.col(column) * 1e6).round().cast(pl.Int64)
