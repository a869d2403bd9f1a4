"""A training job on a fabric: the time of a round, its neighbours, and a faster spine."""

import json
from pathlib import Path

from steps import as_json, incast

import incast as api

assert "all-reduce" in incast("scenario", "list")
incast("scenario", "copy", "all-reduce", "job.toml")
facts = incast("scenario", "check", "job.toml")
assert "oversubscription" in facts, facts
small = (
    "--set", "traffic.0.size=1MB", "--set", "traffic.0.rounds=2",
    "--set", "run.duration=3ms",
)  # fmt: skip

table = incast("run", "job.toml", "--cc", "dcqcn", "--cc", "hpcc", *small, "--out", "busy")
assert "training" in table, table
times = {}
busy = api.open_result("busy").table("iterations")
for scheme in ("dcqcn", "hpcc"):
    rounds = busy.filter(scheme=scheme)
    assert rounds.height == 2, rounds
    times[scheme] = rounds["duration_us"].to_list()
    # 2 (N - 1) / N of 1 MB at 100 Gb/s, and 62 steps of at least 2 us.
    assert min(times[scheme]) > 77 + 62 * 2, times

# Alone it is faster, and the same seed gives the same bytes.
incast("run", "job.toml", "--cc", "dcqcn", *small, "--set", "traffic.1.load=0.01", "--out", "idle")
alone = api.open_result("idle").table("iterations")["duration_us"].to_list()
assert max(alone) < max(times["dcqcn"]), (alone, times)
incast("run", "job.toml", "--cc", "dcqcn", "--cc", "hpcc", *small, "--out", "again")
for path in Path("busy").rglob("iterations.parquet"):
    assert path.read_bytes() == (Path("again") / path.relative_to("busy")).read_bytes()

# A sweep over the spine's rate, whose table says what it is.
incast(
    "sweep", "job.toml", "--cc", "dcqcn", *small,
    "--vary", "network.leaf-spine.uplink.oversubscription=1,4", "--out", "spine",
)  # fmt: skip
said = as_json("show", "spine")
assert "oversubscription" in json.dumps(said)
