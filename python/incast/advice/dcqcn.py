"""Marks for DCQCN: RED on the queue as it is."""

from incast.advice import pfc
from incast.advice.given import DCQCN, Given, Link
from incast.advice.row import Row

NAME = "dcqcn"
P_MAX = 0.01
_PAPER = "Zhu et al. 2016"
_RATE_GBPS = 40
_K_MIN, _K_MAX = 5e3, 200e3


def bound(given: Given) -> float:
    """The largest Kmin with which marks come before pauses, wherever packets come from."""
    return pfc.xoff(given, 1) / given.count


def k_min(given: Given, link: Link) -> float:
    """The queue from which on packets are marked."""
    return min(_K_MIN * link.rate_gbps / _RATE_GBPS, bound(given))


def k_max(link: Link) -> float:
    """The queue from which on all packets are marked."""
    return _K_MAX * link.rate_gbps / _RATE_GBPS


def rows(given: Given) -> list[Row]:
    """Pmax and the bound of Kmin, then Kmin and Kmax at each rate."""
    ports = f"xoff of one port / {given.count} ports"
    found = [
        Row(NAME, "Pmax", P_MAX * 100, "%", "", _PAPER),
        Row(NAME, "Kmin at most", bound(given), "B", ports, DCQCN),
    ]
    for rate in sorted({link.rate_gbps for link, _ in given.ports}):
        link, at = Link(rate, 0.0), f"{rate:g} Gb/s"
        bounded = k_min(given, link) == bound(given)
        least = "the most" if bounded else f"5 KB x rate / {_RATE_GBPS} Gb/s"
        most = f"200 KB x rate / {_RATE_GBPS} Gb/s"
        found += [
            Row(NAME, "Kmin", k_min(given, link), "B", least, _PAPER, at),
            Row(NAME, "Kmax", k_max(link), "B", most, _PAPER, at),
        ]
    return found


def keys(given: Given) -> dict[str, object]:
    """The marks as keys of a scenario."""
    link = given.bottleneck
    red = {
        "kind": "red", "min": f"{k_min(given, link):.0f}B", "max": f"{k_max(link):.0f}B",
        "max_probability": P_MAX, "gentle": False, "weight": 1.0, "drop": False, "at": "departure",
    }  # fmt: skip
    return {"switch.aqm": red}
