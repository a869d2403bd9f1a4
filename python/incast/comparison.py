"""Measured against published: the values that there are, and the ratios between schemes."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from incast._core import Run, Scenario

# A ratio of two published values that were rounded to two or three digits is not known better.
_ROUNDING = 0.01


@dataclass(frozen=True)
class Ratio:
    """How many times larger a value of one scheme is than that of the first scheme."""

    key: str
    """The value, a key of the summary such as `rtt_mean_us`."""
    scheme: str
    """The first scheme, the one that is to be lower."""
    against: str
    """The scheme that it is compared with."""
    measured: float
    published: float

    @property
    def shortfall(self) -> float:
        """The part of the published ratio that is missing, 0 when it is reached."""
        missing = 1 - self.measured / self.published
        return missing if missing > _ROUNDING else 0.0


def published(scenario: Scenario, scheme: str) -> dict[str, float | str]:
    """What was published for a scheme: for it, or else for its algorithm under any preset."""
    known = scenario.published
    return known.get(scheme) or known.get(scheme.partition(":")[0]) or {}


def ratios(scenario: Scenario, runs: Mapping[str, Run]) -> list[Ratio]:
    """The RTT of every other scheme over that of the first one, where both were published.

    A run that was stopped is left out: what it measured is not what would have been.
    """
    complete = [scheme for scheme, run in runs.items() if run.complete]
    return list(_ratios(scenario, runs, complete))


def number(value: float | str | None) -> float | int | None:
    """A finite number, or None for anything else: JSON and tables have no NaN."""
    if isinstance(value, (int, float)) and math.isfinite(value):
        return value
    return None


def _ratios(scenario: Scenario, runs: Mapping[str, Run], schemes: list[str]) -> Iterator[Ratio]:
    if not schemes or schemes[0] != next(iter(runs)):
        return
    first = schemes[0]
    for against in schemes[1:]:
        for key in ("rtt_mean_us", "rtt_p99_us"):
            measured = _quotient(runs[scheme].summary.get(key) for scheme in (against, first))
            known = _quotient(published(scenario, scheme).get(key) for scheme in (against, first))
            if measured is not None and known is not None:
                yield Ratio(key, first, against, measured, known)


def _quotient(pair: Iterable[float | str | None]) -> float | None:
    above, below = (number(value) for value in pair)
    return above / below if above and below else None
