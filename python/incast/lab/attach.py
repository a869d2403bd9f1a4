"""The congestion control of the hosts of a test bed."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from incast.base.schemes import parts
from incast.lab.bed import Bed
from incast.lab.commands import call
from incast.lab.plan import BedPlan, LabError
from incast.lab.programs import listed

_LINUX_NAMES = {"cubic": "cubic", "bbr": "bbr", "newreno": "reno"}
"""Linux's own names of the simulator's algorithms."""


@contextlib.contextmanager
def on_hosts(bed: Bed, kernel: Path, scheme: str, knobs: Sequence[str]) -> Iterator[str]:
    """Attaches a scheme, as `attached` does; hosts ask for ECN if the scheme needs it."""
    with attached(bed.plan, kernel, scheme, knobs) as name:
        program = listed(kernel).get(parts(scheme).algorithm)
        ecn = 1 if program and program.ecn else 2
        for host in bed.plan.hosts:
            write = f"echo {ecn} > /proc/sys/net/ipv4/tcp_ecn"
            call(*bed.inside(host.name, "sh", "-c", write))
        yield name


@contextlib.contextmanager
def attached(plan: BedPlan, kernel: Path, scheme: str, knobs: Sequence[str]) -> Iterator[str]:
    """The kernel's name of a scheme, attached if it has a program, and detached again in the end.

    The line rate of a program is that of the hosts, and parameters are those of `[cc]` in the
    scenario and in the brackets of the scheme, unless a knob, `KEY=VALUE` or `ALGORITHM.KEY=VALUE`,
    says otherwise.

    Raises:
        LabError: Linux has none such, or it cannot be attached.
    """
    algorithm, preset, settings = parts(scheme)
    program = listed(kernel).get(algorithm)
    if program is None:
        yield _linux_name(scheme, listed(kernel))
        return
    # A name has at most 15 characters, and differs between the test beds of a machine.
    name = f"{algorithm}_{os.getpid()}"
    given = [*plan.parameters.get(algorithm, ()), *settings, *knobs_of(algorithm, knobs)]
    if program.line_rate:
        fastest = max(host.rate_mbps for host in plan.hosts)
        given.insert(0, f"line_rate={fastest:g}Mbps")
    command = [str(kernel), "attach", algorithm, "--name", name]
    command += ["--preset", preset] if preset else []
    call(*command, *(word for one in given for word in ("--set", one)), named=scheme)
    try:
        yield name
    finally:
        with contextlib.suppress(LabError):
            call(str(kernel), "detach", name)


def _linux_name(scheme: str, programs: Iterable[str]) -> str:
    """The name of a scheme that Linux itself has.

    Raises:
        LabError: Linux has none such.
    """
    algorithm, _, settings = parts(scheme)
    if algorithm not in _LINUX_NAMES:
        known = ", ".join([*_LINUX_NAMES, *programs])
        raise LabError(f"{scheme}: is not on Linux TCP; there is {known}")
    name = _LINUX_NAMES[algorithm]
    if settings:
        raise LabError(f"{scheme}: Linux's own {name} has no such parameters; leave them out")
    there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if name not in there:
        raise LabError(f"{scheme}: this kernel has no {name}; it has {', '.join(there)}")
    return name


def knobs_of(algorithm: str, knobs: Sequence[str]) -> list[str]:
    """The `KEY=VALUE` of the knobs that are meant for an algorithm."""
    found = []
    for knob in knobs:
        key, _, value = knob.partition("=")
        whose, dot, own = key.rpartition(".")
        if not dot or whose == algorithm:
            found.append(f"{own}={value}" if dot else knob)
    return found
