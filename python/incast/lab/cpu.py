"""This machine's CPUs: the share that other work takes, and the limit on real-time threads."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REAL_TIME_LIMIT = Path("/proc/sys/kernel/sched_rt_runtime_us")
_NO_LIMIT = "-1"


class Cpu(NamedTuple):
    """The time of all CPUs since the machine started, in jiffies, or its shares in per cent."""

    whole: float
    busy: float
    stolen: float

    def percent(self, since: "Cpu") -> "Cpu":
        """The shares of the time since then."""
        whole = max(1.0, self.whole - since.whole)
        return Cpu(
            100.0,
            100.0 * (self.busy - since.busy) / whole,
            100.0 * (self.stolen - since.stolen) / whole,
        )


def jiffies() -> Cpu:
    """The time until now."""
    # user nice system idle iowait irq softirq steal: proc(5).
    line = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    numbers = [float(number) for number in line]
    return Cpu(sum(numbers), sum(numbers) - numbers[3] - numbers[4], numbers[7])


def busy(seconds: float) -> float:
    """Per cent of all CPUs that are not idle for some seconds."""
    before = jiffies()
    time.sleep(seconds)
    return jiffies().percent(since=before).busy


@contextlib.contextmanager
def unthrottled(limit: Path = REAL_TIME_LIMIT) -> Iterator[None]:
    """A stretch of time in which the kernel does not stop real-time threads.

    By default threads of real-time priority get 95 % of a second and then nothing. A host that is
    stopped for the rest of it answers tens of milliseconds late. A kernel without the limit, or one
    that keeps it, is left as it is.
    """
    before = None
    with contextlib.suppress(OSError):
        before = limit.read_text().strip()
        if before != _NO_LIMIT:
            limit.write_text(_NO_LIMIT)
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(OSError):
                limit.write_text(before)
