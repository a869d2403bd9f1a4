"""The measurement of a scheme on Linux TCP: traffic, and a probe of RTTs beside it."""

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from incast.lab import cpu
from incast.lab.bed import Bed, call, kept, start
from incast.lab.carriers import LINUX
from incast.lab.plan import LabError
from incast.lab.row import Measured, Row, percentile
from incast.lab.traffic import carry

_PROBE_PORT = 7


def run(bed: Bed, kernel: Path, scheme: str, name: str, repeat: int) -> Measured:
    """Runs all traffic for the scenario's time.

    Raises:
        LabError: A connection could not be made.
    """
    receiver = bed.plan.receiver.name
    others = cpu.busy(0.3)
    reflector = f"{bed.address(receiver)}:{_PROBE_PORT}"
    part = [str(kernel), "part"]
    with kept(bed.inside(receiver, *part, "reflect", reflector)):
        time.sleep(0.2)
        idle, _ = _samples(start(_probing(bed, part, reflector, 0.5)))
        before = cpu.jiffies()
        sent_again, dropped = _retransmitted(bed), bed.drops()
        # The probe begins with the traffic; its samples of the warm-up are left out.
        probes: list[subprocess.Popen[str]] = []
        probing = _probing(bed, part, reflector, bed.plan.seconds)
        carried = carry(bed, part, name, repeat, lambda: probes.append(start(probing)))
        found, lost = _samples(probes[0])
        sent_again, dropped = _retransmitted(bed) - sent_again, bed.drops() - dropped
    stolen = cpu.jiffies().percent(since=before).stolen
    begin, end = bed.plan.measured_us
    rtts = tuple(rtt for at, rtt in found if begin <= at < end)
    if not rtts:
        raise LabError("no probe was answered while it was measured: the receiver is too busy")
    row = Row(
        carrier=LINUX,
        scheme=scheme,
        repeat=repeat,
        throughput_mbps=carried.throughput_mbps,
        jain_index=carried.jain_index,
        urgent_p99_us=carried.urgent_p99_us,
        others_p99_us=carried.others_p99_us,
        incomplete=carried.incomplete,
        rtt_p50_us=percentile(rtts, 50),
        rtt_p99_us=percentile(rtts, 99),
        rtt_idle_us=percentile([rtt for _, rtt in idle], 50),
        drops=dropped,
        retransmissions=sent_again,
        probes_lost=lost,
        others_percent=others,
        stolen_percent=stolen,
    )
    return Measured(row, rtts, carried)


def _retransmitted(bed: Bed) -> int:
    """Segments that the kernel has sent again in the namespaces of all hosts."""
    total = 0
    for host in bed.plan.hosts:
        said = call(*bed.inside(host.name, "cat", "/proc/net/snmp"))
        names, values = (line.split() for line in said.splitlines() if line.startswith("Tcp:"))
        total += int(values[names.index("RetransSegs")])
    return total


def _probing(bed: Bed, part: Sequence[str], reflector: str, seconds: float) -> list[str]:
    length = f"{max(1, round(seconds * 1e3))}ms"
    return bed.inside("prober", *part, "probe", reflector, "--duration", length)


def _samples(probe: "subprocess.Popen[str]") -> tuple[list[tuple[float, float]], int]:
    """The time of each datagram and its round trip, in us; and the number without an answer."""
    out, error = probe.communicate()
    if probe.returncode:
        raise LabError(f"the probe: {error.strip().removeprefix('error: ')}")
    lines = [json.loads(line) for line in out.splitlines()]
    rtts = [(line["at_us"], line["rtt_us"]) for line in lines[:-1]]
    if not rtts:
        raise LabError("the probe had no answer: the receiver cannot be reached")
    return rtts, int(lines[-1]["lost"])
