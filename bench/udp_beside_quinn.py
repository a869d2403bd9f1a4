"""Goodput of messages over UDP and of QUIC by quinn, both with AES-128-GCM, in turn.

    cargo build --release -p incast-quic --features example-quinn --example quinn
    sudo .venv/bin/python bench/udp_beside_quinn.py --rounds 9 --json results.json

Both ends are network namespaces of this machine, with a virtual link between them, and each is
pinned to a CPU: the senders to the first, the receivers to the second. Messages are calls of 1 MB,
4 under way; quinn sends one stream. Each round has one of each, after the other. The table shows
medians, and the median of the rounds' ratios.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from incast.lab import cpu

ROOT = Path(__file__).parent.parent
QUINN = ROOT / "target" / "release" / "examples" / "quinn"
INCAST = Path(sys.executable).parent / "incast"
SPACES = ("incast-q-send", "incast-q-take")
ADDRESSES = ("10.177.0.1", "10.177.0.2")
CPUS = (0, 1)


def run(*command: str) -> str:
    """The output of a command that has to work."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def link() -> Iterator[None]:
    """Two namespaces with a virtual link between them."""
    made = []
    try:
        for space in SPACES:
            run("ip", "netns", "add", space)
            made.append(space)
            run("ip", "-n", space, "link", "set", "lo", "up")
        ends = ("veth0", "netns", SPACES[0], "type", "veth", "peer", "veth0", "netns", SPACES[1])
        run("ip", "link", "add", *ends)
        for space, address in zip(SPACES, ADDRESSES, strict=True):
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", "veth0")
            run("ip", "-n", space, "link", "set", "veth0", "up")
        yield
    finally:
        for space in made:
            run("ip", "netns", "delete", space)


def at(end: int, *command: str) -> list[str]:
    """A command in the namespace and on the CPU of the sending end (0) or of the other (1)."""
    return ["ip", "netns", "exec", SPACES[end], "taskset", "-c", str(CPUS[end]), *command]


@contextlib.contextmanager
def serving(*command: str) -> Iterator[None]:
    """A program at the receiving end."""
    with subprocess.Popen(at(1, *command), stdout=subprocess.PIPE, text=True) as program:
        try:
            yield
        finally:
            program.terminate()


def messages(secret: Path, seconds: int) -> float:
    """The goodput of messages in Gb/s."""
    found = json.loads(
        run(
            *at(0, str(INCAST), "udp", "call", f"{ADDRESSES[1]}:7000", "--secret", str(secret)),
            *("--size", "1MB", "--reply", "8B", "--in-flight", "4"),
            *("--duration", f"{seconds}s", "--json"),
        )
    )
    return float(found["goodput_gbps"])


def quinn(certificate: Path, control: str, seconds: int) -> float:
    """The goodput of quinn under a congestion control, in Gb/s."""
    there = (f"{ADDRESSES[1]}:7001", str(certificate))
    said = run(*at(0, str(QUINN), "send", *there, control, str(seconds), "40Gbps"))
    found = re.search(r"goodput ([0-9.]+) Mb/s", said)
    if found is None:
        raise SystemExit(f"quinn told no goodput: {said}")
    return float(found[1]) / 1e3


def measure(controls: Sequence[str], rounds: int, seconds: int) -> dict[str, list[float]]:
    """The goodputs of each way in each round, in Gb/s."""
    found: dict[str, list[float]] = {name: [] for name in ("messages", *controls)}
    with tempfile.TemporaryDirectory() as folder, link():
        secret, certificate = Path(folder) / "secret", Path(folder) / "certificate"
        run(str(INCAST), "udp", "key", str(secret), "--shared")
        ours = (str(INCAST), "udp", "serve", f"{ADDRESSES[1]}:7000", "--secret", str(secret))
        theirs = (str(QUINN), "serve", f"{ADDRESSES[1]}:7001", str(certificate))
        with serving(*ours), serving(*theirs):
            for turn in range(rounds):
                found["messages"].append(messages(secret, seconds))
                for control in controls:
                    found[control].append(quinn(certificate, control, seconds))
                print(f"round {turn + 1} of {rounds}", file=sys.stderr)
    return found


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=2, help="of each measurement")
    parser.add_argument(
        "--quinn", action="append", help="its congestion control; repeat it for several"
    )
    parser.add_argument("--json", type=Path, help="write all rounds there")
    given = parser.parse_args()
    if not QUINN.exists():
        raise SystemExit(f"{QUINN} is missing; the first line of this file's help builds it")
    before = cpu.jiffies()
    found = measure(given.quinn or ["quinn-cubic"], given.rounds, given.seconds)
    took = cpu.jiffies().percent(since=before)
    ours = found.pop("messages")
    print(f"{'goodput, Gb/s':20} {'messages':>9} {'quinn':>9} {'ratio':>7}")
    for name, theirs in found.items():
        ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
        print(f"{name:20} {median(ours):9.2f} {median(theirs):9.2f} {ratio:7.2f}")
    print(f"stolen by other machines: {took.stolen:.1f} % of the CPUs")
    if given.json is not None:
        told = {"messages": ours, **found, "cpu": took._asdict()}
        given.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
