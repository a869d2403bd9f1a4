# SPDX-License-Identifier: GPL-2.0-only
"""Runs ten BBR senders into one receiver in ns-3 and here, with the same starts, and prints both.

Needs `make setup`: `.venv/bin/python bench/ns3/bbr.py --into target/ns3`.
"""

import argparse
import csv
import os
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

import polars as pl
from compare import build, install
from peers import REPOSITORY, run

import incast

EVERY_10_US = [10.0 * number for number in range(10)]
DELAYS = ("1us", "5us", "20us")
# What runs there: as it is, with the draft's first pacing rate, and with samples of the delivery
# rate that start with their ACKs, too.
THERE = {
    "ns-3": (),
    "ns-3, the draft's first pacing rate": ("--draft",),
    "ns-3, its first rate and samples": ("--draft", "--fresh"),
}
# What runs here: as it is, with ns-3's allowances, and without the RTT of the handshake.
HERE = (("bbr", ""), ("bbr:ns-3", ""), ("bbr", "cc.bbr.handshake_rtt=off"))
SEEDS = (1, 2, 3)


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
        f"{'starts':17} {'where':35} {'RTT us':>7} {'packets':>8}  least RTT of each sender in us"
    )
    starts = {f"10 us, links {delay}": (EVERY_10_US, delay) for delay in DELAYS}
    for seed in SEEDS:
        starts[f"of seed {seed}"] = (drawn(seed), "1us")
    for name, (times, delay) in starts.items():
        for what, options in THERE.items():
            row(name, what, there(program, times, delay, options))
        for scheme, setting in HERE:
            row(
                name,
                f"incast, {scheme} {setting.removeprefix('cc.bbr.')}",
                here(times, delay, scheme, setting),
            )
    print("\nThe first ACKs, starts every 10 us:")
    trace_there(program, into / "bbr.csv")
    trace_here()


def scenario(starts: list[float], delay: str) -> incast.Scenario:
    """The witness's scenario with these starts, in microseconds, and this delay of a link."""
    text = (REPOSITORY / "scenarios" / "tcp-incast.toml").read_text(encoding="utf-8")
    before, _, _ = text.partition("[[traffic]]")
    for number, start in enumerate(starts):
        before += (
            f'[[traffic]]\nkind = "connections"\nfrom = "sender{number}"\nto = "receiver"\n'
            f'start = "{start:.3f}us"\n'
        )
    delays = [f"network.star.hosts.{group}.delay={delay}" for group in (0, 1)]
    return incast.Scenario.parse(before, "tcp-incast").with_set(*delays)


def drawn(seed: int) -> list[float]:
    """When the senders of `tcp-incast` start, whole nanoseconds."""
    settings = ("run.duration=1ms", "run.warmup=500us")
    flows = incast.run(incast.load("tcp-incast").with_set(*settings), "bbr", seed=seed)
    return [round(start, 3) for start in flows.table("flows")["start_us"]]


def there(
    program: str, starts: list[float], delay: str, options: tuple[str, ...]
) -> dict[str, Any]:
    """The run in ns-3."""
    times = ",".join(map(str, starts))
    return run([program, f"--starts={times}", f"--delay={delay}", *options])


def here(starts: list[float], delay: str, scheme: str, setting: str) -> dict[str, Any]:
    """Means of the runs here, and the least RTTs of the first of them."""
    of = scenario(starts, delay).with_set(*filter(None, [setting]))
    results = [incast.run(of, scheme, seed=seed, traces=["flows"]) for seed in SEEDS]
    gauges = results[0].table("trace_gauges").filter(pl.col("gauge") == "min_rtt_us")
    return {
        "rtt_us": statistics.mean(one.summary["rtt_mean_us"][0] for one in results),
        "queue_packets": statistics.mean(one.summary["queue_mean_kb"][0] for one in results) / 1.49,
        "min_rtt_us": gauges.group_by("flow").agg(pl.col("value").last()).sort("flow")["value"],
    }


def row(starts: str, where: str, found: dict[str, Any]) -> None:
    """A line of the table."""
    least = " ".join(f"{rtt:.1f}" for rtt in found["min_rtt_us"])
    print(f"{starts:17} {where:35} {found['rtt_us']:7.1f} {found['queue_packets']:8.1f}  {least}")


def trace_there(program: str, file: Path) -> None:
    """The first ACKs of the first and of the sixth sender in ns-3."""
    run([program, "--draft", "--milliseconds=2", f"--trace={file}"])
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
        scenario(EVERY_10_US, "1us").with_set("run.duration=1ms", "run.warmup=500us"),
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
