"""Routes of a test bed whose switches have several ways: each switch is a routing table.

All switches are in one namespace. Rules choose the table by the device that a packet came in by, so
the kernel looks where a packet goes as often as it passes a switch. Neighbours are fixed, since
devices of switches have no addresses to ask for them with.
"""

import json
from collections.abc import Sequence

from incast.lab.commands import call
from incast.lab.plan import BedPlan, LabError

_GATEWAY = "10.99.255.254"
_FIRST_TABLE = 100
# Forwarding; a hash of addresses and ports; no check where answers to the source would leave.
_SETTINGS = {
    "ip_forward": 1,
    "fib_multipath_hash_policy": 1,
    "conf/all/rp_filter": 0,
    "conf/default/rp_filter": 0,
}


def prepare(switch: str, name: str) -> None:
    """Sets the namespace of all switches up; `name` is the scenario's.

    Raises:
        LabError: The kernel has no routes with several ways: it is tried.
    """
    lines = [f"echo {value} > /proc/sys/net/ipv4/{key}" for key, value in _SETTINGS.items()]
    try:
        call("ip", "-n", switch, "link", "set", "lo", "up")
        tried = ["192.0.2.0/24", "table", str(_FIRST_TABLE - 1)]
        call("ip", "-n", switch, "route", "add", *tried, *["nexthop", "dev", "lo"] * 2)
        call("ip", "netns", "exec", switch, "sh", "-ec", "\n".join(lines))
    except LabError as error:
        raise LabError(
            f"{name}: there are several ways between its switches, and this kernel cannot choose "
            f"among them (CONFIG_IP_ROUTE_MULTIPATH): {error}; use network.star or network.dumbbell"
        ) from None


def lay(switch: str, plan: BedPlan, hosts: Sequence[tuple[str, str, int]]) -> None:
    """Gives the switches their routes, and the hosts theirs.

    `hosts` are the namespace, the address and the switch of each, in the order of the ports.
    """
    lines = []
    for number, one in enumerate(plan.trunks):
        for end, far, of in zip("ab", "ba", one.ends, strict=True):
            device = f"t{number}{end}"
            there = _mac(switch, f"t{number}{far}")
            lines += [
                f"rule add iif {device} lookup {_FIRST_TABLE + of}",
                f"neigh add {_hop(number, far)} lladdr {there} dev {device} nud permanent",
            ]
    for number, (netns, address, of) in enumerate(hosts):
        port = f"p{number}"
        lines += [
            f"rule add iif {port} lookup {_FIRST_TABLE + of}",
            f"neigh add {address} lladdr {_mac(netns, 'eth0')} dev {port} nud permanent",
        ]
        for at in range(plan.switches):
            ahead = " ".join(
                f"nexthop via {_hop(trunk, far)} dev t{trunk}{end} onlink"
                for trunk in plan.ways[at][of]
                for end, far in [("a", "b") if plan.trunks[trunk].ends[0] == at else ("b", "a")]
            )
            way = f"dev {port} scope link" if at == of else ahead
            if way:
                lines.append(f"route add {address}/32 table {_FIRST_TABLE + at} {way}")
        own = [
            f"neigh add {_GATEWAY} lladdr {_mac(switch, port)} dev eth0 nud permanent",
            f"route add 10.99.0.0/16 via {_GATEWAY} dev eth0 onlink",
        ]
        _batch(netns, own)
    _batch(switch, lines)


def _hop(trunk: int, end: str) -> str:
    """The address by which one end of a trunk knows the other, which nobody has."""
    return f"169.254.{trunk // 100}.{trunk % 100 * 2 + (1 if end == 'a' else 2)}"


def _mac(netns: str, device: str) -> str:
    (found,) = json.loads(call("ip", "-n", netns, "-j", "link", "show", "dev", device))
    return str(found["address"])


def _batch(netns: str, lines: Sequence[str]) -> None:
    call("ip", "-n", netns, "-batch", "-", told="".join(f"{line}\n" for line in lines))
