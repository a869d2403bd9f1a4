"""The network that is advised on, and the time that switches and their peers take to pause."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from incast._core import ParameterError, Scenario
from incast.advice import star
from incast.advice.row import Row, delay_text
from incast.results.quantities import numbers

_US_PER_M = 5e-3
_QUANTUM_BYTES = 64
# The most pause quanta between a pause frame and its effect, by the rate of the port in Gb/s.
_QUANTA = {1: 2, 10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}
_ASIC = "SONiC, asic_table"
DCQCN = "DCQCN, buffers"
"""The part of the paper of DCQCN that buffers and thresholds are from."""
_ASKED = "asked for"
_SCENARIO = "the scenario"
# What holds where nothing was asked for: the value and its source.
_USUAL = {
    "cable": ("100m", "IEEE 802.3, 100GBASE-SR4"),
    "hosts": ("32", DCQCN),
    "mtu": ("1500B", "IEEE 802.3"),
    "cell": ("144B", _ASIC),
    "small_packets": ("100", "SONiC, traffic pattern"),
    "mac_phy_delay": ("0.8KiB", _ASIC),
    "pipeline": ("19KiB", _ASIC),
    "response": ("", "IEEE 802.3, 31B.3.7"),
    "buffer": ("", DCQCN),
}


@dataclass(frozen=True, order=True)
class Link:
    """The links of one rate and delay."""

    rate_gbps: float
    delay_us: float
    """The delay of the cable, one way."""

    @property
    def bytes_per_us(self) -> float:
        """The bytes that a link carries in a microsecond."""
        return self.rate_gbps * 125

    def __str__(self) -> str:
        return f"{self.rate_gbps:g} Gb/s, {delay_text(self.delay_us)}"


@dataclass(frozen=True)
class Held:
    """A delay: a time, or the bytes that are held meanwhile at any rate."""

    us: float = 0.0
    bytes: float = 0.0

    def at(self, link: Link) -> float:
        """The bytes at the rate of a link."""
        return self.bytes + self.us * link.bytes_per_us


@dataclass(frozen=True)
class Given:
    """A switch with its links, and the longest path of the network."""

    ports: tuple[tuple[Link, int], ...]
    """The links of the switch with most capacity, each with the number of its ports."""
    bottleneck: Link
    """The links of a star whose RTT is that of the path."""
    rtt_us: float
    """The RTT without queues of the longest path."""
    hops: int
    mtu: int
    buffer: int
    cell: int
    small_packets: float
    """The percentage of the bytes after a pause that may come in small packets."""
    mac_phy: Held
    pipeline: Held
    response: Held | None
    """The peer's response to a pause; as the standard has it for the rate if None."""
    rows: tuple[Row, ...]

    @property
    def count(self) -> int:
        """The number of ports of the switch."""
        return sum(count for _, count in self.ports)

    @property
    def senders(self) -> int:
        """The number of hosts that send into one."""
        return self.count - 1

    def response_bytes(self, link: Link) -> float:
        """The bytes that the peer sends between a pause frame and its effect."""
        if self.response is not None:
            return self.response.at(link)
        return _quanta(link) * _QUANTUM_BYTES


def given(asked: Mapping[str, str | None], scenario: Scenario | None) -> Given:
    """The network of a scenario with what was asked for in its place, or of what was asked for.

    Raises:
        ParameterError: There is no network, or a value is out of its range.
    """
    if scenario is None and asked.get("rate") is None:
        raise ParameterError("no network: name a scenario, or a rate such as --rate 100Gbps")
    found = None if scenario is None else _found(scenario)
    inputs = _Inputs(asked, found.texts if found else {})
    mtu = int(inputs.within("mtu", "bytes", (256, 64e3), "256B to 64KB"))
    if found is None:
        rate, metres, hosts = inputs.rate_gbps(), inputs.cable_m(), inputs.hosts()
        ports: tuple[tuple[Link, int], ...] = ((Link(rate, metres * _US_PER_M), hosts),)
        inputs.say("rate", rate, "Gb/s")
        inputs.say("hosts", hosts, "")
        inputs.say("cable", metres, "m", formula="5 ns/m")
    else:
        ports = _changed(found.ports, inputs)
        for link, count in ports:
            inputs.say("links", count, "", formula=str(link), source=_SCENARIO)
        if (most := sum(count for _, count in ports)) < 3:
            raise ParameterError(
                f"hosts {most}: the largest switch has no more; expected two that send into a third"
            )
    if found is None or {"rate", "cable"} & inputs.asked:
        slowest = min(link for link, _ in ports)
        rtt_us, hops = star.path(slowest.rate_gbps, slowest.delay_us, mtu)
        rate = slowest.rate_gbps
    else:
        rtt_us, hops, rate = found.rtt_us, found.hops, found.rate_gbps
    inputs.say("RTT", rtt_us, "us", formula=f"{hops} links, no queues", source="incast")
    inputs.say("MTU", mtu, "B", "mtu")

    cell = inputs.within("cell", "bytes", (1, 4_096), "1B to 4096B")
    small = inputs.within("small_packets", "", (0, 100), "percent, 0 to 100")
    inputs.say("cell", cell, "B", formula="unit of the buffer")
    inputs.say("small packets", small, "%", "small_packets", "the worst after a pause")
    first = ports[0][0]
    mac_phy, pipeline = inputs.held("mac_phy_delay"), inputs.held("pipeline")
    inputs.say("MAC and PHY", mac_phy.at(first), "B", "mac_phy_delay", "before a pause has left")
    inputs.say("pipeline", pipeline.at(first), "B", formula="of the switch")
    response = inputs.held("response") if inputs.text("response") else None
    # At least what 40 Gb/s have: pipelines hold the same at any rate.
    capacity = sum(max(link.rate_gbps, 40.0) * count for link, count in ports)
    usual = f"{min(12e6 * capacity / (32 * 40), 4e9):.0f}B"
    buffer = inputs.within("buffer", "bytes", (1e3, 4e9), "1KB to 4GB", usual)
    formula = "" if inputs.text("buffer") else "12 MB at 32 x 40 Gb/s"
    inputs.say("buffer", buffer, "B", formula=formula)
    return Given(
        ports, Link(rate, star.delay_us(rate, rtt_us, mtu)), rtt_us, hops, mtu, int(buffer),
        int(cell), small, mac_phy, pipeline, response, tuple(inputs.rows),
    )  # fmt: skip


def quanta_row(link: Link, of: Given) -> Row:
    """The peer's response on a link."""
    standard = of.response is None
    formula = f"{_quanta(link)} quanta of 512 bits" if standard else ""
    source = _USUAL["response"][1] if standard else _ASKED
    return Row(
        "headroom", "peer's response", of.response_bytes(link), "B", formula, source, str(link)
    )


def _quanta(link: Link) -> int:
    """The pause quanta of a rate; those of the next higher rate where the standard has none."""
    known = (count for rate, count in _QUANTA.items() if rate >= link.rate_gbps)
    return next(known, max(_QUANTA.values()))


@dataclass(frozen=True)
class _Found:
    """The facts of a scenario's network."""

    ports: tuple[tuple[Link, int], ...]
    rtt_us: float
    hops: int
    rate_gbps: float
    texts: dict[str, tuple[str, str]]


def _found(scenario: Scenario) -> _Found:
    scheme = scenario.schemes[0] if scenario.schemes else "line-rate"
    facts, net = scenario.facts(scheme), scenario.topology()
    if not facts["paths"] or facts["buffer"] is None:
        raise ParameterError(
            f"{scenario.name}: has no traffic through a switch to advise on; add [[traffic]]"
        )
    path = facts["paths"][-1]
    of_switch: dict[str, Counter[Link]] = {name: Counter() for name, _ in net["switches"]}
    for one, other, rate, delay in net["cables"]:
        for end in {one, other} & of_switch.keys():
            of_switch[end][Link(rate, delay)] += 1

    def capacity(links: Counter[Link]) -> float:
        return sum(link.rate_gbps * count for link, count in links.items())

    largest = max(of_switch.values(), key=capacity)
    mtu = msgspec.toml.decode(scenario.toml()).get("transport", {}).get("mtu")
    texts = {
        "buffer": (f"{facts['buffer']['total_bytes']}B", _SCENARIO),
        "mac_phy_delay": ("0B", "in the scenario's delays"),
    }
    if mtu is not None:
        texts["mtu"] = (mtu, _SCENARIO)
    return _Found(
        tuple(sorted(largest.items())), path["base_rtt_us"], path["hops"], path["rate_gbps"], texts
    )


def _changed(
    ports: tuple[tuple[Link, int], ...], inputs: "_Inputs"
) -> tuple[tuple[Link, int], ...]:
    """The links of a scenario with what was asked for in their place."""
    links: Counter[Link] = Counter()
    for link, count in ports:
        rate, delay = link.rate_gbps, link.delay_us
        if "rate" in inputs.asked:
            rate = inputs.rate_gbps()
        if "cable" in inputs.asked:
            delay = inputs.cable_m() * _US_PER_M
        links[Link(rate, delay)] += count
    if "hosts" in inputs.asked:
        most = links.most_common(1)[0][0]
        links[most] = inputs.hosts()
    return tuple(sorted(links.items()))


class _Inputs:
    """The values asked for, else those of the scenario, else the usual ones."""

    def __init__(
        self, asked: Mapping[str, str | None], found: Mapping[str, tuple[str, str]]
    ) -> None:
        wanted = {name: (text, _ASKED) for name, text in asked.items() if text is not None}
        self.asked = set(wanted)
        self._known = {**_USUAL, **found, **wanted}
        self.rows: list[Row] = []

    def say(
        self, name: str, value: float, unit: str, key: str = "", formula: str = "", source: str = ""
    ) -> None:
        source = source or self._known[key or name][1]
        self.rows.append(Row("given", name, value, unit, formula, source))

    def text(self, name: str) -> str:
        return self._known[name][0]

    def within(
        self, name: str, unit: str, of: tuple[float, float], expected: str, usual: str = ""
    ) -> float:
        text = self.text(name) or usual
        value = _number(text, unit)
        if value is None or not of[0] <= value <= of[1]:
            raise ParameterError(f"{_words(name)} {text}: expected {expected}")
        return value

    def rate_gbps(self) -> float:
        return self.within("rate", "gbps", (0.1, 1e4), "0.1Gbps to 10000Gbps")

    def cable_m(self) -> float:
        return self.within("cable", "m", (1, 1e5), "1m to 100km")

    def hosts(self) -> int:
        text = self.text("hosts")
        if not (text.isascii() and text.isdigit() and 3 <= int(text) <= 1_024):
            raise ParameterError(f"hosts {text}: expected 3 to 1024, two that send into a third")
        return int(text)

    def held(self, name: str) -> Held:
        text = self.text(name)
        us, size = _number(text, "us"), _number(text, "bytes")
        if (us is None and size is None) or not 0 <= (us or size or 0) < 1e9:
            raise ParameterError(
                f"{_words(name)} {text}: expected a time or a size, such as 500ns or 2KiB"
            )
        return Held(us or 0.0, size or 0.0)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(text: str, unit: str) -> float | None:
    """A quantity in Gb/s, bytes, microseconds or metres; None if it is none."""
    if unit == "m":
        match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(k?)m", text.strip())
        return float(match[1]) * (1e3 if match[2] else 1) if match else None
    found = numbers([text])
    if found is None or found.unit != unit or not math.isfinite(found.values[0]):
        return None
    return found.values[0]
