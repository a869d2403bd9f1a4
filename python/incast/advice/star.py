"""Hosts around one switch, as a scenario: the network in which advice is found and tried."""

from typing import Any

from incast._core import Scenario


def text(title: str, senders: int, rate_gbps: float, delay_us: float, mtu: int) -> str:
    """The text of a scenario in which all hosts send into one."""
    rate, delay = f"{rate_gbps:.12g}Gbps", f"{max(1, round(delay_us * 1e6))}ps"
    return f"""title = "{title}"

[run]
duration = "1ms"
schemes = ["line-rate"]

[[network.star.hosts]]
name = "sender"
count = {senders}
rate = "{rate}"
delay = "{delay}"

[[network.star.hosts]]
name = "receiver"
rate = "{rate}"
delay = "{delay}"

[switch]
buffer = "4GB"

[switch.pfc]
enabled = true

[transport]
mtu = "{mtu}B"

[[traffic]]
kind = "connections"
from = "sender"
to = "receiver"
"""


def path(rate_gbps: float, delay_us: float, mtu: int) -> tuple[float, int]:
    """The RTT without queues of a path through the switch, and its links."""
    found = _facts(rate_gbps, delay_us, mtu)["paths"][0]
    return found["base_rtt_us"], found["hops"]


def headroom(rate_gbps: float, delay_us: float, mtu: int) -> int:
    """The bytes that still arrive after a pause, as the simulator reserves them for one class."""
    found: int = _facts(rate_gbps, delay_us, mtu)["buffer"]["headroom"]["port_bytes"][1]
    return found


def delay_us(rate_gbps: float, rtt_us: float, mtu: int) -> float:
    """The delay of links with which a path through the switch has this RTT."""
    rest = rtt_us - path(rate_gbps, 1.0, mtu)[0]  # a round trip is four links
    return max(1.0 + rest / 4, 1e-3)


def _facts(rate_gbps: float, delay_us: float, mtu: int) -> dict[str, Any]:
    star = Scenario.parse(text("two hosts", 1, rate_gbps, delay_us, mtu), "advice")
    return {**star.facts("line-rate")}
