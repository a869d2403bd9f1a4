"""Values that a key cannot have: one sentence, before anything runs, wherever a value is given."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib

import incast
from conftest import SHORT, Command
from incast import _core
from incast.api import sweeping, tuning_space
from incast.results.axes import axes_of

ALGORITHMS = {one.name: one for one in _core.algorithms()}
# Of no parameter and no number of a scenario.
NEVER = ("nan", "inf", "-inf", "-1", "-1us", "1e400", "1kg", "nanus", "")
RANGES = ("nan..1", "nan..nan", "1..nan", "0..inf", "-inf..1", "-1..1", "-1us..1us", "1e400..1e401",
          "0..1e400", "1kg..2kg", "1us..2KB")  # fmt: skip
# A quantity of each kind, and what it is called.
KINDS = {"time": "us", "size": "KB", "rate": "Gbps"}


def wrong_units(parameter: _core.Parameter) -> list[str]:
    """The units of quantities of other kinds than a parameter's."""
    return [unit for kind, unit in KINDS.items() if kind not in parameter.unit]


def refused(text: str, call: Callable[[], object]) -> str:
    """The one line with which a call refuses a value."""
    with pytest.raises(incast.ParameterError) as error:  # noqa: PT012 - `text` is said
        call()
        pytest.fail(f"{text} is taken")
    assert "\n" not in str(error.value), text
    return str(error.value)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_sweep_refuses_what_a_parameter_cannot_be(name: str, short: incast.Scenario) -> None:
    """Also beside schemes to which it makes no difference, and beside values that it can be."""
    cc = [name, "line-rate" if name != "line-rate" else "timely"]
    for parameter in ALGORITHMS[name].parameters:
        key = f"cc.{name}.{parameter.name}"
        for value in (*NEVER, *(f"1{unit}" for unit in wrong_units(parameter))):
            for texts in (value, f"{parameter.default},{value}") if value else ():
                axes = axes_of([f"{key}={texts}"])
                assert key in refused(
                    f"{key}={texts}", lambda axes=axes: sweeping.planned(short, cc, axes, 1)
                )
            refused(f"{key}={value}", lambda key=key, v=value: short.with_set(f"{key}={v}"))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_tuning_refuses_ranges_of_what_a_parameter_cannot_be(
    name: str, short: incast.Scenario
) -> None:
    for parameter in ALGORITHMS[name].parameters:
        units = wrong_units(parameter)
        for span in (*RANGES, *(f"1{unit}..2{unit}" for unit in units), "nan,1", "1kg,-1"):
            over = f"{parameter.name}={span}"
            said = refused(over, lambda over=over: tuning_space.searched(short, name, [over]))
            assert said.startswith(f"over {parameter.name}"), said


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - TOML
    """The keys of a scenario that have no keys inside, with their values."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from leaves(inside, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, inside in enumerate(value):
            yield from leaves(inside, f"{path}.{place}")
    else:
        yield path, value


@pytest.mark.parametrize("name", ["incast", "fat-tree-web-search", "tcp-incast", "timely-clos-rpc"])
def test_keys_of_a_scenario_refuse_what_they_cannot_be(name: str) -> None:
    scenario = incast.load(name)
    numbers = 0
    for key, value in leaves(tomllib.loads(scenario.toml())):
        numeric = value[:1].isdigit() if isinstance(value, str) else not isinstance(value, bool)
        if not numeric or key in ("run.seed", "title", "description"):
            continue
        numbers += 1
        for text in NEVER[:-1]:
            over = f"{key}={text}"
            said = refused(
                over,
                lambda over=over: sweeping.planned(scenario, None, axes_of([over]), 1),
            )
            assert text in said, said
    assert numbers > 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sweep", "incast", "--vary", "cc.timely.t_low=nan"), 't_low = "nan" is not a number'),
        (("sweep", "incast", "--vary", "cc.timely.t_low=50us,-1us"), "is negative"),
        (
            ("sweep", "incast", "--zip", "cc.timely.t_low=40us,nan; traffic.0.connections=1,2"),
            't_low = "nan" is not a number',
        ),
        (("run", "incast", "--set", "cc.timely.t_low=inf"), 't_low = "inf" is not a number'),
        (
            ("tune", "incast", "--cc", "timely", "--minimize", "drops", "--over", "beta=1KB..2KB"),
            "beta=1KB..2KB: expected a number",
        ),
    ],
)
def test_nothing_runs_with_such_a_value(
    command: Command, arguments: tuple[str, ...], said: str
) -> None:
    done = command(*arguments, *(word for one in SHORT for word in ("--set", one)), "--out", "out")
    assert said in done.error
    assert not list(Path().iterdir())


@pytest.mark.parametrize("scheme", [":x", ".x:y", "..:y", "a..b:c", ".:C", "a\0b:c"])
@pytest.mark.parametrize(
    "before",
    [
        ("run", "incast"), ("sweep", "incast"), ("saturate", "incast"),
        ("tune", "incast", "--minimize", "drops"), ("scenario", "check", "incast"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_scheme_without_a_name_is_one_line(
    command: Command, before: tuple[str, ...], scheme: str
) -> None:
    assert "names neither an algorithm nor a module" in command(*before, "--cc", scheme).error
