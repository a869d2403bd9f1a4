"""Runs side by side, each kept as soon as it is done, so that the next call goes on from there."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from incast._core import IncastError
from incast.base import inputs, staging
from incast.reproduce.runs import Done, PlannedRun, execute
from incast.results.store import unwritable


@dataclass(frozen=True)
class Kept:
    """The folder of finished runs: a JSON file for each, named by the key of its inputs."""

    folder: Path

    def get(self, plan: PlannedRun) -> Done | None:
        """The kept outcome of a run; None if there is none that can be read."""
        try:
            said = json.loads(inputs.text(self._path(plan.key), inputs.MARK_BYTES))
            curves = {name: pl.DataFrame(columns) for name, columns in said["curves"].items()}
            return Done(said["values"], curves, said["seconds"])
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
            "values": done.values,
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


def make(
    wanted: Sequence[PlannedRun], kept: Kept, *, jobs: int
) -> Iterator[tuple[PlannedRun, Done]]:
    """Makes those that are not kept yet, `jobs` at a time, and yields each plan when it is done.

    Plans of the same key, of two experiments say, are one run.

    Raises:
        OutputError: One cannot be kept.
        SpecError: A measure asks for what its run does not have.
        KeyboardInterrupt: Ctrl-C; what was done is kept.
    """
    missing: dict[str, list[PlannedRun]] = {}
    for plan in wanted:
        done = None if plan.key in missing else kept.get(plan)
        if done is None:
            missing.setdefault(plan.key, []).append(plan)
        else:
            yield plan, done
    for plan, done in _executed([plans[0] for plans in missing.values()], jobs):
        kept.put(plan, done)
        for one in missing[plan.key]:
            yield one, done


def _executed(missing: Sequence[PlannedRun], jobs: int) -> Iterator[tuple[PlannedRun, Done]]:
    """Runs what is missing; yields each run with what it gave, in the order in which they end."""
    if jobs == 1 or len(missing) < 2:
        for plan in missing:
            yield plan, execute(plan)
        return
    with _workers(min(jobs, len(missing))) as workers:
        queue = iter(missing)
        under_way: dict[Future[Done], PlannedRun] = {}
        while True:
            # Two waiting runs for each worker are enough: a submitted run cannot be taken back.
            # A worker begins here, and would print Ctrl-C's traceback before it can ignore it.
            with _interrupts_held():
                for plan in islice(queue, 2 * jobs - len(under_way)):
                    under_way[workers.submit(execute, plan)] = plan
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                plan = under_way.pop(future)
                try:
                    yield plan, future.result()
                except BrokenProcessPool:
                    raise IncastError(
                        f"{plan.label}, or a run beside it, was killed by the system, often for "
                        "want of memory: try --jobs 1"
                    ) from None


@contextlib.contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that leave Ctrl-C to this one, and end with it."""
    workers = ProcessPoolExecutor(count, get_context("spawn"), _leave_interrupts)
    try:
        yield workers
    except BaseException:
        workers.shutdown(wait=False, cancel_futures=True)
        processes: Mapping[int, object] = getattr(workers, "_processes", None) or {}
        for process in list(processes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        raise
    workers.shutdown()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C comes afterwards; a process that is started meanwhile never has it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
