"""Results whose tables were made up here, so that a test knows every number in them."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

import incast
from incast.results.columns import ColumnInfo, TableInfo

LAYERS = ("host->leaf", "leaf->spine", "spine->leaf", "leaf->host")


@dataclass(frozen=True)
class FakeTable:
    name: str
    rows: pl.DataFrame

    @property
    def info(self) -> TableInfo:
        about: ColumnInfo = {"unit": "", "doc": "made up"}
        return {"doc": "made up", "columns": dict.fromkeys(("scheme", *self.rows.columns), about)}

    def frame(self) -> pl.DataFrame:
        return self.rows


@dataclass(frozen=True)
class FakeRun:
    scheme: str
    seed: int
    complete: bool = True
    summary: Mapping[str, float | int | None] = field(default_factory=dict)
    tables: tuple[FakeTable, ...] = ()


def made_up(
    scenario: incast.Scenario, *schemes: str, seed: int = 1, **tables: pl.DataFrame
) -> incast.Result:
    """A result with these tables, the same for every scheme."""
    held = tuple(FakeTable(name, rows) for name, rows in tables.items())
    runs = {scheme: FakeRun(scheme, seed, summary=SUMMARY, tables=held) for scheme in schemes}
    return incast.Result(scenario, schemes, seed, runs)


SUMMARY: dict[str, float | int | None] = {
    "throughput_gbps": 9.0, "rtt_mean_us": 60.0, "rtt_p50_us": 50.0, "rtt_p99_us": 120.0,
    "queue_mean_kb": 40.0, "queue_p99_kb": 90.0, "pfc_pauses": 0, "ecn_marks": 0, "drops": 0,
    "jain_index": 0.98, "simulated_s": 5e-3,
}  # fmt: skip


def everything(
    scenario: incast.Scenario, *schemes: str, seed: int = 1, messages: int = 4000
) -> incast.Result:
    """A result with every table that there can be, drawn at random; schemes differ in speed."""
    runs = {}
    for number, scheme in enumerate(schemes):
        random = np.random.default_rng([seed, number])
        pace = 1 + 0.7 * number
        tables = _tables(random, pace, messages)
        summary = dict(SUMMARY)
        for key in ("throughput_gbps", "rtt_mean_us", "rtt_p99_us"):
            summary[key] = float(SUMMARY[key] or 0) * pace * random.uniform(0.95, 1.05)
        held = tuple(FakeTable(name, rows) for name, rows in tables.items())
        runs[scheme] = FakeRun(scheme, seed, summary=summary, tables=held)
    return incast.Result(scenario, schemes, seed, runs)


def _tables(random: np.random.Generator, pace: float, count: int) -> dict[str, pl.DataFrame]:
    sizes = (10 ** random.uniform(2.5, 7, count)).astype(np.uint64)
    ideal = 6 + sizes * 8e-4
    slowdown = 1 + pace * random.lognormal(-0.5, 1.0, count)
    host = random.lognormal(1.0, 0.5, count)
    posted = np.sort(random.uniform(0, 5000, count))
    completion = ideal * slowdown + host
    deadline = random.exponential(3000.0, count)
    late = completion - deadline
    messages = pl.DataFrame(
        {
            "traffic": "all", "flow": np.zeros(count, np.uint64),
            "message": np.arange(count, dtype=np.uint64), "source": "h0", "destination": "h1",
            "class": "data", "bytes": sizes, "posted_us": posted, "first_sent_us": posted + host,
            "completed_us": posted + completion, "completion_us": completion, "host_us": host,
            "network_us": completion - host, "ideal_us": ideal, "slowdown": slowdown,
            "deadline_us": deadline, "met_deadline": (late <= 0).astype(np.float64),
            "late_us": late,
        }
    )  # fmt: skip
    requests = pl.DataFrame(
        {
            "traffic": "rpc", "client": "h0", "request": np.arange(count // 4, dtype=np.uint64),
            "kind": "read", "fan_out": np.uint64(8), "bytes": sizes[: count // 4],
            "posted_us": posted[: count // 4], "completed_us": (posted + completion)[: count // 4],
            "completion_us": completion[: count // 4] * 2,
            "deadline_us": deadline[: count // 4],
            "met_deadline": (2 * completion <= deadline).astype(np.float64)[: count // 4],
            "late_us": (2 * completion - deadline)[: count // 4],
        }
    )  # fmt: skip
    return {
        "messages": messages,
        "requests": requests,
        "fct": _fct(messages),
        "delay_histogram": pl.concat(
            _histogram(5 * pace * random.lognormal(0, 0.6, 20 * count)).select(
                pl.lit(traffic).alias("traffic"), pl.all()
            )
            for traffic in ("all", "rpc")
        ),
        "rtt_histogram": _histogram(20 * pace * random.lognormal(0, 0.5, 20 * count)),
        **_series(random, pace),
        **_traces(random, pace),
        "links": _links(random, pace),
        **_job(random, pace),
    }


def _job(random: np.random.Generator, pace: float) -> dict[str, pl.DataFrame]:
    """One iteration of a ring of four hosts, each of which computes before it sends."""
    steps: list[dict[str, object]] = []
    path: list[dict[str, object]] = []
    now = 0.0
    for number in range(8):
        rank = number % 4
        hosts = {"host": f"h{rank}", "peer": f"h{(rank + 1) % 4}"}
        same = {"traffic": "all", "group": 0, "iteration": 0}
        computed = now + 20 * random.uniform(0.5, 1)
        arrived = computed + 30 * pace * random.uniform(0.5, 1)
        for kind, ready, end in (("compute", now, computed), ("send", computed, computed)):
            sent = arrived if kind == "send" else None
            times = {"ready_us": ready, "end_us": end, "arrived_us": sent}
            steps.append({**same, "rank": rank, **hosts, "kind": kind, **times})
        for kind, start, end in (("compute", now, computed), ("message", computed, arrived)):
            path.append({**same, **hosts, "kind": kind, "start_us": start, "end_us": end})
        now = arrived
    return {"steps": pl.DataFrame(steps), "critical_path": pl.DataFrame(path)}


def _fct(messages: pl.DataFrame) -> pl.DataFrame:
    edges = 10 ** np.arange(2, 7.5, 0.5)
    rows = []
    for traffic in ("all", "rpc"):
        for low, high in itertools.pairwise(edges):
            own = messages.filter(pl.col("bytes") >= low, pl.col("bytes") < high)
            row = {
                "traffic": traffic, "size_from_bytes": int(low), "size_to_bytes": int(high) - 1,
                "posted": own.height, "finished": own.height,
            }  # fmt: skip
            for value, column in (
                ("completion_{}_us", "completion_us"),
                ("slowdown_{}", "slowdown"),
            ):
                row[value.format("mean")] = own[column].mean()
                for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)):
                    row[value.format(name)] = own[column].quantile(q, "higher")
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _histogram(values: np.ndarray) -> pl.DataFrame:
    edges = np.geomspace(values.min() * 0.999, values.max() * 1.001, 300)
    counts, _ = np.histogram(values, edges)
    rows = pl.DataFrame({"low_us": edges[:-1], "high_us": edges[1:], "count": counts})
    return rows.filter(pl.col("count") > 0)  # as the core may leave out empty buckets


def _series(random: np.random.Generator, pace: float) -> dict[str, pl.DataFrame]:
    time = np.arange(1, 501) * 10.0
    jain = 1 - 0.5 * np.exp(-time / 800 / pace) - random.uniform(0, 0.03, 500)
    mean = 50 * pace + 20 * np.sin(time / 300) + random.uniform(0, 10, 500)
    flows = [
        pl.DataFrame(
            {
                "time_us": time,
                "flow": np.uint64(flow),
                "goodput_gbps": random.uniform(0.8, 1.2, 500),
            }
        )
        for flow in range(8)
    ]
    return {
        "series_jain": pl.DataFrame({"time_us": time, "flows": np.uint64(8), "jain_index": jain}),
        "series_queues": pl.DataFrame(
            {
                "time_us": time,
                "port": "leaf0->h1",
                "queue_mean_kb": mean,
                "queue_max_kb": mean * 1.6,
            }
        ),
        "series_flows": pl.concat(flows).sort("time_us", "flow"),
    }


def _traces(random: np.random.Generator, pace: float) -> dict[str, pl.DataFrame]:
    time = np.arange(1, 401) * 12.5
    window = 40 + 30 * np.sin(time / 400) + random.uniform(0, 4, 400)
    flows = [
        pl.DataFrame(
            {
                "time_us": time,
                "flow": np.uint64(flow),
                "rtt_us": 50 * pace + random.uniform(0, 20, 400),
                "rate_gbps": window / 40,
                "window_kb": window,
                "in_flight_kb": window - random.uniform(0, 3, 400),
            }
        )
        for flow in range(2)
    ]
    gauges = [
        pl.DataFrame({"time_us": time, "flow": np.uint64(0), "gauge": gauge, "value": value})
        for gauge, value in (("alpha", random.uniform(0, 1, 400)), ("ssthresh_kb", window / 2))
    ]
    return {
        "trace_flows": pl.concat(flows).sort("time_us", "flow"),
        "trace_gauges": pl.concat(gauges).sort("time_us"),
    }


def _links(random: np.random.Generator, pace: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "link": [f"{layer}{n}" for layer in LAYERS for n in range(8)],
            "layer": [layer for layer in LAYERS for _ in range(8)],
            "rate_gbps": 10.0,
            "utilisation": random.uniform(0.2, 0.5, 32) * min(pace, 2),
            "paused_us": random.uniform(0, 300, 32) * pace,
            "paused_share": random.uniform(0, 0.1, 32) * pace,
        }
    )
