"""The measurement of a scheme on a standing test bed: traffic, and a probe of RTTs beside it."""

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from incast.lab.bed import Bed, call, kept, start
from incast.lab.plan import LabError
from incast.lab.traffic import Carried, carry

_PROBE_PORT = 7


@dataclass(frozen=True)
class Row:
    """The figures of one scheme in one repetition; None where they are of the other traffic."""

    scheme: str
    repeat: int
    throughput_mbps: float
    """Payload that the bottleneck's host got, after the warm-up."""
    jain_index: float | None
    """Jain's index of the connections that stay."""
    urgent_p99_us: float | None
    """Completion time of requests below 30 KB."""
    others_p99_us: float | None
    """Completion time of all other requests."""
    incomplete: int | None
    """Requests without their answer in the end."""
    rtt_p50_us: float
    """Median round trip of the probe's datagrams, which pass through the same queue."""
    rtt_p99_us: float
    rtt_idle_us: float
    """The median before anything was sent."""
    retransmissions: int
    """Segments that all hosts sent again, warm-up included."""
    probes_lost: int
    others_percent: float
    """Share of all CPUs that something else took just before."""
    stolen_percent: float
    """Share of all CPUs that other machines on the same host took meanwhile."""


@dataclass(frozen=True)
class Measured:
    """The row of one scheme in one repetition, and the samples behind it."""

    row: Row
    rtts_us: tuple[float, ...]
    """Round trips of the probe while measured."""
    carried: Carried


def run(bed: Bed, kernel: Path, scheme: str, name: str, repeat: int) -> Measured:
    """Runs all traffic for the scenario's time.

    Raises:
        LabError: A connection could not be made.
    """
    receiver = bed.plan.receiver.name
    others = _busy(0.3)
    reflector = f"{bed.address(receiver)}:{_PROBE_PORT}"
    part = [str(kernel), "part"]
    with kept(bed.inside(receiver, *part, "reflect", reflector)):
        time.sleep(0.2)
        idle, _ = _samples(start(_probing(bed, part, reflector, 0.5)))
        before = _jiffies()
        sent_again = _retransmitted(bed)
        # The probe begins with the traffic; its samples of the warm-up are left out.
        probe = start(_probing(bed, part, reflector, bed.plan.seconds))
        carried = carry(bed, part, name, repeat)
        found, lost = _samples(probe)
        sent_again = _retransmitted(bed) - sent_again
    stolen = _jiffies().percent(since=before).stolen
    begin, end = bed.plan.measured_us
    rtts = tuple(rtt for at, rtt in found if begin <= at < end)
    if not rtts:
        raise LabError("no probe was answered while it was measured: the receiver is too busy")
    row = Row(
        scheme=scheme,
        repeat=repeat,
        throughput_mbps=carried.throughput_mbps,
        jain_index=carried.jain_index,
        urgent_p99_us=carried.urgent_p99_us,
        others_p99_us=carried.others_p99_us,
        incomplete=carried.incomplete,
        rtt_p50_us=float(np.percentile(rtts, 50)),
        rtt_p99_us=float(np.percentile(rtts, 99)),
        rtt_idle_us=float(np.percentile([rtt for _, rtt in idle], 50)),
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


class _Cpu(NamedTuple):
    """The time of all CPUs since the machine started, in jiffies, or its shares in per cent."""

    whole: float
    busy: float
    stolen: float

    def percent(self, since: "_Cpu") -> "_Cpu":
        """The shares of the time since then."""
        whole = max(1.0, self.whole - since.whole)
        return _Cpu(
            100.0,
            100.0 * (self.busy - since.busy) / whole,
            100.0 * (self.stolen - since.stolen) / whole,
        )


def _jiffies() -> _Cpu:
    # user nice system idle iowait irq softirq steal: proc(5).
    line = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    numbers = [float(number) for number in line]
    return _Cpu(sum(numbers), sum(numbers) - numbers[3] - numbers[4], numbers[7])


def _busy(seconds: float) -> float:
    """Per cent of all CPUs that were not idle."""
    before = _jiffies()
    time.sleep(seconds)
    return _jiffies().percent(since=before).busy
