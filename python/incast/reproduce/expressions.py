"""Expressions over the cases of an experiment, in claims and in the text of causes."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import simpleeval

from incast.base.words import nearest
from incast.reproduce.experiment import PLACE, SpecError, asked_for
from incast.reproduce.runs import Value
from incast.terminal.numbers import told

Floats = npt.NDArray[np.float64]


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


def evaluate(expression: str, names: Names, place: str) -> float:
    """The value of an expression; NaN where it divides by zero.

    Raises:
        MissingValueError: A run lacks a value that it needs.
        SpecError: It names what there is not, or is none; `place` is the claim that has it.
    """
    evaluator = simpleeval.SimpleEval(_OPERATORS, _FUNCTIONS, dict(names))
    try:
        with np.errstate(all="ignore"):
            return float(evaluator.eval(expression))
    except (MissingValueError, SpecError):
        raise
    except ZeroDivisionError:
        return math.nan
    except simpleeval.NameNotDefined as error:
        raise SpecError(
            f"{place}: no such name as {error.name}; {nearest(error.name, names)}"
        ) from None
    except (simpleeval.InvalidExpression, SyntaxError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError(f"{place}: {expression}: {reason}") from None


def filled(text: str, names: Sequence[Names], place: str) -> str:
    """The text with each expression replaced by its mean over the seeds, in three digits.

    Raises:
        SpecError: An expression names what there is not, or is none.
    """

    def value(found: re.Match[str]) -> str:
        wanted = {case for case, _ in asked_for(found[1])}
        having = [known for known in names if wanted <= known.keys()]
        try:
            values = [evaluate(found[1], known, place) for known in having]
        except MissingValueError:
            return "-"
        return told(math.fsum(values) / len(values)) if values else "-"

    return PLACE.sub(value, text)


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
