"""A new cluster is accepted: what it should reach, a log that falls short, and why it does."""

import json
from pathlib import Path

from steps import as_json, incast

import incast as api

cluster = ("--nodes", "4", "--gpus", "2", "--nic", "100Gbps")
table = incast("expect", *cluster, "--sizes", "256KiB,4MiB")
assert "# Collective test starting: all_reduce_perf" in table, table
assert "# Tolerance of busbw   : 4194304 B: 5.0 %" in table, table
found = as_json("expect", *cluster, "--sizes", "256KiB,4MiB")
rows = found["results"]
assert [row["size"] for row in rows] == [2**18, 2**22], rows
# A rail carries 2 (N - 1) / N of half the size at 100 Gb/s: no more can arrive.
least_us = 2 * 3 / 4 * 2**21 * 8 / 1e5
assert least_us < rows[1]["out_of_place"]["time"] < 1.2 * least_us, (rows, least_us)

# What it printed is a log that reaches it. One of a cluster with a link of half the rate does not.
Path("good.log").write_text(table)
assert "All 2 sizes reach what is expected." in incast("expect", *cluster, "--log", "good.log")
Path("star.toml").write_text("""
title = "Four hosts"
run = { duration = "1ms", schemes = ["line-rate"] }
switch = { buffer = "4MB", pfc = { enabled = true } }
traffic = [{ kind = "collective", from = "host", collective = "all-reduce", size = "1MB" }]
[network.star]
hosts = [{ name = "host", count = 4, rate = "100Gbps", delay = "1us" }]
""")
slow = [{"from": "host1", "to": "switch", "rate": "50Gbps"}]
broken = api.expect(api.load("star.toml").with_set({"link": slow}), sizes="1MiB")
Path("bad.log").write_text(broken.text())
said = api.expect("star.toml", log="bad.log")
assert said.short == [2**20], said
best = [one.name for one in said.explanations if one.fits]
assert "one slow rail: host0 at 50Gbps" in best, said.explanations
assert json.dumps(said.to_dict())
