"""Faults that may explain a collective that falls short, each as a network with that fault."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from incast.advice.cluster import Cluster

SEEDS = range(1, 9)
"""The seeds whose collisions are tried."""
# The part of its rate that a link has with half or a quarter of its lanes.
_PARTS = (0.5, 0.25)


@dataclass(frozen=True)
class Suspect:
    """A network with one fault."""

    name: str
    """The fault in words."""
    cluster: Cluster
    seeds: tuple[int, ...] = (1,)
    """The seeds of its runs, of which the nearest to what was measured counts."""


def of_rate(cluster: Cluster, part: float) -> Iterator[Suspect]:
    """The faults that hold back large sizes: `part` of the expected bandwidth was measured."""
    yield Suspect("ECMP collisions, a seed of 8", cluster, tuple(SEEDS))
    if cluster.spread is not None:
        name = "ECMP collisions of nodes at leaves of their own, a seed of 8"
        spread = replace(cluster.spread(), algorithm=cluster.algorithm)
        yield Suspect(name, spread, tuple(SEEDS))
    nearest = min(_PARTS, key=lambda one: abs(one - part))
    rate = f"{cluster.rate_gbps * nearest:g}Gbps"
    for one, other, *_ in cluster.scenario.topology()["cables"]:
        if cluster.first in (one, other):
            links = [{"from": a, "to": b, "rate": rate} for a, b in ((one, other), (other, one))]
            slow = cluster.changed({"link": [*cluster.own.get("link", []), *links]})
            yield Suspect(f"one slow rail: {cluster.first} at {rate}", slow)
            break
    if cluster.own.get("switch", {}).get("pfc", {}).get("enabled"):
        receiver = {"hosts": cluster.first, "rate": rate}
        slow = cluster.changed({"receiver": [*cluster.own.get("receiver", []), receiver]})
        yield Suspect(f"PFC of a slow host: {cluster.first} takes in {rate}", slow)


def of_delay(cluster: Cluster, more_us: float) -> Suspect | None:
    """The links of all hosts with a longer delay; None where a network has no such setting."""
    kind, network = next(iter(cluster.own.get("network", {}).items()), ("", {}))
    hosts = network.get("hosts") if isinstance(network, Mapping) else None
    own: list[Mapping[str, Any]] = [hosts] if isinstance(hosts, Mapping) else list(hosts or [])
    if not own or not all("delay" in group for group in own):
        return None
    known = {host["name"]: host["delay_us"] for host in cluster.scenario.resolved()["hosts"]}
    first = known[cluster.first] + more_us
    groups = [{**group, "delay": f"{first:.6g}us"} for group in own]
    changed = groups[0] if isinstance(hosts, Mapping) else groups
    longer = cluster.changed({f"network.{kind}.hosts": changed})
    return Suspect(f"latency per step: {2 * more_us:.3g} us more", longer)
