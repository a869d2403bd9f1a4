"""The carriers of a scenario: what may carry its traffic, and whether this machine can."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from incast import _core
from incast._core import Scenario
from incast.base.schemes import parts
from incast.lab import attach, bed
from incast.lab.plan import BedPlan, LabError

SIMULATOR, LINUX, UDP = "simulator", "linux-tcp", "udp"
ALL = (SIMULATOR, LINUX, UDP)

_NO_KERNEL = (
    "incast-kernel is not installed: `make kernel` builds it in a checkout, and says what that "
    "needs; elsewhere: pip install 'incast[kernel]'"
)
# Linux TCP as the simulator knows it: what the shaper counts, Ethernet, IP, TCP and timestamps.
# Messages over UDP: the segments and packets of `crates/real/udp` without encryption, with Ethernet
# as the shaper counts them, and RTTs by the stamps of a kernel.
_SIMULATED = {
    LINUX: [
        "transport.kind=stream", "transport.stream.preset=linux", "transport.mtu=1514B",
        "transport.header=66B", "transport.ack=66B",
    ],
    UDP: [
        "transport.kind=message", "transport.segment=60KB", "transport.mtu=1514B",
        "transport.header=92B", "transport.nic=segments", "signal.kind=kernel-timestamps",
        "transport.stream.handshake=false",
    ],
}  # fmt: skip


class Target(NamedTuple):
    """A carrier, or the simulator's prediction of one."""

    carrier: str
    predicts: str
    """The carrier that the simulator predicts; empty if it runs the scenario as it stands."""
    label: str
    """The name in tables and results."""

    def assignments(self, own: Sequence[str]) -> list[str]:
        """The changes to the scenario that make it the carrier's, before the user's own."""
        of = self.predicts if self.carrier == SIMULATOR else self.carrier
        return [*_SIMULATED.get(of, ()), *own]


def targets(chosen: Sequence[str]) -> list[Target]:
    """The rows of each scheme: the carriers, behind each of them what the simulator predicts.

    Raises:
        LabError: One of them is no carrier.
    """
    for one in chosen:
        if one not in ALL:
            raise LabError(f"--on {one}: is no carrier; choose {', '.join(ALL)}")
    real = [one for one in ALL if one in chosen and one != SIMULATOR]
    if not real:
        return [Target(SIMULATOR, "", SIMULATOR)]
    found = []
    for one in real:
        found.append(Target(one, "", one))
        if SIMULATOR in chosen:
            label = f"{SIMULATOR} of {one}" if len(real) > 1 else SIMULATOR
            found.append(Target(SIMULATOR, one, label))
    return found


def missing(carrier: str, kernel: Path | None) -> str | None:
    """The reason why this machine cannot have a carrier, if it cannot."""
    if carrier == SIMULATOR:
        return None
    try:
        bed.check(bed.TOOLS if carrier == UDP else (*bed.TOOLS, *bed.TOOLS_OF_TCP))
    except LabError as error:
        return str(error)
    return _NO_KERNEL if carrier == LINUX and kernel is None else None


def refusal(
    carrier: str,
    scenario: Scenario,
    plan: BedPlan,
    kernel: Path | None,
    scheme: str,
    knobs: Sequence[str],
) -> str | None:
    """The reason why a carrier does not run a scheme, if it does not."""
    try:
        if carrier == LINUX and kernel is not None:
            with attach.attached(plan, kernel, scheme, knobs):
                pass
        if carrier == UDP:
            # A node on the loopback device is refused whatever all nodes would be.
            cpu = min(os.sched_getaffinity(0))
            node = (scheme, "/proc/self/ns/net", "127.0.0.1:0", cpu, "1Gbps")
            _core.udp_lab(
                with_knobs(scenario, scheme, knobs), scheme, [node], [], [],
                duration_s=0.0, measured_s=(0.0, 0.0), interval_s=1.0,
            )  # fmt: skip
    except _core.IncastError as error:
        return str(error)
    return None


def with_knobs(scenario: Scenario, scheme: str, knobs: Sequence[str]) -> Scenario:
    """The scenario with the parameters of a scheme that knobs give, where it has them."""
    name = parts(scheme).algorithm
    known = {one.name for of in _core.algorithms() if of.name == name for one in of.parameters}
    given = [knob.rpartition(".") for knob in knobs]
    own = [
        f"cc.{name}.{setting}"
        for whose, _, setting in given
        if whose == name or (not whose and setting.partition("=")[0] in known)
    ]
    return scenario.with_set(*own) if own else scenario
