"""The cost of a run, compared with what the machine has, before anything is built."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from incast._core import IncastError, Scenario
from incast.base import machine
from incast.base.words import option

LONG_S = 3600.0
"""A run of more is asked about."""
_TIGHT = 0.7
"""The share of the available memory above which somebody is asked first."""
# The memory of the interpreter and its libraries.
_PROCESS_BYTES = 100e6


class CostError(IncastError):
    """A run that needs more memory than the machine has."""


class CostWarning(UserWarning):
    """A run that will take hours, or most of the memory."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of the runs of some schemes, one after the other."""

    memory_bytes: float
    """At most, of the whole process."""
    seconds: float
    """The time on one core, for all runs together."""
    packet_hops: float
    what: str
    """The things that take most of the memory."""
    what_bytes: float
    remedy: str
    """The setting that would make them fewer."""
    faster: str
    """The setting that would make the time shorter."""

    @property
    def memory(self) -> str:
        """The memory in words."""
        return in_bytes(self.memory_bytes)

    @property
    def time(self) -> str:
        """The time in words."""
        return in_time(self.seconds)


def estimate(
    scenario: Scenario, schemes: Iterable[str], *, traces: Sequence[str] = (), repeats: int = 1
) -> Cost:
    """Estimates what a scenario takes with each of the schemes, without building it.

    All results are kept, also of repeats. Memory and time are right within a factor of two,
    the time by the speed of the machine that its constants were fitted on.
    """
    names = list(schemes)
    runs = len(names) * repeats
    found = [scenario.cost(name, traces=list(traces), runs=runs) for name in names]
    most = max(found, key=lambda one: one["memory_bytes"])
    longest = max(found, key=lambda one: one["seconds"])
    what, what_bytes, remedy = max(most["parts"], key=lambda part: part[1])
    return Cost(
        memory_bytes=most["memory_bytes"] + _PROCESS_BYTES,
        seconds=repeats * sum(one["seconds"] for one in found),
        packet_hops=repeats * sum(one["packet_hops"] for one in found),
        what=what,
        what_bytes=what_bytes,
        remedy=remedy,
        faster=longest["faster"],
    )


def too_much(cost: Cost, *, at_once: int = 1) -> str | None:
    """The reason why these runs cannot go side by side; None if the memory suffices."""
    there = machine.available_bytes()
    need = cost.memory_bytes * at_once
    if there is None or need <= there:
        return None
    runs = f"{at_once} runs side by side" if at_once > 1 else "it"
    return (
        f"{runs} would need about {in_bytes(need)} of memory, of which this machine has "
        f"{in_bytes(there)}; {cost.what} take {in_bytes(cost.what_bytes)}: {cost.remedy}"
    )


def doubts(cost: Cost) -> str | None:
    """The reason to ask first: the run takes long, or most of the memory; None if it does not."""
    there = machine.available_bytes()
    said = []
    if there is not None and cost.memory_bytes > _TIGHT * there:
        said.append(f"about {cost.memory} of memory, of which this machine has {in_bytes(there)}")
    if cost.seconds > LONG_S:
        hops = f"{cost.packet_hops:.2g} packet-hops"
        said.append(f"about {cost.time} of a core ({hops})")
    return f"it will take {', and '.join(said)}" if said else None


def check(
    scenario: Scenario,
    schemes: Iterable[str],
    *,
    traces: Sequence[str] = (),
    repeats: int = 1,
    ask: Callable[[str], bool] | None = None,
) -> None:
    """Refuses what does not fit the memory; asks about what takes long, or warns of it.

    Raises:
        CostError: It would need more memory than there is, or who was asked said no.
    """
    cost = estimate(scenario, schemes, traces=traces, repeats=repeats)
    if why := too_much(cost):
        raise CostError(
            f"{scenario.name}: {why}; or go on with {option('--yes', 'whatever_it_costs=True')}"
        )
    doubt(scenario.name, cost, ask)


def doubt(name: str, cost: Cost, ask: Callable[[str], bool] | None) -> None:
    """Asks about what takes long, or most of the memory; warns of it where nobody is to ask.

    Raises:
        CostError: Who was asked said no.
    """
    if why := doubts(cost):
        if ask is None:
            warnings.warn(f"{name}: {why}", CostWarning, stacklevel=4)
        elif not ask(f"{name}: {why}"):
            remedy = cost.faster if cost.seconds > LONG_S else f"{cost.what}: {cost.remedy}"
            raise CostError(f"{name}: not run; {remedy}")


def in_bytes(count: float) -> str:
    """An amount of memory, in two digits."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{_two(count / size)} {unit}"
    return "less than 1 MB"


def in_time(seconds: float) -> str:
    """A time, in two digits."""
    for unit, length in (("years", 3.156e7), ("days", 86400.0), ("hours", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{_two(seconds / length)} {unit}"
    return f"{_two(seconds)} s"


def _two(value: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{round(value, 1 - math.floor(math.log10(value))):.{digits}f}" if value > 0 else "0"
