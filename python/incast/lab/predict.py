"""What the simulator says of the network of a test bed, in the terms of its rows."""

from collections.abc import Sequence

import polars as pl

from incast import _core
from incast._core import Scenario
from incast.lab.measure import URGENT_BELOW
from incast.tables import frame


_ATTACHED = {"timely": "timely:linux-tcp", "rtcp": "rtcp:testbed-websearch-1to1"}
"""The preset that is attached to Linux TCP if none is named."""


def predicted(scenario: Scenario, schemes: Sequence[str]) -> dict[str, dict[str, float]]:
    """The figures of each scheme that a test bed measures, too."""
    return {scheme: _of(scenario, scheme) for scheme in schemes}


def _of(scenario: Scenario, scheme: str) -> dict[str, float]:
    run = _core.run(scenario, _ATTACHED.get(scheme, scheme))
    said = run.summary
    found = {
        "throughput_mbps": said["throughput_gbps"] * 1e3,
        "rtt_p50_us": said["rtt_p50_us"],
        "rtt_p99_us": said["rtt_p99_us"],
    }
    requests = next((frame(table) for table in run.tables if table.name == "requests"), None)
    if requests is None or requests.is_empty():
        found["jain_index"] = said["jain_index"]
        found["retransmissions"] = said["retransmissions"]
        return found
    counted = requests.filter(pl.col("posted_us") >= scenario.warmup_s * 1e6)
    urgent = pl.col("bytes") < URGENT_BELOW
    for key, rows in (
        ("urgent_p99_us", counted.filter(urgent)),
        ("others_p99_us", counted.filter(~urgent)),
    ):
        value = rows["completion_us"].quantile(0.99, "linear")
        if value is not None:
            found[key] = float(value)
    return found
