"""The simulator's prediction for a test bed, in the columns of its rows."""

import polars as pl

from incast import _core
from incast._core import Run, Scenario
from incast.lab.traffic import by_urgency
from incast.results.tables import frame

_ATTACHED = {"timely": "timely:linux-tcp", "rtcp": "rtcp:testbed-websearch-1to1"}
"""The preset that is attached to Linux TCP if none is named."""


def simulate(scenario: Scenario, scheme: str, seed: int) -> Run:
    """A run of what is attached under the name of a scheme."""
    return _core.run(scenario, _ATTACHED.get(scheme, scheme), seed=seed)


def figures(scenario: Scenario, run: Run) -> dict[str, float]:
    """The figures of a run that a test bed measures too."""
    said = run.summary
    found = {
        "throughput_mbps": said["throughput_gbps"] * 1e3,
        "rtt_p50_us": said["rtt_p50_us"],
        "rtt_p99_us": said["rtt_p99_us"],
        "retransmissions": said["retransmissions"],
    }
    tables = {table.name: table for table in run.tables}
    asked = [frame(tables[name]) for name in ("requests", "messages") if name in tables]
    rows = next((rows for rows in asked if not rows.is_empty()), None)
    if rows is None:
        found["jain_index"] = said["jain_index"]
        return found
    counted = rows.filter(pl.col("posted_us") >= scenario.warmup_s * 1e6)
    known = {key: value for key, value in by_urgency(counted).items() if value is not None}
    return found | known
