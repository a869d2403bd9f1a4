"""The parts of `bench/ns3` and `bench/htsim` that are alike: our side, and lines of the tables."""

import json
import subprocess
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
# A tick of the clock by which some systems count CPU time.
LEAST_S = 1e-3


def heading() -> None:
    """Prints the head of the table."""
    heads = ("CPU s", "Mhops/s", "ns/hop", "Gb/s")
    print(f"{'network':21} {'packet-hops':>13}", *(f"{head:>9}" for head in heads))


def run_ours(scenario: str, microseconds: int, *changes: str, debug: bool) -> dict[str, Any]:
    """Runs a network of the benchmark here, changed in some values."""
    build = "" if debug else "--release"
    speed = f"cargo run --quiet {build} --locked --example speed -- --json"
    times = [f"run.duration={microseconds}us", f"run.warmup={microseconds // 2}us"]
    return run([*speed.split(), str(REPOSITORY / "bench" / f"{scenario}.toml"), *times, *changes])


def run(command: list[str]) -> dict[str, Any]:
    """Runs a program; returns the JSON in the last line that it prints."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def ns_per_hop(found: dict[str, Any]) -> float:
    """User CPU time of a packet-hop; a short run may take none that the system has counted."""
    return max(float(found["user_s"]), LEAST_S) * 1e9 / int(found["packet_hops"])


def row(network: str, simulator: str, found: dict[str, Any]) -> None:
    """Prints a line of the table."""
    ns = ns_per_hop(found)
    print(
        f"{network:12} {simulator:8} {found['packet_hops']:13,} {found['user_s']:9.2f} "
        f"{1e3 / ns:9.2f} {ns:9.1f} {found['goodput_gbps']:9.2f}"
    )
