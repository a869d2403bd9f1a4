"""Tables of what a load has measured, and of a server's peers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from incast.base.lazy import lazy

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy("polars")

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def quantile(ordered: Sequence[float], part: float) -> float | None:
    """The value that a part of the values does not exceed (the nearest rank); None of none."""
    if not ordered:
        return None
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def summary(found: dict[str, Any], *, size: int, cc: str) -> dict[str, Any]:
    """The figures of a load: times in microseconds, rates in Gb/s."""
    latency, rtt = sorted(found["latency_us"]), sorted(found["rtt_us"])
    elapsed = found["elapsed_s"]
    per_s = found["replies"] / elapsed if elapsed > 0 else 0.0
    return {
        "cc": cc,
        "calls": len(latency),
        "calls_per_s": per_s,
        "goodput_gbps": per_s * size * 8 / 1e9,
        "failed": found["failed"],
        "unfinished": found["unfinished"],
        "retransmissions": found["retransmissions"],
        **{f"latency_{name}_us": quantile(latency, part) for name, part in _QUANTILES.items()},
        "samples": len(rtt),
        **{f"rtt_{name}_us": quantile(rtt, part) for name, part in _QUANTILES.items()},
        "rate_mean_gbps": (
            sum(found["rate_gbps"]) / len(found["rate_gbps"]) if found["rate_gbps"] else None
        ),
        "rate_least_gbps": min(found["rate_gbps"], default=None),
        "sent_gbps": found["data_bytes"] * 8 / elapsed / 1e9 if elapsed > 0 else 0.0,
        "paced_sends": found["paced_sends"],
        "late_p50_us": found["late_p50_us"],
        "late_p99_us": found["late_p99_us"],
        "late_most_us": found["late_most_us"],
        "cpu_s": found["cpu_s"],
    }


def _text(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def table(summary: dict[str, Any]) -> str:
    """The figures of a load as a table."""
    rows = Table(box=None, pad_edge=False)
    for column in ("", "p50", "p90", "p99", "p99.9"):
        rows.add_column(column, justify="left" if not column else "right")
    for name, key in (("latency of a call, us", "latency"), ("RTT, us", "rtt")):
        rows.add_row(name, *(_text(summary[f"{key}_{part}_us"]) for part in _QUANTILES))
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(
            f"{summary['cc']}: {summary['calls']:,} calls, {_text(summary['calls_per_s'])} "
            f"a second, {summary['goodput_gbps']:.3f} Gb/s"
        )
        console.print(rows)
        if summary["samples"]:
            console.print(
                f"sending rate: mean {_text(summary['rate_mean_gbps'], 3)} Gb/s, "
                f"least {_text(summary['rate_least_gbps'], 3)} Gb/s"
            )
        else:
            console.print("no RTT samples: the kernel gave no timestamps")
        if summary["paced_sends"]:
            console.print(
                f"pacing: {summary['paced_sends']:,} sends waited for their time; late by p50 "
                f"{_text(summary['late_p50_us'])} us, p99 {_text(summary['late_p99_us'])} us"
            )
        console.print(
            f"sent {_text(summary['sent_gbps'], 4)} Gb/s with headers, "
            f"in {summary['cpu_s']:.2f} s of CPU time"
        )
        left = {name: summary[name] for name in ("failed", "unfinished", "retransmissions")}
        told = [f"{count} {name}" for name, count in left.items() if count]
        if told:
            console.print(", ".join(told))
    return captured.get().rstrip()


def write(out: Path, found: dict[str, Any], summary: dict[str, Any]) -> None:
    """Writes each call and each RTT sample as Parquet, and the figures as JSON."""
    out.mkdir(parents=True)
    calls = {"at_us": found["at_us"], "latency_us": found["latency_us"]}
    pl.DataFrame(calls).write_parquet(out / "calls.parquet")
    samples = {
        "at_us": found["sample_at_us"], "rtt_us": found["rtt_us"], "rate_gbps": found["rate_gbps"]
    }  # fmt: skip
    pl.DataFrame(samples).write_parquet(out / "samples.parquet")
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def peers(states: Sequence[dict[str, Any]]) -> Table:
    """The peers of a server as a table."""
    rows = Table(box=None, pad_edge=False)
    for column in ("peer", "RTT, us", "least", "messages", "MB", "waiting", "again"):
        rows.add_column(column, justify="left" if column == "peer" else "right")
    for state in states:
        rows.add_row(
            state["address"],
            _text(state["rtt_us"]),
            _text(state["least_rtt_us"]),
            f"{state['messages']:,}",
            f"{state['received_bytes'] / 1e6:,.1f}",
            f"{state['waiting_bytes']:,}",
            f"{state['retransmissions']:,}",
        )
    return rows
