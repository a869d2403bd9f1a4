"""What several seeds say together."""

import numpy as np
import pytest

from incast.seeds import spread, t95


def probability_between(t: float, freedom: int) -> float:
    """Of Student's t between -t and t, from its density (1 + x²/n)^(-(n+1)/2), which is summed up.

    With x = √n tan a the density is cos(a)^(n-1) da on -π/2 to π/2: no infinite range is left.
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
