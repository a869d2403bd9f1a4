"""Goodput and RTT of QUIC senders that share a port of 1 Gb/s (docs/reference/measured.md).

    cargo build --release --locked -p incast-quic --features example-quinn,example-s2n --examples
    sudo .venv/bin/python bench/quic_senders.py --rounds 3 --seconds 4 --json results.json

The network is that of `incast lab`: a star of namespaces on this machine, each port a token bucket
of 70 KiB with a queue of 1 MiB. Senders have a namespace each, and share all CPUs but the last,
which is the receiver's. Each round runs each algorithm with each number of flows, one after the
other. `none` stands for a flow that failed, or had not ended 15 s after its time.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import incast
from incast.lab import bed, cpu, plan

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "target" / "release" / "examples"
BUILD = (
    "cargo build --release --locked -p incast-quic --features example-quinn,example-s2n --examples"
)
CASES = (
    "quinn/quinn-cubic", "quinn/quinn-bbr", "quinn/cubic", "quinn/newreno", "quinn/bbr",
    "quinn/timely", "quinn/timely:auto", "quinn/swift",
    "s2n/s2n-cubic", "s2n/s2n-bbr", "s2n/cubic", "s2n/bbr", "s2n/timely", "s2n/timely:auto",
)  # fmt: skip
LIBRARIES = {"quinn": "quinn", "s2n": "s2n-quic"}
OWN = {"cubic": "Cubic", "bbr": "BBR", "newreno": "NewReno"}
PORT = 7001
LINE_RATE = "1Gbps"
PATIENCE_S = 15.0
REFUSED, INTERRUPTED = 2, 130
NONE = "none"
SAID = re.compile(r"goodput ([0-9.]+) Mb/s, smoothed RTT p50 (\d+) us, .* (\d+) of \d+ datagrams")


class Flow(NamedTuple):
    """The report of a sender."""

    goodput_mbps: float
    rtt_us: float
    """The median of the smoothed RTTs."""
    lost: int
    """The datagrams that the sender took for lost."""


class Run(NamedTuple):
    """A run of some flows at once."""

    case: str
    flows: list[Flow | None]
    """The flows in the order of their senders; None where one failed or did not end."""
    others_percent: float
    """The share of all CPUs that something else took just before."""
    stolen_percent: float
    """The share of all CPUs that other machines on the same host took meanwhile."""

    @property
    def ended(self) -> list[Flow]:
        """The flows that ended."""
        return [flow for flow in self.flows if flow is not None]

    @property
    def jain_index(self) -> float | None:
        """Jain's index of the goodputs, if all flows ended."""
        rates = [flow.goodput_mbps for flow in self.ended]
        squares = sum(rate**2 for rate in rates)
        if len(rates) < len(self.flows) or not squares:
            return None
        return sum(rates) ** 2 / (len(rates) * squares)


def star(senders: int, seconds: int) -> plan.BedPlan:
    """The test bed: so many senders and a receiver, each at a port of 1 Gb/s."""
    scenario = incast.load("tcp-incast").with_set(
        f"run.duration={seconds}s",
        f"network.star.hosts.0.count={senders}",
        f"network.star.hosts.0.rate={LINE_RATE}",
        f"network.star.hosts.1.rate={LINE_RATE}",
        "switch.queue_limit=1MiB",
        "switch.burst=70KiB",
    )
    return plan.read(scenario)


@contextlib.contextmanager
def serving(stands: bed.Bed, library: str, certificate: Path) -> Iterator[str]:
    """The receiving end, until its flows have ended; yields its address."""
    receiver = stands.plan.receiver.name
    address = f"{stands.address(receiver)}:{PORT}"
    certificate.unlink(missing_ok=True)
    command = (str(EXAMPLES / library), "serve", address, str(certificate))
    program = bed.start(stands.inside(receiver, *command))
    try:
        deadline = time.monotonic() + PATIENCE_S
        # The certificate is written once the socket is bound.
        while not (certificate.exists() and "-----END" in certificate.read_text("ascii")):
            if program.poll() is not None:
                raise plan.LabError(f"{library} serve: {program.communicate()[1].strip()}")
            if time.monotonic() > deadline:
                raise plan.LabError(f"{library} serve: did not begin within {PATIENCE_S:g} s")
            time.sleep(0.05)
        yield address
    finally:
        program.kill()
        program.communicate()


def run(stands: bed.Bed, case: str, flows: int, seconds: int, certificate: Path) -> Run:
    """Runs some flows at once, each from a sender of its own."""
    library, _, control = case.partition("/")
    others = cpu.busy(0.3)
    with serving(stands, library, certificate) as address:
        before = cpu.jiffies()
        words = ("send", address, str(certificate), control, str(seconds), LINE_RATE)
        senders = [one.name for one in stands.plan.hosts if one.name not in stands.plan.receivers]
        programs = [
            bed.start(stands.inside(sender, str(EXAMPLES / library), *words))
            for sender in senders[:flows]
        ]
        deadline = time.monotonic() + seconds + PATIENCE_S
        try:
            found = [report(program, case, deadline) for program in programs]
        finally:
            for program in programs:
                program.kill()
                program.wait()
        stolen = cpu.jiffies().percent(since=before).stolen
    return Run(case, found, others, stolen)


def report(program: "subprocess.Popen[str]", case: str, deadline: float) -> Flow | None:
    """The report of a sender, if it ends in time and well.

    Raises:
        LabError: The sender refuses its arguments, such as the name of the algorithm.
    """
    try:
        out, error = program.communicate(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        print(f"{case}: a flow had not ended {PATIENCE_S:g} s after its time", file=sys.stderr)
        return None
    if program.returncode == REFUSED:
        raise plan.LabError(f"{case}: {error.strip().removeprefix('error: ')}")
    said = SAID.search(out)
    if program.returncode or said is None:
        print(f"{case}: a flow failed: {(error or out).strip()}", file=sys.stderr)
        return None
    return Flow(float(said[1]), float(said[2]), int(said[3]))


def measure(cases: Sequence[str], numbers: Sequence[int], rounds: int, seconds: int) -> list[Run]:
    """All runs, round by round."""
    found: list[Run] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        bed.standing(star(max(numbers), seconds), kernel=None) as stands,
    ):
        certificate = Path(folder) / "certificate"
        for turn in range(rounds):
            for flows in numbers:
                found.extend(run(stands, case, flows, seconds, certificate) for case in cases)
            print(f"round {turn + 1} of {rounds}", file=sys.stderr)
    return found


def named(case: str) -> str:
    """The name of an algorithm under a library, in Markdown."""
    library, _, control = case.partition("/")
    own = control.removeprefix(f"{library}-")
    if own != control:
        return f"{LIBRARIES[library]}'s {OWN.get(own, own)}"
    return f"{LIBRARIES[library]}, `{control}`"


def spread(values: Sequence[float]) -> str:
    """The least and the most of some values, behind their median where they are more than two."""
    if not values:
        return NONE
    least, most = f"{min(values):,.0f}", f"{max(values):,.0f}"
    between = least if least == most else f"{least} to {most}"
    return between if least == most or len(values) < 3 else f"{median(values):,.0f} ({between})"


def table(cases: Sequence[str], runs: Sequence[Run], flows: int) -> str:
    """The table of all runs with so many flows, in Markdown."""
    several = flows > 1
    count = {1: "one flow", 2: "two flows", 4: "four flows"}.get(flows, f"{flows} flows")
    heads = [
        count, f"goodput{' of each' if several else ''}, Mb/s",
        "median of the smoothed RTT, us", "datagrams lost",
        *(["Jain's index"] if several else []),
        "CPUs: others before, %", "stolen, %",
    ]  # fmt: skip
    lines = []
    for case in cases:
        of = [one for one in runs if one.case == case and len(one.flows) == flows]
        goodputs = [
            ", ".join(NONE if flow is None else f"{flow.goodput_mbps:.0f}" for flow in one.flows)
            for one in of
        ]
        rtts = [flow.rtt_us for one in of for flow in one.ended]
        lost = [f"{sum(flow.lost for flow in one.ended):,}" if one.ended else NONE for one in of]
        fair = [NONE if one.jain_index is None else f"{one.jain_index:.2f}" for one in of]
        lines.append(
            [
                named(case), ("; " if several else ", ").join(goodputs),
                spread(rtts), "; ".join(lost),
                *([", ".join(fair)] if several else []),
                spread([one.others_percent for one in of]),
                spread([one.stolen_percent for one in of]),
            ]
        )  # fmt: skip
    rows = [f"| {' | '.join(line)} |" for line in (heads, *lines)]
    return "\n".join([rows[0], "|---" * len(heads) + "|", *rows[1:]])


def check() -> None:
    """Finds out whether the runs can be made here.

    Raises:
        LabError: Something is missing; says how to get it.
    """
    bed.check((*bed.TOOLS, "taskset"))
    for library in LIBRARIES:
        if not (EXAMPLES / library).exists():
            raise plan.LabError(f"{EXAMPLES / library} is missing; build it: {BUILD}")


def above_zero(text: str) -> int:
    """A number above zero, of the command line."""
    if (found := int(text)) < 1:
        raise ValueError(text)
    return found


def library_and_algorithm(text: str) -> str:
    """A library and an algorithm, of the command line."""
    library, _, control = text.partition("/")
    if library not in LIBRARIES or not control:
        raise argparse.ArgumentTypeError(
            f"{text}: is no library and algorithm; write quinn/NAME or s2n/NAME"
        )
    return text


def main() -> None:
    """Measures, and prints a table for each number of flows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=above_zero, default=3)
    parser.add_argument("--seconds", type=above_zero, default=4, help="of each run")
    parser.add_argument(
        "--flows",
        type=above_zero,
        nargs="+",
        default=[1, 4],
        help="numbers of flows; 1 and 4 at first",
    )
    parser.add_argument(
        "--case", type=library_and_algorithm, action="append",
        help="a library and an algorithm, such as quinn/timely:auto; repeat it for several; if "
        "not given, those of the tables",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, help="write all runs there")
    given = parser.parse_args()
    cases = given.case or CASES
    try:
        check()
        found = measure(cases, given.flows, given.rounds, given.seconds)
    except plan.LabError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    print("\n\n".join(table(cases, found, flows) for flows in given.flows))
    if given.json is not None:
        told = [
            {**one._asdict(), "flows": [flow and flow._asdict() for flow in one.flows]}
            for one in found
        ]
        given.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
