"""The measurement of a scheme on Linux TCP: traffic, and a probe of RTTs beside it."""

from pathlib import Path

from incast.lab import cpu
from incast.lab.bed import Bed
from incast.lab.carriers import LINUX
from incast.lab.commands import call
from incast.lab.ping import Prober
from incast.lab.plan import LabError
from incast.lab.row import Measured, measured
from incast.lab.traffic import carry


def run(bed: Bed, kernel: Path, scheme: str, name: str, repeat: int) -> Measured:
    """Runs all traffic for the scenario's time.

    Raises:
        LabError: A connection could not be made.
    """
    others = cpu.busy(0.3)
    with Prober(bed, kernel).standing() as prober:
        before = cpu.jiffies()
        sent_again, dropped = _retransmitted(bed), bed.drops()
        # The probe begins with the traffic; its samples of the warm-up are left out.
        carried = carry(bed, [str(kernel), "part"], name, repeat, prober.begin)
        pings = prober.answers()
        sent_again, dropped = _retransmitted(bed) - sent_again, bed.drops() - dropped
    stolen = cpu.jiffies().percent(since=before).stolen
    rtts = pings.within(*bed.plan.measured_us)
    if not rtts:
        raise LabError("no probe was answered while it was measured: the receiver is too busy")
    return measured(
        LINUX,
        scheme,
        repeat,
        carried,
        rtts,
        rtts,
        rtt_idle_us=prober.idle_us,
        drops=dropped,
        retransmissions=sent_again,
        probes_lost=pings.lost,
        others_percent=others,
        stolen_percent=stolen,
    )


def _retransmitted(bed: Bed) -> int:
    """Segments that the kernel has sent again in the namespaces of all hosts."""
    total = 0
    for host in bed.plan.hosts:
        said = call(*bed.inside(host.name, "cat", "/proc/net/snmp"))
        names, values = (line.split() for line in said.splitlines() if line.startswith("Tcp:"))
        total += int(values[names.index("RetransSegs")])
    return total
