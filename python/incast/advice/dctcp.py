"""The threshold K of DCTCP's marks."""

import math

from incast.advice.given import Given, Link
from incast.advice.row import Row

NAME = "dctcp"
_BURST = 64_000


def threshold(given: Given, link: Link) -> int:
    """K on a link."""
    return math.ceil(link.bytes_per_us * given.rtt_us / 7 + _BURST)


def rows(given: Given) -> list[Row]:
    """K at each rate, and its part that theory asks for."""
    found = []
    for rate in sorted({link.rate_gbps for link, _ in given.ports}):
        link, at = Link(rate, 0.0), f"{rate:g} Gb/s"
        least = link.bytes_per_us * given.rtt_us / 7
        found += [
            Row(NAME, "K at least", least, "B", "rate x RTT / 7", "DCTCP, least K", at),
            Row(NAME, "K", threshold(given, link), "B", "that, and a burst of 64 KB",
                "DCTCP, bursts", at),
        ]  # fmt: skip
    return found


def keys(given: Given) -> dict[str, object]:
    """The threshold as keys of a scenario: TCP in a network that may drop."""
    return {
        "switch.pfc.enabled": False,
        "switch.ecn_threshold": f"{threshold(given, given.bottleneck)}B",
        "cc.dctcp.transport": "stream",
        "transport.stream.tso": f"{_BURST}B",
    }
