"""The work of the two ends of a measurement, and that of others on their CPUs."""

import math
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._core import IncastError

_BUSY = "import os\nos.sched_setaffinity(0, {%d})\nwhile True: pass"


@dataclass(frozen=True)
class Work:
    """The CPU time of this process and of its machine until now, in seconds."""

    cpu_s: float
    """Of all threads of the process: their own work, and the kernel's for them."""
    whole_s: float
    """Of all CPUs of the machine."""
    programs_s: float
    interrupts_s: float
    """Of interrupts, soft ones too, which belong to no program."""
    stolen_s: float
    """Taken by other machines on the same host."""
    cpus: tuple[int, ...]
    """The CPUs that the process may run on."""
    of_cpus: int
    boot: str
    """The name of the machine's start: two ends with the same one share a machine."""


_TIMES = struct.Struct(">5dH36s")
_CPU = struct.Struct(">H")


def packed(work: Work) -> bytes:
    """The work as it is told to another process: times, the number of CPUs, the boot, CPUs."""
    times = (work.cpu_s, work.whole_s, work.programs_s, work.interrupts_s, work.stolen_s)
    head = _TIMES.pack(*times, work.of_cpus, work.boot.encode())
    return head + b"".join(_CPU.pack(cpu) for cpu in work.cpus)


def unpacked(told: bytes) -> Work:
    """The work that another process has told.

    Raises:
        IncastError: It is no work.
    """
    cpus = told[_TIMES.size :]
    if len(told) < _TIMES.size or len(cpus) % _CPU.size:
        raise IncastError(f"{len(told)} B tell no work of a server; it is of another version")
    cpu_s, whole_s, programs_s, interrupts_s, stolen_s, of_cpus, boot = _TIMES.unpack_from(told)
    if not all(map(math.isfinite, (cpu_s, whole_s, programs_s, interrupts_s, stolen_s))):
        raise IncastError("a server tells times that are none")
    return Work(
        cpu_s,
        whole_s,
        programs_s,
        interrupts_s,
        stolen_s,
        cpus=tuple(cpu for (cpu,) in _CPU.iter_unpack(cpus)),
        of_cpus=of_cpus,
        boot=boot.rstrip(b"\0").decode("ascii", "replace"),
    )


def told() -> Work:
    """The work of this process and of its machine until now."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # user nice system idle iowait irq softirq steal: proc(5).
    line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    times = [float(ticks) / os.sysconf("SC_CLK_TCK") for ticks in line]
    return Work(
        cpu_s=usage.ru_utime + usage.ru_stime,
        whole_s=sum(times),
        programs_s=times[0] + times[1] + times[2],
        interrupts_s=times[5] + times[6],
        stolen_s=times[7],
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        of_cpus=os.cpu_count() or 1,
        boot=Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
    )


def shares(here: tuple[Work, Work], there: tuple[Work, Work]) -> dict[str, Any]:
    """The CPUs of both ends, and the shares of their machines that others took meanwhile."""
    is_one = here[0].boot == there[0].boot
    own = {"client": _cpu(here), "server": _cpu(there)}
    found: dict[str, Any] = {"one_machine": is_one}
    for name, (before, after) in (("client", here), ("server", there)):
        whole = max(after.whole_s - before.whole_s, 1e-9)
        ours = sum(own.values()) if is_one else own[name]
        others = max(0.0, after.programs_s - before.programs_s - ours)
        found[name] = {
            "cpus": list(after.cpus),
            "of_cpus": after.of_cpus,
            "cpu_s": own[name],
            "others_percent": 100 * others / whole,
            "interrupts_percent": 100 * (after.interrupts_s - before.interrupts_s) / whole,
            "stolen_percent": 100 * (after.stolen_s - before.stolen_s) / whole,
        }
    return found


def _cpu(ends: tuple[Work, Work]) -> float:
    return ends[1].cpu_s - ends[0].cpu_s


def sentences(found: Mapping[str, Any]) -> list[str]:
    """The CPUs of both ends, and what others took, in sentences."""
    lines = []
    for name in ("client", "server"):
        one = found[name]
        cpus = one["cpus"]
        place = (
            f"may run on each of {one['of_cpus']} CPUs"
            if len(cpus) == one["of_cpus"]
            else f"is pinned to CPU {', '.join(map(str, cpus))} of {one['of_cpus']}"
        )
        lines.append(f"The {name} {place}, and took {one['cpu_s']:.1f} s of CPU time.")
    for name in ("client",) if found["one_machine"] else ("client", "server"):
        one = found[name]
        of = "the machine's CPUs" if found["one_machine"] else f"the {name}'s CPUs"
        lines.append(
            f"Of {of} other programs took {one['others_percent']:.1f} %, interrupts "
            f"{one['interrupts_percent']:.1f} %, other machines {one['stolen_percent']:.1f} %."
        )
    return lines


def busy(cpus: int) -> Callable[[], None]:
    """Keeps CPUs busy, with a process on each; returns what ends that."""
    programs = [
        subprocess.Popen([sys.executable, "-c", _BUSY % cpu])  # noqa: S603 - our own program
        for cpu in range(cpus)
    ]

    def stop() -> None:
        for program in programs:
            program.kill()
            program.wait()

    return stop
