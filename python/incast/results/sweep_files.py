"""The directory of a sweep: a file for each run as soon as it ends, then the dataset of all."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from incast._core import IncastError, Scenario
from incast.base import inputs, staging
from incast.results import store, sweeps
from incast.results.axes import Axis
from incast.results.store import OutputError
from incast.results.stored import ResultError
from incast.results.sweeps import DATASET, DIFFERENCES, MARK, SUMMARY, SweepRecord

_RUNS = "runs"
_FIGURES = "figures"


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one run."""

    values: dict[str, int | float | None]
    """The figures of the run; none of one that failed."""
    error: str | None = None
    seconds: float = 0.0
    """The time that it took of a core."""


class _Kept(msgspec.Struct, frozen=True):
    """A file in the folder of runs."""

    run: str
    scheme: str
    seed: int
    outcome: Outcome


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


@dataclass(frozen=True)
class SweepFolder:
    """The directory of a sweep."""

    place: Path

    def claim(self) -> None:
        """Makes the directory ours, or refuses one that holds something else.

        Raises:
            OutputError: It holds something else, or cannot be written.
        """
        try:
            used = self.place.is_dir() and any(self.place.iterdir())
            if used and not (self.place / MARK).is_file():
                raise OutputError(f"{self.place}: holds something else than a sweep")
            (self.place / _RUNS).mkdir(parents=True, exist_ok=True)
            for folder in (self.place, self.place / _RUNS):
                staging.clean(folder)
                staging.check(folder)
            (self.place / MARK).touch()
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def kept(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """The runs of these keys that reached their end; damaged files count as missing."""
        there = {entry.name for entry in os.scandir(self.place / _RUNS)}
        found = {}
        for key in keys:
            if f"{key}.json" not in there:
                continue
            try:
                text = inputs.read(self._path(key), inputs.MARK_BYTES)
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
            with staging.file(self._path(key)) as place:
                place.write_bytes(msgspec.json.encode(_Kept(key, scheme, seed, outcome)))
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def write(self, sweep: SweepRecord, scenario: Scenario, baseline: str | None = None) -> None:
        """Writes the dataset, and what it says with differences to a baseline; no figures.

        Raises:
            OutputError: They cannot be written.
        """
        tables = {SUMMARY: sweep.summary}
        if len(sweep.schemes) > 1:
            tables[DIFFERENCES] = sweep.differences(baseline)
        about = {"incast": json.dumps(sweeps.describe(sweep.axes))}
        try:
            self._scenario(scenario)
            with staging.file(self.place / DATASET) as place:
                sweep.runs.write_parquet(place, metadata=about)
            for name, table in tables.items():
                with staging.file(self.place / name) as place:
                    table.write_parquet(place)
            with staging.file(self.place / MARK) as place:
                text = json.dumps(sweep.to_dict(), indent=2, allow_nan=False)
                place.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def _scenario(self, scenario: Scenario) -> None:
        """The scenario without what varies, and the files that it names."""
        with staging.file(self.place / "scenario.toml") as place:
            place.write_text(scenario.toml(), encoding="utf-8")
        beside = self.place / "inputs"
        shutil.rmtree(beside, ignore_errors=True)
        if scenario.inputs:
            beside.mkdir()
        for name, text in scenario.inputs.items():
            (beside / name).write_bytes(text.encode())

    def figures(self) -> Path:
        """The folder of figures, which is made if it is missing.

        Raises:
            OutputError: It cannot be written.
        """
        store.check_folder(self.place / _FIGURES)
        return self.place / _FIGURES

    def read(self) -> SweepRecord:
        """The sweep as it was written.

        Raises:
            ResultError: There is none, or it cannot be read.
        """
        if not (self.place / MARK).is_file():
            raise ResultError(f"{self.place}: holds no sweep: there is no {MARK}")
        try:
            text = inputs.read(self.place / MARK, inputs.MARK_BYTES)
            if not text.strip():
                raise ResultError(
                    f"{self.place}: the sweep has no dataset yet; `incast sweep` goes on with it"
                )
            said = msgspec.json.decode(text, type=_Said)
            axes = tuple(Axis(axis.keys, axis.values) for axis in said.axes)
            runs = pl.read_parquet(self.place / DATASET, glob=False)
        except msgspec.DecodeError as error:
            raise ResultError(f"{self.place}/{MARK}: is not that of a sweep: {error}") from None
        except (OSError, RecursionError, pl.exceptions.PolarsError) as error:
            reason = (str(error).splitlines() or ["damaged"])[0]
            raise ResultError(f"{self.place}: cannot be read: {reason}") from None
        except pl.exceptions.PanicException:
            raise ResultError(f"{self.place}/{DATASET}: is damaged") from None
        _check(self.place / DATASET, runs, axes)
        return SweepRecord(
            said.scenario, said.title, axes, said.schemes, said.seeds, runs, said.incast, self.place
        )

    def _path(self, key: str) -> Path:
        return self.place / _RUNS / f"{key}.json"


def _check(place: Path, runs: pl.DataFrame, axes: Sequence[Axis]) -> None:
    """Refuses a dataset that lacks a column."""
    wanted: Mapping[str, object] = sweeps.describe(axes)["columns"]
    for name in wanted:
        if name not in runs.columns:
            raise ResultError(f"{place}: has no column {name}; run the sweep again")
