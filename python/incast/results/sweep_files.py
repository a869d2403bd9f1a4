"""The directory of a sweep: a file for each run, then the dataset of all."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from incast._core import Scenario
from incast.base import inputs, staging
from incast.results import store, sweeps
from incast.results.axes import Axis
from incast.results.run_files import RunFolder
from incast.results.stored import ResultError
from incast.results.sweeps import DATASET, DIFFERENCES, MARK, SUMMARY, SweepRecord

_FIGURES = "figures"


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
class SweepFolder(RunFolder):
    """The directory of a sweep."""

    mark = MARK
    kind = "sweep"

    def write(self, sweep: SweepRecord, scenario: Scenario, baseline: str | None = None) -> None:
        """Writes the dataset, and what it says with differences to a baseline; no figures.

        Raises:
            OutputError: They cannot be written.
        """
        tables = {SUMMARY: sweep.summary}
        if len(sweep.schemes) > 1:
            tables[DIFFERENCES] = sweep.differences(baseline)
        about = {"incast": json.dumps(sweeps.describe(sweep.axes, sweep.runs.columns))}
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


def _check(place: Path, runs: pl.DataFrame, axes: Sequence[Axis]) -> None:
    """Refuses a dataset that lacks a column."""
    wanted: Mapping[str, object] = sweeps.describe(axes)["columns"]
    for name in wanted:
        if name not in runs.columns:
            raise ResultError(f"{place}: has no column {name}; run the sweep again")
