"""Demotion thresholds of PIAS, computed for a distribution of sizes."""

import itertools

import numpy as np
import pytest

import incast
from incast.api import thresholds

SIZES = {workload.name: workload for workload in incast.workloads()}


def slowdown(
    size: list[float], share: list[float], load: float, product: float, cuts: list[float]
) -> float:
    """The mean of (T + c) / (x + c), as the module's formula has it, message by message."""
    mean = sum(x * p for x, p in zip(size, share, strict=True))
    bounds = [0.0, *cuts, float("inf")]

    def first(a: float, power: int) -> float:
        return sum(min(x, a) ** power * p for x, p in zip(size, share, strict=True))

    total = 0.0
    for x, p in zip(size, share, strict=True):
        last = next(i for i, b in enumerate(bounds[1:]) if x <= b)
        a, b = bounds[last], bounds[last + 1]
        above, own = load * first(a, 1) / mean, load * first(b, 1) / mean
        waiting = load / mean * first(a, 2) / (2 * (1 - above))
        time = (waiting + a) / (1 - above) + (x - a) / (1 - own)
        total += p * (time + product) / (x + product)
    return total


def test_two_sizes_by_hand() -> None:
    # Half of the messages have 1 B, half 3 B; load 0.5, c = 1. The mean is 2, so a message comes
    # every 4 units. One class: each byte takes 1 / (1 - 0.5) = 2: (2 + 1) / 2 and (6 + 1) / 4.
    one = slowdown([1, 3], [0.5, 0.5], 0.5, 1, [])
    assert one == pytest.approx(0.5 * 1.5 + 0.5 * 1.75)
    # A threshold at 1 B: the first bytes are a load of 0.25 and leave W = 0.25 / (2 x 0.75) = 1/6.
    # 1 B takes 4/3; 3 B take (1/6 + 1) / 0.75 + 2 / 0.5 = 5.5556.
    two = slowdown([1, 3], [0.5, 0.5], 0.5, 1, [1])
    assert two == pytest.approx(0.5 * (4 / 3 + 1) / 2 + 0.5 * (5 + 5 / 9 + 1) / 4)


def test_no_other_thresholds_on_the_grid_are_better() -> None:
    size, share = np.array([1.0, 2, 5, 20, 100]), np.array([0.4, 0.2, 0.2, 0.15, 0.05])
    grid = np.array([1.0, 2, 3, 5, 8, 20, 50])
    cost = thresholds._costs(size, share, grid, 0.8, 4.0)
    for classes in (2, 3, 4):
        found = [float(grid[place]) for place in thresholds._least(cost, classes)]
        assert found == sorted(set(found))
        all_of_them = itertools.combinations(grid, classes - 1)
        of = {cuts: slowdown([*size], [*share], 0.8, 4.0, [*cuts]) for cuts in all_of_them}
        assert of[tuple(found)] == pytest.approx(min(of.values()))


@pytest.mark.parametrize("name", ["web-search-pias", "data-mining-pias", "homa-w1"])
def test_thresholds_rise_within_the_sizes(name: str) -> None:
    found = incast.pias_thresholds(SIZES[name], 0.8)
    assert len(found) == 7
    assert found == sorted(set(found))
    assert found[0] >= 1
    assert found[-1] <= SIZES[name].points[-1][0]
    assert len(incast.pias_thresholds(SIZES[name], 0.8, classes=2)) == 1


def test_what_is_out_of_range_is_named() -> None:
    sizes = SIZES["web-search"]
    with pytest.raises(incast.ParameterError, match=r"load = 1\.0 .* above 0 and below 1"):
        incast.pias_thresholds(sizes, 1.0)
    with pytest.raises(incast.ParameterError, match=r"classes = 9 .* 2 to 8"):
        incast.pias_thresholds(sizes, 0.5, classes=9)
    with pytest.raises(incast.ParameterError, match=r"product = 0 .* above 0"):
        incast.pias_thresholds(sizes, 0.5, product=0)
