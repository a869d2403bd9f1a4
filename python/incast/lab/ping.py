"""RTTs of an independent prober: datagrams through the queue of the receiver, by kernel stamps."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incast.lab.bed import Bed, kept, start
from incast.lab.plan import LabError
from incast.lab.row import percentile

_PORT = 7


@dataclass(frozen=True)
class Pings:
    """The answers to a prober's datagrams."""

    at_us: tuple[tuple[float, float], ...]
    """The time of each from the start, and its RTT in us."""
    lost: int

    def within(self, begin_us: float, end_us: float) -> tuple[float, ...]:
        """The RTTs of a part of the time."""
        return tuple(rtt for at, rtt in self.at_us if begin_us <= at < end_us)


class Prober:
    """A prober of the test bed's receiver, which answers."""

    def __init__(self, bed: Bed, kernel: Path) -> None:
        """A prober that has not begun; `kernel` is the program incast-kernel."""
        self._bed = bed
        self._part = [str(kernel), "part"]
        self._address = f"{bed.address(bed.plan.receiver.name)}:{_PORT}"
        self._begun: subprocess.Popen[str] | None = None
        self.idle_us = float("nan")
        """The median before there was traffic."""

    @contextlib.contextmanager
    def standing(self) -> Iterator["Prober"]:
        """Has the receiver answer, and measures it while nothing is sent.

        Raises:
            LabError: It cannot be reached.
        """
        receiver = self._bed.plan.receiver.name
        with kept(self._bed.inside(receiver, *self._part, "reflect", self._address)):
            time.sleep(0.2)
            idle = _answers(start(self._probing(0.5)))
            self.idle_us = percentile([rtt for _, rtt in idle.at_us], 50)
            try:
                yield self
            finally:
                if self._begun is not None and self._begun.poll() is None:
                    self._begun.kill()
                    self._begun.wait()

    def begin(self) -> None:
        """Begins to probe, for the time of the scenario. Of several calls the first counts."""
        if self._begun is None:
            self._begun = start(self._probing(self._bed.plan.seconds))

    def answers(self) -> Pings:
        """The answers, once the time is over.

        Raises:
            LabError: Nothing was.
        """
        if self._begun is None:
            raise LabError("the probe has not begun: there was no traffic")
        return _answers(self._begun)

    def _probing(self, seconds: float) -> list[str]:
        length = f"{max(1, round(seconds * 1e3))}ms"
        return self._bed.inside("prober", *self._part, "probe", self._address, "--duration", length)


def _answers(probe: "subprocess.Popen[str]") -> Pings:
    out, error = probe.communicate()
    if probe.returncode:
        raise LabError(f"the probe: {error.strip().removeprefix('error: ')}")
    lines = [json.loads(line) for line in out.splitlines()]
    rtts = tuple((line["at_us"], line["rtt_us"]) for line in lines[:-1])
    if not rtts:
        raise LabError("the probe had no answer: the receiver cannot be reached")
    return Pings(rtts, int(lines[-1]["lost"]))
