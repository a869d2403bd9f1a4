"""The files of single runs in a directory of many: one for each as soon as it ends."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from incast._core import IncastError
from incast.base import inputs, staging
from incast.results import store
from incast.results.store import OutputError

_RUNS = "runs"


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


@dataclass(frozen=True)
class RunFolder:
    """A directory that keeps runs by their keys."""

    mark: ClassVar[str]
    """The file that says what the directory is."""
    kind: ClassVar[str]
    """A word for what it holds, as errors have it."""

    place: Path

    def claim(self) -> None:
        """Makes the directory ours, or refuses one that holds something else.

        Raises:
            OutputError: It holds something else, or cannot be written.
        """
        try:
            used = self.place.is_dir() and any(self.place.iterdir())
            if used and not (self.place / self.mark).is_file():
                raise OutputError(f"{self.place}: holds something else than a {self.kind}")
            (self.place / _RUNS).mkdir(parents=True, exist_ok=True)
            for folder in (self.place, self.place / _RUNS):
                staging.clean(folder)
                staging.check(folder)
            (self.place / self.mark).touch()
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

    def _path(self, key: str) -> Path:
        return self.place / _RUNS / f"{key}.json"
