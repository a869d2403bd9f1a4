"""Measurements of a test bed and simulations as one result, with the same tables and figures."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl
import polars.selectors as cs

from incast import _core
from incast._core import Run as SimulatedRun
from incast._core import Scenario
from incast.api.result import Result
from incast.lab.row import Measured
from incast.results.columns import ColumnInfo, TableInfo
from incast.results.described import all_tables
from incast.results.stored import StoredScenario
from incast.results.tables import RecordedRun, SchemeRun

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
    names: Sequence[str],
    found: Mapping[str, Measured | SimulatedRun],
    repeat: int,
) -> Result:
    """The result of one repetition, with a run for each scheme on each carrier by its name."""
    known = all_tables()
    runs: dict[str, SchemeRun] = {}
    for name in names:
        run = found.get(name)
        if isinstance(run, Measured):
            runs[name] = _on_linux(name, repeat + 1, run, known)
        elif run is not None:
            runs[name] = RecordedRun(name, run.seed, run.complete, run.summary, run.tables)
    described = StoredScenario(
        name=scenario.name,
        title=scenario.title,
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        cooldown_s=scenario.cooldown_s,
        schemes=tuple(names),
        published={},
        text=scenario.toml(),
        inputs=scenario.inputs,
    )
    return Result(described, tuple(names), repeat + 1, runs)


def _on_linux(name: str, seed: int, found: Measured, known: Mapping[str, TableInfo]) -> RecordedRun:
    row, rtts = found.row, pl.Series(found.rtts_us, dtype=pl.Float64)
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
        "rtt_mean_us": math.fsum(rtts) / len(rtts),
        "rtt_p50_us": row.rtt_p50_us,
        "rtt_p99_us": row.rtt_p99_us,
        "rtt_samples": len(rtts),
        "retransmissions": row.retransmissions,
        "drops": row.drops,
        "jain_index": row.jain_index,
        "simulated_s": None,
    }
    own = asdict(row)
    summary |= {key: own[key] for key in _ONLY_HERE}
    return RecordedRun(name, seed, True, summary, tables)


_ONLY_HERE = (
    "urgent_p99_us", "others_p99_us", "incomplete", "over_predicted", "ping_p50_us", "ping_p99_us",
    "rtt_idle_us", "probes_lost", "others_percent", "stolen_percent",
)  # fmt: skip


_PREDICTED: ColumnInfo = {
    "unit": "us",
    "doc": "completion of the same message in the simulator's prediction; null where it was not "
    "complete. The column is there where the simulator predicts a test bed",
}


def _part(info: TableInfo, rows: pl.DataFrame) -> TableInfo:
    known = {**info["columns"], "predicted_us": _PREDICTED}
    columns = {name: known[name] for name in ("scheme", *rows.columns)}
    return {"doc": info["doc"], "columns": columns}


def _histogram(rtts: pl.Series) -> pl.DataFrame:
    bucket = pl.col("bucket")
    buckets = (rtts.clip(lower_bound=0.1).log() / math.log(_BUCKET)).floor()
    return (
        buckets.alias("bucket").to_frame().group_by("bucket").len("count").sort("bucket")
        .select(
            (bucket * math.log(_BUCKET)).exp().alias("low_us"),
            ((bucket + 1) * math.log(_BUCKET)).exp().alias("high_us"),
            "count",
        )
    )  # fmt: skip


def _jain(series: pl.DataFrame) -> pl.DataFrame:
    # The intervals of several iperf3 end some milliseconds apart.
    goodput = pl.col("goodput_gbps")
    return (
        series.with_columns((pl.col("time_us") / 1e5).round() * 1e5)
        .group_by("time_us")
        .agg((goodput.sum() ** 2 / (pl.len() * (goodput**2).sum())).alias("jain_index"))
        .sort("time_us")
    )
