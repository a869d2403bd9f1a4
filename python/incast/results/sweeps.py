"""The outcome of a sweep: a row for each run, and what the seeds of each point say together."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from typing_extensions import Self

from incast import _core
from incast._core import ParameterError
from incast.base import inputs
from incast.base.words import nearest
from incast.results import ideals, quantities
from incast.results.axes import Axis, Point, points
from incast.results.columns import TableInfo
from incast.results.differences import check_baseline, less
from incast.results.measures import bound_of
from incast.results.records import known, labelled
from incast.results.seeds import Spread, limits, spread
from incast.results.stored import ResultError

DATASET, SUMMARY, DIFFERENCES = "runs.parquet", "summary.parquet", "differences.parquet"
"""The files of a sweep."""

SIZES = "fct.parquet"
"""The completion times by size, where runs have messages of known size."""

MARK = "sweep.json"
"""The file that says what a sweep is."""

USUAL = (
    "throughput_gbps", "rtt_mean_us", "rtt_p99_us", "queue_p99_kb", "slowdown_mean",
    "slowdown_p99", "pfc_pauses", "ecn_marks", "drops", "jain_index",
)  # fmt: skip
"""The figures that are shown, drawn and compared if nobody names any."""

Values = Mapping[str, float | int | None]

_FIGURES = {name: (unit, doc) for name, unit, doc in _core.summary_figures()}
_IDEALS = ideals.FIGURES


@dataclass(frozen=True)
class Row:
    """A run of a sweep that has ended."""

    point: Point
    scheme: str
    seed: int
    key: str | None
    """The digest of all that determines its results; None of a run that could not begin."""
    error: str | None
    values: Values


def unit_of(metric: str) -> str:
    """The unit of a figure of a run."""
    return _FIGURES[metric][0]


def doc_of(metric: str) -> str:
    """The meaning of a figure of a run."""
    return _FIGURES[metric][1]


def holds(place: Path) -> bool:
    """Whether a directory holds a sweep."""
    return (place / MARK).is_file()


def check_metrics(metrics: Sequence[str]) -> None:
    """Finds out whether runs have such figures.

    Raises:
        ParameterError: They do not.
    """
    for name in metrics:
        if name not in metric_names():
            raise ParameterError(
                f"metric {name}: no figure of a run; {nearest(name, metric_names())}"
            )


def metric_names() -> list[str]:
    """The figures of a run, without bounds of others."""
    return [name for name in _FIGURES if not name.endswith(("_bound", "_bound_us"))]


def dataset(axes: Sequence[Axis], rows: Sequence[Row]) -> pl.DataFrame:
    """The rows as a table, in their order."""
    columns: list[pl.Series] = [
        pl.Series("point", [row.point.number for row in rows], pl.UInt32, strict=True)
    ]
    for axis in axes:
        for index, key in enumerate(axis.keys):
            texts = [row.point.values[key] for row in rows]
            every = [one[index] for one in axis.values]
            columns += _axis(key, texts, every)
    columns += [
        pl.Series("scheme", [row.scheme for row in rows], pl.String),
        pl.Series("seed", [row.seed for row in rows], pl.UInt64),
        pl.Series("run", [row.key for row in rows], pl.String),
        pl.Series("error", [row.error for row in rows], pl.String),
    ]
    of_ideal = [name for name in _IDEALS if any(name in row.values for row in rows)]
    for name in [*_FIGURES, *of_ideal]:
        values = [row.values.get(name) for row in rows]
        there = [value for value in values if value is not None]
        whole = bool(there) and all(isinstance(value, int) for value in there)
        columns.append(pl.Series(name, values, pl.Int64 if whole else pl.Float64, strict=False))
    return pl.DataFrame(columns)


def of_sizes(rows: Sequence[tuple[int, str, int, Mapping[str, list[Any]]]]) -> pl.DataFrame:
    """The completion times by size of runs, each with point, scheme and seed, as one table."""
    names = next((list(columns) for *_, columns in rows if columns), [])
    whole: dict[str, list[Any]] = {name: [] for name in ("point", "scheme", "seed", *names)}
    for point, scheme, seed, columns in rows if names else ():
        count = len(columns.get(names[0], ()))
        for name, value in (("point", point), ("scheme", scheme), ("seed", seed)):
            whole[name] += [value] * count
        for name in names if count else ():
            whole[name] += columns[name]
    if not names:
        return pl.DataFrame()
    texts = ("scheme", "traffic")
    types = {
        name: pl.String
        if name in texts
        else pl.Float64
        if name.startswith(("completion", "slowdown"))
        else pl.UInt64
        for name in whole
    }
    return pl.DataFrame(whole, schema={**types, "point": pl.UInt32})


def _axis(key: str, texts: Sequence[str], every: Sequence[str]) -> Iterator[pl.Series]:
    """The column of a key: numbers, or texts; beside quantities one of numbers in a fixed unit."""
    found = quantities.numbers(every)
    if found is None:
        yield pl.Series(key, texts, pl.String)
        return
    of_text = dict(zip(every, found.values, strict=True))
    values = [of_text[text] for text in texts]
    if found.unit:
        yield pl.Series(key, texts, pl.String)
        yield pl.Series(f"{key}_{found.unit}", values, pl.Float64)
    elif all(value.is_integer() and abs(value) < 2**53 for value in found.values):
        yield pl.Series(key, [int(value) for value in values], pl.Int64)
    else:
        yield pl.Series(key, values, pl.Float64)


def describe(axes: Sequence[Axis], there: Container[str] = ()) -> TableInfo:
    """The meaning of the rows, with units; of the columns of the ideal, of those there."""
    columns = {"point": ("", "number of the point, from 0")}
    for axis in axes:
        for index, key in enumerate(axis.keys):
            columns[key] = "", "value of this key of the scenario"
            found = quantities.numbers([one[index] for one in axis.values])
            if found is not None and found.unit:
                columns[f"{key}_{found.unit}"] = found.shown, f"{key} as a number"
    columns |= {
        "scheme": ("", "scheme that was run"),
        "seed": ("", "seed of the run"),
        "run": ("", "digest of all that determines the run"),
        "error": ("", "reason why the run failed; null of one that did not"),
        **_FIGURES,
        **{name: about for name, about in _IDEALS.items() if name in there},
    }
    return {
        "doc": "a run of a scheme with a seed at a point of the sweep",
        "columns": {name: {"unit": unit, "doc": doc} for name, (unit, doc) in columns.items()},
    }


@dataclass(frozen=True, eq=False)
class SweepRecord:
    """The runs of a sweep; `incast.Sweep` adds figures and files."""

    name: str
    """The name of the scenario."""
    title: str
    """The title of tables and figures."""
    axes: tuple[Axis, ...]
    """The axes, each with its keys and their values."""
    schemes: tuple[str, ...]
    """The schemes, in the order in which they were asked for."""
    seeds: tuple[int, ...]
    """The seeds that each point is run with."""
    runs: pl.DataFrame
    """The dataset: a row for each run that has ended, by point, scheme and seed."""
    version: str = _core.__version__
    """The version of incast that made it."""
    directory: Path | None = None
    """The directory that it is kept in."""
    warnings: tuple[str, ...] = ()
    """Doubts about the scenario, its schemes and what was measured: a sentence for each cause."""
    sizes: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The completion times by size: the rows of the table `fct` of each run that has messages."""

    def __repr__(self) -> str:
        """A line with what was swept."""
        axes = ", ".join(f"{axis.name} ({len(axis.values)})" for axis in self.axes) or "no axis"
        return (
            f"Sweep({self.name!r}, {axes}, {', '.join(self.schemes)}, {len(self.seeds)} seeds: "
            f"{self.done} of {self.planned} runs done, {self.failed} failed)"
        )

    def _repr_html_(self) -> str:
        """The dataset, which notebooks show."""
        return self.runs._repr_html_()

    def of_schemes(self, wanted: Sequence[str] | Mapping[str, str]) -> Self:
        """This sweep with the named schemes alone, in this order, each under its label.

        Args:
            wanted: Schemes, each by itself or with a label: `timely` or `timely=TIMELY`, or a label
                for each scheme.

        Raises:
            ParameterError: There is no such scheme, or two of them have the same label.
        """
        labels = dict(labelled(wanted, self.schemes))
        runs, sizes = (
            table.filter(pl.col("scheme").is_in(list(labels))).with_columns(
                pl.col("scheme").replace(labels)
            )
            if table.width
            else table
            for table in (self.runs, self.sizes)
        )
        title = self.title
        if title.endswith(every := ", ".join(self.schemes)):
            title = title.removesuffix(every) + ", ".join(labels.values())
        return replace(self, title=title, schemes=tuple(labels.values()), runs=runs, sizes=sizes)

    @cached_property
    def points(self) -> list[Point]:
        """All points."""
        return points(self.axes)

    @property
    def planned(self) -> int:
        """The number of rows when all runs have ended."""
        return len(self.points) * len(self.schemes) * len(self.seeds)

    @property
    def failed(self) -> int:
        """The number of rows of runs that failed."""
        return int(self.runs["error"].is_not_null().sum())

    @property
    def done(self) -> int:
        """The number of rows of runs that reached their end."""
        return self.runs.height - self.failed

    @property
    def complete(self) -> bool:
        """Whether every run reached its end."""
        return self.done == self.planned

    @property
    def errors(self) -> dict[str, int]:
        """The reasons why runs failed, each with their number; the most frequent first."""
        counted = self.runs["error"].drop_nulls().value_counts(sort=True)
        return dict(counted.iter_rows())

    @cached_property
    def metrics(self) -> list[str]:
        """The figures that any run has, or has a bound of."""
        columns = ((name, {name, bound_of(name)} & {*self.runs.columns}) for name in metric_names())
        return [
            name
            for name, there in columns
            if any(self.runs[column].is_not_null().any() for column in there)
        ]

    @cached_property
    def cells(self) -> dict[tuple[int, str], dict[int, Values]]:
        """The values by seed of each point and scheme; of runs that reached their end."""
        found: dict[tuple[int, str], dict[int, Values]] = {}
        wanted = ["point", "scheme", "seed", *_FIGURES]
        wanted += [name for name in _IDEALS if name in self.runs.columns]
        for row in self.runs.filter(pl.col("error").is_null()).select(wanted).to_dicts():
            found.setdefault((row["point"], row["scheme"]), {})[row["seed"]] = row
        return found

    def spread(self, point: int, scheme: str, metric: str) -> Spread | None:
        """The mean of a figure over the seeds, with its 95 % confidence interval by Student's t."""
        of_seeds = self.cells.get((point, scheme), {})
        return spread([known(row, metric) for row in of_seeds.values()], limits(metric))

    def ideal(self, point: int, reference: str, metric: str) -> Spread | None:
        """A figure by the ideal of the messages of the first scheme that has it, over the seeds."""
        name = f"{reference}_{metric}"
        if name in self.runs.columns:
            of_schemes = (self.spread(point, scheme, name) for scheme in self.schemes)
            return next((found for found in of_schemes if found), None)
        return None

    def difference(
        self, point: int, scheme: str, baseline: str, metric: str
    ) -> tuple[Spread, float | None] | None:
        """The mean difference of a figure to the baseline, seed by seed, and the baseline's mean.

        Equal seeds have equal arrivals, so that their effect drops out of the difference.
        """
        ours, base = (self.cells.get((point, one), {}) for one in (scheme, baseline))
        seeds = sorted(ours.keys() & base.keys())
        pairs = [(known(ours[seed], metric), known(base[seed], metric)) for seed in seeds]
        low, high = limits(metric)
        found = spread([less(*pair) for pair in pairs], (low - high, high - low))
        if found is None:
            return None
        of_base = spread([theirs for own, theirs in pairs if own is not None])
        return found, None if of_base is None or of_base.side else of_base.mean

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The mean of each figure over the seeds, a row for each point, scheme and figure.

        `low` and `high` are the ends of its 95 % confidence interval, null of a single seed.
        """
        rows = [
            {
                "point": point.number,
                "scheme": scheme,
                "metric": metric,
                "unit": _FIGURES[metric][0],
                **_ends(found),
            }
            for point in self.points
            for scheme in self.schemes
            for metric in self.metrics
            if (found := self.spread(point.number, scheme, metric)) is not None
        ]
        return self._placed(rows)

    def differences(self, baseline: str | None = None) -> pl.DataFrame:
        """The difference of each scheme to a baseline, seed by seed; a row as in `summary`.

        `relative` is the difference as a part of the baseline's mean. The baseline is the first
        scheme if None.

        Raises:
            ParameterError: The baseline is none of the schemes, or the only one.
        """
        base = self.schemes[0] if baseline is None else baseline
        check_baseline(base, self.schemes)
        rows = []
        for point in self.points:
            for scheme in self.schemes:
                for metric in self.metrics if scheme != base else ():
                    found = self.difference(point.number, scheme, base, metric)
                    if found is None:
                        continue
                    value, mean = found
                    relative = value.mean / mean if mean and not value.side else None
                    rows.append(
                        {
                            "point": point.number,
                            "scheme": scheme,
                            "baseline": base,
                            "metric": metric,
                            "unit": _FIGURES[metric][0],
                            **_ends(value),
                            "relative": relative,
                        }
                    )
        return self._placed(rows)

    def to_dict(self) -> dict[str, Any]:
        """The sweep without its rows, ready for JSON."""
        return {
            "incast": self.version,
            "scenario": self.name,
            "title": self.title,
            "axes": [
                {"keys": list(axis.keys), "values": [list(one) for one in axis.values]}
                for axis in self.axes
            ],
            "schemes": list(self.schemes),
            "seeds": list(self.seeds),
            "runs": {"planned": self.planned, "done": self.done, "failed": self.failed},
            "complete": self.complete,
            "errors": self.errors,
            "warnings": list(self.warnings),
        }

    def told(self, baseline: str | None = None) -> dict[str, Any]:
        """The sweep with its means and the differences to a baseline, ready for JSON."""
        several = len(self.schemes) > 1
        return {
            **self.to_dict(),
            "summary": self.summary.to_dicts(),
            "differences": self.differences(baseline).to_dicts() if several else [],
            "directory": str(self.directory),
        }

    def _placed(self, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
        """Rows of points, with the values of these beside their numbers."""
        every = dataset(self.axes, [Row(point, "", 0, None, None, {}) for point in self.points])
        front = every[:, : every.columns.index("scheme")]
        if not rows:
            return front.clear()
        found = pl.DataFrame(rows, infer_schema_length=None)
        found = found.with_columns(pl.col("point").cast(pl.UInt32))
        return front.join(found, on="point", how="inner", maintain_order="right")


def _ends(found: Spread) -> dict[str, object]:
    low, high = found.interval or (None, None)
    return {
        "mean": float(found.mean),
        "low": low,
        "high": high,
        "side": found.side,
        "seeds": found.count,
    }


class _AxisSaid(msgspec.Struct, frozen=True):
    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Refuses places that do not have a value of each key."""
        if not self.keys or any(len(one) != len(self.keys) for one in self.values):
            raise ValueError("an axis whose values do not fit its keys")


class _Said(msgspec.Struct, frozen=True):
    """The known fields of the mark, which may have more."""

    incast: str
    scenario: str
    title: str
    axes: tuple[_AxisSaid, ...]
    schemes: tuple[str, ...]
    seeds: tuple[int, ...]
    warnings: tuple[str, ...] = ()


def read(place: Path) -> SweepRecord:
    """The sweep of a directory, as it was written.

    Raises:
        ResultError: There is none, or it cannot be read.
    """
    if not (place / MARK).is_file():
        raise ResultError(f"{place}: holds no sweep: there is no {MARK}")
    try:
        text = inputs.read(place / MARK, inputs.MARK_BYTES)
        if not text.strip():
            raise ResultError(
                f"{place}: the sweep has no dataset yet; `incast sweep` goes on with it"
            )
        said = msgspec.json.decode(text, type=_Said)
        axes = tuple(Axis(axis.keys, axis.values) for axis in said.axes)
        runs = pl.read_parquet(place / DATASET, glob=False)
        there = (place / SIZES).is_file()
        sizes = pl.read_parquet(place / SIZES, glob=False) if there else pl.DataFrame()
    except msgspec.DecodeError as error:
        raise ResultError(f"{place}/{MARK}: describes no sweep: {error}") from None
    except (OSError, RecursionError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise ResultError(f"{place}: cannot be read: {reason}") from None
    except pl.exceptions.PanicException:
        raise ResultError(f"{place}/{DATASET}: is damaged") from None
    for name in describe(axes)["columns"]:
        if name not in runs.columns:
            raise ResultError(f"{place / DATASET}: has no column {name}; run the sweep again")
    return SweepRecord(
        said.scenario, said.title, axes, said.schemes, said.seeds, runs, said.incast, place,
        warnings=said.warnings, sizes=sizes,
    )  # fmt: skip
