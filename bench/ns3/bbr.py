# SPDX-License-Identifier: GPL-2.0-only
"""Runs ten BBR senders into one receiver in ns-3 and here, with the same starts, and prints both.

Needs `make setup`: `.venv/bin/python bench/ns3/bbr.py --into target/ns3`.
"""

import argparse
import csv
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
from compare import REPOSITORY, build, install, run

import incast

EVERY_10_US = [10.0 * number for number in range(10)]
# What runs here: as it is, with ns-3's allowances, and without the RTT of the handshake.
HERE = (("bbr", ""), ("bbr:ns-3", ""), ("bbr", "cc.bbr.handshake_rtt=off"))


def main() -> None:
    """Installs, builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder for what is built")
    arguments = parser.parse_args()
    into = arguments.into.resolve()
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        sys.exit("a C++ compiler is missing; install one (Debian, Ubuntu: apt install g++)")
    program = build(compiler, install(into), into, "bbr")
    print(
        f"{'starts':12} {'where':34} {'RTT us':>7} {'packets':>8}  least RTT of each sender in us"
    )
    starts = {"every 10 us": EVERY_10_US, **{f"of seed {seed}": drawn(seed) for seed in (1, 2, 3)}}
    for name, times in starts.items():
        for draft in (False, True):
            found = there(program, times, draft=draft)
            row(name, "ns-3, the draft's first pacing rate" if draft else "ns-3", found)
        for scheme, setting in HERE:
            row(
                name,
                f"incast, {scheme} {setting.removeprefix('cc.bbr.')}",
                here(times, scheme, setting),
            )
    print("\nThe first ACKs, starts every 10 us:")
    trace_there(program, into / "bbr.csv")
    trace_here()


def scenario(starts: list[float]) -> incast.Scenario:
    """The witness's scenario with these starts, in microseconds."""
    text = (REPOSITORY / "scenarios" / "tcp-incast.toml").read_text(encoding="utf-8")
    before, _, _ = text.partition("[[traffic]]")
    for number, start in enumerate(starts):
        before += (
            f'[[traffic]]\nkind = "connections"\nfrom = "sender{number}"\nto = "receiver"\n'
            f'start = "{start:.3f}us"\n'
        )
    return incast.Scenario.parse(before, "tcp-incast")


def drawn(seed: int) -> list[float]:
    """When the senders of `tcp-incast` start, whole nanoseconds."""
    settings = ("run.duration=1ms", "run.warmup=500us")
    flows = incast.run(incast.load("tcp-incast").with_set(*settings), "bbr", seed=seed)
    return [round(start, 3) for start in flows.table("flows")["start_us"]]


def there(program: str, starts: list[float], *, draft: bool) -> dict[str, Any]:
    """The run in ns-3."""
    times = ",".join(map(str, starts))
    return run([program, f"--starts={times}", f"--draft={draft}".lower()])


def here(starts: list[float], scheme: str, setting: str) -> dict[str, Any]:
    """The run here."""
    of = scenario(starts).with_set(*filter(None, [setting]))
    result = incast.run(of, scheme, traces=["flows"])
    summary = result.summary
    gauges = result.table("trace_gauges").filter(pl.col("gauge") == "min_rtt_us")
    return {
        "rtt_us": summary["rtt_mean_us"][0],
        "queue_packets": summary["queue_mean_kb"][0] / 1.49,
        "min_rtt_us": gauges.group_by("flow").agg(pl.col("value").last()).sort("flow")["value"],
    }


def row(starts: str, where: str, found: dict[str, Any]) -> None:
    """A line of the table."""
    least = " ".join(f"{rtt:.1f}" for rtt in found["min_rtt_us"])
    print(f"{starts:12} {where:34} {found['rtt_us']:7.1f} {found['queue_packets']:8.1f}  {least}")


def trace_there(program: str, file: Path) -> None:
    """The first ACKs of the first and of the sixth sender in ns-3."""
    run([program, "--draft=true", "--milliseconds=2", f"--trace={file}"])
    with file.open(encoding="utf-8") as lines:
        for flow in (0, 5):
            lines.seek(0)
            acks = [ack for ack in csv.DictReader(lines) if int(ack["flow"]) == flow]
            for ack in acks[:8]:
                known = [float(ack[name]) for name in ("time_us", "rtt_us", "min_rtt_us")]
                segments = float(ack["cwnd_bytes"]) / 1448
                line("ns-3", flow, *known, float(ack["rate_gbps"]), segments)


def trace_here() -> None:
    """The same here."""
    result = incast.run(
        scenario(EVERY_10_US).with_set("run.duration=1ms", "run.warmup=500us"),
        "bbr",
        traces=["flows"],
    )
    gauges = result.table("trace_gauges").pivot(
        on="gauge", index=["time_us", "flow"], values="value"
    )
    acks = result.table("trace_flows").join(gauges, on=["time_us", "flow"])
    for flow in (0, 5):
        for ack in acks.filter(pl.col("flow") == flow).head(7).iter_rows(named=True):
            line(
                "incast",
                flow,
                ack["time_us"],
                ack["rtt_us"],
                ack["min_rtt_us"],
                ack["rate_gbps"],
                ack["cwnd_kb"] / 1.448,
            )


def line(where: str, flow: int, *values: float) -> None:
    """An ACK of the trace."""
    heads = ("at", "RTT", "least RTT", "rate Gb/s", "window in segments")
    print(
        f"{where:7} sender {flow}",
        *(f"{head} {value:.2f}" for head, value in zip(heads, values, strict=True)),
        sep="  ",
    )


if __name__ == "__main__":
    main()
