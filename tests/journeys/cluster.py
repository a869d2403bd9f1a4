"""Buffers and thresholds of a 100 Gb/s cluster: marks, PFC, headroom, and what a change does."""

import re
from pathlib import Path

from steps import as_json, check_png, incast, measured

# The scenario is in the manual, which comes with the package.
page = as_json("docs", "size-buffers")["text"]
[scenario] = re.findall(r"^```toml cluster.toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
Path("cluster.toml").write_text(scenario, encoding="utf-8")
facts = incast("scenario", "check", "cluster.toml")
for fact in ("base RTT", "bandwidth-delay", "oversubscription", "PFC headroom", "estimate"):
    assert fact in facts, facts
explained = incast("scenario", "explain", "switch.ecn_threshold")
assert "mark" in explained.lower(), explained

# Thresholds: a lower one marks more and pauses less.
thresholds = ("100KB", "1.6MB")
for threshold in thresholds:
    incast(
        "run", "cluster.toml", "--set", f"switch.ecn_threshold={threshold}", "--out",
        f"ecn/{threshold}",
    )  # fmt: skip
ecn = [measured(f"ecn/{threshold}")["dcqcn"] for threshold in thresholds]
marks, pauses = ([row[key] for row in ecn] for key in ("ecn_marks", "pfc_pauses"))
assert marks == sorted(marks, reverse=True), marks
assert pauses == sorted(pauses), pauses
assert all(row["drops"] == 0 for row in ecn)
assert all(500 < row["throughput_gbps"] < 900 for row in ecn)

# Buffers: a smaller one pauses more. Without PFC it drops, and a warning says so before.
incast("run", "cluster.toml", "--set", "switch.buffer=2MB", "--out", "buffer/2MB")
small = measured("buffer/2MB")["dcqcn"]
assert small["pfc_pauses"] > pauses[0] >= 0 == small["drops"]
lossy = ("--set", "switch.buffer=2MB", "--set", "switch.pfc.enabled=false")
warnings = as_json("scenario", "check", "cluster.toml", *lossy)["warnings"]
assert any("dcqcn needs PFC" in warning for warning in warnings), warnings
incast("run", "cluster.toml", *lossy, "--out", "buffer/lossy")
assert measured("buffer/lossy")["dcqcn"]["drops"] > 0

table = incast("show", *(f"ecn/{threshold}" for threshold in thresholds))
assert all(f"ecn_threshold={threshold}" in table for threshold in thresholds)
incast("plot", "ecn/100KB", "--figure", "queue", "--figure", "slowdown-by-size", "--out", "drawn")
for name in ("queue", "slowdown-by-size"):
    check_png(Path(f"drawn/{name}.png"))
incast("scenario", "show", "cluster.toml", "--svg", "net.svg", "--result", "ecn/100KB")
assert "leaf0" in Path("net.svg").read_text(encoding="utf-8")
