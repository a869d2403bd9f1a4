"""Runs side by side, each kept as soon as it is done, so that the next call goes on from there."""

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from incast._core import IncastError, Scenario
from incast.base import executor, inputs, pool, staging
from incast.base.stopping import Stop
from incast.reproduce.runs import Done, PlannedRun, execute
from incast.results.store import unwritable

# JSON has no infinite number.
_ENDLESS: Mapping[object, float] = {"endless": math.inf, "-endless": -math.inf}
_WORDS = {value: word for word, value in _ENDLESS.items()}


def in_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose infinite numbers are words."""
    return {name: _WORDS.get(one, one) for name, one in row.items()}


@dataclass(frozen=True)
class Kept:
    """The folder of finished runs: a JSON file for each, named by the key of its inputs."""

    folder: Path

    def get(self, plan: PlannedRun) -> Done | None:
        """The kept outcome of a run; None if there is none that can be read."""
        try:
            said = json.loads(inputs.text(self._path(plan.key), inputs.MARK_BYTES))
            curves = {name: pl.DataFrame(columns) for name, columns in said["curves"].items()}
            values = {name: _ENDLESS.get(one, one) for name, one in said["values"].items()}
            return Done(values, curves, said["seconds"])
        except (
            IncastError, ValueError, KeyError, TypeError, AttributeError, RecursionError,
            pl.exceptions.PolarsError,
        ):  # fmt: skip
            return None

    def put(self, plan: PlannedRun, done: Done) -> None:
        """Keeps it, whole or not at all.

        Raises:
            OutputError: It cannot be written: no right to, or no room.
        """
        path = self._path(plan.key)
        said = {
            "run": plan.label,
            "values": in_json(done.values),
            "seconds": done.seconds,
            "curves": {name: rows.to_dict(as_series=False) for name, rows in done.curves.items()},
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with staging.file(path) as place:
                place.write_text(json.dumps(said, allow_nan=False), encoding="utf-8")
        except OSError as error:
            raise unwritable(self.folder, error) from None

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def _execute(task: tuple[PlannedRun, Scenario | None]) -> Done | None:
    """Makes a run in a worker; None if that was told to stop."""
    try:
        with pool.worker.stoppable():
            return execute(*task)
    except KeyboardInterrupt:
        return None


def _in_turn(
    tasks: Sequence[tuple[PlannedRun, Scenario | None]], stop: Stop
) -> Iterator[tuple[tuple[PlannedRun, Scenario | None], Done]]:
    with contextlib.suppress(KeyboardInterrupt):
        for task in tasks:
            with stop.raising():
                done = execute(*task)
            yield task, done


def make(
    wanted: Sequence[PlannedRun], kept: Kept, *, jobs: int, stop: Stop, scheduler: str | None = None
) -> Iterator[tuple[PlannedRun, Done]]:
    """Makes those that are not kept yet, `jobs` at a time, and yields each plan when it is done.

    With the address of a Dask scheduler its workers make them. When `stop` asks, what is under way
    is given up, what has ended is kept and yielded, and the iterator ends.

    Plans of the same key, of two experiments say, are one run.

    Raises:
        OutputError: One cannot be kept.
        SpecError: A measure asks for what its run does not have.
    """
    missing: dict[str, list[PlannedRun]] = {}
    for plan in wanted:
        done = None if plan.key in missing else kept.get(plan)
        if done is None:
            missing.setdefault(plan.key, []).append(plan)
        else:
            yield plan, done
    alone = [plans[0] for plans in missing.values()]
    tasks = [(plan, plan.scenario) for plan in alone]
    side_by_side = (jobs > 1 and len(alone) > 1) or scheduler is not None
    for (plan, _), done in (
        executor.executed(
            _execute,
            tasks,
            jobs,
            label=lambda task: task[0].label,
            scheduler=scheduler,
            stop=stop,
        )
        if side_by_side
        else _in_turn(tasks, stop)
    ):
        if done is None:
            continue
        kept.put(plan, done)
        for one in missing[plan.key]:
            yield one, done
