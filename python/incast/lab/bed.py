"""Network namespaces around a bridge, each behind a shaped port; removed again whatever happens."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incast.lab.plan import BedPlan, LabError

_NEEDED = {"ip": "iproute2", "tc": "iproute2", "iperf3": "iperf3", "taskset": "util-linux"}
# The least burst of a token bucket: a whole burst of TSO.
_LEAST_BURST = 70_000


@dataclass(frozen=True)
class Bed:
    """A test bed that stands: `PREFIX-sw` is the switch, `PREFIX-<host>` the hosts."""

    prefix: str
    plan: BedPlan
    delays: bool = False
    """Whether links have the scenario's delay: only where the kernel has netem."""

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
        if host in (self.plan.receiver.name, "prober"):
            return cpus[-1]
        names = [one.name for one in self.plan.hosts]
        return cpus[names.index(host) % max(1, len(cpus) - 1)]

    def inside(self, host: str, *command: str) -> list[str]:
        """The command line that runs something on a host."""
        pinned = ["taskset", "-c", str(self.cpu(host))]
        return ["ip", "netns", "exec", self.netns(host), *pinned, *command]


def check() -> None:
    """Finds out whether a test bed can stand here.

    Raises:
        LabError: What is missing.
    """
    if os.geteuid() != 0:
        raise LabError("not permitted: network namespaces are made by root; try sudo")
    for tool, package in _NEEDED.items():
        if shutil.which(tool) is None:
            raise LabError(f"{tool} is missing; install it (Debian, Ubuntu: apt install {package})")


@contextlib.contextmanager
def standing(plan: BedPlan, kernel: Path) -> Iterator[Bed]:
    """Makes the namespaces, and removes them in the end, also after an error or Ctrl-C.

    Raises:
        LabError: The machine refuses.
    """
    check()
    bed = Bed(f"incast{os.getpid()}", plan)
    try:
        _make(bed, kernel)
        yield replace(bed, delays=_delay(bed))
    finally:
        _remove(bed)


def _make(bed: Bed, kernel: Path) -> None:
    switch = f"{bed.prefix}-sw"
    _ip("netns", "add", switch)
    _ip("-n", switch, "link", "add", "br0", "type", "bridge")
    _ip("-n", switch, "link", "set", "br0", "up")
    for number, host in enumerate([*(one.name for one in bed.plan.hosts), "prober"]):
        netns, port = bed.netns(host), f"p{number}"
        _ip("netns", "add", netns)
        _ip(
            "link", "add", port, "netns", switch, "type", "veth", "peer", "name", "eth0",
            "netns", netns,
        )  # fmt: skip
        _ip("-n", switch, "link", "set", port, "master", "br0", "up")
        _ip("-n", netns, "addr", "add", f"{bed.address(host)}/16", "dev", "eth0")
        _ip("-n", netns, "link", "set", "lo", "up")
        _ip("-n", netns, "link", "set", "eth0", "up")
        # Sockets are born with the default and then choose: one that BBR has paced stays paced.
        default = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
        call("ip", "netns", "exec", netns, "sh", "-c", default)
        _steer(netns, "eth0", bed.cpu(host))
        _steer(switch, port, bed.cpu(host))
    for number, one in enumerate(bed.plan.hosts):
        # Shaped at the switch's port: TCP's small queues would hide a queue on the sender's device.
        burst = max(_LEAST_BURST, int(one.rate_mbps * 1e6 / 8 * 0.0005))
        call(
            "ip", "netns", "exec", switch, "tc", "qdisc", "add", "dev", f"p{number}", "root", "tbf",
            "rate", f"{one.rate_mbps:g}mbit", "limit", str(bed.plan.queue_bytes), "burst",
            str(burst),
        )  # fmt: skip
        if bed.plan.mark_bytes is not None:
            mark = [str(kernel), "part", "mark", f"p{number}", str(bed.plan.mark_bytes)]
            call("ip", "netns", "exec", switch, *mark)


def _delay(bed: Bed) -> bool:
    """Gives each host's link its delay, both ways as the host sends; whether the kernel could."""
    for one in bed.plan.hosts:
        netem = ["netem", "delay", f"{2 * one.delay_us:g}us", "limit", "100000"]
        place = ["-n", bed.netns(one.name), "qdisc", "add", "dev", "eth0", "root"]
        try:
            call("tc", *place, *netem)
        except LabError:
            return False
    return True


def _steer(netns: str, device: str, cpu: int) -> None:
    """Has one CPU take all that comes in, as a NIC does for a flow: two would reorder it."""
    mask = f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)
    path = f"/sys/class/net/{device}/queues/rx-0/rps_cpus"
    call("ip", "netns", "exec", netns, "sh", "-c", f"echo {mask} > {path}")


def _remove(bed: Bed) -> None:
    for name in ["sw", *(one.name for one in bed.plan.hosts), "prober"]:
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


def call(*command: str, told: str | None = None, named: str = "") -> str:
    """Runs a command with this input; returns its output. An error names the command, or `named`.

    Raises:
        LabError: It failed.
    """
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        reason = said[0].removeprefix("error: ") if said else "failed"
        raise LabError(f"{named or _tail(command)}: {reason}")
    return done.stdout


def _tail(command: Sequence[str]) -> str:
    """The command without what only says where it runs."""
    words = list(command)
    if "taskset" in words:
        words = words[words.index("taskset") + 3 :]
    return " ".join(words)


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
