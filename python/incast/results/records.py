"""Several results together: seeds of one scenario, or different scenarios."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from typing_extensions import Self

from incast._core import ParameterError, Scenario
from incast.base.words import nearest
from incast.results import comparison, doubts, settings, titles
from incast.results.arrow import ArrowTable
from incast.results.columns import ColumnInfo, TableInfo
from incast.results.measures import bound_of
from incast.results.record import Record
from incast.results.seeds import Known, Spread, limits, spread
from incast.results.stored import ResultError, StoredScenario
from incast.results.tables import SchemeRun


@dataclass(frozen=True, eq=False)
class Case:
    """A curve of a figure: one scheme in one scenario. Its results differ in the seed alone."""

    label: str
    """The name in the legend."""
    scheme: str
    """The scheme, by its label in the results."""
    results: tuple[Record, ...]
    """The results, one for each seed."""
    place: int = 0
    """The place of the case, where an order is asked for."""

    @property
    def runs(self) -> list[SchemeRun]:
        """The runs of the case, one for each seed."""
        return [result.runs[self.scheme] for result in self.results]

    @property
    def published(self) -> Mapping[str, float | str]:
        """The published values of the scheme in the scenario."""
        return comparison.published(self.results[0].scenario, self.runs[0].scheme)

    def values(self, key: str) -> list[float | int | Known | None]:
        """A figure of the summary, for each seed; one that is known by a bound alone with it."""
        return [known(run.summary, key) for run in self.runs]

    def spread(self, key: str) -> Spread | None:
        """The mean of a figure of the summary over the seeds, with its confidence interval."""
        return spread(self.values(key), limits(key))

    def table(self, name: str) -> pl.DataFrame:
        """The rows of all seeds, `seed` the first column; without columns where there is none."""
        return _below(
            result.table(name)
            .filter(pl.col("scheme") == self.scheme)
            .drop("scheme")
            .select(pl.lit(result.seed, pl.UInt64).alias("seed"), pl.all())
            for result in self.results
            if name in result.tables
        )


def known(summary: Mapping[str, float | int | None], key: str) -> float | int | Known | None:
    """A figure of a summary: a number, or least and greatest where it is known by a bound alone."""
    value = comparison.number(summary.get(key))
    bound = comparison.number(summary.get(bound_of(key)))
    return (float(bound), math.inf) if value is None and bound is not None else value


@dataclass(frozen=True, eq=False)
class Records:
    """Results that are printed and drawn together.

    Those of the same scenario text and version are seeds of one experiment: figures pool their
    samples and average their time series. Everything else stands side by side.
    """

    members: tuple[Record, ...]
    shown: tuple[tuple[str, str], ...] = ()
    """The schemes to show, in this order, each with its label; all if there is none."""
    flows: tuple[int, ...] = ()
    """The flows that the figure `state` shows; the first one if there is none."""
    only: str | None = None
    """The percentile that figures by size show, `median` or `p99`; both if None."""

    def __post_init__(self) -> None:
        """Refuses to count one run twice."""
        if not self.members:
            raise ResultError("no result: expected at least one directory")
        for group in self._groups:
            seen: dict[tuple[str, int], Record] = {}
            for result in group:
                for scheme in result.runs:
                    other = seen.setdefault((scheme, result.seed), result)
                    if other is not result:
                        names = " and ".join(str(one.directory) for one in (other, result))
                        raise ResultError(
                            f"{names}: both hold the run of {scheme} with seed {result.seed}; "
                            "name one of them"
                        )

    def __eq__(self, other: object) -> bool:
        """Whether all results are the same, in this order, and shown in the same way."""
        if not isinstance(other, Records):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        """A hash of the results."""
        return hash((self.members, self.shown))

    def __getstate__(self) -> dict[str, Any]:
        """The fields for pickle and copy."""
        return {name: getattr(self, name) for name in ("members", "shown", "flows", "only")}

    def __repr__(self) -> str:
        """A line for each of them."""
        inside = ",\n    ".join(map(repr, self.members))
        return f"Results(\n    {inside},\n)" if len(self.members) > 1 else f"Results({inside})"

    def _repr_html_(self) -> str:
        """The summary of all, which notebooks show."""
        return self.summary._repr_html_()

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """All curves, in the order of the results and of their schemes, or as `shown` says."""
        cases = [case for _, cases in self.experiments for case in cases]
        return tuple(sorted(cases, key=lambda case: case.place))

    @cached_property
    def experiments(self) -> tuple[tuple[str, tuple[Case, ...]], ...]:
        """The cases of each scenario and version, with the name of these.

        Equal seeds of one experiment have equal arrivals.
        """
        return tuple(
            (name, tuple(sorted(self._cases(name, group), key=lambda case: case.place)))
            for name, group in zip(self._names, self._groups, strict=True)
        )

    @cached_property
    def apart(self) -> dict[str, Self]:
        """Each scenario by itself, with its name, if all have the same schemes, two at least."""
        found = {
            name: replace(self, members=tuple(group))
            for name, group in zip(self._names, self._groups, strict=True)
        }
        labels = {tuple(case.label for case in one.cases) for one in found.values()}
        return found if len(labels) == 1 and len(labels.pop()) > 1 and len(found) > 1 else {}

    @cached_property
    def doubts(self) -> list[str]:
        """Doubts about what was measured: a sentence for each cause, of all seeds together."""
        groups = (
            doubts.of_runs((one.runs, one.scenario) for one in group) for group in self._groups
        )
        found = zip(self._names, groups, strict=True)
        many = len(self._groups) > 1
        return [f"{name}: {text}" if many else text for name, texts in found for text in texts]

    def of_schemes(self, wanted: Sequence[str] | Mapping[str, str]) -> Self:
        """These results, of which figures show the named schemes alone, in this order.

        `table` and `summary` have all schemes as before.

        Args:
            wanted: Schemes, each by itself or with a label: `timely` or `timely=TIMELY`, or a label
                for each scheme. Where several scenarios are shown, `timely, incast` is the scheme
                in one of them.

        Raises:
            ParameterError: There is no such scheme, or two of them have the same label.
        """
        every = replace(self, shown=())
        known = dict.fromkeys(label for case in every.cases for label in (case.scheme, case.label))
        return replace(self, shown=tuple(labelled(wanted, known)))

    def of_flows(self, flows: Iterable[int]) -> Self:
        """These results, of which the figure `state` shows the named flows."""
        return replace(self, flows=tuple(dict.fromkeys(flows)))

    def of_percentile(self, only: str | None) -> Self:
        """These results, of which figures by size show one percentile alone; both if None."""
        return replace(self, only=only)

    @property
    def complete(self) -> bool:
        """Whether every run reached its end."""
        return all(result.complete for result in self.members)

    @property
    def scenarios(self) -> list[Scenario | StoredScenario]:
        """The scenarios, each once."""
        return [group[0].scenario for group in self._groups]

    @property
    def schemes(self) -> tuple[str, ...]:
        """All schemes that were asked for, each once."""
        return tuple(dict.fromkeys(one for result in self.members for one in result.schemes))

    @property
    def named(self) -> dict[str, str]:
        """The schemes that have labels, by these."""
        return {label: one for result in self.members for label, one in result.named.items()}

    @property
    def runs(self) -> dict[tuple[str, int], SchemeRun]:
        """All runs, by the label of the scheme and the seed."""
        return {
            (case.label, result.seed): result.runs[case.scheme]
            for case in self.cases
            for result in case.results
        }

    @property
    def versions(self) -> list[str]:
        """The versions of incast that simulated them, each once."""
        return list(dict.fromkeys(result.version for result in self.members))

    @property
    def builds(self) -> list[str]:
        """`release` or `debug`, each once."""
        return list(dict.fromkeys(result.build for result in self.members))

    @property
    def directories(self) -> list[Path | None]:
        """The directory that each was read from."""
        return [result.directory for result in self.members]

    @property
    def warnings(self) -> list[str]:
        """Doubts about the scenarios and their schemes, and about what was measured."""
        many = len(self._groups) > 1
        found = (
            f"{label}: {text}" if many else text
            for label, result in self._labelled()
            for text in result.warnings
        )
        return list(dict.fromkeys(found))

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return sorted({result.seed for result in self.members})

    @property
    def title(self) -> str:
        """The title of figures."""
        experiments = list(zip(self._groups, self.experiments, strict=True))
        # Of scenarios without a scheme that is shown nothing is seen.
        seen = [one for one in experiments if one[1][1]] or experiments
        found = dict.fromkeys(
            titles.title(
                group[0].scenario,
                [case.scheme for case in cases],
                [case.label for case in cases] if len(self._groups) == 1 else (),
            )
            for group, (_, cases) in seen
        )
        names = [name for _, (name, _) in seen]
        text = next(iter(found)) if len(found) == 1 else " and ".join(names)
        if len(self.seeds) > 1 and len(self._groups) == 1:
            text += f" ({len(self.seeds)} seeds)"
        return text if self.complete else f"{text} (incomplete)"

    @property
    def tables(self) -> list[str]:
        """The names that `table` knows."""
        return list(dict.fromkeys(name for result in self.members for name in result.tables))

    def table(self, name: str) -> pl.DataFrame:
        """The table of all results, with `result` (where there are several) and `seed` in front.

        Raises:
            KeyError: There is no table of that name.
        """
        if name not in self.tables:
            raise KeyError(f"{name}: no such table; there is {', '.join(self.tables) or 'none'}")
        return _below(
            result.table(name).select(*self._front(label, result), pl.all())
            for label, result in self._labelled()
            if name in result.tables
        )

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The summary, a row for each run, with `result` (of several) and `seed` in front."""
        return _below(
            result.summary.select(*self._front(label, result), pl.all())
            for label, result in self._labelled()
        )

    @cached_property
    def traffic(self) -> pl.DataFrame:
        """The traffic of each run, with `result` (of several) and `seed` in front."""
        return _below(
            result.traffic.select(*self._front(label, result), pl.all())
            for label, result in self._labelled()
            if result.traffic.width
        )

    @cached_property
    def ratios(self) -> list[comparison.Ratio]:
        """RTT ratios between the schemes of each scenario: of means over the seeds."""
        return [ratio for group in self._groups for ratio in comparison.of_means(group)]

    def rows(self) -> list[dict[str, Any]]:
        """The values of each run, ready for JSON, with `result` (of several) and `seed`."""
        many = len(self._groups) > 1
        return [
            {**({"result": label} if many else {}), "seed": result.seed, **row}
            for label, result in self._labelled()
            for row in result.rows()
        ]

    def describe_tables(self) -> dict[str, TableInfo]:
        """The meaning of every table's rows and columns, with units."""
        front: dict[str, ColumnInfo] = {"seed": {"unit": "", "doc": "seed of the run"}}
        if len(self._groups) > 1:
            front = {"result": {"unit": "", "doc": "scenario, or directory, of the run"}, **front}
        found: dict[str, TableInfo] = {}
        for result in self.members:
            for name, info in result.describe_tables().items():
                known = found.get(name, {"doc": info["doc"], "columns": front})
                columns = {**known["columns"], **info["columns"]}
                found[name] = {"doc": info["doc"], "columns": columns}
        return found

    def to_arrow(self, name: str) -> ArrowTable:
        """The table of all results as an Arrow stream, with units and meanings, without pyarrow.

        Raises:
            KeyError: There is no table of that name.
        """
        rows = self.table(name)
        return ArrowTable(name, self.describe_tables()[name], rows)

    def to_dict(self) -> dict[str, Any]:
        """All results, ready for JSON."""
        return {"results": [result.to_dict() for result in self.members]}

    @cached_property
    def _groups(self) -> list[list[Record]]:
        groups: dict[tuple[str, str], list[Record]] = {}
        for result in self.members:
            groups.setdefault((result.scenario.toml(), result.version), []).append(result)
        return list(groups.values())

    @cached_property
    def _names(self) -> list[str]:
        """The names of the groups: the scenario, or the settings that differ, or the directory."""
        names = [group[0].scenario.name for group in self._groups]
        if len(set(names)) == len(names):
            return names
        texts = [settings.differences([group[0].scenario.toml() for group in self._groups])]
        if len(set(names)) > 1:
            texts.append([", ".join(both) for both in zip(names, texts[0], strict=True)])
        if len(set(texts[-1])) == len(names) and all(texts[0]):
            return texts[-1]
        homes = [_home(group) for group in self._groups]
        for parts in range(1, max(len(home.parts) for home in homes) + 1):
            names = ["/".join(home.parts[-parts:]) for home in homes]
            if len(set(names)) == len(names):
                return names
        return [f"{name} ({number})" for number, name in enumerate(names, 1)]

    def _cases(self, name: str, group: list[Record]) -> Iterator[Case]:
        for scheme in dict.fromkeys(scheme for result in group for scheme in result.runs):
            own = tuple(result for result in group if scheme in result.runs)
            if found := self._shown_as(scheme, self._full(scheme, name)):
                yield Case(found[1], scheme, own, found[0])

    def _full(self, scheme: str, name: str) -> str:
        """The label that a case has by itself: of several scenarios it names its own."""
        return scheme if len(self._groups) == 1 else f"{scheme}, {name}"

    def _shown_as(self, scheme: str, full: str) -> tuple[int, str] | None:
        """The place and the label of a case; None if it is not shown."""
        if not self.shown:
            return 0, full
        for place, (wanted, label) in enumerate(self.shown):
            if wanted == full:
                return place, label
            if wanted == scheme:
                return place, f"{label}{full.removeprefix(scheme)}"
        return None

    def _labelled(self) -> Iterator[tuple[str, Record]]:
        for name, group in zip(self._names, self._groups, strict=True):
            for result in group:
                yield name, result

    def _front(self, label: str, result: Record) -> list[pl.Expr]:
        seed = pl.lit(result.seed, pl.UInt64).alias("seed")
        many = len(self._groups) > 1
        return [pl.lit(label).alias("result"), seed] if many else [seed]


def labelled(
    wanted: Sequence[str] | Mapping[str, str], known: Iterable[str]
) -> list[tuple[str, str]]:
    """Schemes and their labels, each scheme and each label once.

    Raises:
        ParameterError: There is no such scheme, or two of them have the same label.
    """
    known = list(known)
    pairs = (
        list(wanted.items())
        if isinstance(wanted, Mapping)
        else [_labelled(text, known) for text in wanted]
    )
    for index, (name, label) in enumerate(pairs):
        if name not in known:
            raise ParameterError(f"{name}: none of the schemes; {nearest(name, known)}")
        if any(name == other for other, _ in pairs[:index]):
            raise ParameterError(f"{name}: named twice; a scheme is shown once")
        if not label or any(label == other for _, other in pairs[:index]):
            raise ParameterError(f"{name}={label}: expected a label that no other scheme has")
    return pairs


def _labelled(text: str, known: Iterable[str]) -> tuple[str, str]:
    """A scheme and its label, of `timely` or `timely=TIMELY`; names may have equal signs."""
    of = [name for name in known if text == name or text.startswith(f"{name}=")]
    name = max(of, key=len, default=text.partition("=")[0])
    return name, name if text == name else text[len(name) + 1 :]


def _home(group: list[Record]) -> Path:
    """The directory of a group: that which its results, one for each seed, have in common."""
    places = [str((result.directory or Path(result.scenario.name)).resolve()) for result in group]
    return Path(os.path.commonpath(places))


def _below(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    found = list(frames)
    # Relaxed: a result without a value in a column does not know the column's type.
    return pl.concat(found, how="diagonal_relaxed") if found else pl.DataFrame()
