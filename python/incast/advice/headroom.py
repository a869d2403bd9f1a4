"""Headroom for PFC: the bytes of a class that still arrive at a port after it sent a pause."""

import math

from incast.advice import star
from incast.advice.given import Given, Link, quanta_row
from incast.advice.row import Row

_PFC = "IEEE 802.1Q, PFC"
_SONIC = "SONiC, buffer_headroom"
_SMALLEST = 64


def loop_us(given: Given, link: Link) -> float:
    """The delay of a cable that would hold as much as cable, MAC, PHY and peer do."""
    held = given.mac_phy.at(link) + given.response_bytes(link)
    return link.delay_us + held / link.bytes_per_us / 2


def on_the_wire(given: Given, link: Link) -> int:
    """The bytes that arrive after a pause, counted as packets have them."""
    return star.headroom(link.rate_gbps, loop_us(given, link), given.mtu)


def in_cells(given: Given, link: Link) -> int:
    """The bytes that they take in the buffer."""
    return math.ceil(on_the_wire(given, link) * occupancy(given) / given.cell) * given.cell


def occupancy(given: Given) -> float:
    """The bytes that a byte takes in the buffer, where packets fill their last cells badly."""
    cell = given.cell
    worst = cell / _SMALLEST if cell > 2 * _SMALLEST else 2 * cell / (cell + 1)
    return 1 + given.small_packets / 100 * (worst - 1)


def reserved(given: Given) -> float:
    """The bytes of the buffer that all ports reserve for one class: headroom and pipeline."""
    return sum(
        (in_cells(given, link) + given.pipeline.at(link)) * count for link, count in given.ports
    )


def rows(given: Given) -> list[Row]:
    """The parts of the headroom on each link, and their sum."""
    found = []
    for link, count in given.ports:
        cable = 2 * link.delay_us * link.bytes_per_us
        held = given.mac_phy.at(link)
        whole = on_the_wire(given, link)
        rest = whole - cable - held - given.response_bytes(link)
        cells = f"{occupancy(given):.3g} times, in cells of {given.cell} B"

        def row(name: str, value: float, formula: str, source: str, of: Link = link) -> Row:
            return Row("headroom", name, value, "B", formula, source, str(of))

        found += [
            row("on the cable", cable, "2 x delay x rate", _PFC),
            row("MAC and PHY", held, "as given", _SONIC),
            quanta_row(link, given),
            row("packets", rest, "3 MTU, a pause frame, 1 B", "incast scenario check"),
            row("headroom on the wire", whole, "the four together", _PFC),
            row("headroom", in_cells(given, link), cells, _SONIC),
            row("headroom of all ports", in_cells(given, link) * count, f"{count} ports", _SONIC),
        ]
    return found
