"""The goals of a tuning: figures to minimize or to maximize, and constraints on figures."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from incast._core import ParameterError
from incast.base.words import nearest, option
from incast.results.sweeps import metric_names

Reference = Literal["", "best", "defaults"]

_CONSTRAINT = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|<|>|==?)\s*(.*?)\s*")
_WORDS = ("best", "defaults")


@dataclass(frozen=True)
class Objective:
    """A figure that is to be small, or large."""

    figure: str
    maximize: bool = False

    @property
    def name(self) -> str:
        """The objective in words."""
        return f"{'maximize' if self.maximize else 'minimize'} {self.figure}"

    def better(self, first: float, second: float) -> bool:
        """Whether a value is better than another one."""
        return first > second if self.maximize else first < second


@dataclass(frozen=True)
class Constraint:
    """A limit of a figure: a number, or a multiple of its best value or of the defaults'."""

    text: str
    figure: str
    least: bool
    """Whether it is a lower limit."""
    factor: float
    reference: Reference = ""
    """The factor is of the best value seen, of that with the defaults, or by itself the limit."""

    def limit(self, defaults: float | None, seen: Iterable[float]) -> float | None:
        """The limit, where values were seen; None of a reference that there is not."""
        if not self.reference:
            return self.factor
        values = [*seen] if self.reference == "best" else [] if defaults is None else [defaults]
        if not values:
            return None
        return self.factor * (max(values) if self.least else min(values))

    def violation(self, value: float, limit: float) -> float:
        """The distance of a value to a limit that it breaks, as a part of the limit; 0 if it holds.

        Of a limit of zero it is the distance itself.
        """
        apart = limit - value if self.least else value - limit
        return max(0.0, apart / abs(limit) if limit else apart)


def objectives(minimize: str | Sequence[str], maximize: str | Sequence[str]) -> list[Objective]:
    """The objectives, those to minimize first.

    Raises:
        ParameterError: There is none, a figure is unknown, or it is there twice.
    """
    named = [
        Objective(figure.strip(), large)
        for texts, large in ((minimize, False), (maximize, True))
        for figure in ([texts] if isinstance(texts, str) else texts)
    ]
    if not named:
        such = option("--minimize rtt_p99_us", 'minimize="rtt_p99_us"')
        raise ParameterError(
            f"no objective: expected a figure to minimize or to maximize, such as {such}"
        )
    for place, one in enumerate(named):
        _check_figure(one.figure, one.name)
        if any(one.figure == other.figure for other in named[:place]):
            raise ParameterError(f"{one.name}: {one.figure} is an objective already; name it once")
    return named


def constraints(texts: str | Sequence[str]) -> list[Constraint]:
    """The constraints, such as `throughput_gbps >= 0.95 * best`.

    Raises:
        ParameterError: One cannot be read, or no value could hold it, or two together.
    """
    found = [_constraint(text) for text in ([texts] if isinstance(texts, str) else texts)]
    for one in found:
        for other in found:
            if (
                one.figure == other.figure
                and one.reference == other.reference != "best"
                and one.least
                and not other.least
                and one.factor > other.factor
            ):
                raise ParameterError(
                    f"{one.text} and {other.text}: no value of {one.figure} holds both; leave one "
                    "of the two out"
                )
    return found


def _constraint(text: str) -> Constraint:
    match = _CONSTRAINT.fullmatch(text)
    hint = "such as 'throughput_gbps >= 0.95 * best' or 'rtt_p99_us <= 100'"
    if match is None:
        raise ParameterError(f"{text}: expected a figure, <= or >=, and a limit, {hint}")
    figure, sign, side = match.groups()
    _check_figure(figure, text)
    if sign not in {"<=", ">="}:
        raise ParameterError(f"{text}: expected <= or >=, {hint}")
    factor, reference = _side(side)
    if factor is None or not math.isfinite(factor) or factor < 0:
        raise ParameterError(
            f"{text}: expected a number of 0 or above, or one times best or defaults, {hint}"
        )
    least = sign == ">="
    if reference == "best" and (factor > 1 if least else factor < 1):
        what = "greatest" if least else "least"
        raise ParameterError(
            f"{text}: best is the {what} value that is seen, so no trial can hold it; take a "
            f"factor of 1 or {'below' if least else 'above'}"
        )
    return Constraint(" ".join(text.split()), figure, least, factor, reference)


def _side(text: str) -> tuple[float | None, Reference]:
    """The number and the word of a limit."""
    parts = [part.strip() for part in text.split("*")]
    found: Reference = ""
    factor: float | None = 1.0
    numbers = 0
    for part in parts:
        if part in _WORDS and not found:
            found = "best" if part == "best" else "defaults"
            continue
        try:
            factor = float(part)
        except ValueError:
            return None, found
        numbers += 1
    if numbers > 1 or (not numbers and not found):
        return None, found
    return factor, found


def _check_figure(figure: str, place: str) -> None:
    if figure not in metric_names():
        raise ParameterError(
            f"{place}: {figure!r} is no figure of a run; {nearest(figure, metric_names())}"
        )


def dominates(ours: Sequence[float], theirs: Sequence[float], goals: Sequence[Objective]) -> bool:
    """Whether values are as good as others by all objectives, and better by one."""
    triples = list(zip(goals, ours, theirs, strict=True))
    return not any(goal.better(their, our) for goal, our, their in triples) and any(
        goal.better(our, their) for goal, our, their in triples
    )
