"""The cost of a run on a Dask cluster, with short runs one by one and in groups.

    python bench/cluster.py [--seeds 50]

It starts a scheduler and two workers on this machine, makes the same sweep both ways in turns, and
prints the time of cores of client, scheduler and workers for each run, beside the run itself.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import incast
from incast.base import cluster

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/python"))
import dask_cluster

_TICK = os.sysconf("SC_CLK_TCK")


def of_cores(process: int) -> float:
    """The seconds that a process has had of the cores."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def main() -> None:
    """Makes the sweeps, and prints what a run costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="of twenty runs each")
    seeds = parser.parse_args().seeds
    short = incast.load("incast").with_set("run.duration=8ms", "run.warmup=2ms")
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        with dask_cluster.cluster(top / "dask") as found:
            incast.sweep(short, "timely", seeds=8, out=top / "warm", scheduler=found.address)
            of = {
                "client": [os.getpid()],
                "scheduler": [found.scheduler],
                "workers": [one.pid for one in found.processes],
            }
            for turn in range(2):
                for together in (1, cluster._TOGETHER):
                    _measure(short, seeds, top / f"{turn}-{together}", found.address, of, together)


def _measure(
    scenario: incast.Scenario,
    seeds: int,
    out: Path,
    scheduler: str,
    of: dict[str, list[int]],
    together: int,
) -> None:
    usual, cluster._TOGETHER = cluster._TOGETHER, together
    before = {name: sum(map(of_cores, processes)) for name, processes in of.items()}
    began = time.monotonic()
    incast.sweep(
        scenario,
        ["timely", "dctcp"],
        vary={"traffic.0.connections": "1..10"},
        seeds=seeds,
        out=out,
        scheduler=scheduler,
    )
    wall = time.monotonic() - began
    cluster._TOGETHER = usual
    used = {name: sum(map(of_cores, each)) - before[name] for name, each in of.items()}
    files = [json.loads(path.read_bytes()) for path in (out / "runs").glob("*.json")]
    runs = sum(one["outcome"]["seconds"] for one in files)
    used["workers"] -= runs
    each = ", ".join(f"{name} {1e3 * part / len(files):.1f} ms" for name, part in used.items())
    print(
        f"groups of {together} at most: {len(files)} runs in {wall:.1f} s; for each {each}, "
        f"{1e3 * sum(used.values()) / len(files):.1f} ms in all beside the run of "
        f"{1e3 * runs / len(files):.1f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
