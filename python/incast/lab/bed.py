"""Network namespaces around bridges, each behind a shaped port; removed again whatever happens."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incast import _core
from incast.base import system
from incast.lab import cpu, routes
from incast.lab.commands import call
from incast.lab.plan import BedPlan, LabError

TOOLS = ("ip", "tc")
"""The programs that make a test bed."""
TOOLS_OF_TCP = ("iperf3", "taskset")
"""The programs that send over Linux TCP."""
_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "iperf3": "iperf3", "taskset": "util-linux"}
# A relay adds as much by itself.
_LEAST_DELAY_US = 20.0


@dataclass(frozen=True)
class Bed:
    """A test bed that stands: `PREFIX-sw` is the switch, `PREFIX-<host>` the hosts."""

    prefix: str
    plan: BedPlan
    netem: bool = False
    """Whether the kernel delays the links of hosts."""
    cables: tuple[tuple[str, str, float], ...] = ()
    """The devices of links that a relay delays, and their delays in us."""

    def netns(self, host: str) -> str:
        """The namespace of a host."""
        return f"{self.prefix}-{host}"

    def address(self, host: str) -> str:
        """The IP address of a host."""
        names = [*(one.name for one in self.plan.hosts), "prober"]
        return f"10.99.{names.index(host) // 250}.{names.index(host) % 250 + 1}"

    def cpu(self, host: str) -> int:
        """The CPU of all that a host does: receiver and probe have another than the senders."""
        cpus = sorted(os.sched_getaffinity(0))
        if host == "prober" or host in self.plan.receivers:
            return cpus[-1]
        names = [one.name for one in self.plan.hosts if one.name not in self.plan.receivers]
        return cpus[names.index(host) % max(1, len(cpus) - 1)]

    @property
    def switch(self) -> str:
        """The namespace of all switches."""
        return f"{self.prefix}-sw"

    @property
    def shaped(self) -> list[tuple[str, float]]:
        """The ports of switches that have a queue, and their rates in Mb/s."""
        hosts = [(f"p{at}", one.rate_mbps) for at, one in enumerate(self.plan.hosts)]
        trunks = [
            (f"t{at}{end}", one.rate_mbps)
            for at, one in enumerate(self.plan.trunks)
            for end in "ab"
        ]
        return hosts + trunks

    @property
    def relay(self) -> str:
        """The namespace of the links that a relay delays."""
        return f"{self.prefix}-wire"

    @property
    def delays(self) -> str:
        """A sentence on the delays of links, if they are not those of the scenario."""
        said = []
        if self.cables:
            said.append(
                "A relay in user space delays links, since there is no netem, and adds tens of us."
            )
        hosts = [] if self.netem else [one.delay_us for one in self.plan.hosts]
        left = hosts + [one.delay_us for one in self.plan.trunks]
        if any(0 < delay_us < _LEAST_DELAY_US for delay_us in left):
            said.append(
                f"Delays of links below {_LEAST_DELAY_US:g} us are left out: the relay in user "
                "space that stands in for netem adds as much."
            )
        return " ".join(said)

    def drops(self) -> int:
        """The sends that the queues of all ports have dropped since the bed stands."""
        said = call("tc", "-n", self.switch, "-s", "-j", "qdisc", "show")
        ports = {port for port, _ in self.shaped}
        return sum(one["drops"] for one in json.loads(said) if one["dev"] in ports)

    def inside(self, host: str, *command: str) -> list[str]:
        """The command line that runs something on a host."""
        pinned = ["taskset", "-c", str(self.cpu(host))]
        return ["ip", "netns", "exec", self.netns(host), *pinned, *command]


def check(tools: Iterable[str] = TOOLS) -> None:
    """Finds out whether a test bed can stand here.

    Raises:
        LabError: What is missing.
    """
    if why := system.no_linux("a test bed of network namespaces"):
        raise LabError(why)
    if os.geteuid() != 0:
        raise LabError("not permitted: network namespaces are made by root; try sudo")
    for tool in tools:
        if shutil.which(tool) is None:
            package = _PACKAGES[tool]
            raise LabError(f"{tool} is missing; install it (Debian, Ubuntu: apt install {package})")


@contextlib.contextmanager
def standing(plan: BedPlan, kernel: Path | None) -> Iterator[Bed]:
    """Makes the namespaces, and removes them in the end, also after an error or Ctrl-C.

    Without `incast-kernel` no switch marks packets. Real-time threads are not throttled meanwhile.

    Raises:
        LabError: The machine refuses.
    """
    check()
    bed = Bed(f"incast{os.getpid()}", plan)
    with contextlib.ExitStack() as stack:
        stack.enter_context(cpu.unthrottled())
        stack.callback(_remove, bed)
        _ip("netns", "add", bed.switch)
        bed = replace(bed, netem=_has_netem(bed))
        bed = replace(bed, cables=_delayed(bed))
        if bed.cables:
            _ip("netns", "add", bed.relay)
        _make(bed, kernel)
        if bed.cables:
            last = max(os.sched_getaffinity(0))
            laid = _core.UdpCables(f"/run/netns/{bed.relay}", last, bed.cables)
            stack.callback(laid.close)
        yield bed


def _has_netem(bed: Bed) -> bool:
    """Whether the kernel has netem: it is tried on a device that carries nothing."""
    try:
        call("tc", "-n", bed.switch, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us")
    except LabError:
        return False
    return True


def _delayed(bed: Bed) -> tuple[tuple[str, str, float], ...]:
    """The links that a relay delays: of switches, and of hosts where the kernel does not."""
    hosts = [(f"p{at}", one.delay_us) for at, one in enumerate(bed.plan.hosts) if not bed.netem]
    trunks = [(f"t{at}", one.delay_us) for at, one in enumerate(bed.plan.trunks)]
    return tuple(
        (f"{name}x", f"{name}y", delay_us)
        for name, delay_us in hosts + trunks
        if delay_us >= _LEAST_DELAY_US
    )


def _make(bed: Bed, kernel: Path | None) -> None:
    switch, plan = bed.switch, bed.plan
    if plan.ways:
        routes.prepare(switch, plan.name)
    for number in range(0 if plan.ways else plan.switches):
        _ip("-n", switch, "link", "add", f"br{number}", "type", "bridge")
        _ip("-n", switch, "link", "set", f"br{number}", "up")
    ends = [(one.name, one.switch) for one in plan.hosts]
    ends.append(("prober", plan.prober_switch))
    for number, (host, of) in enumerate(ends):
        netns, port = bed.netns(host), f"p{number}"
        _ip("netns", "add", netns)
        _link(bed, port, (port, switch), ("eth0", netns))
        _ip("-n", switch, "link", "set", port, *_master(plan, of), "up")
        length = 32 if plan.ways else 16
        _ip("-n", netns, "addr", "add", f"{bed.address(host)}/{length}", "dev", "eth0")
        _ip("-n", netns, "link", "set", "lo", "up")
        _ip("-n", netns, "link", "set", "eth0", "up")
        # Sockets are born with the default and then choose: one that BBR has paced stays paced.
        default = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
        call("ip", "netns", "exec", netns, "sh", "-c", default)
        _steer(netns, "eth0", bed.cpu(host))
        _steer(switch, port, bed.cpu(host))
    for number, trunk in enumerate(plan.trunks):
        a, b = f"t{number}a", f"t{number}b"
        _link(bed, f"t{number}", (a, switch), (b, switch))
        for port, of in zip((a, b), trunk.ends, strict=True):
            _ip("-n", switch, "link", "set", port, *_master(plan, of), "up")
            # What arrives from a trunk goes on to receivers, or is their ACKs.
            _steer(switch, port, max(os.sched_getaffinity(0)))
    if plan.ways:
        routes.lay(switch, plan, [(bed.netns(host), bed.address(host), of) for host, of in ends])
    for one in plan.hosts if bed.netem else ():
        # Both ways of the link as the host sends: the other way has the shaper.
        netem = ["netem", "delay", f"{2 * one.delay_us:g}us", "limit", "100000"]
        call("tc", "-n", bed.netns(one.name), "qdisc", "add", "dev", "eth0", "root", *netem)
    for port, rate_mbps in bed.shaped:
        # Shaped at the switch's port: TCP's small queues would hide a queue on the sender's device.
        call(
            "tc", "-n", switch, "qdisc", "add", "dev", port, "root", "tbf", "rate",
            f"{rate_mbps:g}mbit", "limit", str(plan.queue_bytes),
            "burst", str(plan.burst_at(rate_mbps)),
        )  # fmt: skip
        if plan.mark_bytes is not None and kernel is not None:
            mark = [str(kernel), "part", "mark", port, str(plan.mark_bytes)]
            call("ip", "netns", "exec", switch, *mark)


def _master(plan: BedPlan, switch: int) -> list[str]:
    """The words that put a port into a switch. Where switches route there are no bridges."""
    return [] if plan.ways else ["master", f"br{switch}"]


def _link(bed: Bed, name: str, one: tuple[str, str], other: tuple[str, str]) -> None:
    """Links two devices, each with its namespace; through the relay if that delays the link."""
    x, y = f"{name}x", f"{name}y"
    if (x, y) not in {(a, b) for a, b, _ in bed.cables}:
        _pair(one, other)
        return
    for end, far in ((x, one), (y, other)):
        _pair((end, bed.relay), far)
        _ip("-n", bed.relay, "link", "set", end, "up")


def _pair(one: tuple[str, str], other: tuple[str, str]) -> None:
    (a, of_a), (b, of_b) = one, other
    _ip("link", "add", a, "netns", of_a, "type", "veth", "peer", "name", b, "netns", of_b)


def _steer(netns: str, device: str, cpu: int) -> None:
    """Has one CPU take all that comes in, as a NIC does for a flow: two would reorder it."""
    mask = f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)
    path = f"/sys/class/net/{device}/queues/rx-0/rps_cpus"
    call("ip", "netns", "exec", netns, "sh", "-c", f"echo {mask} > {path}")


def _remove(bed: Bed) -> None:
    for name in ["sw", "wire", *(one.name for one in bed.plan.hosts), "prober"]:
        netns = f"{bed.prefix}-{name}"
        found = subprocess.run(
            ["ip", "netns", "pids", netns], capture_output=True, text=True, check=False
        )
        for process in found.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), 9)
        subprocess.run(["ip", "netns", "del", netns], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    call("ip", *arguments)


def start(command: Sequence[str]) -> "subprocess.Popen[str]":
    """Begins a command whose output is asked for later."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def kept(command: Sequence[str]) -> Iterator[None]:
    """Runs a command meanwhile."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()
