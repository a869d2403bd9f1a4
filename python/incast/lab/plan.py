"""The test bed that a scenario asks for: hosts around switches, and their traffic."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from incast._core import IncastError, ParameterError, Scenario, Workload

if TYPE_CHECKING:  # types that only the stub has
    from incast import _core


class LabError(IncastError):
    """A scenario that a test bed cannot have, or a machine that cannot have a test bed."""


_MOST_HOSTS = 100
# The token bucket of each port where the scenario has none: a whole burst of TSO at least.
_BUCKET = ("switch.burst=70KB", "switch.burst_time=500us")


@dataclass(frozen=True)
class BedHost:
    """A host: a network namespace."""

    name: str
    rate_mbps: float
    """The rate of the switch's port to it."""
    delay_us: float = 0.0
    """The delay of its link, each way."""
    switch: int = 0
    """The number of its switch."""


@dataclass(frozen=True)
class Trunk:
    """A cable between two switches."""

    ends: tuple[int, int]
    """The numbers of the switches."""
    rate_mbps: float
    delay_us: float


Ways = tuple[tuple[tuple[int, ...], ...], ...]
"""For a switch and one that a packet is to reach: the trunks that lead there, by their numbers."""


class Asked(NamedTuple):
    """A request at its time."""

    at_us: int
    servers: list[str]
    bytes_each: int
    """The bytes of each server's answer."""
    traffic: str


@dataclass(frozen=True)
class Requests:
    """Requests at random times, of the sizes and to the servers that a traffic has."""

    traffic: str
    """The name of the traffic in results."""
    load: float
    """The offered payload, as a share of the client's link."""
    sizes: Workload | float
    """A distribution, or all of one size in bytes."""
    fan_out: tuple[tuple[int, float], ...]
    """Numbers of servers, with weights."""
    split: bool
    """Whether servers share the size of a request."""

    def draw(
        self, servers: Sequence[str], rate_mbps: float, seconds: float, seed: int
    ) -> "list[Asked]":
        """Requests to some of the servers: a Poisson process of that load."""
        drawn = random.Random(seed)  # noqa: S311 - traffic is no secret
        counts, weights = zip(*self.fan_out, strict=True)
        mean = self.sizes if isinstance(self.sizes, float) else self.sizes.mean_bytes
        if not self.split:
            mean *= sum(count * weight for count, weight in self.fan_out) / sum(weights)
        per_second = self.load * rate_mbps * 1e6 / 8 / mean
        found, at = [], 0.0
        while (at := at + drawn.expovariate(per_second)) < seconds:
            (count,) = drawn.choices(counts, weights)
            chosen = drawn.sample(servers, min(count, len(servers)))
            size = self._size(drawn.random())
            each = max(1, round(size / count if self.split else size))
            found.append(Asked(int(at * 1e6), chosen, each, self.traffic))
        return found

    def _size(self, probability: float) -> float:
        return self.sizes if isinstance(self.sizes, float) else self.sizes.quantile(probability)


@dataclass(frozen=True)
class Client:
    """A client that asks servers at random times."""

    name: str
    servers: tuple[str, ...]
    alone: bool
    """Whether each request is one message, as in `poisson`, no request to several."""
    requests: tuple[Requests, ...]

    def draw(self, rate_mbps: float, seconds: float, repeat: int) -> list[Asked]:
        """The requests of all traffics, in the order of their times."""
        # Each traffic draws for itself: another one beside it changes nothing.
        found = [
            one.draw(self.servers, rate_mbps, seconds, seed=repeat + 1 + at * 1_000_003)
            for at, one in enumerate(self.requests)
        ]
        return sorted(itertools.chain(*found), key=lambda one: one.at_us)


@dataclass(frozen=True)
class BedPlan:
    """Hosts around switches, and connections that stay or requests."""

    name: str
    title: str
    hosts: tuple[BedHost, ...]
    switches: int
    """The number of switches."""
    trunks: tuple[Trunk, ...]
    """The cables between them."""
    ways: "Ways"
    """The shortest ways between switches, if there are several between some; else none."""
    flows: tuple[tuple[str, str], ...]
    """Sender and receiver of each connection that stays."""
    client: Client | None
    """The client whose requests are the traffic, if no connections stay."""
    queue_bytes: int
    """The most bytes in the queue of a switch port."""
    mark_bytes: int | None
    """The ECN threshold of that queue."""
    protected: bool
    """Whether PFC keeps it from dropping in the scenario: here it drops."""
    burst_bytes: int
    """The least burst of the token bucket of a switch port."""
    burst_time_us: float
    """The burst as a time at the rate of the port, where that is more bytes."""
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
    def receivers(self) -> frozenset[str]:
        """The hosts that payload goes to."""
        if self.client is not None:
            return frozenset({self.client.name})
        return frozenset(to for _, to in self.flows)

    @property
    def receiver(self) -> BedHost:
        """The host whose port is the bottleneck: the client, or that with the most connections."""
        if self.client is not None:
            return self.host(self.client.name)
        names = [to for _, to in self.flows]
        return self.host(max(dict.fromkeys(names), key=names.count))

    @property
    def prober_switch(self) -> int:
        """The switch at which probes begin: that of a sender to the receiver."""
        if self.client is not None:
            return self.host(self.client.servers[0]).switch
        to = self.receiver.name
        return self.host(next(a for a, b in self.flows if b == to)).switch

    def burst_at(self, rate_mbps: float) -> int:
        """The burst of the token bucket of a port, in bytes."""
        return max(self.burst_bytes, int(rate_mbps * self.burst_time_us / 8))

    @property
    def bucket(self) -> str:
        """A sentence on the token buckets of ports."""
        of_time = f"{self.burst_time_us:g} us of its rate" if self.burst_time_us else ""
        of_bytes = f"{self.burst_bytes / 1e3:g} KB" if self.burst_bytes else ""
        burst = " or ".join(filter(None, (of_bytes, of_time)))
        more = ", whichever is more" if of_bytes and of_time else ""
        return (
            f"Each port of a switch is a token bucket that passes {burst} at once{more}, here and "
            "where this is simulated."
        )

    def host(self, name: str) -> BedHost:
        """The host of a name."""
        return next(host for host in self.hosts if host.name == name)


def shaped(scenario: Scenario) -> Scenario:
    """The scenario with the token bucket of a test bed's ports, if it has none of its own.

    Raises:
        LabError: The scenario cannot have it.
    """
    plan = scenario.resolved()
    if plan["burst_bytes"] is not None or plan["burst_time_us"] is not None:
        return scenario
    try:
        return scenario.with_set(*_BUCKET)
    except ParameterError as error:
        raise LabError(
            f"{scenario.name}: the ports of a test bed are token buckets: {error}"
        ) from error


def read(scenario: Scenario) -> BedPlan:
    """Works out the test bed that a scenario asks for.

    Raises:
        LabError: It asks for what a test bed cannot have.
    """
    switches, places, trunks = _network(scenario)
    scenario = shaped(scenario)
    name, plan = scenario.name, scenario.resolved()
    ways = _ways(name, switches, set(places.values()), trunks, plan)
    for is_set, what, remedy in (
        (plan["own_links"], "cables of one rate both ways that lose nothing", "link"),
        (plan["receivers"], "hosts that take in what they can", "receiver"),
    ):
        if is_set:
            raise LabError(f"{name}: {remedy}: a test bed has {what}; take [[{remedy}]] out")
    traffics = plan["traffic"]
    for one in traffics:
        if one["scheme"] is not None:
            raise LabError(
                f"{name}: traffic {one['name']} has scheme {one['scheme']} of its own, and a test "
                "bed runs one scheme at a time; take scheme out"
            )
    asking = [one for one in traffics if one["draws_sizes"]]
    if asking and len(traffics) > len(asking):
        raise LabError(f"{name}: a test bed has requests alone, or connections that stay")
    client = _client(name, asking) if asking else None
    flows = [
        flow
        for number, traffic in enumerate(traffics)
        if not asking
        for flow in _flows(name, number, traffic)
    ]
    if not flows and client is None:
        raise LabError(f"{name}: has no traffic")
    receivers = {client.name} if client is not None else {to for _, to in flows}
    classes = {traffic["class_number"] for traffic in traffics}
    if len(classes) > 1:
        raise LabError(f"{name}: a test bed has one traffic class alone, not {len(classes)}")
    ports = [host["queues"] for host in plan["hosts"] if host["name"] in receivers]
    of_class = classes.pop()
    queue = max((port[of_class] for port in ports), key=lambda port: port["limit_bytes"])
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
            BedHost(host["name"], host["rate_gbps"] * 1e3, host["delay_us"], places[host["name"]])
            for host in plan["hosts"]
        ),
        switches=switches,
        trunks=trunks,
        ways=ways,
        flows=tuple(flows),
        client=client,
        queue_bytes=queue["limit_bytes"],
        mark_bytes=queue["ecn_threshold_bytes"],
        protected=queue["protected"],
        burst_bytes=plan["burst_bytes"] or 0,
        burst_time_us=plan["burst_time_us"] or 0.0,
        parameters={
            section: tuple(f"{key}={value}" for key, value in values)
            for section, values in plan["parameters"].items()
        },
        seconds=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        cooldown_s=scenario.cooldown_s,
    )


def _network(scenario: Scenario) -> tuple[int, dict[str, int], tuple[Trunk, ...]]:
    """The number of switches, the switch of each host, and the cables between switches."""
    name, found = scenario.name, scenario.topology()
    if len(found["hosts"]) > _MOST_HOSTS:
        raise LabError(
            f"{name}: {len(found['hosts'])} hosts: a test bed has {_MOST_HOSTS} at most, all on "
            "this machine; use fewer"
        )
    switches = {switch: number for number, (switch, _) in enumerate(found["switches"])}
    places: dict[str, int] = {}
    trunks = []
    for a, b, rate_gbps, delay_us in found["cables"]:
        if a in switches and b in switches:
            trunks.append(Trunk((switches[a], switches[b]), rate_gbps * 1e3, delay_us))
            continue
        host, switch = (a, b) if b in switches else (b, a)
        if switch not in switches or host in places:
            raise LabError(
                f"{name}: {a} to {b}: a host of a test bed has one cable, to a switch; use "
                "network.star or network.dumbbell"
            )
        places[host] = switches[switch]
    return len(switches), places, tuple(trunks)


def _ways(
    name: str,
    switches: int,
    leaves: set[int],
    trunks: Sequence[Trunk],
    plan: "_core._Resolved",
) -> Ways:
    """The shortest ways between switches, of which those with hosts are `leaves`."""
    if len(trunks) < switches:  # no circle
        return ()
    found = shortest(switches, trunks)
    for kind in plan["routing"]:
        if kind != "ecmp":
            raise LabError(
                f"{name}: routing {kind}: switches of a test bed choose one of several ways by a "
                "hash of addresses and ports; use routing.kind = ecmp"
            )
    if plan["paths"]:
        raise LabError(f"{name}: routing.path: a test bed has no explicit paths; take them out")

    def choices(at: int, to: int) -> int:
        """The most switches on a way that choose."""
        ahead = [sum(trunks[one].ends) - at for one in found[at][to]]
        return (len(ahead) > 1) + max((choices(one, to) for one in ahead), default=0)

    if any(choices(a, b) > 1 for a in leaves for b in leaves):
        raise LabError(
            f"{name}: network.{plan['network']}: several switches of a way choose the next one, "
            "and all switches of a test bed have one hash, so most ways would carry nothing; use "
            "network.leaf-spine, network.star or network.dumbbell"
        )
    return found


def shortest(switches: int, trunks: Sequence[Trunk]) -> Ways:
    """The trunks on shortest ways from each switch to each other one."""
    far = [[0 if a == b else switches for b in range(switches)] for a in range(switches)]
    for _ in range(switches):
        for one in trunks:
            for at, ahead in (one.ends, one.ends[::-1]):
                far[at] = [min(d, 1 + e) for d, e in zip(far[at], far[ahead], strict=True)]
    return tuple(
        tuple(
            tuple(
                number
                for number, one in enumerate(trunks)
                if at in one.ends and far[sum(one.ends) - at][to] < far[at][to]
            )
            for to in range(switches)
        )
        for at in range(switches)
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


def _client(name: str, traffics: "Sequence[_core._Traffic]") -> Client:
    clients, servers = traffics[0]["sources"], traffics[0]["destinations"]
    if len(clients) != 1 or servers == clients:
        raise LabError(f"{name}: requests in a test bed are of one client, and name their servers")
    alike = {(*one["sources"], *one["destinations"], one["single"]) for one in traffics}
    if len(alike) > 1:
        raise LabError(
            f"{name}: requests in a test bed are all of one client to the same servers, and all "
            "of one kind, poisson or requests"
        )
    return Client(
        name=clients[0],
        servers=tuple(servers),
        alone=traffics[0]["single"],
        requests=tuple(_requests(name, one) for one in traffics),
    )


def _requests(name: str, traffic: "_core._Traffic") -> Requests:
    if traffic["load"] is None or traffic["reads"] != 1.0:
        raise LabError(f"{name}: requests in a test bed have a load, and read")
    table, fixed = traffic["size_table"], traffic["size_bytes"]
    if table is None and fixed is None:
        raise LabError(f"{name}: sizes of requests in a test bed are a table, or fixed")
    return Requests(
        traffic=traffic["name"],
        load=traffic["load"],
        sizes=table if fixed is None and table is not None else float(fixed or 0),
        fan_out=tuple(traffic["fan_out"]),
        split=traffic["split"],
    )
