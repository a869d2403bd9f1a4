"""The directory of a study: a file for each run as soon as it ends, then tables and a mark.

`runs/KEY.json` has the figures of a run, tables are Parquet files, and the mark, `KIND.json`, says
what was studied. It is there and empty from the beginning, and is written last.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from incast._core import IncastError, Scenario
from incast.base import inputs, staging
from incast.results import store
from incast.results.columns import TableInfo
from incast.results.doubts import Doubts, sentences
from incast.results.store import OutputError

_RUNS = "runs"

Kind = Literal["sweep", "tuning", "saturation"]


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one run."""

    values: Mapping[str, int | float | None]
    """The figures of the run; none of one that failed."""
    error: str | None = None
    seconds: float = 0.0
    """The time that it took of a core."""
    doubts: Doubts = ()
    """The numbers by which doubts about the run are judged."""
    sizes: Mapping[str, list[Any]] = msgspec.field(default_factory=dict)
    """The columns of completion times by size, of sizes that have messages; sweeps keep them."""

    def __post_init__(self) -> None:
        """Refuses numbers that nothing is doubted by."""
        sentences([("", {"": [self.doubts]})])


class _Kept(msgspec.Struct, frozen=True):
    """A file in the folder of runs."""

    run: str
    scheme: str
    seed: int
    outcome: Outcome


@dataclass(frozen=True)
class StudyFolder:
    """The directory of a study, which keeps runs by their keys."""

    place: Path
    kind: Kind

    @property
    def mark(self) -> Path:
        """The file that says what was studied."""
        return self.place / f"{self.kind}.json"

    def claim(self) -> None:
        """Makes the directory ours, or refuses one that holds something else.

        Raises:
            OutputError: It holds something else, or cannot be written.
        """
        try:
            if self.place.is_dir() and any(self.place.iterdir()):
                if not self.mark.is_file():
                    raise OutputError(f"{self.place}: holds something else than a {self.kind}")
                if not (self.place / _RUNS).is_dir():
                    raise OutputError(
                        f"{self.place}: holds a {self.kind} of another version of incast; name "
                        "another directory"
                    )
            (self.place / _RUNS).mkdir(parents=True, exist_ok=True)
            for folder in (self.place, self.place / _RUNS):
                staging.clean(folder)
                staging.check(folder)
            self.mark.touch()
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def kept(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """The runs of these keys that reached their end; damaged files count as missing."""
        there = {entry.name for entry in os.scandir(self.place / _RUNS)}
        found = {}
        for key in keys:
            if f"{key}.json" not in there:
                continue
            try:
                text = inputs.read(self._run(key), inputs.MARK_BYTES)
                kept = msgspec.json.decode(text, type=_Kept)
            except (IncastError, msgspec.DecodeError, RecursionError):
                continue
            if kept.run == key and kept.outcome.error is None:
                found[key] = kept.outcome
        return found

    def put(self, key: str, scheme: str, seed: int, outcome: Outcome) -> None:
        """Keeps a run, whole or not at all.

        Raises:
            OutputError: It cannot be written: no right to, or no room.
        """
        try:
            with staging.file(self._run(key)) as place:
                place.write_bytes(msgspec.json.encode(_Kept(key, scheme, seed, outcome)))
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def write(
        self,
        said: Mapping[str, Any],
        tables: Mapping[str, pl.DataFrame],
        *,
        about: Mapping[str, TableInfo] | None = None,
        scenario: Scenario | None = None,
    ) -> None:
        """Writes the scenario that was studied, the tables and, last, the mark; no figures.

        Args:
            said: The mark.
            tables: The tables by the names of their files.
            about: The meaning of columns, of tables that have it with them.
            scenario: The scenario without what varies, which is written with the files it names.

        Raises:
            OutputError: They cannot be written.
        """
        try:
            if scenario is not None:
                self._scenario(scenario)
            for name, table in tables.items():
                info = (about or {}).get(name)
                with staging.file(self.place / name) as place:
                    table.write_parquet(place, metadata=info and {"incast": json.dumps(info)})
            with staging.file(self.mark) as place:
                text = json.dumps(said, indent=2, allow_nan=False)
                place.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def figures(self) -> Path:
        """The folder of figures, which is made if it is missing.

        Raises:
            OutputError: It cannot be written.
        """
        store.check_folder(self.place / "figures")
        return self.place / "figures"

    def _scenario(self, scenario: Scenario) -> None:
        with staging.file(self.place / "scenario.toml") as place:
            place.write_text(scenario.toml(), encoding="utf-8")
        beside = self.place / "inputs"
        shutil.rmtree(beside, ignore_errors=True)
        if scenario.inputs:
            beside.mkdir()
        for name, text in scenario.inputs.items():
            (beside / name).write_bytes(text.encode())

    def _run(self, key: str) -> Path:
        return self.place / _RUNS / f"{key}.json"
