"""Demotion thresholds of PIAS for a distribution of sizes, by a model of one link.

Each class shares what the classes above it leave, equally among its messages (Kleinrock's
multilevel processor sharing, "Queueing Systems", volume 2, section 4.7). On a link that carries a
byte in a unit of time, at a load of r, let r(a) be the load of the first `a` bytes of each message,
and W(a) the mean work that they leave waiting: the rate of messages times E[min(S, a)^2], over
2 (1 - r(a)). A message of x bytes that ends in the class between the thresholds `a` and `b` takes

    T(x) = (W(a) + a) / (1 - r(a)) + (x - a) / (1 - r(b)).

The last term is exact where messages reach the class one by one. The thresholds have the
least mean of (T + c) / (x + c), where c is what the link carries in the RTT without queues. That
sum has a term for each class, so dynamic programming finds the least of all on a grid.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incast._core import ParameterError, Workload

_GRID = 600
_PARTS = 64


def pias_thresholds(
    sizes: Workload, load: float, *, classes: int = 8, product: float = 100_000
) -> list[int]:
    """The demotion thresholds of PIAS, in bytes, that this model of a link finds best.

    Args:
        sizes: The distribution of sizes, one of `incast.workloads()` or a table of your own.
        load: The load of the link, above 0 and below 1.
        classes: The number of traffic classes, 2 to 8.
        product: The bytes that the link carries in the RTT without queues.

    Raises:
        ParameterError: A value is out of its range.
    """
    if not 0 < load < 1:
        raise ParameterError(f"load = {load} is no load of a link; expected above 0 and below 1")
    if not 2 <= classes <= 8:
        raise ParameterError(f"classes = {classes} is out of range; expected 2 to 8")
    if not product > 0:
        raise ParameterError(f"product = {product} is no number of bytes; expected above 0")
    size, share = _masses(sizes.points, step=sizes.interpolation == "step")
    grid = np.unique(np.geomspace(max(size[0], 1), size[-1], _GRID).round())
    cost = _costs(size, share, grid, load, product)
    return [int(grid[place]) for place in _least(cost, classes)]


def _masses(
    points: Sequence[tuple[float, float]], *, step: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sizes, rising, and the share of messages that each of them stands for."""
    size, share, before, reached = [], [], 0.0, 0.0
    for place, (upper, probability) in enumerate(points):
        part, reached = probability - reached, probability
        if part > 0:
            parts = 1 if step or place == 0 else _PARTS
            middles = (np.arange(parts) + 0.5) / parts if parts > 1 else np.ones(1)
            size.append(before + (upper - before) * middles)
            share.append(np.full(parts, part / parts))
        before = upper
    return np.concatenate(size), np.concatenate(share)


def _costs(
    size: NDArray[np.float64],
    share: NDArray[np.float64],
    grid: NDArray[np.float64],
    load: float,
    product: float,
) -> NDArray[np.float64]:
    """The part of the mean slowdown that a class from one place of the grid to another adds.

    The first row and column stand for no bytes, the last for all of them.
    """
    bounds = np.concatenate(([0.0], grid, [np.inf]))
    cut = np.minimum(size[:, None], bounds[None, :])
    mean = float(share @ size)
    used = load * (share @ cut) / mean
    waiting = load / mean * (share @ cut**2) / (2 * (1 - used))
    ends = np.searchsorted(size, bounds, side="right")
    below = np.concatenate(([0.0], np.cumsum(share)))[ends]
    inverse = np.concatenate(([0.0], np.cumsum(share / (size + product))))[ends]
    number = below[None, :] - below[:, None]
    weight = inverse[None, :] - inverse[:, None]
    start = ((waiting + np.where(np.isfinite(bounds), bounds, 0)) / (1 - used))[:, None]
    first = np.where(np.isfinite(bounds), bounds, 0)[:, None] + product
    own = 1 / (1 - used)[None, :]
    cost: NDArray[np.float64] = (start + product) * weight + (number - first * weight) * own
    cost[np.tril_indices(len(bounds))] = np.inf
    return cost


def _least(cost: NDArray[np.float64], classes: int) -> list[int]:
    """The places in the grid of the thresholds whose classes cost least together."""
    best, choices = cost[0], []
    for _ in range(classes - 1):
        sums = best[:, None] + cost
        choices.append(sums.argmin(axis=0))
        best = sums.min(axis=0)
    place, places = len(best) - 1, []
    for choice in reversed(choices):
        place = int(choice[place])
        places.append(place - 1)
    return places[::-1]
