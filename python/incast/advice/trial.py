"""Short runs at the values that are advised: scenarios, and how to judge them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from incast._core import Scenario
from incast.advice import dcqcn, dctcp, headroom, pfc, star, swift, timely
from incast.advice.given import Given, Link

LEAST_UTILISATION = 0.8
"""The share of the receiver's link below which a run counts as starved."""
PFC_ALONE = "line-rate"
ALGORITHMS = {one.NAME: one for one in (dcqcn, dctcp, timely, swift)}

# The marks of the other kind of run, of which `--set` may have values.
_MARKS_OF_OTHERS = {True: "switch.ecn_", False: "switch.aqm"}


@dataclass(frozen=True)
class Trial:
    """A scenario in which all hosts send into one, with the schemes that run in it."""

    name: str
    """The links, where PFC alone is tried."""
    scenario: Scenario
    schemes: tuple[str, ...]
    lossless: bool

    def changed(self, settings: Sequence[str]) -> "Trial":
        """The trial with the settings that concern it."""
        others = _MARKS_OF_OTHERS[self.lossless]
        own = [one for one in settings if not one.startswith(others)]
        return replace(self, scenario=self.scenario.with_set(*own))


def trials(given: Given, kinds: Sequence[str], settings: Sequence[str]) -> list[Trial]:
    """PFC alone on each link, then the algorithms: those that bear RED, and DCTCP by itself."""
    lossless = [kind for kind in kinds if kind != dctcp.NAME]
    tcp = [kind for kind in kinds if kind == dctcp.NAME]
    found = [_pauses(given, link) for link, _ in given.ports]
    found += [of_algorithms(given, some) for some in (lossless, tcp) if some]
    return [one.changed(settings) for one in found]


def of_algorithms(given: Given, kinds: Sequence[str]) -> Trial:
    """A run of algorithms at their thresholds, in which switches mark for DCQCN or for DCTCP."""
    link, lossless = given.bottleneck, dctcp.NAME not in kinds
    # Rates grow with segments, windows by a packet in an RTT, up to twice the product.
    packets = 2 * link.bytes_per_us * given.rtt_us / given.mtu / given.senders
    ms = max(20.0, 4_000 / link.rate_gbps, 2.5e-3 * packets * given.rtt_us)
    keys: dict[str, object] = {
        "run.schemes": list(kinds),
        "transport.segment": f"{timely.SEGMENT}B",
        **_times(ms, 0.6),
    }
    for kind in dict.fromkeys((dcqcn.NAME, *kinds)) if lossless else kinds:
        keys |= ALGORITHMS[kind].keys(given)
    return Trial("", _scenario(given, link, link.delay_us, keys), tuple(kinds), lossless)


def _pauses(given: Given, link: Link) -> Trial:
    """A run in which PFC alone holds senders back, on cables that hold what MACs and peers do."""
    loop_us = headroom.loop_us(given, link)
    # The buffer fills; then what came after all pauses leaves before the next ones.
    fill_us = pfc.shared(given) / link.bytes_per_us / (given.senders - 1)
    between_us = given.senders * headroom.on_the_wire(given, link) / link.bytes_per_us
    us = 2_000 + 2 * fill_us + 4 * between_us + 100 * loop_us
    keys = {**dcqcn.keys(given), **_times(us / 1e3, 0.0)}
    return Trial(str(link), _scenario(given, link, loop_us, keys), (PFC_ALONE,), True)


def _times(ms: float, warmup: float) -> dict[str, object]:
    return {"run.duration": f"{ms:.6g}ms", "run.warmup": f"{ms * warmup:.6g}ms"}


def _scenario(given: Given, link: Link, delay_us: float, keys: Mapping[str, object]) -> Scenario:
    title = f"{given.senders} hosts send into one at {link.rate_gbps:g} Gb/s, by incast advise"
    text = star.text(title, given.senders, link.rate_gbps, delay_us, given.mtu)
    wire = headroom.on_the_wire(given, link)
    switch = {
        # Without what cells and pipelines take of the buffer: the simulator counts bytes.
        "switch.buffer": f"{pfc.shared(given) + wire * given.count:.0f}B",
        "switch.pfc.alpha": pfc.ALPHA,
        "switch.pfc.xon_offset": f"{pfc.offset(given)}B",
        "switch.pfc.headroom": f"{wire}B",
    }
    return Scenario.parse(text, "advice").with_set({**switch, **keys})
