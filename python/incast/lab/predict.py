"""The simulator's prediction for a test bed, in the columns of its rows."""

from pathlib import Path

import polars as pl

from incast import _core
from incast._core import Run, Scenario
from incast.lab.programs import listed
from incast.lab.traffic import by_urgency
from incast.results.tables import frame


def simulate(scenario: Scenario, kernel: Path, scheme: str, seed: int) -> Run:
    """A run of what `incast-kernel` attaches under the name of a scheme."""
    attached = listed(kernel).get(scheme)
    if attached is not None and attached.preset is not None:
        scheme = f"{scheme}:{attached.preset}"
    return _core.run(scenario, scheme, seed=seed)


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
