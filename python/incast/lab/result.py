"""Measurements of a test bed and simulations as one result, with the same tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
import polars.selectors as cs

from incast import _core
from incast._core import Run as SimulatedRun
from incast._core import Scenario
from incast.api.result import Result
from incast.lab.measure import Measured
from incast.results.columns import TableInfo
from incast.results.described import all_tables
from incast.results.stored import StoredScenario
from incast.results.tables import RecordedRun, SchemeRun

ON_LINUX = "on Linux"
SIMULATED = "simulated"
# The ratio between the ends of a bucket of RTTs.
_BUCKET = 1.02


@dataclass(frozen=True)
class _Table:
    """A table of the simulator's, with the columns that a test bed can fill."""

    name: str
    rows: pl.DataFrame
    info: TableInfo

    def frame(self) -> pl.DataFrame:
        return self.rows


def result(
    scenario: Scenario,
    schemes: Sequence[str],
    measured: Mapping[str, Measured],
    simulated: Mapping[str, SimulatedRun],
    repeat: int,
) -> Result:
    """The result of one repetition, with a run on Linux and a simulated run of each scheme."""
    known = all_tables()
    runs: dict[str, SchemeRun] = {}
    for scheme in schemes:
        if scheme in measured:
            name = f"{scheme} {ON_LINUX}"
            runs[name] = _on_linux(name, repeat + 1, measured[scheme], known)
        if scheme in simulated:
            name = f"{scheme} {SIMULATED}"
            run = simulated[scheme]
            runs[name] = RecordedRun(name, run.seed, run.complete, run.summary, run.tables)
    kinds = (ON_LINUX, SIMULATED) if simulated else (ON_LINUX,)
    names = tuple(f"{scheme} {kind}" for scheme in schemes for kind in kinds)
    described = StoredScenario(
        name=scenario.name,
        title=scenario.title,
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        cooldown_s=scenario.cooldown_s,
        schemes=names,
        published={},
        text=scenario.toml(),
        inputs=scenario.inputs,
    )
    return Result(described, names, repeat + 1, runs)


def _on_linux(name: str, seed: int, found: Measured, known: Mapping[str, TableInfo]) -> RecordedRun:
    row, rtts = found.row, np.array(found.rtts_us)
    frames = dict(found.carried.tables)
    if "series_flows" in frames:
        frames["series_jain"] = _jain(frames["series_flows"])
    frames["rtt_histogram"] = _histogram(rtts)
    tables = [
        # Counts are unsigned in the simulator's tables.
        _Table(name, rows.cast({cs.integer(): pl.UInt64}), _part(known[name], rows))
        for name, rows in frames.items()
    ]
    summary: dict[str, float | int | None] = {key: None for key, _, _ in _core.summary_figures()}
    summary |= {
        "throughput_gbps": row.throughput_mbps / 1e3,
        "rtt_mean_us": float(rtts.mean()),
        "rtt_p50_us": row.rtt_p50_us,
        "rtt_p99_us": row.rtt_p99_us,
        "rtt_samples": rtts.size,
        "retransmissions": row.retransmissions,
        "jain_index": row.jain_index,
        "simulated_s": None,
    }
    own = asdict(row)
    summary |= {key: own[key] for key in _ONLY_HERE}
    return RecordedRun(name, seed, True, summary, tables)


_ONLY_HERE = (
    "urgent_p99_us", "others_p99_us", "incomplete", "rtt_idle_us", "probes_lost", "others_percent",
    "stolen_percent",
)  # fmt: skip


def _part(info: TableInfo, rows: pl.DataFrame) -> TableInfo:
    columns = {name: info["columns"][name] for name in ("scheme", *rows.columns)}
    return {"doc": info["doc"], "columns": columns}


def _histogram(rtts: np.ndarray) -> pl.DataFrame:
    buckets, counts = np.unique(
        np.floor(np.log(np.maximum(rtts, 0.1)) / np.log(_BUCKET)), return_counts=True
    )
    return pl.DataFrame(
        {"low_us": _BUCKET**buckets, "high_us": _BUCKET ** (buckets + 1), "count": counts}
    )


def _jain(series: pl.DataFrame) -> pl.DataFrame:
    # The intervals of several iperf3 end some milliseconds apart.
    goodput = pl.col("goodput_gbps")
    return (
        series.with_columns((pl.col("time_us") / 1e5).round() * 1e5)
        .group_by("time_us")
        .agg((goodput.sum() ** 2 / (pl.len() * (goodput**2).sum())).alias("jain_index"))
        .sort("time_us")
    )
