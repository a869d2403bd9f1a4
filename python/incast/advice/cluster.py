"""Clusters whose collectives are expected: of a scenario, or of nodes, GPUs and rails."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from incast._core import ParameterError, Scenario
from incast.results.quantities import numbers

ALGORITHMS = {
    "all-reduce": ("ring", "tree", "double-tree", "halving-doubling"),
    "all-gather": ("ring", "doubling"),
    "reduce-scatter": ("ring", "halving"),
    "all-to-all": ("direct",),
    "broadcast": ("tree", "chain"),
    "reduce": ("tree", "chain"),
}
"""The algorithms of each collective, the usual one first."""
# A leaf of 64 ports has as many down as up; RED at 40 Gb/s as in the paper of DCQCN, in proportion.
_LEAF = 32
_RED_RATE_GBPS, _RED_MIN_KB, _RED_MAX_KB = 40, 5, 200
# The most time of a run, as a multiple of the ideal.
_PATIENCE = 1_000
_USUAL = {"delay": "1us", "mtu": "4200B", "buffer": "64MB"}


@dataclass(frozen=True)
class Cluster:
    """A network with the groups of hosts that run a collective side by side."""

    scenario: Scenario
    """The network, with any traffic."""
    groups: tuple[str, ...]
    """The hosts of each group, by the name that traffic has for them."""
    members: int
    """The number of hosts of a group."""
    ranks: int
    """The number of ranks of the collective."""
    rate_gbps: float
    """The rate of a host's link."""
    about: str
    """The cluster in words."""
    first: str
    """The first host of the first group."""
    algorithm: str = "ring"
    """The algorithm of the collective."""
    island_gbps: float | None = None
    """The rate of a GPU within its node; None if that is no limit."""
    gpus: int = 1
    """The ranks of a node."""
    spread: "Callable[[], Cluster] | None" = field(default=None, repr=False)
    """The same nodes without rails, each at a leaf of its own; None if there are no rails."""
    own: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The settings of the scenario, which changes add to."""

    def island_us(self, collective: str, size: int) -> float:
        """The least time within nodes: a rank gets and gives all but its own part of the size."""
        if self.island_gbps is None:
            return 0.0
        ways = 2 if collective == "all-reduce" else 1
        return ways * (self.gpus - 1) / self.gpus * size / (self.island_gbps * 125)

    def traffic(self, collective: str, size: int, rounds: int) -> list[dict[str, object]]:
        """The traffic of a collective of this size, each group with its part."""
        # Of an all-to-all each rank has a part for each other one, also of those of its node.
        parts = 1 if collective == "all-to-all" else len(self.groups)
        part = max(1, size // parts)
        return [
            {
                "kind": "collective",
                "name": f"group{number}",
                "from": group,
                "collective": collective,
                "algorithm": self.algorithm,
                "size": f"{part}B",
                "rounds": rounds,
            }
            for number, group in enumerate(self.groups)
        ]

    def run(self, collective: str, size: int, rounds: int) -> Scenario:
        """The scenario of a run that lasts until the collective has ended."""
        links = self.members * len(self.groups)
        wire = 2 * size / (self.rate_gbps * 125)
        least_us = max(20.0, rounds * (wire + 4 * links))
        drain_us = _PATIENCE * least_us
        return self.scenario.with_set({
            "traffic": self.traffic(collective, size, rounds),
            "run.duration": f"{least_us:.0f}us",
            "run.drain": f"{drain_us:.0f}us",
            "run.interval": f"{max(1.0, (least_us + drain_us) / 50_000):.3f}us",
            "run.warmup": "0s",
            "run.cooldown": "0s",
            "measure": {"series": False, "steps": False},
        })  # fmt: skip

    def changed(self, keys: Mapping[str, object]) -> "Cluster":
        """The cluster with settings of its network changed."""
        return replace(self, scenario=self.scenario.with_set(dict(keys)))


def of_line(
    *,
    nodes: int,
    gpus: int,
    nic: str,
    rails: int | None,
    oversubscription: float,
    delay: str | None,
    island: str | None = None,
    unit: int | None = None,
) -> Cluster:
    """The cluster of a line: nodes of GPUs that have a NIC each, their rails, and spines above.

    A leaf has `unit` nodes; as many as it has ports for if None.

    Raises:
        ParameterError: A value is out of its range.
    """
    for name, number, least in (("nodes", nodes, 2), ("gpus", gpus, 1)):
        if number < least:
            raise ParameterError(f"--{name} {number}: expected at least {least}")
    rails = gpus if rails is None else rails
    if rails not in (1, gpus):
        raise ParameterError(
            f"--rails {rails}: expected {gpus}, a rail for each GPU of a node, or 1: all NICs of a "
            "node at one leaf"
        )
    if not oversubscription >= 1:
        raise ParameterError(f"--oversubscription {oversubscription:g}: expected at least 1")
    rate = _rate("nic", nic)
    delay = delay or _USUAL["delay"]
    # A rail has a leaf for each unit of nodes; without rails a leaf has whole nodes.
    most = _LEAF if rails == gpus else max(1, _LEAF // gpus)
    unit = unit or next(unit for unit in range(min(nodes, most), 0, -1) if nodes % unit == 0)
    down = unit if rails == gpus else unit * gpus
    spines = max(1, math.ceil(down / oversubscription))
    count = gpus if rails == gpus and gpus > 1 else down
    hosts = f'hosts = {{ name = "gpu", count = {count}, rate = "{nic}", delay = "{delay}" }}'
    uplink = f'spines = {spines}\nuplink = {{ rate = "{nic}", delay = "1us" }}'
    if rails == gpus and gpus > 1:
        network = f"[network.rail-optimised]\nservers = {nodes}\nunit = {unit}\n{hosts}\n{uplink}\n"
    else:
        network = f"[network.leaf-spine]\nleaves = {nodes // unit}\n{hosts}\n{uplink}\n"
    scale = rate / _RED_RATE_GBPS
    text = f"""title = "{nodes} nodes of {gpus} GPUs"

[run]
duration = "1ms"
schemes = ["line-rate"]

{network}
[switch]
buffer = "{_USUAL["buffer"]}"

[switch.pfc]
enabled = true

[switch.aqm]
kind = "red"
min = "{_RED_MIN_KB * scale:g}KB"
max = "{_RED_MAX_KB * scale:g}KB"
max_probability = 0.01
gentle = false
weight = 1
drop = false
at = "departure"

[transport]
mtu = "{_USUAL["mtu"]}"

[[traffic]]
kind = "collective"
from = "gpu"
collective = "all-reduce"
size = "1MB"
"""
    last = nodes * gpus - 1
    groups = [f"gpu[{gpu}-{last}:{gpus}]" if gpus > 1 else "gpu" for gpu in range(gpus)]
    said = f"{nodes} nodes of {gpus} GPU{'s' if gpus > 1 else ''}, a NIC of {rate:g} Gb/s each, "
    said += f"{rails} rails" if rails > 1 else "no rails"
    said += f", oversubscription {down / spines:g}, leaves of {down} hosts, {spines} spines"
    scenario = Scenario.parse(text, "cluster")
    own: Mapping[str, Any] = msgspec.toml.decode(text)
    inner = None if island is None else _rate("island", island)
    if inner is not None:
        said += f", islands of {inner:g} Gb/s"

    def spread() -> Cluster:
        return of_line(
            nodes=nodes, gpus=gpus, nic=nic, rails=1, oversubscription=oversubscription,
            delay=delay, island=island, unit=1,
        )  # fmt: skip

    return Cluster(
        scenario, tuple(groups), nodes, nodes * gpus, rate, said, "gpu0", "ring", inner, gpus,
        spread if rails > 1 else None, own,
    )  # fmt: skip


def of_scenario(scenario: Scenario) -> Cluster:
    """The cluster of a scenario: the hosts of its collective, or all of them.

    Raises:
        ParameterError: The scenario has no collective, and several groups of hosts.
    """
    own: Mapping[str, Any] = msgspec.toml.decode(scenario.toml())
    network = scenario.topology()
    names = list(network["hosts"])
    jobs = [one for one in own.get("traffic", []) if one.get("kind") == "collective"]
    groups = {re.sub(r"\d+$", "", name) for name in names}
    if jobs:
        group = str(jobs[0]["from"])
        hosts = scenario.hosts_called(group)
    elif len(groups) == 1:
        (group,) = groups
        hosts = names
    else:
        raise ParameterError(
            f"{scenario.name}: hosts of the groups {', '.join(sorted(groups))}, and no collective "
            "that says which of them take part; add a traffic of the kind collective"
        )
    if len(hosts) < 2:
        raise ParameterError(f"{scenario.name}: {len(hosts)} host in {group}; expected two or more")
    rates = [
        rate for one, other, rate, _ in network["cables"] if one == hosts[0] or other == hosts[0]
    ]
    about = f"{scenario.name}: {len(hosts)} hosts of {group}, {min(rates):g} Gb/s each"
    return Cluster(scenario, (group,), len(hosts), len(hosts), min(rates), about, hosts[0], own=own)


def check(collective: str, algorithm: str | None) -> str:
    """The algorithm of a collective: that one, or the usual one.

    Raises:
        ParameterError: Runs have not such a collective, or not by this algorithm.
    """
    if collective not in ALGORITHMS:
        raise ParameterError(f"--collective {collective}: expected {', '.join(ALGORITHMS)}")
    known = ALGORITHMS[collective]
    if algorithm is not None and algorithm not in known:
        raise ParameterError(
            f"--algorithm {algorithm}: expected {', '.join(known)} of {collective}"
        )
    return algorithm or known[0]


def sizes(text: str) -> list[int]:
    """Sizes such as `1MB,16MB`, ascending, each once.

    Raises:
        ParameterError: One is none.
    """
    found = set()
    for one in text.split(","):
        size = numbers([one])
        if size is None or size.unit not in ("", "bytes") or not 1 <= size.values[0] <= _MOST_SIZE:
            raise ParameterError(
                f"--sizes {one.strip() or repr(text)}: expected sizes from 1B to 64GB "
                "such as 1MB,16MB"
            )
        found.add(round(size.values[0]))
    return sorted(found)


_MOST_SIZE = 64e9


def _rate(name: str, text: str) -> float:
    rate = numbers([text])
    if rate is None or rate.unit != "gbps" or not 1 <= rate.values[0] <= 10_000:
        raise ParameterError(f"--{name} {text}: expected a rate such as 400Gbps")
    return rate.values[0]
