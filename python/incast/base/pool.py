"""Work side by side in processes: the pool of runs and of experiments.

Ctrl-C and SIGTERM are for the process that waits. It tells the workers to stop, or ends them. A
worker that dies is replaced, and the task that it had is done again.

Where the system has no such processes, the work is done in this one, task by task.

No library keeps these promises. In Pebble 5.2.3 all workers share a pipe and its locks: one that is
killed while no task runs, or in the middle of an answer, ends the pool with all its tasks.
In loky 3.7.0, as in the standard library, any worker that dies ends it, and neither can tell
workers to stop and give what they have.
"""

import contextlib
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from typing_extensions import Self

from incast._core import AlgorithmError, IncastError
from incast.base import machine, parcels, system
from incast.base.stopping import Stop
from incast.base.words import option

if sys.platform != "emscripten":  # browsers have no processes, and no module for their resources
    from multiprocessing import resource_tracker

if TYPE_CHECKING:
    Pipe = connection.Connection[Any, Any]

Task = TypeVar("Task")
Done = TypeVar("Done")

TRIES = 3
"""A task that so many workers died of is not tried again."""

_CONTEXT = get_context("spawn")
# The signal by which workers are told to stop.
_STOP = signal.SIGUSR1 if system.HAS_WORKERS else signal.SIGTERM
# The signals that a terminal or a service manager sends to all processes of a command.
_SENT_TO_ALL = (signal.SIGINT, signal.SIGTERM)
# A worker whose last task took less has the next one waiting when it is done.
_QUICK_S = 0.2
# The time that a worker has to end by itself.
_PATIENCE_S = 5.0


class Worker:
    """The state of a worker process: whether it was told to stop, and how it reports."""

    def __init__(self) -> None:
        self.stopped = False
        self._raises = False
        self._pipe: Pipe | None = None

    def begin(self, pipe: "Pipe | None") -> None:
        """Prepares the process, which was started with all these signals held back."""
        self._pipe = pipe
        threading.Thread(target=_end_with_parent, daemon=True).start()
        for one in _SENT_TO_ALL:
            signal.signal(one, signal.SIG_IGN)
        signal.signal(_STOP, self.tell)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*_SENT_TO_ALL, _STOP})

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Work in which being told to stop raises KeyboardInterrupt, once."""
        if self.stopped:
            raise KeyboardInterrupt
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def keep(self) -> None:
        """Nothing is interrupted from here on to the end of the work."""
        self._raises = False

    def report(self, message: object) -> None:
        """Sends a message to the process that waits, if that wants to know."""
        if self._pipe is not None:
            raises, self._raises = self._raises, False  # no message is sent in part
            self._pipe.send_bytes(pickle.dumps(message))
            self._raises = raises

    def tell(self, *_: object) -> None:
        """Tells the work to stop: interrupts what may be, or says so to what asks."""
        self.stopped = True
        if self._raises:
            self._raises = False
            raise KeyboardInterrupt


worker = Worker()
"""This process, if it is a worker."""


def executed(
    work: Callable[[Task], Done],
    tasks: Sequence[Task],
    jobs: int,
    *,
    label: Callable[[Task], str],
    stop: Stop | None = None,
    hear: Callable[[Any], None] | None = None,
    lost: Callable[[Task], Done] | None = None,
) -> Iterator[tuple[Task, Done]]:
    """Does the work in processes, some side by side; yields each task as it is done.

    Args:
        work: A function of a module, which each worker imports.
        tasks: What it is called with, in this order. Who takes what is done may append more to
            them until the last one is done.
        jobs: How many side by side.
        label: The name of a task in errors.
        stop: When it asks, workers are told, and what they still give is yielded; so it is where a
            task fails, before that is raised. Without it workers are ended.
        hear: Called with each message that a worker reports, while something is waited for.
        lost: Gives the outcome of a task that the system killed several workers of. Without it
            that is an error.

    Raises:
        IncastError: The system killed several workers of one task.
        Exception: That of a task.
    """
    if not system.HAS_WORKERS:
        yield from _here(work, tasks, stop)
        return
    failure: Exception | None = None
    with (
        _Pool(work, jobs, hear) as workers,
        stop.telling(workers.tell) if stop is not None else contextlib.nullcontext(),
    ):
        waiting, known = deque(enumerate(tasks)), len(tasks)
        while True:
            if stop is not None and stop.asked:
                waiting.clear()
            workers.feed(waiting)
            if stop is not None and stop.asked:
                workers.tell()  # a worker may have begun after the others were told
            if not workers.busy:
                break
            for number, answer in workers.answers(waiting, again=stop is None or not stop.asked):
                task = tasks[number]
                if answer is None and lost is not None:
                    yield task, lost(task)
                else:
                    try:
                        done: Done = opened(answer, label(task))
                    except Exception as error:
                        if stop is None:
                            raise
                        failure = failure or error
                        stop.ask()
                        continue
                    yield task, done
                waiting.extend((place, tasks[place]) for place in range(known, len(tasks)))
                known = len(tasks)
    if failure is not None:
        raise failure


def _here(
    work: Callable[[Task], Done], tasks: Sequence[Task], stop: Stop | None
) -> Iterator[tuple[Task, Done]]:
    """Does the work in this process, one task after the other."""
    with stop.telling(worker.tell) if stop is not None else contextlib.nullcontext():
        for task in tasks:  # more may be appended meanwhile
            if stop is not None and stop.asked:
                return
            worker.stopped = False
            yield task, work(task)


@dataclass
class Answer:
    """A worker's answer to a task."""

    value: bytes | None
    """The outcome, or the exception, as a pickle; None of an exception that makes none."""
    error: str | None = None
    """The trace of the exception."""


class RemoteError(Exception):
    """The trace of an exception in a worker, or in an algorithm of the user's own there."""


def killed(name: str, remedy: str | None = None) -> str:
    """The sentence on a task that the system killed the workers of."""
    if remedy is None:
        fewer = option("try --jobs 1", "try jobs=1")
        remedy = "raise the limit (ulimit -v)" if machine.is_limited() else fewer
    return f"{name} was killed by the system {TRIES} times, often for want of memory: {remedy}"


def opened(answer: Answer | None, name: str, remedy: str | None = None) -> Any:  # noqa: ANN401
    """The outcome of a task; raises its exception.

    Raises:
        IncastError: There is no answer, for the workers died.
    """
    if answer is None:
        raise IncastError(killed(name, remedy))
    if answer.error is None:
        return pickle.loads(answer.value or b"")  # noqa: S301 - by a process of ours
    last = answer.error.strip().splitlines()[-1]
    try:
        error = pickle.loads(answer.value or b"")  # noqa: S301
    except Exception:  # noqa: BLE001 - exceptions with a constructor of their own
        error = IncastError(last)
    if isinstance(error, AlgorithmError) or not isinstance(error, IncastError):
        error.__cause__ = RemoteError(f"\n{answer.error}")
    raise error


@dataclass
class _Process:
    """A worker, from the side of the process that waits."""

    process: SpawnProcess
    pipe: "Pipe"
    has: deque[tuple[int, Any]] = field(default_factory=deque)
    """Tasks and their numbers: the one that is worked at, perhaps with one that waits."""
    knows: set[str] = field(default_factory=set)
    """The scenarios that it was sent."""
    since: float = 0.0
    quick: bool = False
    """Whether its last task was so short that it should not wait for the next one."""


class _Pool(Generic[Task, Done]):
    """Processes that leave Ctrl-C to this one, and end with it."""

    def __init__(
        self, work: Callable[[Task], Done], count: int, hear: Callable[[Any], None] | None
    ) -> None:
        self._work = work
        self._count = count
        self._hear = hear
        self._workers: list[_Process] = []
        self._deaths: dict[int, int] = {}
        self._packer = parcels.Packer()

    def __enter__(self) -> Self:
        """Starts no worker yet."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Waits for the workers, or ends them where something was raised."""
        for one in self._workers:
            if kind is not None:
                one.process.kill()
            one.pipe.close()  # which ends a worker that waits
        for one in self._workers:
            one.process.join(_PATIENCE_S)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()

    @property
    def busy(self) -> bool:
        """Whether any task is under way."""
        return any(one.has for one in self._workers)

    def tell(self) -> None:
        """Tells all workers to stop."""
        for one in self._workers:
            if one.process.pid is not None and one.process.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.process.pid, _STOP)

    def feed(self, waiting: "deque[tuple[int, Task]]") -> None:
        """Gives a task to each worker that has none, then one more to quick ones."""
        if waiting and len(self._workers) < self._count:
            # A worker begins here, and would print Ctrl-C's traceback before it can ignore it.
            with _starting():
                while len(self._workers) < min(
                    self._count, len(waiting) + sum(1 for one in self._workers if one.has)
                ):
                    self._workers.append(self._begun())
        for most in (1, 2):
            for one in self._workers:
                if waiting and len(one.has) < most and (most == 1 or one.quick):
                    self._give(one, *waiting.popleft())

    def answers(
        self, waiting: "deque[tuple[int, Task]]", *, again: bool
    ) -> Iterator[tuple[int, Answer | None]]:
        """Waits for answers, each with the number of its task; None of one that is lost.

        The tasks of a worker that died wait again, unless `again` is False: then they go.
        """
        pipes = {one.pipe: one for one in self._workers if one.has}
        for pipe in connection.wait([*pipes]):
            one = pipes[pipe]  # type: ignore[index]
            try:
                come = pickle.loads(one.pipe.recv_bytes())  # noqa: S301 - by a process of ours
            except (EOFError, OSError):
                self._workers.remove(one)
                one.pipe.close()
                one.process.join(_PATIENCE_S)
                number = one.has[0][0]
                self._deaths[number] = self._deaths.get(number, 0) + 1
                if not again:
                    continue
                if self._deaths[number] >= TRIES:
                    one.has.popleft()
                    yield number, None
                waiting.extendleft(reversed(one.has))
                continue
            if not isinstance(come, Answer):
                if self._hear is not None:
                    self._hear(come)
                continue
            number, _ = one.has.popleft()
            now = time.monotonic()
            one.quick, one.since = now - one.since < _QUICK_S, now
            yield number, come

    def _begun(self) -> _Process:
        ours, theirs = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(theirs, self._hear is not None))
        process.start()
        theirs.close()
        return _Process(process, ours)

    def _give(self, one: _Process, number: int, task: Task) -> None:
        if not one.has:
            one.since = time.monotonic()
        one.has.append((number, task))
        parcel, scenarios = self._packer.pack((self._work, task))
        new = {name: self._packer.scenario(name) for name in scenarios if name not in one.knows}
        one.knows |= new.keys()
        with contextlib.suppress(OSError):  # one that is dead is found where its answer is awaited
            one.pipe.send_bytes(pickle.dumps((parcel, new)))


def _serve(pipe: "Pipe", heard: bool) -> None:
    """Does the tasks that come through the pipe, until it is closed."""
    worker.begin(pipe if heard else None)
    unpacker = parcels.Unpacker()
    come: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        # All is read at once: who writes here while its own answer waits would wait for ever.
        with contextlib.suppress(EOFError, OSError):
            while True:
                come.put(pipe.recv_bytes())
        come.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (message := come.get()) is not None:
        parcel, scenarios = pickle.loads(message)  # noqa: S301 - by the process that waits
        answer = answered(parcel, scenarios, unpacker)
        try:
            pipe.send_bytes(pickle.dumps(answer))
        except OSError:  # nobody waits for it
            return


def answered(parcel: bytes, scenarios: Mapping[str, bytes], unpacker: parcels.Unpacker) -> Answer:
    """Does the work in a parcel, whose scenarios come along or came before."""
    try:
        unpacker.learn(scenarios)
        work, task = unpacker.unpack(parcel)
        return Answer(pickle.dumps(work(task)))
    except BaseException as error:  # noqa: BLE001 - a panic of the core is no Exception
        # An algorithm of the user's own fails for the reason that it raised itself.
        own = error.__cause__ if isinstance(error, AlgorithmError) else None
        trace = "".join(traceback.format_exception(own or error))
        try:
            return Answer(pickle.dumps(error), trace)
        except Exception:  # noqa: BLE001 - whatever a pickle of it raises
            return Answer(None, trace)


def _end_with_parent() -> None:
    """Ends this process when the one that started it has gone, killed perhaps."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Processes that are started meanwhile have signals and being told to stop held back.

    They do not import the program of the user again either, of which they need nothing: it would
    run once more where it does not ask for its `__name__`.
    """
    resource_tracker.ensure_running()  # or the first worker does that, and lets Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_SENT_TO_ALL, _STOP})
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
