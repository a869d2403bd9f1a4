"""Scenarios for a test bed, the plan of one, and the program that carries it on Linux TCP."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import incast
from incast.lab import bed, plan

STAR = """
title = "Two connections into one port"
[run]
duration = "3s"
warmup = "1s"
schemes = ["cubic", "timely"]
[[network.star.hosts]]
name = "sender"
count = 2
rate = "10Gbps"
delay = "1us"
[[network.star.hosts]]
name = "receiver"
rate = "200Mbps"
delay = "1us"
[switch]
queue_limit = "500KB"
[transport]
kind = "stream"
[[traffic]]
kind = "connections"
from = "sender"
to = "receiver"
"""

LEAF_SPINE = STAR.replace(
    STAR[STAR.index("[[network") : STAR.index("[switch]")],
    """\
[network.leaf-spine]
leaves = 2
spines = 3
hosts = { name = "host", count = 3, rate = "100Mbps", delay = "1us" }
uplink = { rate = "100Mbps", delay = "1us" }
""",
).replace(
    'from = "sender"\nto = "receiver"',
    'from = "host[0-1]"\nto = "host[3-5]"',
)

DUMBBELL = STAR.replace(
    STAR[STAR.index("[[network") : STAR.index("[switch]")],
    """\
[network.dumbbell]
left = [{ name = "sender", count = 2, rate = "1Gbps", delay = "1us" }]
right = [{ name = "receiver", count = 2, rate = "1Gbps", delay = "1us" }]
bottleneck = { rate = "200Mbps", delay = "5us" }
""",
)

FETCH = STAR.replace('to = "receiver"', 'to = "sender"').replace(
    'kind = "connections"\nfrom = "sender"', 'kind = "requests"\nfrom = "receiver"'
)
FETCH += """\
load = 0.5
sizes = "web-search"
fan_out = [[1, 0.5], [2, 0.5]]
split = true
"""


def planned(text: str = STAR) -> plan.BedPlan:
    """The plan of a test bed for a scenario."""
    return plan.read(incast.Scenario.parse(text, "mine"), "cubic")


def built_program() -> Path | None:
    """The newest `incast-kernel`: that of `make kernel`, or of the tests of its crate."""
    places = [
        Path(sys.prefix) / "bin" / "incast-kernel",
        *(
            Path(__file__).parents[2] / "target" / profile / "incast-kernel"
            for profile in ("release", "debug")
        ),
    ]
    there = (place for place in places if os.access(place, os.X_OK))
    return max(there, key=lambda place: place.stat().st_mtime, default=None)


def program_or_skip() -> Path:
    """`incast-kernel`; skips where a test bed cannot stand, and says why."""
    program = built_program()
    if program is None:
        pytest.skip("no test bed: incast-kernel is not built (make kernel)")
    try:
        bed.check()
    except plan.LabError as error:
        pytest.skip(f"no test bed: {error}")
    can = subprocess.run([program, "check"], capture_output=True, text=True, check=False)
    if can.returncode:
        pytest.skip(f"no test bed: {can.stderr.strip()}")
    return program
