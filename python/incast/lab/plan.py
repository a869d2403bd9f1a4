"""What a scenario asks of a test bed: hosts around one switch, and who sends to whom."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from incast import _core
from incast._core import IncastError, Scenario, Workload


class LabError(IncastError):
    """A scenario that a test bed cannot have, or a machine that cannot have a test bed."""


@dataclass(frozen=True)
class Host:
    """One namespace."""

    name: str
    rate_mbps: float
    """Of the switch's port to it."""
    delay_us: float = 0.0
    """Of its link, each way."""


@dataclass(frozen=True)
class Requests:
    """A client that asks servers at random times."""

    traffic: str
    """What the scenario calls it."""
    alone: bool
    """Whether each is one message, as in `poisson`, no request to several."""
    client: str
    servers: tuple[str, ...]
    load: float
    """Of the client's link, payload."""
    sizes: Workload | float
    """A distribution, or all of one size in bytes."""
    fan_out: tuple[tuple[int, float], ...]
    """How many servers, with weights."""
    split: bool
    """Whether servers share the size of a request."""

    def draw(self, rate_mbps: float, seconds: float, seed: int) -> list[tuple[int, list[str], int]]:
        """Times in us, servers and bytes of each of them: a Poisson process of that load."""
        random = np.random.default_rng(seed)
        counts = np.array([count for count, _ in self.fan_out])
        weights = np.array([weight for _, weight in self.fan_out], float)
        weights /= weights.sum()
        mean = self.sizes if isinstance(self.sizes, float) else self.sizes.mean_bytes
        mean *= 1.0 if self.split else float((counts * weights).sum())
        per_second = self.load * rate_mbps * 1e6 / 8 / mean
        found, at = [], 0.0
        while (at := at + random.exponential(1 / per_second)) < seconds:
            count = int(random.choice(counts, p=weights))
            chosen = random.choice(
                len(self.servers), size=min(count, len(self.servers)), replace=False
            )
            size = self._size(float(random.random()))
            each = max(1, round(size / count if self.split else size))
            found.append((int(at * 1e6), [self.servers[one] for one in chosen], each))
        return found

    def _size(self, probability: float) -> float:
        return self.sizes if isinstance(self.sizes, float) else self.sizes.quantile(probability)


@dataclass(frozen=True)
class Plan:
    """A star, and connections that stay or requests."""

    name: str
    title: str
    hosts: tuple[Host, ...]
    flows: tuple[tuple[str, str], ...]
    """Sender and receiver of each connection that stays."""
    requests: Requests | None
    queue_bytes: int
    """That a port of the switch holds."""
    mark_bytes: int | None
    """Above which it marks."""
    parameters: Mapping[str, tuple[str, ...]]
    """Of the algorithms that the scenario sets any of, `KEY=VALUE`."""
    seconds: float
    warmup_s: float
    cooldown_s: float

    @property
    def measured_us(self) -> tuple[float, float]:
        """When measuring begins and ends."""
        return self.warmup_s * 1e6, (self.seconds - self.cooldown_s) * 1e6

    @property
    def receiver(self) -> Host:
        """The host whose port is the bottleneck: the client, or that with the most connections."""
        if self.requests is not None:
            return next(host for host in self.hosts if host.name == self.requests.client)
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
    traffics = list(enumerate(said.get("traffic", [])))
    asking = [one for one in traffics if one[1].get("requests") or one[1].get("poisson")]
    if asking and len(traffics) > 1:
        raise LabError(f"{scenario.name}: a test bed has requests alone, or connections that stay")
    requests = _requests(scenario.name, *asking[0], hosts) if asking else None
    flows = [
        flow
        for number, traffic in traffics
        if not asking
        for flow in _flows(scenario.name, number, traffic, hosts)
    ]
    if not (flows or requests):
        raise LabError(f"{scenario.name}: has no traffic")
    receivers = sorted({to for _, to in flows})
    if len(receivers) > 1:
        raise LabError(
            f"{scenario.name}: a test bed has one receiver alone, not {' and '.join(receivers)}"
        )
    switch = said.get("switch", {})
    # One port is the bottleneck: what the switch holds is for it alone.
    limit = switch.get("queue_limit") or switch.get("buffer") or "1MB"
    mark = switch.get("ecn_threshold")
    return Plan(
        name=scenario.name,
        title=scenario.title or scenario.name,
        hosts=tuple(hosts),
        flows=tuple(flows),
        requests=requests,
        queue_bytes=_bytes(limit),
        mark_bytes=_bytes(mark) if mark else None,
        parameters={
            name: tuple(f"{key}={value}" for key, value in values.items())
            for name, values in said.get("cc", {}).items()
        },
        seconds=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        cooldown_s=scenario.cooldown_s,
    )


def _group(group: Mapping[str, Any]) -> list[Host]:
    rate, delay = _mbps(str(group["rate"])), _us(str(group["delay"]))
    count = group.get("count")
    names = [group["name"]] if count is None else [f"{group['name']}{n}" for n in range(count)]
    return [Host(name, rate, delay) for name in names]


def _flows(
    name: str, number: int, traffic: Mapping[str, Any], hosts: list[Host]
) -> list[tuple[str, str]]:
    for kind in ("incast", "collective", "flows", "fan_out", "message"):
        if traffic.get(kind) is not None:
            raise LabError(
                f"{name}: traffic {number}: a test bed has connections that stay, or requests, "
                f"not {kind}"
            )
    from_, to = _named(traffic.get("from"), hosts), _named(traffic.get("to"), hosts)
    count = traffic.get("connections", 1)
    return [(a, b) for a in from_ for b in to if a != b for _ in range(count)]


def _requests(name: str, number: int, traffic: Mapping[str, Any], hosts: list[Host]) -> Requests:
    alone = traffic.get("poisson") is not None
    said = traffic["poisson" if alone else "requests"]
    clients, servers = _named(traffic.get("from"), hosts), _named(traffic.get("to"), hosts)
    if len(clients) != 1 or not servers:
        raise LabError(f"{name}: requests in a test bed are of one client, and name their servers")
    reads = traffic.get("operation") == "read" if alone else said.get("reads", 1.0) == 1.0
    if said.get("load") is None or not reads:
        raise LabError(f"{name}: requests in a test bed have a load, and read")
    fan_out = said.get("fan_out", 1)
    return Requests(
        traffic=traffic.get("name", f"traffic{number}"),
        alone=alone,
        client=clients[0],
        servers=tuple(servers),
        load=float(said["load"]),
        sizes=_sizes(name, said["sizes"]),
        fan_out=((fan_out, 1.0),) if isinstance(fan_out, int) else tuple(map(tuple, fan_out)),
        split=bool(said.get("split", False)),
    )


def _sizes(name: str, said: Any) -> Workload | float:  # noqa: ANN401
    if isinstance(said, dict) and "fixed" in said:
        return float(_bytes(said["fixed"]))
    table = said.get("table") if isinstance(said, dict) else said
    for one in _core.workloads():
        if one.name == table:
            return one
    raise LabError(f"{name}: sizes of requests in a test bed are a table that ships, or fixed")


def _named(group: str | None, hosts: list[Host]) -> list[str]:
    """A host, or the hosts of a group."""
    if group is None:
        return []
    return [host.name for host in hosts if re.fullmatch(rf"{re.escape(group)}\d*", host.name)]


def _mbps(text: str) -> float:
    return _number(text, {"bps": 1e-6, "kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3, "Tbps": 1e6})


def _us(text: str) -> float:
    return _number(text, {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6})


def _bytes(text: str) -> int:
    units = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024, "MiB": 1024**2}
    return int(_number(text, units))


def _number(text: str, units: Mapping[str, float]) -> float:
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", text)
    if not found or found[2] not in units:
        raise LabError(f"{text}: expected a number and one of {', '.join(units)}")
    return float(found[1]) * units[found[2]]
