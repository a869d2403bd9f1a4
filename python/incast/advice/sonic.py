"""Thresholds as SONiC's `config_db.json` has them, for one lossless priority."""

import math
from collections.abc import Sequence

from incast.advice import dcqcn, dctcp, headroom, pfc
from incast.advice.given import Given, Link

LOSSLESS, LOSSY = "3", "0"
"""The queue of RDMA, which PFC keeps from dropping, and that of TCP."""
_POOL = "ingress_lossless_pool"


def config(given: Given, kinds: Sequence[str], ports: Sequence[str]) -> dict[str, object]:
    """The tables that `config load` takes; those of ports for the ports that are named.

    Named ports have the first of the links.
    """
    links = [link for link, _ in given.ports]
    profiles = {f"pg_lossless_{_name(link)}_profile": _profile(given, link) for link in links}
    pool = {"type": "ingress", "mode": "dynamic", "size": str(math.floor(_pool(given)))}
    marks: dict[str, dict[str, str]] = {}
    queues: dict[str, str] = {}
    for link in links:
        if dcqcn.NAME in kinds:
            low, high = dcqcn.k_min(given, link), dcqcn.k_max(link)
            marks[name := f"dcqcn_{_mbps(link)}"] = _wred(low, high, dcqcn.P_MAX)
            queues.setdefault(LOSSLESS, name)
        if dctcp.NAME in kinds:
            k = dctcp.threshold(given, link)
            marks[name := f"dctcp_{_mbps(link)}"] = _wred(k, k, 1.0)
            queues.setdefault(LOSSY, name)
    found: dict[str, object] = {
        "BUFFER_POOL": {_POOL: pool}, "BUFFER_PROFILE": profiles, "WRED_PROFILE": marks,
    }  # fmt: skip
    if ports:
        profile = {"profile": next(iter(profiles))}
        found |= {
            "BUFFER_PG": {f"{port}|{LOSSLESS}": profile for port in ports},
            "QUEUE": {
                f"{port}|{queue}": {"wred_profile": name}
                for port in ports
                for queue, name in queues.items()
            },
            "PORT_QOS_MAP": {port: {"pfc_enable": LOSSLESS} for port in ports},
        }
    return found


def _pool(given: Given) -> float:
    """The size of the pool: SONiC reserves headroom beside it."""
    return pfc.shared(given)


def _profile(given: Given, link: Link) -> dict[str, str]:
    xoff, xon = headroom.in_cells(given, link), math.ceil(given.pipeline.at(link))
    return {
        "pool": _POOL,
        "size": str(xoff + xon),
        "xon": str(xon),
        "xoff": str(xoff),
        "xon_offset": str(pfc.offset(given)),
        "dynamic_th": f"{math.log2(pfc.ALPHA):.0f}",
    }


def _wred(low: float, high: float, probability: float) -> dict[str, str]:
    found = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        found |= {
            f"wred_{colour}_enable": "true",
            f"{colour}_min_threshold": f"{low:.0f}",
            f"{colour}_max_threshold": f"{high:.0f}",
            f"{colour}_drop_probability": f"{probability * 100:.0f}",
        }
    return found


def _mbps(link: Link) -> str:
    return f"{link.rate_gbps * 1e3:.0f}"


def _name(link: Link) -> str:
    """The rate and the length of a link, as SONiC names profiles."""
    return f"{_mbps(link)}_{max(1, round(link.delay_us / 5e-3))}m"
