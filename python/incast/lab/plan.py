"""The test bed that a scenario asks for: hosts around one switch, and their traffic."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from incast._core import IncastError, Scenario, Workload

if TYPE_CHECKING:  # types that only the stub has
    from incast import _core


class LabError(IncastError):
    """A scenario that a test bed cannot have, or a machine that cannot have a test bed."""


@dataclass(frozen=True)
class BedHost:
    """A host: a network namespace."""

    name: str
    rate_mbps: float
    """The rate of the switch's port to it."""
    delay_us: float = 0.0
    """The delay of its link, each way."""


@dataclass(frozen=True)
class Requests:
    """A client that asks servers at random times."""

    traffic: str
    """The name of the traffic in results."""
    alone: bool
    """Whether each is one message, as in `poisson`, no request to several."""
    client: str
    servers: tuple[str, ...]
    load: float
    """The offered payload, as a share of the client's link."""
    sizes: Workload | float
    """A distribution, or all of one size in bytes."""
    fan_out: tuple[tuple[int, float], ...]
    """Numbers of servers, with weights."""
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
class BedPlan:
    """A star, and connections that stay or requests."""

    name: str
    title: str
    hosts: tuple[BedHost, ...]
    flows: tuple[tuple[str, str], ...]
    """Sender and receiver of each connection that stays."""
    requests: Requests | None
    queue_bytes: int
    """The most bytes in the queue of a switch port."""
    mark_bytes: int | None
    """The ECN threshold of that queue."""
    parameters: Mapping[str, tuple[str, ...]]
    """The parameters that the scenario sets for each algorithm, `KEY=VALUE`."""
    seconds: float
    warmup_s: float
    cooldown_s: float

    @property
    def measured_us(self) -> tuple[float, float]:
        """The begin and the end of measuring."""
        return self.warmup_s * 1e6, (self.seconds - self.cooldown_s) * 1e6

    @property
    def receiver(self) -> BedHost:
        """The host whose port is the bottleneck: the client, or that with the most connections."""
        if self.requests is not None:
            return next(host for host in self.hosts if host.name == self.requests.client)
        names = [to for _, to in self.flows]
        most = max(dict.fromkeys(names), key=names.count)
        return next(host for host in self.hosts if host.name == most)


def read(scenario: Scenario) -> BedPlan:
    """Works out the test bed that a scenario asks for.

    Raises:
        LabError: It asks for what a test bed cannot have.
    """
    name, plan = scenario.name, scenario.resolved()
    if plan["network"] != "star":
        raise LabError(f"{name}: network.{plan['network']}: a test bed is a star; use network.star")
    traffics = plan["traffic"]
    asking = [one for one in traffics if one["draws_sizes"]]
    if asking and len(traffics) > 1:
        raise LabError(f"{name}: a test bed has requests alone, or connections that stay")
    requests = _requests(name, asking[0]) if asking else None
    flows = [
        flow
        for number, traffic in enumerate(traffics)
        if not asking
        for flow in _flows(name, number, traffic)
    ]
    if not (flows or requests):
        raise LabError(f"{name}: has no traffic")
    receivers = sorted({to for _, to in flows})
    if len(receivers) > 1:
        raise LabError(f"{name}: a test bed has one receiver alone, not {' and '.join(receivers)}")
    receiver = requests.client if requests is not None else receivers[0]
    classes = {traffic["class_number"] for traffic in traffics}
    if len(classes) > 1:
        raise LabError(f"{name}: a test bed has one traffic class alone, not {len(classes)}")
    (port,) = [host["queues"] for host in plan["hosts"] if host["name"] == receiver]
    queue = port[classes.pop()]
    for key, kind in (("aqm", queue["management"]), ("discipline", queue["discipline"])):
        if kind not in (None, "fifo"):
            raise LabError(
                f"{name}: {key} {kind}: the queue of a test bed is first in, first out, with an "
                "ECN threshold at most; take it out"
            )
    return BedPlan(
        name=name,
        title=scenario.title or name,
        hosts=tuple(
            BedHost(host["name"], host["rate_gbps"] * 1e3, host["delay_us"])
            for host in plan["hosts"]
        ),
        flows=tuple(flows),
        requests=requests,
        queue_bytes=queue["limit_bytes"],
        mark_bytes=queue["ecn_threshold_bytes"],
        parameters={
            section: tuple(f"{key}={value}" for key, value in values)
            for section, values in plan["parameters"].items()
        },
        seconds=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        cooldown_s=scenario.cooldown_s,
    )


def _flows(name: str, number: int, traffic: "_core._Traffic") -> list[tuple[str, str]]:
    refused = {
        "fan_out": traffic["picks"] is not None,
        "message": traffic["message_bytes"] is not None,
        traffic["kind"]: not traffic["endless"],
    }
    for kind in (kind for kind, is_set in refused.items() if is_set):
        raise LabError(
            f"{name}: traffic {number}: a test bed has connections that stay, or requests, "
            f"not {kind}"
        )
    ends = [(a, b) for a in traffic["sources"] for b in traffic["destinations"] if a != b]
    # A read asks for payload, which the other end sends.
    flows = [(b, a) for a, b in ends] if traffic["reads"] else ends
    return [flow for flow in flows for _ in range(traffic["connections"])]


def _requests(name: str, traffic: "_core._Traffic") -> Requests:
    clients, servers = traffic["sources"], traffic["destinations"]
    if len(clients) != 1 or servers == clients:
        raise LabError(f"{name}: requests in a test bed are of one client, and name their servers")
    if traffic["load"] is None or traffic["reads"] != 1.0:
        raise LabError(f"{name}: requests in a test bed have a load, and read")
    table, fixed = traffic["size_table"], traffic["size_bytes"]
    if table is None and fixed is None:
        raise LabError(f"{name}: sizes of requests in a test bed are a table, or fixed")
    return Requests(
        traffic=traffic["name"],
        alone=traffic["single"],
        client=clients[0],
        servers=tuple(servers),
        load=traffic["load"],
        sizes=table if fixed is None and table is not None else float(fixed or 0),
        fan_out=tuple(traffic["fan_out"]),
        split=traffic["split"],
    )
