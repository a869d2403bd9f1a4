"""The publications whose experiments ship: title, claims in two sentences, and what leads."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Source:
    """A publication."""

    title: str
    """The name of the scheme, and who published it where."""
    claims: str = ""
    """The claims of the publication, in two sentences."""
    leads: str = ""
    """The experiment that its page begins with: the first one where nothing is named."""
    not_run: Mapping[str, str] = field(default_factory=dict)
    """Figures, tables and slides that no experiment runs again, each with the reason."""

    @property
    def short(self) -> str:
        """The title without authors, place and year."""
        return self.title.partition(" (")[0]


SOURCES = {
    "timely": Source(
        "TIMELY (Mittal et al., SIGCOMM 2015)",
        "TIMELY sets the rate of each flow by round-trip times alone, which the NIC measures: the "
        "rate falls while they grow and rises while they shrink. In an incast of ten clients it "
        "fills the port with a tenth of the mean RTT of PFC alone, and with a p99 RTT that is "
        "thirteen times shorter than DCTCP's.",
        "table-1",
        {
            "Slides: RTT measurement, the algorithm": "drawings and text without values",
            "Slides: discussion, NIC hardware and learned parameters": "questions, to which no run "
            "gives an answer",
            "Talk: the three engines, RTT as a multi-bit signal": "drawings without values",
        },
    ),
    "cs244": Source(
        "TIMELY in ns-3 (Fang and Orbay, CS244, 2016)",
        "A class project put TIMELY into ns-3, beside Vegas, NewReno and an oracle that knows the "
        "queue. TIMELY keeps the RTT and the queue lower than the two TCPs at a throughput of the "
        "same order, and an algorithm that knows the queue does at least as well.",
        "star-50mbps",
    ),
    "rtcp": Source(
        "Regulated TCP (Huang, Li and Walrand, IFIP 2020)",
        "Regulated TCP moves each window towards the maximum of a sum of utilities, by delays that "
        "hosts measure. It has much shorter delays of packets than NewReno and DCTCP at their "
        "throughput, and urgent flows overtake those of high volume.",
        "table-1-random-sending",
        {
            "Figure 2": "a drawing of a sender's counters and queue",
            "Figure 3": "a drawing of both networks, which the scenarios have",
        },
    ),
    "zhu": Source(
        "ECN or Delay: fixed points, bursts, stability (Zhu et al., CoNEXT 2016)",
        "TIMELY has no single fixed point: two flows may share a link in any proportion, and its "
        "bursts decide whether they come together. A patch gives it one, and DCQCN is unstable for "
        "some numbers of flows where the delay is long.",
        "fixed-points",
        {
            "Figure 1": "the equations of DCQCN's fluid model, which dcqcn-stability works out",
            "Figure 2": "not taken up yet",
            "Figure 4": "not taken up yet",
            "Figure 6": "a drawing",
            "Figure 7": "the equations of TIMELY's fluid model, which fixed-points solves",
            "Figure 8": "fixed-points has the model and the simulation of two flows",
            "Figures 13 to 16": "not taken up yet: completion times of DCQCN and TIMELY",
            "Figures 17 to 20": "not taken up yet: delayed marks, PI controllers, jitter",
        },
    ),
    "pfabric": Source(
        "pFabric (Alizadeh et al., SIGCOMM 2013)",
        "Switches of pFabric serve and drop packets by the size that is left of their flow, and "
        "hosts send at line rate. Small flows are nearly ideal at every load, DCTCP lies between "
        "pFabric and TCP.",
        "web-search",
    ),
    "pias": Source(
        "PIAS (Bai et al., NSDI 2015)",
        "PIAS lowers the priority of a flow as it sends more, so it needs no sizes in advance. "
        "Small flows are far faster than with DCTCP and nearly as fast as with pFabric, and long "
        "flows pay little.",
        "testbed",
    ),
    "hpcc": Source(
        "HPCC (Li et al., SIGCOMM 2019)",
        "Switches write their queue and their throughput into packets, and HPCC sets its window by "
        "them. Flows below 120 KB have lower slowdowns than with DCQCN, TIMELY and DCTCP, and next "
        "to nothing is paused.",
        "figure-11-incast",
    ),
    "powertcp": Source(
        "PowerTCP (Addanki, Michel and Schmid, NSDI 2022)",
        "The paper compares how schemes meet a sudden incast. HPCC comes back to a queue near zero "
        "and then loses throughput, TIMELY controls its queue in neither case.",
        "figure-4",
        {
            "Figure 4a": "PowerTCP is not among the schemes here",
            "Figure 4e": "Homa is not among the schemes here",
        },
    ),
    "swift": Source(
        "Swift (Kumar et al., SIGCOMM 2020)",
        "Swift keeps the RTT at a target, and sends less than one packet for each RTT where flows "
        "are many. Its RTT tracks the target at a full port, and 5,000 flows into one port lose "
        "next to nothing.",
        "figure-17",
    ),
    "tcp-bolt": Source(
        "TCP-Bolt (Stephens et al., INFOCOM 2014)",
        "TCP-Bolt starts at line rate over a network that PFC keeps without losses, along trees "
        "that cannot dead-lock. Its completion times are down to 0.3 of TCP's, and trees keep most "
        "of the throughput of ECMP.",
        "completion",
    ),
    "ledbat": Source(
        "LEDBAT (RFC 6817, 2012)",
        "LEDBAT is for transfers in the background: it sends by one-way delays up to a target. It "
        "uses what the link has left, and yields to flows of TCP.",
    ),
    "d2tcp": Source(
        "D2TCP (Vamanan, Hasan and Vijaykumar, SIGCOMM 2012)",
        "D2TCP is DCTCP whose flows give way less, the nearer their deadline is. It misses 75 % "
        "fewer deadlines than DCTCP, and half as many as D3.",
    ),
    "karuna": Source(
        "Karuna (Chen et al., SIGCOMM 2016)",
        "Karuna sends flows with deadlines just fast enough to meet them, and leaves the rest to "
        "flows without. It misses less than 5.8 % of the deadlines, and flows without them have a "
        "p95 up to 47.78 % shorter than with pFabric.",
    ),
    "d3": Source(
        "D3 (Wilson et al., SIGCOMM 2011)",
        "Hosts of D3 ask switches for the rate that their deadline needs, and get it first come "
        "first served. It doubles the peak load that a network carries with its deadlines met.",
    ),
    "vcp": Source(
        "VCP (Xia et al., SIGCOMM 2005)",
        "Switches of VCP tell senders by two bits whether the load is low, high, or too high. It "
        "claims high utilisation, a short queue and next to no losses over a wide range of "
        "bandwidths and round trip times.",
    ),
    "hull": Source(
        "HULL (Alizadeh et al., NSDI 2012)",
        "Phantom queues of HULL mark packets before the link is full, and a pacer smooths the "
        "bursts of hosts. A tenth of the bandwidth buys a shorter latency, in the mean and in the "
        "tail.",
    ),
}  # fmt: skip
"""The publications by their folder under `papers`, in the order of the book."""


def in_order(name: str) -> tuple[int, int, str]:
    """The place of a figure or table in its publication: figures, tables, then the rest by name."""
    found = re.match(r"(Figure|Table)s? (\d*)", name)
    if not found:
        return 2, 0, name
    return int(found[1] == "Table"), int(found[2] or 0), name


def source(name: str) -> Source:
    """The publication of a folder; a folder of yours is its own title."""
    return SOURCES.get(name) or Source(name)
