"""Claims and their verdicts: an expression for each seed, and a verdict over all."""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import simpleeval

from incast.base.words import nearest
from incast.reproduce.runs import Value
from incast.reproduce.spec import Claim, SpecError
from incast.results.seeds import Spread, spread

Floats = npt.NDArray[np.float64]
Word = Literal["holds", "one seed only", "falls short", "not comparable", "open question"]

# A claim that fails by the last digit of a double does not fail.
_SLACK = 1e-9


@dataclass(frozen=True)
class Verdict:
    """A claim, judged."""

    claim: Claim
    word: Word
    why: str = ""
    """The amount by which the value falls short, or the reason why it cannot be judged."""
    measured: Spread | None = None
    seeds: int = 0
    held: int = 0
    """The number of seeds by which it holds."""

    @property
    def bound(self) -> str:
        """The bounds in words: `≤ 0.15`."""
        if self.claim.at_least is not None and self.claim.at_least == self.claim.at_most:
            return f"= {self.claim.at_least:g}"
        parts = []
        if self.claim.at_least is not None:
            parts.append(f"≥ {self.claim.at_least:g}")
        if self.claim.at_most is not None:
            parts.append(f"≤ {self.claim.at_most:g}")
        return ", ".join(parts)

    @property
    def cause(self) -> str:
        """The cause of a shortfall, from the experiment's file; empty where there is none."""
        return self.claim.differs if self.word in ("falls short", "one seed only") else ""

    @property
    def agreed(self) -> str:
        """The number of seeds that keep the bounds, in words: ` (2 of 3 seeds)`."""
        judged = self.seeds > 1 and self.word != "open question"
        return f" ({self.held} of {self.seeds} seeds)" if judged else ""

    @property
    def text(self) -> str:
        """The verdict with its reason, as people read it."""
        return f"{self.word}{f', {self.why}' if self.why else ''}{self.agreed}"


class MissingValueError(Exception):
    """A value that an expression needs and no run has."""


@dataclass(frozen=True)
class View:
    """The columns of a case, with one seed: a number each, or an array along the axis.

    An array has NaN where the case is not run. What a run should have and has not is another
    number in each of the [WORLDS][].
    """

    case: str
    columns: Mapping[str, Value | Floats]

    def __getattr__(self, name: str) -> Value | Floats:
        """A column by its name."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.columns.get(name)
        if value is None or (isinstance(value, np.ndarray) and np.isnan(value).all()):
            raise MissingValueError(f"{self.case} has no {name}")
        return value


WORLDS = (-math.inf, 0.0, math.inf)
"""Numbers in place of those that runs lack. A claim is judged by that which is worst for it."""

Names = Mapping[str, Any]
"""The names that expressions know, for one seed."""


def judge(claim: Claim, names: Sequence[Sequence[Names]]) -> Verdict:
    """Judges a claim; `names` has those of each seed, in each of the [WORLDS][].

    It holds if the mean over the seeds keeps the bounds; an open question has none. A value that is
    endless or not there is the worst that it can be.

    Raises:
        SpecError: Its expression names what there is not, or is none.
    """
    unjudged: Word = "open question" if claim.kind == "open" else "not comparable"
    if claim.not_comparable:
        return Verdict(claim, unjudged, claim.not_comparable)
    try:
        worlds = [[_evaluate(claim, known) for known in seed] for seed in names]
    except MissingValueError as missing:
        return Verdict(claim, unjudged, str(missing))
    if claim.kind == "open":
        measured = spread([seed[0] for seed in worlds if len(set(seed)) == 1])
        if measured is None:
            return Verdict(claim, unjudged, "the expression has no value", None, len(worlds))
        return Verdict(claim, unjudged, "", measured, measured.count)
    values = [_worst(claim, seed) for seed in worlds]
    held = sum(_excess(claim, value) <= 0 for value in values)
    measured = spread(values)
    if all(map(math.isfinite, values)) and measured is not None:
        decides, where = measured.mean, ""
    else:
        # The mean of an endless value and of others says nothing of the others.
        decides = _worst(claim, values)
        where = f"by seed {values.index(decides) + 1}"
    word: Word = "one seed only" if held == 1 < len(values) else "holds"
    why = ""
    if _excess(claim, decides) > 0:
        word = "falls short"
        far = _how_far(claim, decides) if math.isfinite(decides) else ""
        why = ", ".join(filter(None, (far, where)))
        why += "" if far else ", which has no finite value"
    return Verdict(claim, word, why, measured, len(values), held)


def _worst(claim: Claim, values: Sequence[float]) -> float:
    """The value that is farthest from keeping the bounds; what is no number is farther than all."""
    worst = max(values, key=lambda value: _excess(claim, value))
    if math.isnan(worst):
        return -math.inf if claim.at_most is None else math.inf
    return worst


def _excess(claim: Claim, value: float) -> float:
    """The distance of a value from the bounds, below zero inside."""
    if math.isnan(value):
        return math.inf
    above = -math.inf if claim.at_most is None else value - claim.at_most
    below = -math.inf if claim.at_least is None else claim.at_least - value
    excess = max(above, below)
    return excess - _SLACK * max(1.0, abs(value)) if math.isfinite(value) else excess


def _how_far(claim: Claim, value: float) -> str:
    most, least = claim.at_most, claim.at_least
    bound = (most if most is not None and value > most else least) or 0.0
    if bound and value / bound > 0:
        factor = max(value / bound, bound / value)
        return f"by a factor of {factor:.2g}" if factor >= 2 else f"by {abs(value / bound - 1):.1%}"
    return f"by {abs(value - bound):.3g}"


def _evaluate(claim: Claim, names: Mapping[str, Any]) -> float:
    evaluator = simpleeval.SimpleEval(_OPERATORS, _FUNCTIONS, dict(names))
    try:
        with np.errstate(all="ignore"):
            value = evaluator.eval(claim.value)
        return float(value)
    except (MissingValueError, SpecError):
        raise
    except ZeroDivisionError:
        return math.nan
    except simpleeval.NameNotDefined as error:
        raise SpecError(
            f'claim "{claim.says}": no such name as {error.name}; {nearest(error.name, names)}'
        ) from None
    except (simpleeval.InvalidExpression, SyntaxError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError(f'claim "{claim.says}": {claim.value}: {reason}') from None


def _trend(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation: 1 where y rises with every step of x, -1 where it falls."""
    there = ~np.isnan(y)
    if there.sum() < 2:
        raise MissingValueError("a trend needs two values")
    ranks = [_ranks(values[there]) for values in (np.asarray(x, float), y)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Floats) -> Floats:
    """Places in the order of size; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts - 1) / 2.0)[inverse]


def _last_where(x: Floats, holds: npt.NDArray[np.bool_]) -> float:
    """The highest x up to which it holds without a gap; below the first, zero."""
    order = np.argsort(x)
    kept = np.cumprod(np.asarray(holds)[order].astype(int)).astype(bool)
    return float(np.asarray(x)[order][kept].max()) if kept.any() else 0.0


def _at(x: Floats, wanted: float | str, y: Floats) -> float:
    """The value of y where x is the one that is asked for."""
    found = np.flatnonzero(np.asarray(x) == wanted)
    if not found.size or np.isnan(y[found[0]]):
        raise MissingValueError(f"no value at {wanted}")
    return float(y[found[0]])


# The library's guard against long strings would take an array for one.
_OPERATORS = {**simpleeval.DEFAULT_OPERATORS, ast.Mult: operator.mul, ast.Pow: operator.pow}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "at": _at,
    "first": lambda y: y[0],
    "last": lambda y: y[-1],
    "last_where": _last_where,
    "least": lambda *values: float(np.nanmin(np.hstack(values))),
    "log": np.log,
    "mean": lambda *values: float(np.nanmean(np.hstack(values))),
    "most": lambda *values: float(np.nanmax(np.hstack(values))),
    "sqrt": np.sqrt,
    "trend": _trend,
    "where_least": lambda x, y: x[np.nanargmin(y)],
    "where_most": lambda x, y: x[np.nanargmax(y)],
}
"""The functions of expressions, as docs/how-to/adding-an-experiment.md describes them."""
