"""What a scenario asks of a test bed: hosts around one switch, and who sends to whom."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from incast._core import IncastError, Scenario

KERNEL_NAMES = {
    "cubic": "cubic", "bbr": "bbr", "newreno": "reno", "timely": "bpf_timely", "rtcp": "bpf_rtcp",
    "dctcp": "bpf_dctcp",
}  # fmt: skip
"""What Linux calls an algorithm of the simulator's."""


class LabError(IncastError):
    """A scenario that a test bed cannot have, or a machine that cannot have a test bed."""


@dataclass(frozen=True)
class Host:
    """One namespace."""

    name: str
    rate_mbps: float
    """Of the switch's port to it."""


@dataclass(frozen=True)
class Plan:
    """A star, and connections that stay."""

    name: str
    title: str
    hosts: tuple[Host, ...]
    flows: tuple[tuple[str, str], ...]
    """Sender and receiver of each connection."""
    queue_bytes: int
    """That a port of the switch holds."""
    mark_bytes: int | None
    """Above which it marks."""
    seconds: float
    warmup_s: float

    @property
    def receiver(self) -> Host:
        """The host whose port is the bottleneck: that with the most connections."""
        names = [to for _, to in self.flows]
        most = max(dict.fromkeys(names), key=names.count)
        return next(host for host in self.hosts if host.name == most)


def read(scenario: Scenario) -> Plan:
    """What a scenario asks for.

    Raises:
        LabError: It asks for what a test bed cannot have.
    """
    said: Mapping[str, Any] = msgspec.toml.decode(scenario.toml())
    network = said.get("network", {})
    if "star" not in network:
        kind = next(iter(network), "none")
        raise LabError(f"{scenario.name}: network.{kind}: a test bed is a star; use network.star")
    hosts = [host for group in network["star"]["hosts"] for host in _group(group)]
    flows = [
        flow
        for number, traffic in enumerate(said.get("traffic", []))
        for flow in _flows(scenario.name, number, traffic, hosts)
    ]
    if not flows:
        raise LabError(f"{scenario.name}: has no traffic")
    switch = said.get("switch", {})
    limit = switch.get("queue_limit") or "1MB"
    mark = switch.get("ecn_threshold")
    return Plan(
        name=scenario.name,
        title=scenario.title or scenario.name,
        hosts=tuple(hosts),
        flows=tuple(flows),
        queue_bytes=_bytes(limit),
        mark_bytes=_bytes(mark) if mark else None,
        seconds=scenario.duration_s,
        warmup_s=scenario.warmup_s,
    )


def _group(group: Mapping[str, Any]) -> list[Host]:
    rate = _mbps(str(group["rate"]))
    count = group.get("count")
    if count is None:
        return [Host(group["name"], rate)]
    return [Host(f"{group['name']}{number}", rate) for number in range(count)]


def _flows(
    name: str, number: int, traffic: Mapping[str, Any], hosts: list[Host]
) -> list[tuple[str, str]]:
    for kind in ("poisson", "requests", "incast", "collective", "flows", "fan_out", "message"):
        if traffic.get(kind) is not None:
            raise LabError(
                f"{name}: traffic {number}: a test bed has connections that stay alone, not {kind}"
            )
    from_, to = (
        [host.name for host in hosts if re.fullmatch(rf"{traffic.get(key, '')}\d*", host.name)]
        for key in ("from", "to")
    )
    count = traffic.get("connections", 1)
    return [(a, b) for a in from_ for b in to if a != b for _ in range(count)]


def _mbps(text: str) -> float:
    return _number(text, {"bps": 1e-6, "kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3, "Tbps": 1e6})


def _bytes(text: str) -> int:
    units = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024, "MiB": 1024**2}
    return int(_number(text, units))


def _number(text: str, units: Mapping[str, float]) -> float:
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", text)
    if not found or found[2] not in units:
        raise LabError(f"{text}: expected a number and one of {', '.join(units)}")
    return float(found[1]) * units[found[2]]
