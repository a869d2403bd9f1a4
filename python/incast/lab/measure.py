"""One scheme on a standing test bed: its traffic, and round-trip times by a probe beside it."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from incast.lab.bed import Bed
from incast.lab.plan import KERNEL_NAMES, LabError

_PROBE_PORT = 7
_FIRST_PORT = 5201
_KNOWS_LINE_RATE = ("timely", "rtcp")
URGENT_BELOW = 30_000
"""Requests of fewer bytes are told apart, as the paper on Regulated TCP does."""


@dataclass(frozen=True)
class Row:
    """What was measured of one scheme in one repetition; None where it is of the other traffic."""

    scheme: str
    repeat: int
    throughput_mbps: float
    """Payload that the bottleneck's host got, after the warm-up."""
    jain_index: float | None
    """Of connections that stay."""
    urgent_p99_us: float | None
    """Completion time of requests below 30 KB."""
    others_p99_us: float | None
    """Of all other requests."""
    incomplete: int | None
    """Requests without their answer in the end."""
    rtt_p50_us: float
    """Of the probe's datagrams through the same queue."""
    rtt_p99_us: float
    rtt_idle_us: float
    """The median before anything was sent."""
    retransmissions: int | None
    probes_lost: int
    others_percent: float
    """Share of all CPUs that something else took just before."""
    stolen_percent: float
    """Share of all CPUs that other machines on the same host took meanwhile."""


@contextlib.contextmanager
def attached(
    kernel: Path, scheme: str, settings: Sequence[str], line_rate_mbps: float
) -> Iterator[str]:
    """The kernel's name of a scheme, attached if it is one of ours, and detached in the end.

    Its line rate is that of the hosts, unless the settings have another.

    Raises:
        LabError: Linux has none such, or it cannot be attached.
    """
    algorithm = scheme.partition(":")[0]
    if algorithm not in KERNEL_NAMES:
        raise LabError(f"{scheme}: is not on Linux TCP; there is {', '.join(KERNEL_NAMES)}")
    name = KERNEL_NAMES[algorithm]
    if not name.startswith("bpf_"):
        there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        if name not in there:
            raise LabError(f"{scheme}: this kernel has no {name}; it has {', '.join(there)}")
        yield name
        return
    name = f"lab_{algorithm}"
    preset = scheme.partition(":")[2]
    command = [str(kernel), "attach", algorithm, "--name", name]
    command += ["--preset", preset] if preset else []
    if algorithm in _KNOWS_LINE_RATE:
        command += ["--set", f"line_rate={line_rate_mbps:g}Mbps"]
    command += [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{scheme}: {done.stderr.strip().removeprefix('error: ')}")
    try:
        yield name
    finally:
        subprocess.run([str(kernel), "detach", name], capture_output=True, check=False)


def run(bed: Bed, kernel: Path, scheme: str, name: str, repeat: int) -> Row:
    """Runs all traffic for the scenario's time.

    Raises:
        LabError: A connection could not be made.
    """
    receiver = bed.plan.receiver.name
    _choose(bed, name, ecn=name.endswith("dctcp"))
    others = _busy(0.3)
    with contextlib.ExitStack() as stack:
        reflector = f"{bed.address(receiver)}:{_PROBE_PORT}"
        part = [str(kernel), "part"]
        stack.enter_context(_kept(bed.inside(receiver, *part, "reflect", reflector)))
        time.sleep(0.2)
        idle, _ = _samples(_start(_probing(bed, part, reflector, 0.5)))
        seconds, warmup = bed.plan.seconds, bed.plan.warmup_s
        before = _jiffies()
        # The probe begins with the traffic: what it tells of the warm-up is left out.
        probe = _start(_probing(bed, part, reflector, seconds))
        if bed.plan.requests is not None:
            figures = _fetched(bed, part, stack, repeat)
        else:
            figures = _sent(bed, stack, scheme, name)
        found, lost = _samples(probe)
    stolen = _jiffies().percent(since=before).stolen
    rtts = [rtt for at, rtt in found if at >= warmup * 1e6]
    return Row(
        scheme=scheme,
        repeat=repeat,
        rtt_p50_us=float(np.percentile(rtts, 50)),
        rtt_p99_us=float(np.percentile(rtts, 99)),
        rtt_idle_us=float(np.percentile([rtt for _, rtt in idle], 50)),
        probes_lost=lost,
        others_percent=others,
        stolen_percent=stolen,
        **figures,
    )


class _Figures(TypedDict):
    throughput_mbps: float
    jain_index: float | None
    urgent_p99_us: float | None
    others_p99_us: float | None
    incomplete: int | None
    retransmissions: int | None


def _sent(bed: Bed, stack: contextlib.ExitStack, scheme: str, name: str) -> _Figures:
    """Connections that stay, by iperf3."""
    receiver = bed.plan.receiver.name
    senders = _senders(bed, receiver)
    for port in range(_FIRST_PORT, _FIRST_PORT + len(senders)):
        stack.enter_context(_kept(bed.inside(receiver, "iperf3", "-s", "-p", str(port))))
    time.sleep(0.2)
    seconds, warmup = bed.plan.seconds, bed.plan.warmup_s
    clients = []
    for number, (sender, count) in enumerate(senders.items()):
        command = [
            "iperf3", "-c", bed.address(receiver), "-p", str(_FIRST_PORT + number), "-C", name,
            "-P", str(count), "-t", f"{max(1, round(seconds - warmup))}", "-O", f"{round(warmup)}",
            "-J",
        ]  # fmt: skip
        clients.append(_start(bed.inside(sender, *command)))
    results = [_json(client, scheme) for client in clients]
    streams = [stream for result in results for stream in result["end"]["streams"]]
    goodputs = np.array([stream["receiver"]["bits_per_second"] / 1e6 for stream in streams])
    return {
        "throughput_mbps": float(goodputs.sum()),
        "jain_index": float(goodputs.sum() ** 2 / (goodputs.size * (goodputs**2).sum())),
        "urgent_p99_us": None,
        "others_p99_us": None,
        "incomplete": None,
        "retransmissions": sum(stream["sender"]["retransmits"] for stream in streams),
    }


def _fetched(bed: Bed, part: Sequence[str], stack: contextlib.ExitStack, repeat: int) -> _Figures:
    """Requests at random times, by our own generator."""
    requests = bed.plan.requests
    if requests is None:
        raise LabError(f"{bed.plan.name}: has no requests")
    for server in requests.servers:
        address = f"{bed.address(server)}:{_FIRST_PORT}"
        stack.enter_context(_kept(bed.inside(server, *part, "serve", address)))
    time.sleep(0.2)
    seconds, warmup = bed.plan.seconds, bed.plan.warmup_s
    drawn = requests.draw(bed.plan.receiver.rate_mbps, seconds, seed=repeat + 1)
    lines = [
        json.dumps(
            {
                "at_us": at,
                "servers": [f"{bed.address(server)}:{_FIRST_PORT}" for server in servers],
                "bytes": each,
            }
        )
        for at, servers, each in drawn
    ]
    client = bed.inside(requests.client, *part, "load")
    done = subprocess.run(
        client, input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LabError(f"the load generator: {done.stderr.strip().removeprefix('error: ')}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    counted = [answer for answer in answers if answer["at_us"] >= warmup * 1e6]
    urgent = [one["completion_us"] for one in counted if one["bytes"] < URGENT_BELOW]
    others = [one["completion_us"] for one in counted if one["bytes"] >= URGENT_BELOW]
    in_time = sum(
        one["bytes"] for one in counted if one["at_us"] + one["completion_us"] < seconds * 1e6
    )
    return {
        "throughput_mbps": in_time * 8 / 1e6 / (seconds - warmup),
        "jain_index": None,
        "urgent_p99_us": float(np.percentile(urgent, 99)) if urgent else None,
        "others_p99_us": float(np.percentile(others, 99)) if others else None,
        "incomplete": len(drawn) - len(answers),
        "retransmissions": None,
    }


def _choose(bed: Bed, name: str, *, ecn: bool) -> None:
    """Makes a scheme the default of all hosts: sockets that accept have no other way."""
    for host in bed.plan.hosts:
        for key, value in (("tcp_congestion_control", name), ("tcp_ecn", "1" if ecn else "2")):
            path = f"/proc/sys/net/ipv4/{key}"
            command = bed.inside(host.name, "sh", "-c", f"echo {value} > {path}")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode and key == "tcp_ecn":
                raise LabError(f"{bed.netns(host.name)}: {path}: {done.stderr.strip()}")


def to_dict(row: Row) -> dict[str, object]:
    """The row, ready for JSON."""
    return asdict(row)


def _senders(bed: Bed, receiver: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for sender, to in bed.plan.flows:
        if to != receiver:
            raise LabError(f"{bed.plan.name}: a test bed has one receiver alone; {to} is another")
        found[sender] = found.get(sender, 0) + 1
    return found


def _probing(bed: Bed, part: Sequence[str], reflector: str, seconds: float) -> list[str]:
    length = f"{max(1, round(seconds * 1e3))}ms"
    return bed.inside("prober", *part, "probe", reflector, "--duration", length)


def _samples(probe: "subprocess.Popen[str]") -> tuple[list[tuple[float, float]], int]:
    """When each datagram was sent, and its round trip, in us; and how many had no answer."""
    out, error = probe.communicate()
    if probe.returncode:
        raise LabError(f"the probe: {error.strip().removeprefix('error: ')}")
    lines = [json.loads(line) for line in out.splitlines()]
    rtts = [(line["at_us"], line["rtt_us"]) for line in lines[:-1]]
    if not rtts:
        raise LabError("the probe had no answer: the receiver cannot be reached")
    return rtts, int(lines[-1]["lost"])


def _json(
    client: "subprocess.Popen[str]", scheme: str
) -> dict[str, dict[str, list[dict[str, dict[str, int]]]]]:
    out, _ = client.communicate()
    found = json.loads(out or "{}")
    if client.returncode or "error" in found:
        raise LabError(f"{scheme}: iperf3: {found.get('error', 'failed')}")
    return found  # type: ignore[no-any-return]


def _start(command: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def _kept(command: Sequence[str]) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


class _Cpu(NamedTuple):
    """What all CPUs did since the machine started, in jiffies, or in per cent."""

    whole: float
    busy: float
    stolen: float

    def percent(self, since: "_Cpu") -> "_Cpu":
        """Of the time since."""
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
