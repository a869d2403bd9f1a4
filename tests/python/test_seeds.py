"""Means and intervals over several seeds."""

import numpy as np
import pytest

from incast import _core
from incast.results.seeds import NOT_NEGATIVE, limits, spread, t95
from incast.terminal.numbers import measured


def probability_between(t: float, freedom: int) -> float:
    """The probability of Student's t between -t and t.

    The density (1 + x²/n)^(-(n+1)/2) is summed up. With x = √n tan a it is cos(a)^(n-1) da on -π/2
    to π/2: no infinite range is left.
    """

    def area(to: float) -> float:
        edges = np.linspace(0, to, 200_001)
        middle = (edges[:-1] + edges[1:]) / 2
        return float((np.cos(middle) ** (freedom - 1)).sum() * (edges[1] - edges[0]))

    return area(float(np.arctan(t / np.sqrt(freedom)))) / area(np.pi / 2)


@pytest.mark.parametrize("freedom", [*range(1, 31), 35, 40, 50, 60, 90, 120, 500])
def test_the_table_of_student_holds_95_percent(freedom: int) -> None:
    assert probability_between(t95(freedom), freedom) == pytest.approx(0.95, abs=2e-4)


def test_the_interval_of_three_values_by_hand() -> None:
    # Mean 4, s² = ((2-4)² + (4-4)² + (6-4)²) / 2 = 4, so s = 2 and the half-width 4.303 · 2 / √3.
    found = spread([2, 4, 6])
    assert found is not None
    assert found.mean == 4
    assert found.half_width == pytest.approx(4.303 * 2 / 3**0.5)
    assert found.count == 3


def test_one_value_has_no_interval() -> None:
    found = spread([5.0, None])
    assert found is not None
    assert (found.mean, found.half_width, found.count) == (5.0, None, 1)


def test_no_value_has_no_mean() -> None:
    assert spread([None, float("nan")]) is None


def test_an_interval_ends_where_the_quantity_does() -> None:
    found = spread([0, 6, 3], NOT_NEGATIVE)
    assert found is not None
    assert found.half_width == pytest.approx(4.303 * 3 / 3**0.5)
    assert found.interval == pytest.approx((0, 3 + 4.303 * 3 / 3**0.5))
    assert found.cut
    assert found.to_dict()["low"] == 0
    inside = spread([5, 6, 5.5], NOT_NEGATIVE)
    assert inside is not None
    assert not inside.cut


def test_every_figure_of_a_summary_has_limits() -> None:
    for key, _, _ in _core.summary_figures():
        assert limits(key) == ((0, 1) if key == "jain_index" else NOT_NEGATIVE), key


def test_a_value_that_is_a_bound_makes_the_mean_one() -> None:
    found = spread([4.0, (10.0, np.inf)])
    assert found is not None
    assert (found.mean, found.side, found.half_width) == (7.0, "at least", None)
    assert spread([(-np.inf, 1.0), (10.0, np.inf)]) is None


def test_an_interval_that_is_cut_is_written_with_its_ends() -> None:
    cut, whole = spread([0, 6, 3], NOT_NEGATIVE), spread([5, 6, 5.5], NOT_NEGATIVE)
    assert cut is not None
    assert whole is not None
    assert measured(cut) == "3.0 (0.0 to 10.5)"
    assert measured(whole) == "5.5 ± 1.2"
