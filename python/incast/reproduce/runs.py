"""The runs of an experiment, and what one of them gives: a row of numbers, and curves."""

import hashlib
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from incast import _core
from incast._core import IncastError, Scenario
from incast.api import scenarios
from incast.base import engine
from incast.reproduce import fluid, ideals, margins
from incast.reproduce.experiment import EARLIER_SEEDS, Experiment, SpecCase, SpecError
from incast.results.tables import frame

Value = int | float | None
# The most points of a curve, for the eye; a longer one is thinned evenly.
_POINTS = 4000


@dataclass(frozen=True)
class PlannedRun:
    """A run that is planned: a case, at one value of the axis, with one seed."""

    case: str
    at: int | float | str | None
    seed: int
    scheme: str
    source: str
    """The scenario's name or file; empty for a fluid model."""
    changes: tuple[str, ...]
    """The assignments that change the scenario."""
    fluid: Mapping[str, Any]
    ideal: ideals.Kind
    """The reference whose times its messages get; empty for the run itself."""
    traces: tuple[str, ...]
    measures: Mapping[str, str]
    curves: Mapping[str, str]
    """Curves of the first seed, and pooled ones of all seeds; others have none."""

    @cached_property
    def key(self) -> str:
        """A digest of the inputs and of the program: equal for equal results."""
        scenario = self.scenario
        inputs = {
            "core": engine.own().digest,
            "scenario": scenario and [scenario.toml(), scenario.inputs],
            "fluid": dict(self.fluid) and [dict(self.fluid), _fluid_digest()],
            "scheme": self.scheme,
            "ideal": self.ideal,
            "seed": self.seed,
            "traces": self.traces,
            "measures": dict(self.measures),
            "curves": dict(self.curves),
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def scenario(self) -> Scenario | None:
        """The scenario, read when it is asked for."""
        return _changed(self.source, self.changes) if self.source else None

    @property
    def label(self) -> str:
        """The name of the run in errors."""
        at = "" if self.at is None else f" at {self.at}"
        return f"{self.case}{at}, seed {self.seed}"


@dataclass(frozen=True)
class Done:
    """The numbers and curves of a run that is done."""

    values: Mapping[str, Value]
    curves: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    seconds: float = 0.0
    """The time that it took of a core."""


def plans(of: Experiment, *, quick: bool) -> list[PlannedRun]:
    """All runs, in the order of cases, axis and seeds.

    Raises:
        SpecError: A case cannot be run as it stands.
    """
    return list(_plans(of, quick=quick))


def values_of(of: Experiment, *, quick: bool) -> list[int | float | str]:
    """The values of the axis, none without an axis."""
    if of.axis is None:
        return []
    return of.quick.values if quick and of.quick.values else of.axis.values


def seeds_of(of: Experiment, case: SpecCase, *, quick: bool) -> int:
    """The number of seeds of a case; a fluid model has no randomness."""
    seeds = of.quick.seeds if quick else of.seeds
    return 1 if case.fluid else min(seeds, EARLIER_SEEDS) if case.earlier else seeds


def _plans(of: Experiment, *, quick: bool) -> Iterator[PlannedRun]:
    curves = {name: curve.sql for name, curve in of.curve.items()}
    pooled = {figure.curve for figure in of.figure if figure.kind in ("cdf", "ccdf")}
    measures = {name: measure.sql for name, measure in of.measure.items()}
    axis = values_of(of, quick=quick)
    for case in of.case:
        if case.axis and axis:
            here = [value for value in axis if not case.values or value in case.values]
        else:
            here = [None]  # type: ignore[list-item]
        for at in here:
            source, changes = _scenario(of, case, at, quick=quick) if case.scheme else ("", ())
            seeds = seeds_of(of, case, quick=quick)
            for seed in range(1, seeds + 1):
                yield PlannedRun(
                    case=case.name,
                    at=at,
                    seed=seed,
                    scheme=case.scheme,
                    source=source,
                    changes=changes,
                    fluid=_fluid(of, case, at),
                    ideal=case.ideal,
                    traces=tuple(of.traces),
                    measures=measures,
                    curves={k: v for k, v in curves.items() if seed == 1 or k in pooled},
                )


def _scenario(
    of: Experiment, case: SpecCase, at: float | str | None, *, quick: bool
) -> tuple[str, tuple[str, ...]]:
    """The name or the file of a case's scenario, and what is changed in it; found fit to run."""
    name = case.scenario or of.scenario
    source = str(Path(of.folder) / name) if name.endswith(".toml") else name
    changes = [*of.set, *case.set, *(of.quick.set if quick else [])]
    if at is not None and of.axis is not None:
        changes += [text.replace("{}", str(at)) for text in of.axis.set]
    if case.ideal:
        changes.append(ideals.SETTING)
    try:
        _changed(source, tuple(changes)).check(case.scheme)
    except IncastError as error:
        raise SpecError(f"{of.name}: case {case.name}: {error}") from None
    return source, tuple(changes)


@lru_cache
def _changed(source: str, changes: tuple[str, ...]) -> Scenario:
    found = scenarios.load(Path(source) if source.endswith(".toml") else source)
    return found.with_set(*changes) if changes else found


def _fluid(of: Experiment, case: SpecCase, at: float | str | None) -> dict[str, Any]:
    if not case.fluid or at is None or of.axis is None or not of.axis.fluid:
        return dict(case.fluid)
    return {**case.fluid, of.axis.fluid: at}


def execute(plan: PlannedRun, scenario: Scenario | None) -> Done:
    """Runs it in its scenario, if it has one, and works out its row and curves.

    Raises:
        SpecError: A measure or a curve asks for what the run does not have.
    """
    began = time.process_time()
    if scenario is None:
        summary: Mapping[str, Value] = {}
        tables = fluid.solve(plan.fluid)
    else:
        run = _core.run(
            scenario, plan.scheme, seed=plan.seed, traces=plan.traces,
            only_posting=bool(plan.ideal),
        )  # fmt: skip
        if not run.complete:
            raise KeyboardInterrupt
        summary = run.summary
        wanted = " ".join([*plan.measures.values(), *plan.curves.values()])
        tables = dict(fluid.NONE)
        tables |= {
            table.name: frame(table)
            for table in run.tables
            if re.search(rf"\b{table.name}\b", wanted)
            or (plan.ideal and table.name in ideals.NEEDED)
        }
        if plan.ideal:
            tables = ideals.tables(tables, plan.ideal)
            summary = ideals.summary(tables["messages"], scenario)
    values = {key: _number(value) for key, value in summary.items()}
    if values:
        tables["summary"] = pl.DataFrame({key: [value] for key, value in values.items()})
    with pl.SQLContext(tables) as context:
        for name, sql in plan.measures.items():
            values[name] = _number(_ask(context, plan, f"measure {name}", sql).item(0, 0))
        curves = {
            name: _thinned(_ask(context, plan, f"curve {name}", sql), plan, name)
            for name, sql in plan.curves.items()
        }
    return Done(values, curves, time.process_time() - began)


def _ask(context: "pl.SQLContext[Any]", plan: PlannedRun, what: str, sql: str) -> pl.DataFrame:
    try:
        found: pl.DataFrame = context.execute(sql, eager=True)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        there = ", ".join(sorted(context.tables())) or "none of the tables that it names"
        raise SpecError(f"{plan.label}: {what}: {reason}; its tables: {there}") from None
    return found if len(found) else pl.DataFrame({name: [None] for name in found.columns})


def _thinned(rows: pl.DataFrame, plan: PlannedRun, name: str) -> pl.DataFrame:
    rows = rows.drop_nulls().cast({pl.Decimal: pl.Float64})  # SQL makes decimals of 1.0
    lacking = {"x", "y"} - set(rows.columns)
    if lacking:
        raise SpecError(f"{plan.label}: curve {name}: expected columns x and y, and may have line")
    # Infinite values have no place in a figure, nor in JSON.
    rows = rows.filter(pl.all_horizontal(pl.col("x", "y").cast(pl.Float64).is_finite()))
    return rows.gather_every(-(-len(rows) // _POINTS)) if len(rows) > _POINTS else rows


def _number(value: object) -> Value:
    """A number, infinite ones too, or None."""
    if isinstance(value, Decimal):  # what SQL makes of a literal such as 1.0
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return None if math.isnan(value) else value


@cache
def _fluid_digest() -> str:
    files = [Path(str(module.__file__)).read_bytes() for module in (fluid, margins)]
    return hashlib.sha256(b"".join(files)).hexdigest()
