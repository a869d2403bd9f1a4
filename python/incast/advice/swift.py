"""Swift's target delays."""

from incast.advice.given import Given
from incast.advice.row import Row

NAME = "swift"
_RANGE = 5


def rows(given: Given) -> list[Row]:
    """The target of the fabric: its base, what a link adds, and what many flows add."""
    paper = "Swift, target delay"
    hop, hops = given.rtt_us / given.hops, given.hops
    return [
        Row(NAME, "base target", given.rtt_us, "us", "RTT", paper),
        Row(NAME, "a link", hop, "us", f"RTT / {hops} links: 2 RTT in all", paper),
        Row(NAME, "flow scaling", _RANGE * given.rtt_us, "us", "5 base targets", "htsim"),
    ]


def keys(given: Given) -> dict[str, object]:
    """The targets as keys of a scenario: a window counts packets, as streams do."""
    return {
        "cc.swift.transport": "stream",
        "cc.swift.base_target": f"{given.rtt_us:.3f}us",
        # The star of the trial has two links, whatever the path has.
        "cc.swift.hop_scale": f"{given.rtt_us / 2:.3f}us",
        "cc.swift.fs_range": f"{_RANGE * given.rtt_us:.3f}us",
    }
