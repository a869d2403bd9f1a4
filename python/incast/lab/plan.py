"""The test bed that a scenario asks for: hosts around switches, and their traffic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from incast import _core
from incast._core import IncastError, ParameterError, Scenario
from incast.results.tables import frame

if TYPE_CHECKING:  # types that only the stub has
    from incast._core import _Resolved


class LabError(IncastError):
    """A scenario that a test bed cannot have, or a machine that cannot have a test bed."""


_MOST_HOSTS = 100
# The token bucket of each port where the scenario has none: a whole burst of TSO at least.
_BUCKET = ("switch.burst=70KB", "switch.burst_time=500us")

_POSTED = (
    "traffic", "flow", "message", "source", "destination", "class", "bytes", "posted_us",
)  # fmt: skip
_ASKED = ("traffic", "client", "request", "kind", "fan_out", "bytes", "posted_us")


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


class Work(NamedTuple):
    """The traffic of one repetition: what the simulated run of its seed posts."""

    flows: tuple[tuple[str, str], ...]
    """Sender and receiver of each connection that stays."""
    messages: pl.DataFrame
    """All messages by the time of posting, with `sender` and `receiver` of the payload."""
    requests: pl.DataFrame
    """The requests and incasts that they are of, in the simulator's columns."""

    @property
    def ends(self) -> list[tuple[str, str]]:
        """Sender and receiver of each connection that stays, then of each message."""
        return [*self.flows, *self.messages.select("sender", "receiver").iter_rows()]


@dataclass(frozen=True)
class BedPlan:
    """Hosts around switches, and their traffic."""

    name: str
    title: str
    hosts: tuple[BedHost, ...]
    switches: int
    """The number of switches."""
    trunks: tuple[Trunk, ...]
    """The cables between them."""
    ways: "Ways"
    """The shortest ways between switches, if there are several between some; else none."""
    work: tuple[Work, ...]
    """The traffic of each repetition."""
    pairs: Mapping[tuple[str, str], int]
    """Senders and receivers, each with the number of its connections and messages."""
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
        return frozenset(to for _, to in self.pairs)

    @property
    def receiver(self) -> BedHost:
        """The host whose port is the bottleneck: that with the most connections and messages."""
        of_host: Counter[str] = Counter()
        for (_, to), count in self.pairs.items():
            of_host[to] += count
        return self.host(max(of_host, key=of_host.__getitem__))

    @property
    def prober_switch(self) -> int:
        """The switch at which probes begin: that of a sender to the receiver."""
        receiver = self.receiver.name
        return self.host(next(sender for sender, to in self.pairs if to == receiver)).switch

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


def read(scenario: Scenario, scheme: str, repeat: int = 1) -> BedPlan:
    """Works out the test bed that a scenario asks for, and its traffic in so many repetitions.

    The traffic is the same under all schemes; the simulator lists it in a run of this one.

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
        (plan["islands"], "hosts that reach each other over its network alone", "island"),
    ):
        if is_set:
            raise LabError(f"{name}: {remedy}: a test bed has {what}; take [[{remedy}]] out")
    if scenario.drain_s:
        raise LabError(f"{name}: run.drain: a test bed ends with run.duration; take it out")
    traffics = plan["traffic"]
    for one in traffics:
        if one["scheme"] is not None:
            raise LabError(
                f"{name}: traffic {one['name']} has scheme {one['scheme']} of its own, and a test "
                "bed runs one scheme at a time; take scheme out"
            )
        if one["waits"]:
            raise LabError(
                f"{name}: traffic {one['name']} ({one['kind']}) posts messages when others have "
                "ended, and a test bed at times that are known before; use requests with a load, "
                "flows without after, poisson, incast or connections"
            )
    classes = {traffic["class_number"] for traffic in traffics}
    if len(classes) > 1:
        raise LabError(f"{name}: a test bed has one traffic class alone, not {len(classes)}")
    work = tuple(_work(scenario, scheme, turn + 1) for turn in range(repeat))
    pairs = Counter(pair for one in work for pair in one.ends)
    if not all(one.ends for one in work):
        raise LabError(f"{name}: posts nothing within {scenario.duration_s:g} s; run longer")
    receivers = {to for _, to in pairs}
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
        work=work,
        pairs=pairs,
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
    plan: "_Resolved",
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


def _work(scenario: Scenario, scheme: str, seed: int) -> Work:
    """The traffic of a seed, as the simulator posts it."""
    run = _core.run(scenario, scheme, seed=seed, only_posting=True)
    if not run.complete:
        raise KeyboardInterrupt
    tables = {table.name: frame(table) for table in run.tables}
    flows, messages = tables["flows"], tables["messages"]
    if messages["class"].n_unique() > 1:
        raise LabError(f"{scenario.name}: a test bed has one traffic class alone; take others out")
    reads = pl.col("operation") == "read"
    ends = flows.select(
        "flow",
        "start_us",
        sender=pl.when(reads).then("destination").otherwise("source"),
        receiver=pl.when(reads).then("source").otherwise("destination"),
    )
    stay = ends.drop_nulls("start_us").join(messages, on="flow", how="anti").sort("flow")
    for start_us, sender, to in stay.select("start_us", "sender", "receiver").iter_rows():
        if start_us > scenario.warmup_s * 1e6:
            raise LabError(
                f"{scenario.name}: {sender} to {to}: a connection that stays begins at "
                f"{start_us / 1e6:g} s, and on a test bed with the traffic; begin it in run.warmup"
            )
    return Work(
        flows=tuple(stay.select("sender", "receiver").iter_rows()),
        messages=messages.select(*_POSTED)
        .join(ends.drop("start_us"), on="flow")
        .sort("posted_us", "flow", "message"),
        requests=tables["requests"].select(*_ASKED),
    )
