"""The mean over several seeds, and its confidence interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Two-sided 95 % points of Student's t distribution: degrees of freedom 1 to 30, then some above.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T95_ABOVE = ((30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980), (math.inf, 1.960))

Limits = tuple[float, float]
"""The least and the greatest that a quantity can be."""

ANYTHING: Limits = (-math.inf, math.inf)
NOT_NEGATIVE: Limits = (0.0, math.inf)
_SHARE: Limits = (0.0, 1.0)
_SHARES = {"jain_index", "deadlines_met"}

Known = tuple[float, float]
"""The least and the greatest that a value can be: twice the same if it is known."""

Side = Literal["", "at least", "at most"]

SIGNS: dict[Side, str] = {"": "", "at least": "≥ ", "at most": "≤ "}
"""The signs before a bound, wherever it is shown."""


def limits(key: str) -> Limits:
    """The limits of a figure of a summary: counts, times, rates and lengths are not negative."""
    return _SHARE if key in _SHARES else NOT_NEGATIVE


@dataclass(frozen=True)
class Spread:
    """The mean of one value over runs that differ in the seed alone."""

    mean: float
    half_width: float | None
    """Half the width of the 95 % confidence interval; None for a single run, which has none."""
    count: int
    """Runs that have the value."""
    within: Limits = ANYTHING
    """The possible values of the quantity: an interval does not go beyond."""
    side: Side = ""
    """The kind of bound that the mean is, where runs ended too early to tell; else empty."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval, cut at the limits of the quantity."""
        if self.half_width is None:
            return None
        low, high = self.mean - self.half_width, self.mean + self.half_width
        return max(low, self.within[0]), min(high, self.within[1])

    @property
    def cut(self) -> bool:
        """Whether the interval ended at a limit, and is no longer even about the mean."""
        return self.interval is not None and self.half_width is not None and self.interval != (
            self.mean - self.half_width, self.mean + self.half_width,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, ready for JSON."""
        low, high = self.interval or (None, None)
        known = {"side": self.side} if self.side else {}
        return {"mean": self.mean, "low": low, "high": high, "runs": self.count, **known}


def spread(
    values: Sequence[float | int | Known | None], within: Limits = ANYTHING
) -> Spread | None:
    """Mean and 95 % confidence interval, mean ± t(0.975, n - 1) · s / √n; None of no values.

    s is the standard deviation with n - 1 degrees of freedom, t a point of Student's distribution.
    The interval is cut at the limits of the quantity, which leaves it as likely to hold the mean.
    Where a value is known by a bound alone, so is the mean, and there is no interval. With an
    endless value the mean is endless. A None or a NaN is no value, and counts nowhere.
    """
    ends = [value if isinstance(value, tuple) else (value, value) for value in values]
    present = [
        (float(low), float(high))
        for low, high in ends
        if low is not None and high is not None and not math.isnan(low) and not math.isnan(high)
    ]
    least, most = ([end[at] for end in present] for at in (0, 1))
    if least != most:
        return _bounded(least, most, within)
    known, count = least, len(least)
    if not known:
        return None
    if not all(map(math.isfinite, known)):
        # To leave out what is endless would leave out the slowest.
        mean = sum(known)
        return None if math.isnan(mean) else Spread(mean, None, count, within)
    if count == 1:
        return Spread(known[0], None, 1, within)
    mean = math.fsum(known) / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (count - 1))
    return Spread(mean, t95(count - 1) * deviation / math.sqrt(count), count, within)


def _bounded(least: Sequence[float], most: Sequence[float], within: Limits) -> Spread | None:
    """The mean of values of which some are bounds; None if the bounds are on both sides."""
    sides: tuple[tuple[Side, Sequence[float]], ...] = (("at least", least), ("at most", most))
    for side, ends in sides:
        if all(map(math.isfinite, ends)):
            return Spread(math.fsum(ends) / len(ends), None, len(ends), within, side)
    return None


def t95(freedom: int) -> float:
    """The two-sided 95 % point of Student's t distribution.

    Between the tabled degrees of freedom above 30 it is interpolated in their inverse, in which it
    is nearly a line.
    """
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    place = next(index for index, (known, _) in enumerate(_T95_ABOVE) if freedom <= known)
    (below, high), (above, low) = _T95_ABOVE[place - 1], _T95_ABOVE[place]
    share = (1 / below - 1 / freedom) / (1 / below - 1 / above)
    return high + share * (low - high)
