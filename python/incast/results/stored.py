"""Results read back from their directories, to be printed and drawn without simulating again."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
import polars as pl

from incast._core import IncastError, ScenarioError
from incast.base import inputs, staging
from incast.results.columns import ColumnInfo, TableInfo
from incast.results.described import column_kinds
from incast.results.tables import RecordedRun


class ResultError(IncastError):
    """A directory that holds no result, or no readable one."""


@dataclass(frozen=True)
class StoredScenario:
    """The scenario of a stored result, even if this version would no longer run it."""

    name: str
    title: str
    duration_s: float
    warmup_s: float
    cooldown_s: float
    schemes: Sequence[str]
    """The schemes that its text names; `Stored.schemes` are those that were asked for."""
    published: Mapping[str, Mapping[str, float | str]]
    text: str
    recorded_warnings: Sequence[str] = ()
    drain_s: float | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)

    def toml(self) -> str:
        """The exact scenario; `incast.load(directory / "scenario.toml")` makes one to run again."""
        return self.text


@dataclass(frozen=True)
class StoredTable:
    """The rows of one scheme in a Parquet file, read whenever they are asked for."""

    path: Path
    scheme: str
    info: TableInfo

    @property
    def name(self) -> str:
        """The name, such as `flows`."""
        return self.path.stem

    def frame(self) -> pl.DataFrame:
        """The rows of the scheme, without the column that names it.

        Raises:
            ResultError: The file is missing, damaged, or is not as `run.json` describes it.
        """
        with self._readable():
            rows = self._scan()
            return rows.filter(pl.col("scheme") == self.scheme).drop("scheme").collect()

    def batches(self, rows: int = 1 << 18) -> Iterator[pl.DataFrame]:
        """The rows of the scheme in order, some at a time: a trace need not fit into memory.

        Raises:
            ResultError: As `frame`.
        """
        with self._readable():
            scheme = self._scan().select("scheme").with_row_index("row")
            own = scheme.filter(pl.col("scheme") == self.scheme).select(
                pl.col("row").min().alias("first"), pl.len().alias("count")
            )
            first, count = own.collect(engine="streaming").row(0)
        # The rows of a scheme stand together: `concatenate` in tables.py.
        for start in range(0, count, rows):
            with self._readable():
                part = self._scan().slice(first + start, min(rows, count - start))
                found = part.drop("scheme").collect()
            yield found

    def _scan(self) -> pl.LazyFrame:
        rows = pl.scan_parquet(self.path, glob=False)
        self._check(rows.collect_schema())
        return rows

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Says of a file that is missing or damaged what it is and what to do."""
        if not self.path.is_file():
            raise ResultError(f"{self.path}: is missing; {self._again}")
        try:
            yield
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = (str(error).splitlines() or ["damaged"])[0]
            raise ResultError(f"{self.path}: cannot be read: {reason}; {self._again}") from None
        except pl.exceptions.PanicException:
            raise ResultError(f"{self.path}: is damaged; {self._again}") from None

    @property
    def _again(self) -> str:
        return f"run {self.path.parent}/scenario.toml again"

    def _check(self, schema: pl.Schema) -> None:
        """Refuses a table that lacks a column, or has other values in it than the simulator's."""
        for column in self.info["columns"]:
            if column not in schema:
                raise ResultError(f"{self.path}: has no column {column}; {self._again}")
            kind = schema[column]
            text = column_kinds(self.name).get(column)
            fits = kind == pl.String if text == "text" else kind.is_numeric()
            if not (fits if text else kind == pl.String or kind.is_numeric()):
                raise ResultError(
                    f"{self.path}: column {column} has {kind}, not {text or 'text or numbers'}; "
                    f"{self._again}"
                )


@dataclass(frozen=True)
class Stored:
    """The content of `run.json` and `scenario.toml`."""

    scenario: StoredScenario
    schemes: tuple[str, ...]
    seed: int
    runs: dict[str, RecordedRun]
    version: str
    build: str
    named: Mapping[str, str]


class _Column(msgspec.Struct, frozen=True):
    unit: str
    doc: str


class _Table(msgspec.Struct, frozen=True):
    doc: str
    columns: dict[str, _Column]


# The integers that a column of a table holds.
_Integer = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Row(msgspec.Struct, frozen=True):
    """A scheme that was run."""

    scheme: str
    complete: bool
    measured: dict[str, _Integer | float | None]
    published: dict[str, _Integer | float | str]

    def __post_init__(self) -> None:
        """Refuses a source that is a number, and figures that are not."""
        for name, value in self.published.items():
            if isinstance(value, str) != (name == "source"):
                raise ValueError(f"`{name}` of what was published is {value!r}")


class _Said(msgspec.Struct, frozen=True):
    """The known fields of `run.json`, which may have more."""

    incast: str
    build: str
    scenario: str
    title: str
    seed: Annotated[int, msgspec.Meta(ge=0)]
    duration_s: float
    warmup_s: float
    cooldown_s: float
    schemes: list[str]
    warnings: list[str]
    runs: list[_Row]
    tables: dict[Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]*$")], _Table]
    named: dict[str, str] = {}
    drain_s: float | None = None


class _RunText(msgspec.Struct, frozen=True):
    schemes: list[str] = []


class _Text(msgspec.Struct, frozen=True):
    """The schemes in the text of a scenario."""

    run: _RunText


def read(directory: str | os.PathLike[str]) -> Stored:
    """Reads the description of a result; its tables are read when they are asked for.

    Raises:
        ResultError: The directory is none, or holds no result that can be read.
    """
    path = Path(directory)
    if not path.is_dir():
        what = "not a directory" if path.exists() else "no such directory"
        raise ResultError(f"{path}: {what}; expected the directory of a result, with its run.json")
    if not (path / "run.json").is_file():
        raise ResultError(f"{path}: holds no result of incast: there is no run.json{_inside(path)}")
    try:
        said = msgspec.json.decode(inputs.read(path / "run.json", inputs.MARK_BYTES), type=_Said)
        text = inputs.text(path / "scenario.toml", inputs.SCENARIO_BYTES)
        found = {
            file.name: inputs.text(file)
            for file in sorted(path.glob("inputs/*"))
            if not staging.is_left(file.name)
        }
    except ScenarioError as error:
        raise ResultError(f"{path}: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        why = "brackets in brackets, too deep" if isinstance(error, RecursionError) else str(error)
        raise ResultError(f"{path}/run.json: describes no result of incast: {why}") from None
    return _stored(path, said, text, found)


def _inside(path: Path) -> str:
    """Names results one level below, where somebody who named the parent meant them."""
    found = sorted(entry.parent.name for entry in path.glob("*/run.json"))
    return f"; there is one in {', '.join(found[:3])}" if found else ""


def _stored(path: Path, said: _Said, text: str, found: Mapping[str, str]) -> Stored:
    tables = {name: _info(table) for name, table in said.tables.items()}
    runs = {}
    for row in said.runs:
        held = [
            StoredTable(path / f"{name}.parquet", row.scheme, info) for name, info in tables.items()
        ]
        scheme = said.named.get(row.scheme, row.scheme)
        runs[row.scheme] = RecordedRun(scheme, said.seed, row.complete, row.measured, held)
    scenario = StoredScenario(
        name=said.scenario,
        title=said.title,
        duration_s=said.duration_s,
        warmup_s=said.warmup_s,
        cooldown_s=said.cooldown_s,
        drain_s=said.drain_s,
        schemes=_named(text) or tuple(said.schemes),
        published={
            said.named.get(row.scheme, row.scheme): dict(row.published) for row in said.runs
        },
        text=text,
        recorded_warnings=tuple(said.warnings),
        inputs=found,
    )
    return Stored(
        scenario,
        tuple(said.schemes),
        said.seed,
        runs,
        version=said.incast,
        build=said.build,
        named=said.named,
    )


def _named(text: str) -> tuple[str, ...]:
    """The schemes that the text of a scenario names; none if it is no such text."""
    try:
        return tuple(msgspec.toml.decode(text, type=_Text).run.schemes)
    except (msgspec.DecodeError, RecursionError):
        return ()


def _info(table: _Table) -> TableInfo:
    columns: dict[str, ColumnInfo] = {
        name: {"unit": column.unit, "doc": column.doc} for name, column in table.columns.items()
    }
    return {"doc": table.doc, "columns": columns}
