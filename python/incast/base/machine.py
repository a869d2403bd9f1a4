"""The memory that this process can still have, and what work takes of the machine."""

import contextlib
import os
import sys
import time
from pathlib import Path

from typing_extensions import Self

if sys.platform != "win32" and sys.platform != "emscripten":
    import resource

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")
# The address space that libraries take by the end of a command, figures drawn: 0.95 GB were the
# least with which that went well, with one thread in each library.
_LIBRARIES_BYTES = 1_100_000_000
# Libraries that have a thread for each core reserve address space for each.
_THREADS = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class Meter:
    """Adds up the time that pieces of work take, each a `with` block."""

    seconds = 0.0
    """The time by the clock."""
    core_seconds = 0.0
    """The time of cores, all threads together."""
    others_bytes = 0
    """The most memory that other processes have had, added up."""

    def __enter__(self) -> Self:
        """Begins a piece."""
        self._began = time.monotonic(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends a piece."""
        clock, cores = self._began
        self.seconds += time.monotonic() - clock
        self.core_seconds += time.process_time() - cores

    @property
    def cores(self) -> float:
        """The cores that were busy, on average."""
        return self.core_seconds / max(self.seconds, 1e-9)


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_bytes() -> int:
    """The most memory that this process has had so far; 0 where nothing says."""
    # The other figure begins with the parent process's.
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return _peak()


def available_bytes() -> int | None:
    """The least of what the machine, the control groups and the limit of the process leave.

    None if nothing says.
    """
    found = [_machine(), *_groups(), _limit()]
    return min((one for one in found if one is not None), default=None)


def is_limited() -> bool:
    """Whether `ulimit -v` sets a limit to this process."""
    return _address_space() is not None


def prepare() -> str | None:
    """Prepares for the import of large libraries; the reason if a limit leaves no room for them.

    They would abort, print traces, or fail in the middle of what they write.
    """
    limit = _address_space()
    if limit is None:
        return None
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    if limit >= _LIBRARIES_BYTES:
        return None
    return (
        f"`ulimit -v` leaves this process {limit / 1e9:.3g} GB of address space, and the libraries "
        f"alone need {_LIBRARIES_BYTES / 1e9:.3g} GB; raise the limit"
    )


def _machine() -> int | None:
    """The memory that the kernel can give without swapping, by its own estimate."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError, AttributeError):  # Windows has no such call
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _groups() -> list[int]:
    """The memory that the limits of the control groups leave, of version 2 and of version 1."""
    found = []
    with contextlib.suppress(OSError):
        for line in _OWN_CGROUP.read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds == "":
                home, names = _CGROUPS, ("memory.max", "memory.current")
            elif "memory" in kinds.split(","):
                home = _CGROUPS / "memory"
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            else:
                continue
            # The limits of parent groups also hold; a container sees its own group as the root.
            place = home / path.lstrip("/")
            above = [one for one in place.parents if home in one.parents]
            found += [_left(group, *names) for group in dict.fromkeys([place, *above, home])]
    return [one for one in found if one is not None]


def _left(group: Path, limit: str, used: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        most = int((group / limit).read_text(encoding="ascii"))
        now = int((group / used).read_text(encoding="ascii"))
        return max(0, most - now + _cache(group))
    return None


def _cache(group: Path) -> int:
    """Pages of files that would be given up."""
    with contextlib.suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name in ("inactive_file", "total_inactive_file"):
                return int(value)
    return 0


def _limit() -> int | None:
    """The memory that `ulimit -v` leaves beside the libraries."""
    limit = _address_space()
    if limit is None:
        return None
    used = _LIBRARIES_BYTES
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        used = max(used, pages * os.sysconf("SC_PAGE_SIZE"))
    return max(0, limit - used)


def _peak() -> int:
    """The most memory that this process has had, by the system's own count."""
    if sys.platform == "win32" or sys.platform == "emscripten":
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _address_space() -> int | None:
    """The limit of address space that `ulimit -v` sets; None without one."""
    if sys.platform == "win32" or sys.platform == "emscripten":
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft
