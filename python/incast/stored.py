"""Results read back from their directories, to be printed and drawn without simulating again."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from incast._core import IncastError
from incast.tables import RecordedRun, TableInfo


class ResultError(IncastError):
    """A directory that holds no result, or no readable one."""


@dataclass(frozen=True)
class StoredScenario:
    """What was run, as the directory says it: also where this version would no longer run it."""

    name: str
    title: str
    duration_s: float
    warmup_s: float
    cooldown_s: float
    schemes: Sequence[str]
    published: Mapping[str, Mapping[str, float | str]]
    text: str
    recorded_warnings: Sequence[str] = ()
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
            ResultError: The file is missing or damaged.
        """
        if not self.path.is_file():
            raise ResultError(
                f"{self.path}: is missing; run {self.path.parent}/scenario.toml again"
            )
        try:
            rows = pl.scan_parquet(self.path, glob=False).filter(pl.col("scheme") == self.scheme)
            return rows.drop("scheme").collect()
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).splitlines()[0]
            raise ResultError(f"{self.path}: cannot be read: {reason}") from None


@dataclass(frozen=True)
class Stored:
    """Everything that `run.json` and `scenario.toml` say."""

    scenario: StoredScenario
    schemes: tuple[str, ...]
    seed: int
    runs: dict[str, RecordedRun]
    version: str
    build: str


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
        said = json.loads((path / "run.json").read_text(encoding="utf-8"))
        text = (path / "scenario.toml").read_text(encoding="utf-8")
        return _stored(path, said, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResultError(f"{path}: cannot be read: {error.filename}: {reason}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ResultError(f"{path}: its run.json is not that of a result of incast") from None


def _inside(path: Path) -> str:
    """Names results one level below, where somebody who named the parent meant them."""
    found = sorted(entry.parent.name for entry in path.glob("*/run.json"))
    return f"; there is one in {', '.join(found[:3])}" if found else ""


def _figures(said: Mapping[str, Any]) -> dict[str, float | int | None]:
    """The figures of a run, each a number or nothing."""
    for name, value in said.items():
        if value is not None and not _is_number(value):
            raise TypeError(name)
    return dict(said)


def _published(said: Mapping[str, Any]) -> dict[str, float | str]:
    """What was published: numbers, and where."""
    for name, value in said.items():
        if not (isinstance(value, str) if name == "source" else _is_number(value)):
            raise TypeError(name)
    return dict(said)


def _is_number(value: object) -> bool:
    """Whether a column can hold it as a number."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 1 << 63
    return isinstance(value, float)


def _stored(path: Path, said: Mapping[str, Any], text: str) -> Stored:
    tables: Mapping[str, TableInfo] = said["tables"]
    runs = {}
    for row in said["runs"]:
        scheme = str(row["scheme"])
        held = [
            StoredTable(path / f"{name}.parquet", scheme, info) for name, info in tables.items()
        ]
        runs[scheme] = RecordedRun(
            scheme, int(said["seed"]), bool(row["complete"]), _figures(row["measured"]), held
        )
    schemes = tuple(map(str, said["schemes"]))
    scenario = StoredScenario(
        name=str(said["scenario"]),
        title=str(said["title"]),
        duration_s=float(said["duration_s"]),
        warmup_s=float(said["warmup_s"]),
        cooldown_s=float(said["cooldown_s"]),
        schemes=schemes,
        published={row["scheme"]: _published(row["published"]) for row in said["runs"]},
        text=text,
        recorded_warnings=tuple(map(str, said["warnings"])),
        inputs={file.name: file.read_bytes().decode() for file in sorted(path.glob("inputs/*"))},
    )
    return Stored(
        scenario,
        schemes,
        int(said["seed"]),
        runs,
        version=str(said["incast"]),
        build=str(said["build"]),
    )
