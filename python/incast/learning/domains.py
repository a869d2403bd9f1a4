"""Domain randomisation: values of a scenario that are drawn anew for each episode."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incast._core import IncastError, ParameterError, Scenario

Value = str | int | float | bool
"""A value of a scenario: text with a unit, a number, or a word."""


@dataclass(frozen=True)
class Uniform:
    """A range from which a value is drawn, such as `Uniform("10us", "100us")`.

    Both ends have one unit, or none. Of whole numbers the value is one, and may be either end.

    Example:
        ```python
        from incast.learning import CongestionEnv, Uniform

        starts = Uniform("1us", "1000us", log=True)
        env = CongestionEnv("incast", interval="20us", randomize={"traffic.0.start_spread": starts})
        _, info = env.reset(seed=1)
        info["settings"]  # the values that were drawn
        ```
    """

    low: str | float
    """The least value: a number, or a text with a unit such as `10us`."""
    high: str | float
    """The greatest value, in the same unit."""
    log: bool = False
    """Whether the logarithm is uniform: values of each order of magnitude are as probable."""


Domain = Uniform | tuple[str | float, str | float] | Sequence[Value]
"""A range, as `Uniform` or as a tuple of two; or a list of values to choose from."""

_QUANTITY = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-zA-Z%]*)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class _Range:
    low: float
    high: float
    unit: str
    whole: bool
    log: bool

    def draw(self, random: np.random.Generator) -> Value:
        if self.whole and not self.log:
            return self.written(float(random.integers(int(self.low), int(self.high) + 1)))
        if self.log:
            value = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = random.uniform(self.low, self.high)
        return self.written(min(max(value, self.low), self.high))

    def written(self, value: float) -> Value:
        if self.unit:
            # Quantities are whole bytes, picoseconds and bits per second.
            is_least = self.unit in {"B", "bps", "ps"} or "i" in self.unit
            return f"{value:.{0 if is_least else 3}f}{self.unit}"
        return round(value) if self.whole else value


class Domains:
    """The values that are drawn, by their keys in the scenario."""

    def __init__(self, scenario: Scenario, domains: Mapping[str, Domain] | None) -> None:
        """Checks each domain, at both of its ends or all of its values.

        Raises:
            ParameterError: A key is none of the scenario, or a value cannot be there.
        """
        self._scenario = scenario
        self._domains = {key: _read(key, domain) for key, domain in (domains or {}).items()}
        for key, domain in self._domains.items():
            ends = (
                [domain.written(domain.low), domain.written(domain.high)]
                if isinstance(domain, _Range)
                else domain
            )
            for value in ends:
                self._check(key, value)

    def _check(self, key: str, value: Value) -> None:
        try:
            self._scenario.with_set({key: value})
        except IncastError as error:
            said = str(error).partition(": ")[2] or str(error)
            raise ParameterError(f"randomize: {key} = {value}: {said}") from None

    def draw(self, random: np.random.Generator) -> tuple[Scenario, dict[str, Value]]:
        """A scenario with values drawn for all keys, and the values.

        Raises:
            ParameterError: The values do not fit together.
        """
        if not self._domains:
            return self._scenario, {}
        drawn: dict[str, Value] = {}
        for key, domain in self._domains.items():
            if isinstance(domain, _Range):
                drawn[key] = domain.draw(random)
            else:
                drawn[key] = domain[int(random.integers(len(domain)))]
        return self._scenario.with_set(drawn), drawn


def _read(key: str, domain: Domain) -> _Range | list[Value]:
    if isinstance(domain, tuple) and len(domain) == 2:
        domain = Uniform(*domain)
    if isinstance(domain, Uniform):
        return _range(key, domain)
    if isinstance(domain, list) and domain:
        return list(domain)
    raise ParameterError(
        f"randomize: {key} = {domain!r}: expected a range such as ('10us', '100us'), or a list of "
        "values"
    )


def _range(key: str, uniform: Uniform) -> _Range:
    ends = []
    for end in (uniform.low, uniform.high):
        found = _QUANTITY.fullmatch(str(end))
        if found is None or isinstance(end, bool):
            raise ParameterError(
                f"randomize: {key}: {end!r} is no end of a range; expected a number, perhaps with "
                "a unit; write a list to choose from words"
            )
        ends.append((float(found[1]), found[2]))
    (low, unit), (high, other) = ends
    if unit != other:
        raise ParameterError(
            f"randomize: {key}: {uniform.low} and {uniform.high} have two units; write both in one"
        )
    if low > high or (uniform.log and low <= 0.0):
        expected = "a range from above 0" if uniform.log and low <= high else "the lesser end first"
        raise ParameterError(
            f"randomize: {key}: {uniform.low} to {uniform.high}; expected {expected}"
        )
    whole = isinstance(uniform.low, int) and isinstance(uniform.high, int)
    return _Range(low, high, unit, whole, uniform.log)
