"""Work on the workers of a Dask cluster that somebody else has started."""

import contextlib
import logging
import pickle
import queue
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from distributed import Client, Future, KilledWorker

from incast._core import IncastError
from incast.base import engine, parcels, pool
from incast.base.engine import Engine
from incast.base.stopping import Stop
from incast.base.words import option

Task = TypeVar("Task")
Done = TypeVar("Done")

# The time in which a scheduler has to answer.
_ANSWERS_S = 5.0
# The time between two looks at what a cluster has.
_LOOK_S = 1.0
# Groups of tasks that wait at the scheduler for each thread of the workers, and in any case.
_AHEAD, _LEAST = 2, 8
# Tasks that take less go together, so many at most: each group has the scheduler's messages once.
_SHORT_S, _TOGETHER = 0.05, 8

# A task as Dask knows it has nothing of ours but bytes: a worker or a scheduler that lacks a module
# would die before it could say so.
_DO = "__import__('incast.base.cluster', fromlist=['do']).do(client, parcels, scenarios)"

_unpacker = parcels.Unpacker()


class ClusterError(IncastError):
    """A cluster that does not answer, or whose workers cannot do the work."""


def executed(
    work: Callable[[Task], Done],
    tasks: Sequence[Task],
    scheduler: str,
    *,
    label: Callable[[Task], str],
    stop: Stop | None = None,
    lost: Callable[[Task], Done] | None = None,
) -> Iterator[tuple[Task, Done]]:
    """Does the work on a cluster; yields each task as it is done, as `pool.executed` does.

    Dask does the tasks of a worker that died again. When `stop` asks, tasks that are not done are
    taken back; those that have begun go on to their end, and nobody takes their results. Short
    tasks travel in groups; the tasks of one that several workers died of are done one by one.

    Raises:
        ClusterError: The cluster does not answer, or its workers have another version.
        IncastError: Several workers died of one task.
        Exception: That of a task.
    """
    with _connected(scheduler) as client:
        desk = _Desk(client, scheduler, work)
        waiting, known = deque(enumerate(tasks)), len(tasks)
        while waiting or desk.has:
            if stop is not None and stop.asked:
                return
            while waiting and desk.has_room:
                count = desk.together(len(waiting))
                desk.submit([waiting.popleft() for _ in range(count)])
            future = desk.heard()
            if future is None:
                continue
            group = desk.has.pop(future.key)[0]
            answers = desk.answers(future, label(tasks[group[0]]), len(group))
            if answers is None and len(group) > 1:
                for number in group:
                    desk.submit([(number, tasks[number])])
                continue
            found: Sequence[pool.Answer | None] = answers or [None]
            for number, answer in zip(group, found, strict=True):
                task = tasks[number]
                if answer is None and lost is not None:
                    yield task, lost(task)
                else:
                    try:
                        done: Done = pool.opened(
                            answer, label(task), "look into the logs of the workers"
                        )
                    except ImportError as error:
                        raise ClusterError(desk.cannot(label(task), error)) from None
                    yield task, done
            waiting.extend((place, tasks[place]) for place in range(known, len(tasks)))
            known = len(tasks)


class _Desk:
    """The tasks that a cluster has."""

    def __init__(self, client: Client, scheduler: str, work: Callable[[Any], Any]) -> None:
        self._client = client
        self._scheduler = scheduler
        self._work = work
        self._packer = parcels.Packer()
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._call = uuid.uuid4().hex
        self._scenarios: dict[str, Future] = {}
        self._looked = -_LOOK_S
        self._most = _LEAST
        self._short = False
        self._submitted = 0
        self.has: dict[str, tuple[list[int], Future]] = {}
        """The numbers of the tasks of each group, and its future, by the key of that."""

    @property
    def has_room(self) -> bool:
        """Whether another group keeps the workers busy."""
        if time.monotonic() >= self._looked + _LOOK_S:
            self._looked = time.monotonic()
            threads = sum(self._client.nthreads().values())
            self._most = max(_LEAST, _AHEAD * threads)
        return len(self.has) < self._most

    def together(self, waiting: int) -> int:
        """The number of tasks that go together: one, unless they are short and enough wait."""
        return max(1, min(_TOGETHER, waiting // self._most)) if self._short else 1

    def submit(self, group: Sequence[tuple[int, object]]) -> None:
        """Gives the cluster some tasks, which a worker does one after the other."""
        packed = [self._packer.pack((self._work, task)) for _, task in group]
        names = {name for _, of_one in packed for name in of_one}
        for name in names:
            if name not in self._scenarios:
                # A task of its own and no data that is sent around: it can be done again.
                self._scenarios[name] = self._client.submit(
                    bytes, self._packer.scenario(name), key=f"incast-scenario-{name}"
                )
        future = self._client.submit(
            eval,
            _DO,
            {
                "client": tuple(engine.own()),
                "parcels": [parcel for parcel, _ in packed],
                "scenarios": {name: self._scenarios[name] for name in names},
            },
            key=f"incast-{self._call}-{self._submitted}",
            pure=False,
        )
        self._submitted += 1
        self.has[future.key] = [number for number, _ in group], future
        future.add_done_callback(self._done.put)

    def heard(self) -> Future | None:
        """A group that has ended; None if a while has passed without one.

        Raises:
            ClusterError: The scheduler has gone.
        """
        with contextlib.suppress(queue.Empty):
            future = self._done.get(timeout=_LOOK_S / 5)
            if future.status == "lost":  # a worker died with its result: it is being done again
                future.add_done_callback(self._done.put)
                return None
            return future if future.key in self.has else None
        if self._client.status != "running":
            raise self._gone()
        return None

    def answers(self, future: Future, name: str, number: int) -> list[pool.Answer] | None:
        """The answers of a group; None if several workers died of it.

        Raises:
            ClusterError: A worker could not do it, or the cluster has gone.
        """
        if future.status == "cancelled":
            raise self._gone()
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker):
                return None
            raise ClusterError(self.cannot(name, error))
        try:
            found = pickle.loads(future.result())  # noqa: S301 - by a worker that was chosen
        except (OSError, RuntimeError) as error:
            raise self._gone() from error
        if isinstance(found, Engine):
            raise ClusterError(
                f"{self._scheduler}: a worker has {engine.own().differs(found)}: install the same "
                "on the workers as here"
            )
        answers: list[pool.Answer]
        seconds, answers = found
        self._short = seconds < _SHORT_S * number
        return answers

    def cannot(self, name: str, error: BaseException | None) -> str:
        """The sentence on workers that lack something."""
        return (
            f"{self._scheduler}: its workers cannot do {name}: {_words(error)}; install incast "
            f"{engine.own().version} there"
        )

    def _gone(self) -> ClusterError:
        return ClusterError(f"{self._scheduler}: the scheduler no longer answers")


@contextlib.contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    """A client of the cluster.

    Raises:
        ClusterError: It does not answer.
    """
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what is wrong is said in a sentence
    try:
        client = _opened(scheduler)
    except Exception as error:  # noqa: BLE001 - whatever an address, a name or a socket raises
        log.setLevel(level)
        raise ClusterError(
            f"{option('--scheduler')} {scheduler}: no Dask scheduler answers there: {_words(error)}"
        ) from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=_LOOK_S)
        log.setLevel(level)


def _opened(scheduler: str) -> Client:
    """A client, or what opening one raises; Dask's own wait has no end where nothing is said."""
    found: list[Client | Exception] = []

    def open_it() -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # packages of other versions, which nobody needs
                found.append(
                    _Client(scheduler, timeout=_ANSWERS_S, set_as_default=False, name="incast")
                )
        except Exception as error:  # noqa: BLE001 - it is raised again
            found.append(error)

    thread = threading.Thread(target=open_it, daemon=True)
    thread.start()
    thread.join(_ANSWERS_S + _LOOK_S)
    if not found:
        raise TimeoutError(f"no answer after {_ANSWERS_S:g} s")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


class _Client(Client):  # type: ignore[misc]
    """A client that is closed by who opened it: Dask's own waits for what never was there."""

    def __del__(self) -> None:
        """Does nothing."""


def _words(error: BaseException | None) -> str:
    """An exception in a line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{f': {lines[0]}' if lines else ''}"


def do(client: tuple[str, str, str], parcels: list[bytes], scenarios: dict[str, bytes]) -> bytes:
    """Does the work in parcels on a worker, if that would have the client's results.

    Returns a pickle of the seconds that it took and of the answers; else of the worker's engine.
    """
    mine = engine.own()
    if Engine(*client).differs(mine) is not None:
        return pickle.dumps(mine)
    began = time.monotonic()
    answers = [pool.answered(parcel, scenarios, _unpacker) for parcel in parcels]
    return pickle.dumps((time.monotonic() - began, answers))
