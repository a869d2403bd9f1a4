"""The axes of a sweep: texts and lists become values, and contradictions are refused."""

import pytest

import incast
from incast.results import quantities
from incast.results.axes import Axis, axes_of, points


def values(text: str) -> list[str]:
    (axis,) = axes_of([f"key={text}"])
    return [one for (one,) in axis.values]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,4,16", ["1", "4", "16"]),
        ("0.3..0.9/0.1", ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"]),
        ("1..4", ["1", "2", "3", "4"]),
        ("1..64*2", ["1", "2", "4", "8", "16", "32", "64"]),
        ("100us..300us/100us", ["100us", "200us", "300us"]),
        ("100..300us/100", ["100us", "200us", "300us"]),
        ("10Gb/s..25Gb/s/10Gb/s", ["10Gb/s", "20Gb/s"]),
        ("-1..1", ["-1", "0", "1"]),
        ("1, 5..6 ,9", ["1", "5", "6", "9"]),
        ('["a","b"],["c"]', ['["a","b"]', '["c"]']),
        ('"x,y",z', ['"x,y"', "z"]),
        ("true,false", ["true", "false"]),
    ],
)
def test_values_are_lists_and_ranges(text: str, found: list[str]) -> None:
    assert values(text) == found


def test_values_in_python_are_numbers_and_lists() -> None:
    (axis,) = axes_of({"key": [1, 0.5, True, "3..4", ["a", "b"]]})
    assert [one for (one,) in axis.values] == ["1", "0.5", "true", "3", "4", '["a", "b"]']
    assert axes_of({"key": "1..3"}) == axes_of(["key=1,2,3"])


def test_all_combinations_have_the_last_axis_the_fastest() -> None:
    found = points(axes_of(["a=1,2"], ["b=3,4; c=5,6"], ["d=7", "d=8"]))
    assert [point.number for point in found] == list(range(8))
    assert found[0].values == {"a": "1", "b": "3", "c": "5", "d": "7"}
    assert found[1].values == {"a": "1", "b": "3", "c": "5", "d": "8"}
    assert found[2].values == {"a": "1", "b": "4", "c": "6", "d": "7"}
    assert found[7].places == (1, 1, 1)
    assert points([]) == points(())
    assert points([])[0].assignments == ()


def test_zipped_and_listed_axes_are_the_same_from_texts_and_dictionaries() -> None:
    texts = axes_of([], ["a=1..2; b=3,4"], ["c=1; d=2", "d=4; c=3"])
    assert texts == axes_of({}, [{"a": [1, 2], "b": "3,4"}], [{"c": 1, "d": 2}, {"c": 3, "d": 4}])
    assert texts[0] == Axis(("a", "b"), (("1", "3"), ("2", "4")))
    assert texts[1] == Axis(("c", "d"), (("1", "2"), ("3", "4")))


@pytest.mark.parametrize(
    ("vary", "zipped", "listed", "why"),
    [
        (["a="], [], [], "a: an axis without values"),
        (["a=1,,2"], [], [], "a: an axis without values"),
        (["a=5..1"], [], [], "5..1: an axis without values"),
        (["a"], [], [], "a: expected a key and its values"),
        (["a=1,1"], [], [], "a: 1 is there twice"),
        (["a=1,2", "a=3"], [], [], "a: varied twice"),
        (["a=1"], ["a=1,2; b=3,4"], [], "a: varied twice"),
        (["a=1"], [], ["a=1"], "a: varied twice"),
        ([], ["a=1,2; b=3"], [], "zip of unequal lengths: a has 2, b has 1"),
        ([], ["a=1,2"], [], "zip a: expected two keys"),
        ([], [], ["a=1", "b=2"], "point 2: a is set by some points"),
        ([], [], ["a=1", "a=1"], "one of them is there twice"),
        ([], [], [";"], "point 1: expected keys"),
        (["a=1us..2ms"], [], [], "1us..2ms: expected one unit"),
        (["a=1..9/0"], [], [], "expected a step above 0"),
        (["a=0..9*2"], [], [], "or a factor above 1 from above 0"),
        (["a=0..1/0.000001"], [], [], "more than 100000 values"),
        (["run.seed=1,2"], [], [], "run.seed: no axis of a sweep; choose them by seeds"),
        (["=1"], [], [], "expected a key of the scenario"),
    ],
)
def test_what_makes_no_axis_is_told(
    vary: list[str], zipped: list[str], listed: list[str], why: str
) -> None:
    with pytest.raises(incast.ParameterError) as error:
        axes_of(vary, zipped, listed)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["100us", "1ms", "10ns"], (100.0, 1000.0, 0.01), "us"),
        (["700Mbps", "10Gb/s"], (0.7, 10.0), "gbps"),
        (["64KB", "1MiB"], (64000.0, 1048576.0), "bytes"),
        (["1", "0.5", "1e3"], (1.0, 0.5, 1000.0), ""),
    ],
)
def test_quantities_are_numbers_in_one_unit(
    texts: list[str], numbers: tuple[float, ...], unit: str
) -> None:
    assert quantities.numbers(texts) == quantities.Numbers(numbers, unit)


@pytest.mark.parametrize("texts", [["1", "2us"], ["1us", "2MB"], ["on", "off"], ["3 apples"]])
def test_what_is_no_quantity_stays_a_text(texts: list[str]) -> None:
    assert quantities.numbers(texts) is None
