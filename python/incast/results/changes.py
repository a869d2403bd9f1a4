"""The changes between two results or sweeps, and whether they are noise."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import msgspec
import polars as pl

from incast.results import seeds, settings, significance, stored, sweeps
from incast.results.differences import less
from incast.results.records import known
from incast.results.seeds import Known, Spread, spread
from incast.results.store import RUN
from incast.results.stored import ResultError
from incast.results.sweeps import MARK, USUAL, SweepRecord, check_metrics
from incast.results.tables import concatenate

Test = Literal["t", "wilcoxon"]
TESTS: dict[Test, str] = {"t": "paired t test", "wilcoxon": "Wilcoxon's signed-rank test"}
Verdict = Literal["equal", "noise", "changed", "one seed", "bound"]

_P: dict[Test, Callable[[Sequence[float]], float | None]] = {
    "t": significance.student,
    "wilcoxon": significance.wilcoxon,
}


@dataclass(frozen=True)
class Side:
    """A side of a comparison."""

    place: Path
    version: str
    text: str
    """The scenario, without what a sweep varies."""
    cases: Mapping[str, Mapping[int, Mapping[str, Any]]]
    """The values of complete runs, by case and seed. A case is a scheme, of a sweep at a point."""
    tables: Callable[[int], Mapping[str, Callable[[], pl.DataFrame]]]
    """The tables of a seed by name, read when they are asked for."""


@dataclass(frozen=True)
class Change:
    """A figure of a case on both sides."""

    case: str
    metric: str
    first: float
    """The mean on the first side, over the seeds of the pairs."""
    second: float
    difference: Spread | None
    """The second less the first, seed by seed, with the 95 % confidence interval by Student's t.

    None where both are known by bounds alone.
    """
    p: float | None
    """The p-value of the test, adjusted for the number of tests; None of a single seed."""
    verdict: Verdict
    sides: tuple[seeds.Side, seeds.Side] = ("", "")
    """The kinds of bounds that the two means are; empty where they are known."""

    @property
    def relative(self) -> float | None:
        """The difference as a part of the first."""
        known = self.first and self.difference is not None and self.verdict != "bound"
        return self.difference.mean / self.first if known and self.difference else None

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, ready for JSON."""
        return {
            "case": self.case,
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            **({"sides": list(self.sides)} if any(self.sides) else {}),
            "difference": self.difference and self.difference.to_dict(),
            "relative": self.relative,
            "p": self.p,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class FirstDifference:
    """The first place at which the tables of one seed differ."""

    seed: int
    table: str
    row: int | None
    """From 0; None where the tables have other columns."""
    column: str
    first: object
    second: object

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, ready for JSON."""
        return {
            "seed": self.seed, "table": self.table, "row": self.row, "column": self.column,
            "first": _plain(self.first), "second": _plain(self.second),
        }  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """The changes from a first result or sweep to a second one."""

    first: Side
    """The first result or sweep."""
    second: Side
    """The second one."""
    test: Test
    """The test of differences: `t` or `wilcoxon`."""
    changes: tuple[Change, ...]
    """All figures of all cases that both sides have."""
    missing: tuple[tuple[str, str], ...]
    """Cases of one side alone, each with the side, `first` or `second`."""
    settings: tuple[tuple[str, str | None, str | None], ...]
    """Keys of the scenario whose values differ, with both values; None where it is not set."""
    place: FirstDifference | None
    """None where the tables of the first common seed are equal."""

    @property
    def same(self) -> bool:
        """Whether nothing that was measured differs."""
        return not self.missing and self.place is None and not self.of("changed", "one seed")

    def of(self, *verdicts: Verdict) -> list[Change]:
        """The changes with one of these verdicts."""
        return [change for change in self.changes if change.verdict in verdicts]

    def to_dict(self) -> dict[str, Any]:
        """The comparison, ready for JSON."""
        return {
            "first": str(self.first.place),
            "second": str(self.second.place),
            "versions": [self.first.version, self.second.version],
            "test": TESTS[self.test],
            "level": significance.LEVEL,
            "settings": [
                {"key": key, "first": first, "second": second}
                for key, first, second in self.settings
            ],
            "missing": [{"case": case, "only_in": side} for case, side in self.missing],
            "first_difference": self.place and self.place.to_dict(),
            "changes": [change.to_dict() for change in self.changes],
        }


def compare(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    *,
    test: Test = "t",
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """Compares two results, directories of several seeds, or sweeps.

    Runs are paired by case and seed: equal seeds have equal arrivals. Each figure of a case is
    tested by itself, and p-values are adjusted for the number of tests by Holm's method: the fewer
    figures, the smaller are the changes that stand out.

    Args:
        first: The directory of a result, of several seeds below it, or of a sweep.
        second: Another one.
        test: `t`, the paired t test, or `wilcoxon`, Wilcoxon's signed-rank test.
        metrics: The figures; the usual ones if None.

    Raises:
        ParameterError: There is no such figure.
        ResultError: A directory holds neither, or the two have no run in common.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        for name, t_high in (("before", "500us"), ("after", "100us")):
            tuned = short.with_set({"cc.timely.t_high": t_high})
            incast.run(tuned, "timely", seed=range(1, 4)).write(name, figures=False)
        found = incast.compare("before", "after", metrics=["rtt_p99_us"])
        found.settings  # the keys that differ, with both values
        [(change.metric, change.verdict) for change in found.changes]
        ```
    """
    wanted = list(dict.fromkeys(metrics)) if metrics else list(USUAL)
    check_metrics(wanted)
    sides = read(Path(first)), read(Path(second))
    ours, theirs = sides
    common = [case for case in ours.cases if case in theirs.cases]
    seeds = [seed for case in common for seed in ours.cases[case] if seed in theirs.cases[case]]
    if not seeds:
        raise ResultError(
            f"{first} and {second}: no run in common; expected the same schemes, seeds and, of "
            f"sweeps, points; one has {_some(ours)}, the other {_some(theirs)}"
        )
    missing = [(case, "first") for case in ours.cases if case not in theirs.cases]
    missing += [(case, "second") for case in theirs.cases if case not in ours.cases]
    return Comparison(
        ours,
        theirs,
        test,
        tuple(_changes(ours, theirs, common, wanted, test)),
        tuple(missing),
        tuple(_settings(ours.text, theirs.text)),
        _first(ours, theirs, min(seeds)),
    )


def read(place: Path) -> Side:
    """A result, a directory of several seeds, or a sweep.

    Raises:
        ResultError: It is none of them.
    """
    if (place / MARK).is_file():
        return _of_sweep(place, sweeps.read(place))
    seeds = (
        [place]
        if (place / RUN).is_file()
        else sorted(entry.parent for entry in place.glob(f"seed-*/{RUN}"))
    )
    # Where there is none, the error says what was expected.
    found = {
        one.seed: (folder, one) for folder in seeds or [place] for one in [stored.read(folder)]
    }
    cases: dict[str, dict[int, Mapping[str, Any]]] = {}
    for seed, (_, one) in sorted(found.items()):
        for label, run in one.runs.items():
            if run.complete:
                cases.setdefault(label, {})[seed] = run.summary
    some = next(iter(found.values()))[1]

    def tables(seed: int) -> dict[str, Callable[[], pl.DataFrame]]:
        runs = found[seed][1].runs
        every = {table.name for run in runs.values() for table in run.tables}

        def table(name: str) -> pl.DataFrame:
            return concatenate(
                [
                    (label, one)
                    for label, run in runs.items()
                    for one in run.tables
                    if one.name == name
                ]
            )

        return {name: lambda name=name: table(name) for name in sorted(every)}  # type: ignore[misc]

    return Side(place, some.version, some.scenario.text, cases, tables)


def _of_sweep(place: Path, sweep: SweepRecord) -> Side:
    names = {point.number: point.name for point in sweep.points}
    cases = {
        f"{names[point]}, {scheme}" if names[point] else scheme: of_seeds
        for (point, scheme), of_seeds in sweep.cells.items()
    }

    def tables(seed: int) -> dict[str, Callable[[], pl.DataFrame]]:
        return {"runs": lambda: sweep.runs.filter(pl.col("seed") == seed).drop("run")}

    try:
        text = (place / "scenario.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{place}/scenario.toml: cannot be read: {error}") from None
    return Side(place, sweep.version, text, cases, tables)


def _some(side: Side) -> str:
    seeds = sorted({seed for of_seeds in side.cases.values() for seed in of_seeds})
    cases = list(side.cases)
    more = f" and {len(cases) - 2} more" if len(cases) > 2 else ""
    ends = f"seeds {seeds[0]} to {seeds[-1]}" if seeds else "no seed"
    return f"{'; '.join(cases[:2]) or 'none'}{more} ({ends})"


def _changes(
    ours: Side, theirs: Side, common: Sequence[str], metrics: Sequence[str], test: Test
) -> list[Change]:
    raw: list[tuple[str, str, list[tuple[float, float]]]] = []
    bounded: dict[tuple[str, str], Change] = {}
    for case in common:
        for metric in metrics:
            both = [
                (one, other)
                for seed, values in ours.cases[case].items()
                if seed in theirs.cases[case]
                and (one := known(values, metric)) is not None
                and (other := known(theirs.cases[case][seed], metric)) is not None
            ]
            pairs = [
                (float(one), float(other))
                for one, other in both
                if not isinstance(one, tuple) and not isinstance(other, tuple)
            ]
            if len(pairs) < len(both):
                bounded[case, metric] = _bounded(case, metric, both)
            if both:
                raw.append((case, metric, pairs))
    # Values equal to the last bit are no test: they cannot be a false alarm. Nor are equal runs at
    # several points of a sweep several tests.
    unequal = {
        (metric, tuple(pairs)): _P[test]([other - one for one, other in pairs])
        for case, metric, pairs in raw
        if (case, metric) not in bounded and any(one != other for one, other in pairs)
    }
    adjusted = dict(zip(unequal, significance.holm([*unequal.values()]), strict=True))
    found = []
    for case, metric, pairs in raw:
        if (case, metric) in bounded:
            found.append(bounded[case, metric])
            continue
        p = adjusted.get((metric, tuple(pairs)))
        difference = spread([other - one for one, other in pairs])
        if difference is None:
            continue
        equal = all(one == other for one, other in pairs)
        verdict: Verdict = (
            "equal" if equal
            else "one seed" if p is None
            else "changed" if p < significance.LEVEL
            else "noise"
        )  # fmt: skip
        means = fmean(one for one, _ in pairs), fmean(other for _, other in pairs)
        found.append(Change(case, metric, *means, difference, p, verdict))
    return found


def _bounded(case: str, metric: str, both: Sequence[tuple[float | Known, float | Known]]) -> Change:
    """A figure that some seed has a bound of: there is nothing to test."""
    first, second = (spread([pair[which] for pair in both]) for which in (0, 1))
    difference = spread([less(other, one) for one, other in both])
    means = [math.nan if one is None else one.mean for one in (first, second)]
    sides = first.side if first else "", second.side if second else ""
    return Change(case, metric, means[0], means[1], difference, None, "bound", sides)


def _settings(first: str, second: str) -> list[tuple[str, str | None, str | None]]:
    try:
        ours, theirs = (dict(settings.flat(msgspec.toml.decode(text))) for text in (first, second))
    except (msgspec.DecodeError, RecursionError):
        return []
    keys = dict.fromkeys([*ours, *theirs])
    return [
        (key, ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)
    ]


def _first(ours: Side, theirs: Side, seed: int) -> FirstDifference | None:
    """The first difference between the tables of a seed, in the order of their names."""
    sides = ours.tables(seed), theirs.tables(seed)
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        if name not in sides[0] or name not in sides[1]:
            there = ["there" if name in side else None for side in sides]
            return FirstDifference(seed, name, None, "", *there)
        frames = sides[0][name](), sides[1][name]()
        found = _differ(*frames)
        if found is not None:
            return FirstDifference(seed, name, *found)
    return None


def _differ(
    first: pl.DataFrame, second: pl.DataFrame
) -> tuple[int | None, str, object, object] | None:
    """Row, column and both values of the first difference of two tables."""
    for column in dict.fromkeys([*first.columns, *second.columns]):
        kinds = [frame.schema.get(column) for frame in (first, second)]
        if kinds[0] != kinds[1]:
            return None, column, *(None if kind is None else str(kind) for kind in kinds)  # type: ignore[return-value]
    height = min(first.height, second.height)
    unequal = [
        (place, column)
        for column in first.columns
        if (place := _place(first[column].head(height), second[column].head(height))) is not None
    ]
    if unequal:
        row, column = min(unequal, key=lambda pair: pair[0])
        return row, column, first[column][row], second[column][row]
    if first.height != second.height:
        column = first.columns[0]
        ends = (
            frame[column][height] if frame.height > height else None for frame in (first, second)
        )
        return height, column, *ends  # type: ignore[return-value]
    return None


def _place(first: pl.Series, second: pl.Series) -> int | None:
    """The first row at which two columns differ."""
    unequal = first.ne_missing(second)
    return int(unequal.arg_max() or 0) if unequal.any() else None


def _plain(value: object) -> object:
    """A value for JSON, which has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
