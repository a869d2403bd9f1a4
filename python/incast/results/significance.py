"""Tests of differences seed by seed: are they more than noise?"""

import math
from collections import Counter
from collections.abc import Sequence

LEVEL = 0.05
"""The probability below which a difference is no noise."""

# So many pairs at most are counted out by the test of Wilcoxon.
_EXACT = 50


def student(differences: Sequence[float]) -> float | None:
    """The p-value of the paired t test: two-sided, that the mean difference is zero.

    None of fewer than two pairs. Differences that are all the same have no spread: their p-value is
    0, or 1 if they are zero.
    """
    count = len(differences)
    if count < 2:
        return None
    mean = math.fsum(differences) / count
    variance = math.fsum((one - mean) ** 2 for one in differences) / (count - 1)
    if variance == 0 or len(set(differences)) == 1:
        return 1.0 if mean == 0 else 0.0
    return beyond(abs(mean) / math.sqrt(variance / count), count - 1)


def beyond(value: float, freedom: int) -> float:
    """The probability that Student's t is beyond a value on either side.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4: finite series for
    whole degrees of freedom.
    """
    angle = math.atan(value / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    within = (
        sine * total if not odd else 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    )
    return min(1.0, max(0.0, 1.0 - within))


def wilcoxon(differences: Sequence[float]) -> float | None:
    """The p-value of Wilcoxon's signed-rank test: two-sided, that differences are even about zero.

    Pairs without a difference are left out, equal sizes share their ranks. Exact up to 50 pairs,
    beyond by the normal distribution. None of fewer than two pairs.
    """
    if len(differences) < 2:
        return None
    sizes = sorted((abs(one), one > 0) for one in differences if one != 0)
    count = len(sizes)
    if not count:
        return 1.0
    # Twice the ranks, which are whole numbers where sizes share them.
    ranks: list[int] = []
    shared = Counter(size for size, _ in sizes)
    for size, _ in sizes:
        first = next(place for place, (other, _) in enumerate(sizes) if other == size)
        ranks.append(2 * first + shared[size] + 1)
    plus = sum(rank for rank, (_, above) in zip(ranks, sizes, strict=True) if above)
    least = min(plus, sum(ranks) - plus)
    if count > _EXACT:
        mean, variance = sum(ranks) / 2, sum(rank * rank for rank in ranks) / 4
        return math.erfc((mean - least) / math.sqrt(2 * variance))
    ways = [1] + [0] * least
    for rank in ranks:
        for total in range(least, rank - 1, -1):
            ways[total] += ways[total - rank]
    return float(min(1.0, sum(ways) / 2 ** (count - 1)))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for their number: a false alarm is as rare as of one test (Holm, 1979)."""
    known = sorted((value, place) for place, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    most = 0.0
    for rank, (value, place) in enumerate(known):
        most = max(most, min(1.0, (len(known) - rank) * value))
        found[place] = most
    return found
