"""Packet-hops, time and memory of runs beside what was estimated: docs/guide/cost.md.

    .venv/bin/python bench/cost.py [SCENARIO ...]

Each scenario runs once with each of its schemes, in a process of its own, cut so that the estimate
is 4 s at most. Time is CPU time of the run and its report, memory the peak of the process.
"""

import json
import resource
import subprocess
import sys
import time

import incast
from incast import _core
from incast.api import costs

LONGEST_S = 4.0
SCENARIOS = (
    *incast.shipped(), "bench/leaf-spine-tcp.toml", "bench/leaf-spine-messages.toml",
    "bench/fat-tree-128.toml", "bench/all-to-all.toml",
)  # fmt: skip


def cut(scenario: incast.Scenario, scheme: str) -> incast.Scenario:
    """The scenario, shortened if it is long."""
    long = scenario.cost(scheme)["seconds"] / LONGEST_S
    if long <= 1:
        return scenario
    duration, warmup = (1e6 * one / long for one in (scenario.duration_s, scenario.warmup_s))
    return scenario.with_set(
        f"run.duration={duration:.0f}us", f"run.warmup={warmup:.0f}us", "run.cooldown=0us"
    )


def measure(name: str, scheme: str) -> dict[str, float | str]:
    """Runs a scenario, and gives what was estimated and what it took."""
    scenario = cut(incast.load(name), scheme)
    cost = costs.estimate(scenario, [scheme])
    began = time.process_time()
    run = _core.run(scenario, scheme)
    took = time.process_time() - began
    return {
        "name": scenario.name,
        "scheme": scheme,
        "ms": scenario.duration_s * 1e3,
        "hops": cost.packet_hops,
        "real_hops": run.summary["packet_hops"],
        "seconds": cost.seconds,
        "real_seconds": took,
        "memory": cost.memory_bytes,
        "real_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> None:
    """Prints a line of a Markdown table for each scenario."""
    print("| scenario | hops, estimated | hops | time, estimated | time | estimated over real |")
    print("|---|---|---|---|---|---|")
    every = (
        (one, scheme) for one in sys.argv[1:] or SCENARIOS for scheme in incast.load(one).schemes
    )
    for name, scheme in every:
        command = [sys.executable, __file__, "--one", name, scheme]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        hops, seconds = (said[key] / said[f"real_{key}"] for key in ("hops", "seconds"))
        print(
            f"| {said['name']}, {said['scheme']}, {said['ms']:g} ms "
            f"| {said['hops'] / 1e6:.2f} M | {said['real_hops'] / 1e6:.2f} M "
            f"| {said['seconds']:.2f} s | {said['real_seconds']:.2f} s "
            f"| {hops:.2f} hops, {seconds:.2f} time |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*sys.argv[2:4])))
    else:
        main()
