"""Work side by side: in processes of this machine, or on the workers of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from incast.base import pool
from incast.base.lazy import lazy
from incast.base.stopping import Stop

if TYPE_CHECKING:
    from incast.base import cluster
else:
    cluster = lazy("incast.base.cluster", "cluster")

Task = TypeVar("Task")
Done = TypeVar("Done")


def executed(
    work: Callable[[Task], Done],
    tasks: Sequence[Task],
    jobs: int,
    *,
    label: Callable[[Task], str],
    scheduler: str | None = None,
    stop: Stop | None = None,
    lost: Callable[[Task], Done] | None = None,
) -> Iterator[tuple[Task, Done]]:
    """Does the work, and yields each task as it is done: as `pool.executed`, or on a cluster.

    With the address of a Dask scheduler its workers do it, as many tasks as these have threads, and
    `jobs` does not matter. Tasks that are appended meanwhile are also done.

    Raises:
        IncastError: The workers of one task died several times, or the cluster does not answer.
        MissingExtraError: Dask is not installed.
        Exception: That of a task.
    """
    if scheduler is None:
        return pool.executed(work, tasks, jobs, label=label, stop=stop, lost=lost)
    return cluster.executed(work, tasks, scheduler, label=label, stop=stop, lost=lost)
