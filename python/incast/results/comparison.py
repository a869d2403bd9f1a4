"""Measured against published: the values that there are, and the ratios between schemes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Protocol

from incast._core import Scenario
from incast.base.schemes import parts
from incast.results.stored import StoredScenario
from incast.results.tables import SchemeRun

# The uncertainty of a ratio of two published values with two or three digits each.
_ROUNDING = 0.01


@dataclass(frozen=True)
class Pair:
    """A value as it was measured and as it was published."""

    measured: float
    published: float

    @property
    def deviation(self) -> float:
        """Measured over published: 1 when they agree."""
        return self.measured / self.published


@dataclass(frozen=True)
class Ratio:
    """The ratio of a value between two schemes: another scheme's over the first one's."""

    key: str
    """The value, a key of the summary such as `rtt_mean_us`."""
    scheme: str
    """The first scheme, the one whose value is to be lower."""
    against: str
    """The scheme that it is compared with."""
    below: Pair
    """The value of `scheme`."""
    above: Pair
    """The value of `against`."""

    @property
    def measured(self) -> float:
        """The ratio of the measured values."""
        return self.above.measured / self.below.measured

    @property
    def published(self) -> float:
        """The ratio of the published values."""
        return self.above.published / self.below.published

    @property
    def shortfall(self) -> float:
        """The part of the published ratio that is missing, 0 when it is reached."""
        missing = 1 - self.measured / self.published
        return missing if missing > _ROUNDING else 0.0


def published(scenario: Scenario | StoredScenario, scheme: str) -> Mapping[str, float | str]:
    """The published values of a scheme, or else of its algorithm with other parameters."""
    known = scenario.published
    of = parts(scheme)
    return known.get(scheme) or known.get(of.plain) or known.get(of.algorithm) or {}


def ratios(scenario: Scenario | StoredScenario, runs: Mapping[str, SchemeRun]) -> list[Ratio]:
    """The RTT of every other scheme over the first one's, where both were published.

    Two variants of one algorithm share what was published for it: there is no ratio to compare
    with. A run that was stopped is left out: what it measured is not what would have been.
    """
    complete = [scheme for scheme, run in runs.items() if run.complete]
    return list(_ratios(scenario, runs, complete))


class _Compared(Protocol):
    """A result whose schemes are compared."""

    @property
    def ratios(self) -> list[Ratio]:
        """The ratios between its schemes."""


def of_means(results: Sequence[_Compared]) -> list[Ratio]:
    """The ratios of the mean values over several seeds of one scenario."""
    found: dict[tuple[str, str, str], list[Ratio]] = {}
    for result in results:
        for ratio in result.ratios:
            found.setdefault((ratio.key, ratio.scheme, ratio.against), []).append(ratio)
    return [
        replace(
            same[0],
            below=replace(same[0].below, measured=fmean(one.below.measured for one in same)),
            above=replace(same[0].above, measured=fmean(one.above.measured for one in same)),
        )
        for same in found.values()
    ]


def number(value: float | str | None) -> float | int | None:
    """A finite number, or None for anything else: JSON and tables have no NaN."""
    if isinstance(value, (int, float)) and math.isfinite(value):
        return value
    return None


def _ratios(
    scenario: Scenario | StoredScenario, runs: Mapping[str, SchemeRun], schemes: list[str]
) -> Iterator[Ratio]:
    if not schemes or schemes[0] != next(iter(runs)):
        return
    first = schemes[0]
    said = {scheme: published(scenario, runs[scheme].scheme) for scheme in schemes}
    for against in schemes[1:]:
        if said[against] == said[first]:
            continue
        for key in ("rtt_mean_us", "rtt_p99_us"):
            below, above = (
                _pair(runs[scheme].summary.get(key), said[scheme].get(key))
                for scheme in (first, against)
            )
            if below and above:
                yield Ratio(key, first, against, below, above)


def _pair(measured: float | None, known: float | str | None) -> Pair | None:
    """The two values as a pair, None unless both exist and can be divided by."""
    ours, theirs = number(measured), number(known)
    return Pair(ours, theirs) if ours and theirs else None
