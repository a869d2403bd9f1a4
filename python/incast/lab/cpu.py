"""The share of this machine's CPUs that other work takes."""

import time
from pathlib import Path
from typing import NamedTuple


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
