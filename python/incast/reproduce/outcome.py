"""The outcome of an experiment: rows, curves, verdicts."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import polars as pl

from incast import _core
from incast.reproduce.claims import Verdict, distance, judge
from incast.reproduce.experiment import (
    Claim,
    Experiment,
    Published,
    Setup,
    SpecCase,
    SpecError,
    asked_for,
)
from incast.reproduce.expressions import (
    WORLDS,
    Floats,
    Names,
    View,
    filled,
)  # fmt: skip
from incast.reproduce.kept import in_json
from incast.reproduce.runs import Done, PlannedRun, Value, seeds_of, values_of
from incast.results.records import known
from incast.results.seeds import ANYTHING, NOT_NEGATIVE, Known, Spread, spread

At = int | float | str | None


@dataclass(frozen=True)
class Cell:
    """A published value of a table or figure, beside the measured one."""

    published: Published
    case: SpecCase
    measured: Spread

    @property
    def off(self) -> float | None:
        """The difference to the published value, as a share of it; None where there is none."""
        return distance(self.measured, self.published.value)


@dataclass(frozen=True)
class Outcome:
    """An experiment, run and judged."""

    experiment: Experiment
    quick: bool
    runs: Mapping[tuple[str, At, int], Done]
    """The runs by case, value of the axis and seed."""

    @property
    def seeds(self) -> int:
        """The number of seeds of each case; a fluid model has one."""
        return max((seed for _, _, seed in self.runs), default=0)

    @property
    def seconds(self) -> float:
        """The time that all runs took, added up."""
        return sum(done.seconds for done in self.runs.values())

    @cached_property
    def axis(self) -> list[int | float | str]:
        """The values of the axis that were run."""
        return values_of(self.experiment, quick=self.quick)

    @cached_property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return list(dict.fromkeys(key for done in self.runs.values() for key in done.values))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdict on each claim, with the verdicts on its other set-ups.

        Raises:
            SpecError: The expression of a claim is none.
        """
        try:
            return [
                dataclasses.replace(
                    self._verdict(claim),
                    others=tuple(self._verdict(claim, setup) for setup in claim.setup),
                )
                for claim in self.experiment.claim
            ]
        except SpecError as error:
            raise SpecError(f"{self.experiment.name}: {error}") from None

    @cached_property
    def differs(self) -> str:
        """The known reason why results differ, with the numbers of the runs."""
        return filled(self.experiment.differs, self._told, f"{self.experiment.name}: differs")

    @cached_property
    def cells(self) -> list[Cell]:
        """The published values of tables and figures that were also measured here."""
        found = []
        for one in self.experiment.published:
            case = self.experiment.case_of(one.case)
            measured = self.spread(one.case, one.at, one.column)
            if measured is not None:
                found.append(Cell(one, case, measured))
        return found

    def without_chance(self, case: SpecCase) -> bool:
        """Whether a case is a fluid model, or two seeds and more gave the same numbers."""
        if case.fluid:
            return True
        by_place = [self._done(case.name, at) for at in self.places(case)]
        return all(
            len(own) > 1 and all(done.values == own[0].values for done in own) for own in by_place
        )

    def places(self, case: SpecCase) -> list[At]:
        """The values of the axis at which a case was run; None where it has none."""
        return list(dict.fromkeys(at for name, at, _ in self.runs if name == case.name))

    def values(self, case: str, at: At, column: str) -> list[Value]:
        """A value for each seed."""
        return [done.values.get(column) for done in self._done(case, at)]

    def spread(self, case: str, at: At, column: str) -> Spread | None:
        """Their mean, and how far it can be off: not below zero where no seed is."""
        positive = all(value is None or value >= 0 for value in self.values(case, at, column))
        found = [_known(done, column) for done in self._done(case, at)]
        return spread(found, NOT_NEGATIVE if positive else ANYTHING)

    def curve(self, name: str, case: str, at: At) -> pl.DataFrame:
        """The rows of a curve, of all seeds that have it."""
        found = [done.curves[name] for done in self._done(case, at) if name in done.curves]
        found = [rows for rows in found if not rows.is_empty()]
        return pl.concat(found, how="vertical_relaxed") if found else pl.DataFrame()

    def published(self, case: str, at: At, column: str) -> float | None:
        """The value that the source gives for a case, column and place."""
        for one in self.experiment.published:
            if (one.case, one.at, one.column) == (case, at, column):
                return one.value
        return None

    @cached_property
    def rows(self) -> pl.DataFrame:
        """A row for each run: case, value of the axis, seed, all columns, seconds."""
        front = self.experiment.axis.name if self.experiment.axis else None
        return pl.DataFrame(
            [
                {
                    "case": case,
                    **({front: at} if front else {}),
                    "seed": seed,
                    **{column: done.values.get(column) for column in self.columns},
                    "seconds": round(done.seconds, 2),
                }
                for (case, at, seed), done in self.runs.items()
            ],
            infer_schema_length=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Verdicts and rows, ready for JSON."""
        return {
            "incast": _core.__version__,
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "place": self.experiment.place,
            "quick": self.quick,
            "seeds": self.seeds,
            "seconds": round(self.seconds, 1),
            "claims": [_verdict_dict(verdict) for verdict in self.verdicts],
            "published": [
                in_json(
                    {
                        "case": cell.published.case,
                        "at": cell.published.at,
                        "column": cell.published.column,
                        "published": cell.published.value,
                        "measured": cell.measured.mean,
                        "off": cell.off,
                        "fitted": cell.case.fitted or None,
                    }
                )
                for cell in self.cells
            ],
            "earlier": [case.name for case in self.experiment.case if case.earlier],
            "rows": [in_json(row) for row in self.rows.to_dicts()],
        }

    def _done(self, case: str, at: At) -> list[Done]:
        """The runs of a case at one place, in the order of seeds."""
        return [
            done for (name, place, _), done in self.runs.items() if name == case and place == at
        ]

    def _verdict(self, claim: Claim, setup: Setup | None = None) -> Verdict:
        """The verdict on a claim in its main set-up, or in another one."""
        place = f'claim "{claim.says}"'
        swapped: Mapping[str, str] = {}
        if setup is not None:
            swapped = setup.cases
            claim = msgspec.structs.replace(
                claim, value=setup.value or claim.value, differs=setup.differs, setup=[]
            )
        named = sorted({name for name, _ in asked_for(claim.value)})
        cases = [self.experiment.case_of(swapped.get(name, name)) for name in named]
        # Seeds that all cases have; a fluid model has the same value for each.
        common = min((self._seeds_of(case) for case in cases if not case.fluid), default=1)
        known = [self._swapped(worlds, swapped) for worlds in self._worlds[:common]]
        chance = not all(map(self.without_chance, cases))
        found = judge(claim, known, chance=chance)
        unsettled = found.word in ("falls short", "undecided")
        fitted = ", ".join(case.label or case.name for case in cases if case.fitted)
        return dataclasses.replace(
            found,
            setup=setup.name if setup else "",
            fitted=fitted,
            cause=filled(claim.differs, self._told, place) if unsettled else "",
        )

    @staticmethod
    def _swapped(worlds: Sequence[Names], cases: Mapping[str, str]) -> list[Names]:
        """The names of a seed, with cases that stand in for others."""
        return [
            {**names, **{name: names[other] for name, other in cases.items() if other in names}}
            for names in worlds
        ]

    @cached_property
    def _worlds(self) -> list[list[Names]]:
        """The names that expressions know, for each seed, in each of the worlds."""
        seeds = range(1, self.seeds + 1)
        return [[self._names(seed, world) for world in WORLDS] for seed in seeds]

    @property
    def _told(self) -> list[Names]:
        """The names for the texts of causes; what runs lack is endless there."""
        return [worlds[-1] for worlds in self._worlds]

    def _seeds_of(self, case: SpecCase) -> int:
        return seeds_of(self.experiment, case, quick=self.quick)

    def _names(self, seed: int, world: float) -> Names:
        """The names that expressions know, for one seed: cases, and the values of the axis."""
        names: dict[str, Any] = {
            case.name: View(
                case.name,
                {column: self._column(case, seed, column, world) for column in self.columns},
            )
            for case in self.experiment.case
            if case.fluid or seed <= self._seeds_of(case)
        }
        if self.experiment.axis is not None:
            names[self.experiment.axis.name] = np.array(self.axis)
        return names

    def _column(self, case: SpecCase, seed: int, column: str, world: float) -> Value | Floats:
        """A number or, where the axis applies, an array along it, NaN where it was not run.

        A run without a value has the world's, or no less than its known bound.
        """
        one = 1 if case.fluid else seed

        def value(at: At) -> Value:
            done = self.runs.get((case.name, at, one))
            if done is None:
                return None
            found = _known(done, column)
            if found is None:
                return world
            return max(world, found[0]) if isinstance(found, tuple) else found

        if not (case.axis and self.axis):
            return value(None)
        return np.array([value(at) for at in self.axis], float)


def _known(done: Done, column: str) -> Value | Known:
    """A value of a run, endless ones too, or its least and greatest; None if nothing is known."""
    value = done.values.get(column)
    return known(done.values, column) if value is None else value


def _verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """A verdict, ready for JSON."""
    claim = verdict.claim
    least, most = claim.asked
    return in_json(
        {
            "says": claim.says,
            "setup": verdict.setup or None,
            "source": claim.source or None,
            "ours": claim.ours or None,
            "open": claim.open or None,
            "verdict": verdict.word,
            "why": verdict.why,
            "differs": verdict.cause or None,
            "value": claim.value,
            "published": claim.published,
            "at_least": least,
            "at_most": most,
            "was": claim.was or None,
            "fitted": verdict.fitted or None,
            "measured": verdict.measured and verdict.measured.mean,
            "half_width": verdict.measured and verdict.measured.half_width,
            "off": verdict.off,
            "keeps": verdict.keeps,
            "chance": verdict.chance,
            "seeds": verdict.seeds,
            "seeds_held": verdict.held,
            "seeds_needed": verdict.needed,
        }
    ) | ({"setups": [_verdict_dict(other) for other in verdict.others]} if verdict.others else {})


def outcome(of: Experiment, runs: Sequence[tuple[PlannedRun, Done]], *, quick: bool) -> Outcome:
    """Judges the claims of an experiment by its runs.

    Raises:
        SpecError: The expression of a claim is none.
    """
    found = Outcome(of, quick, {(plan.case, plan.at, plan.seed): done for plan, done in runs})
    _ = found.verdicts
    return found
