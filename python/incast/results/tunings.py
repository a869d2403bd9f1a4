"""The outcome of a tuning: a trial for each setting, the best of them, and their trade-offs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from incast import _core
from incast.results import sweeps
from incast.results.axes import Point
from incast.results.goals import Constraint, Objective, dominates
from incast.results.measures import bound_of
from incast.results.records import known
from incast.results.searched import Searched
from incast.results.seeds import Side, Spread, limits, spread
from incast.results.study_files import Outcome
from incast.results.sweeps import Row, SweepRecord

TRIALS, RUNS = "trials.parquet", "runs.parquet"
"""The tables of a tuning."""


@dataclass(frozen=True)
class Ran:
    """A trial whose runs have ended."""

    number: int
    batch: int
    scheme: str
    settings: Mapping[str, str]
    """The values of the searched parameters as texts."""
    drawn: Mapping[str, float | str] | None
    """The values as the sampler drew them; None of one that it does not learn from."""
    runs: tuple[tuple[str, int, str | None, Outcome], ...]
    """Scenario, seed, key and outcome of each run."""

    @property
    def error(self) -> str | None:
        """The reason why a run failed; None if none did."""
        return next((one.error for *_, one in self.runs if one.error is not None), None)

    def spread(self, scenario: str, figure: str) -> Spread | None:
        """The mean of a figure in a scenario, or its bound; None if a seed lacks it."""
        found = [
            known(outcome.values, figure) for name, _, _, outcome in self.runs if name == scenario
        ]
        return None if None in found else spread(found, limits(figure))

    def mean(self, scenario: str, figure: str) -> float | None:
        """The mean of a figure in a scenario; None where it is known by a bound alone."""
        return _mean(self.spread(scenario, figure))


@dataclass(frozen=True)
class Trial:
    """A setting that was tried, judged by the goals."""

    number: int
    """The number of the trial; 0 is the scheme as it was given."""
    scheme: str
    """The scheme with the values in brackets, which `--cc` and `incast.run` take."""
    settings: Mapping[str, str]
    """The values of the searched parameters, as a scenario has them."""
    values: tuple[float, ...] | None
    """The value by each objective, combined over scenarios; None of one that lacks one."""
    violations: tuple[float, ...]
    """The distance to each limit that it breaks, as a part of the limit; 0 where it holds."""
    error: str | None
    """The reason why a run failed."""
    ran: Ran = field(repr=False)

    @property
    def feasible(self) -> bool:
        """Whether it has all values and holds all constraints."""
        return self.values is not None and not any(self.violations)

    @property
    def violation(self) -> float:
        """The largest distance to a limit."""
        return max(self.violations, default=0.0)


@dataclass(frozen=True)
class Goals:
    """The scenarios of a tuning, and how trials are judged."""

    scenarios: tuple[str, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]

    @property
    def figures(self) -> list[str]:
        """The figures of all goals, each once."""
        aims = [one.figure for one in self.objectives]
        return list(dict.fromkeys([*aims, *(one.figure for one in self.constraints)]))

    def combined(self, ran: Ran, defaults: Ran, figure: str) -> float | None:
        """A figure of a trial: in one scenario the mean over the seeds.

        Of several scenarios it is the geometric mean of the ratios of these means to the given
        scheme's; None where there is no such ratio, or where it is known by a bound alone.
        """
        return _mean(self.spread(ran, defaults, figure))

    def spread(self, ran: Ran, defaults: Ran, figure: str) -> Spread | None:
        """A figure of a trial, as `combined`, or the bound of it that is known."""
        found = [ran.spread(name, figure) for name in self.scenarios]
        if len(found) == 1:
            return found[0]
        ratios: list[float] = []
        side: Side = ""
        for name, one in zip(self.scenarios, found, strict=True):
            base = defaults.mean(name, figure)
            if one is None or not base:
                return None
            ratios.append(one.mean / base)
            side = side or one.side
        mean = math.prod(ratios) ** (1 / len(ratios)) if all(ratios) else 0.0
        return Spread(mean, None, len(ratios), side=side)

    def judged(self, every: Sequence[Ran]) -> list[Trial]:
        """The trials, judged by limits that follow from all of them."""
        limits = [
            (rule, name, self._limit(rule, name, every))
            for rule in self.constraints
            for name in self.scenarios
        ]
        found = []
        for ran in every:
            values = [self.combined(ran, every[0], one.figure) for one in self.objectives]
            known = [one for one in values if one is not None]
            broken: list[float] = []
            lacks = ran.error is not None or len(known) < len(values)
            for rule, name, limit in limits:
                mean = ran.mean(name, rule.figure)
                if mean is None or limit is None:
                    lacks = True
                else:
                    broken.append(rule.violation(mean, limit))
            found.append(
                Trial(
                    ran.number,
                    ran.scheme,
                    ran.settings,
                    None if lacks else tuple(known),
                    () if lacks else tuple(broken),
                    ran.error,
                    ran,
                )
            )
        return found

    @staticmethod
    def _limit(rule: Constraint, name: str, every: Sequence[Ran]) -> float | None:
        means = (ran.mean(name, rule.figure) for ran in every if ran.error is None)
        return rule.limit(
            every[0].mean(name, rule.figure), [one for one in means if one is not None]
        )


@dataclass(frozen=True, eq=False)
class TuningRecord:
    """The trials of a tuning; `incast.Tuning` adds figures."""

    scheme: str
    """The scheme as it was given."""
    goals: Goals
    """The scenarios, objectives and constraints."""
    space: tuple[Searched, ...]
    """The parameters that were searched, with their ranges."""
    seeds: tuple[int, ...]
    """The seeds of the runs of each trial."""
    planned: int
    """The number of trials when all have ended."""
    every: tuple[Trial, ...]
    """All trials that have ended, by number."""
    settings: Mapping[str, Any]
    """The seed of the sampler, the size of a batch, and the version of Optuna."""
    validation: Mapping[str, SweepRecord] = field(default_factory=dict)
    """By scenario, the sweeps of what was found beside the defaults and published presets."""
    directory: Path | None = None
    """The directory that it is kept in."""
    version: str = _core.__version__
    """The version of incast that made it."""
    warnings: tuple[str, ...] = ()
    """Doubts about the scheme as given and the trials that are reported: one for each cause."""

    def __repr__(self) -> str:
        """A line with what was tuned."""
        goals = ", ".join(one.name for one in self.goals.objectives)
        return (
            f"Tuning({self.scheme!r}, {', '.join(self.goals.scenarios)}, {goals}: "
            f"{len(self.every)} of {self.planned} trials)"
        )

    def _repr_html_(self) -> str:
        """The trials, which notebooks show."""
        return self.trials._repr_html_()

    @property
    def complete(self) -> bool:
        """Whether all trials have ended."""
        return len(self.every) == self.planned

    @property
    def defaults(self) -> Trial | None:
        """The trial of the scheme as it was given, the first one."""
        return self.every[0] if self.every else None

    @cached_property
    def front(self) -> tuple[Trial, ...]:
        """The feasible trials that none other is as good as by all objectives and better by one.

        They are ordered by the first objective, the best first.
        """
        goals = self.goals.objectives
        live = [(one.values, one) for one in self.every if one.feasible and one.values is not None]
        best = [
            (values, one)
            for place, (values, one) in enumerate(live)
            if not any(
                dominates(other, values, goals) or (other == values and number < place)
                for number, (other, _) in enumerate(live)
            )
        ]
        sign = -1.0 if goals[0].maximize else 1.0
        return tuple(one for values, one in sorted(best, key=lambda pair: sign * pair[0][0]))

    @property
    def best(self) -> Trial | None:
        """The best feasible trial by the first objective; None if no trial is feasible."""
        return self.front[0] if self.front else None

    @property
    def nearest(self) -> Trial | None:
        """The trial nearest to its limits, by the largest distance to one of them."""
        live = [one for one in self.every if one.values is not None]
        return min(live, key=lambda one: (one.violation, one.number), default=None)

    @cached_property
    def trials(self) -> pl.DataFrame:
        """A row for each trial: settings, values, whether it is feasible and on the front."""
        front = {one.number for one in self.front}
        every, goals = self.every, self.goals
        columns = [
            pl.Series("trial", [one.number for one in every], pl.UInt32),
            pl.Series("batch", [one.ran.batch for one in every], pl.UInt32),
            pl.Series("scheme", [one.scheme for one in every], pl.String),
            pl.Series("error", [one.error for one in every], pl.String),
            pl.Series("feasible", [one.feasible for one in every], pl.Boolean),
            pl.Series("violation", [_known(one, one.violation) for one in every], pl.Float64),
            pl.Series("front", [one.number in front for one in every], pl.Boolean),
        ]
        for each in self.space:
            found = [each.number(one.settings[each.name]) for one in every]
            columns.append(pl.Series(each.column, found, pl.String if each.words else pl.Float64))
        names = sweeps.metric_names() if len(goals.scenarios) == 1 else goals.figures
        for name in names:
            means = [goals.combined(one.ran, every[0].ran, name) for one in every]
            columns.append(pl.Series(name, means, pl.Float64))
            bounds = [_bound(goals.spread(one.ran, every[0].ran, name)) for one in every]
            if any(bound is not None for bound in bounds):
                columns.append(pl.Series(bound_of(name), bounds, pl.Float64))
        for scenario in goals.scenarios if len(goals.scenarios) > 1 else ():
            for name in goals.figures:
                means = [one.ran.mean(scenario, name) for one in every]
                columns.append(pl.Series(f"{scenario}:{name}", means, pl.Float64))
        return pl.DataFrame(columns)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """A row for each run: trial, scenario, scheme, seed, key, error, and all figures."""
        rows, names = [], []
        for one in self.every:
            for name, seed, key, outcome in one.ran.runs:
                point = Point(one.number, (), {})
                rows.append(Row(point, one.scheme, seed, key, outcome.error, outcome.values))
                names.append(name)
        found = sweeps.dataset((), rows).rename({"point": "trial"})
        return found.insert_column(1, pl.Series("scenario", names, pl.String))

    def to_dict(self) -> dict[str, Any]:
        """The tuning without its tables, ready for JSON."""
        return {
            "incast": self.version,
            "scenarios": list(self.goals.scenarios),
            "scheme": self.scheme,
            "objectives": [one.name for one in self.goals.objectives],
            "constraints": [one.text for one in self.goals.constraints],
            "parameters": {one.name: one.range for one in self.space},
            "seeds": list(self.seeds),
            **self.settings,
            "trials": {"planned": self.planned, "done": len(self.every)},
            "complete": self.complete,
            "warnings": list(self.warnings),
            "defaults": self._said(self.defaults),
            "best": self._said(self.best),
            "front": [self._said(one) for one in self.front],
            "nearest": None if self.best else self._said(self.nearest),
        }

    def _said(self, one: Trial | None) -> dict[str, Any] | None:
        if one is None:
            return None
        values = one.values or [None] * len(self.goals.objectives)
        spreads = {
            figure: self.goals.spread(one.ran, self.every[0].ran, figure)
            for figure in self.goals.figures
        }
        return {
            "trial": one.number,
            "scheme": one.scheme,
            "settings": dict(one.settings),
            "values": {
                goal.figure: value
                for goal, value in zip(self.goals.objectives, values, strict=True)
            },
            "bounds": {
                figure: {"mean": found.mean, "side": found.side}
                for figure, found in spreads.items()
                if found is not None and found.side
            },
            "feasible": one.feasible,
            "violation": _known(one, one.violation),
        }


def _mean(found: Spread | None) -> float | None:
    return None if found is None or found.side else found.mean


def _bound(found: Spread | None) -> float | None:
    return found.mean if found is not None and found.side else None


def _known(trial: Trial, value: float) -> float | None:
    return None if trial.values is None else value
