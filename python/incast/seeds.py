"""What several seeds say together: a mean, and how far it can be off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Two-sided 95 % points of Student's t distribution: degrees of freedom 1 to 30, then some above.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T95_ABOVE = ((30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980), (math.inf, 1.960))


@dataclass(frozen=True)
class Spread:
    """The mean of one value over runs that differ in the seed alone."""

    mean: float
    half_width: float | None
    """Of the 95 % confidence interval; None for a single run, which says nothing of it."""
    count: int
    """Runs that have the value."""


def spread(values: Sequence[float | int | None]) -> Spread | None:
    """Mean and 95 % confidence interval, mean ± t(0.975, n - 1) · s / √n; None of no values.

    s is the standard deviation with n - 1 degrees of freedom, t a point of Student's distribution.
    """
    present = np.array([value for value in values if value is not None], float)
    present = present[np.isfinite(present)]
    count = present.size
    if not count:
        return None
    if count == 1:
        return Spread(float(present[0]), None, 1)
    half = t95(count - 1) * float(present.std(ddof=1)) / math.sqrt(count)
    return Spread(float(present.mean()), half, count)


def t95(freedom: int) -> float:
    """The two-sided 95 % point of Student's t distribution.

    Between the tabled degrees of freedom above 30 it is interpolated in their inverse, in which it
    is nearly a line.
    """
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    inverse = [1 / known for known, _ in reversed(_T95_ABOVE)]
    return float(np.interp(1 / freedom, inverse, [value for _, value in reversed(_T95_ABOVE)]))
