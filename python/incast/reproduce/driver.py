"""The way from names of experiments to their outcomes and one book."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.api import costs
from incast.api.batch import check_jobs
from incast.api.costs import CostError
from incast.base import staging
from incast.base.stopping import Stop
from incast.reproduce import book, live, shelf
from incast.reproduce.experiment import Experiment
from incast.reproduce.kept import Kept, make
from incast.reproduce.outcome import Outcome, outcome
from incast.reproduce.runs import Done, PlannedRun, plans
from incast.results import store

_RUNS = ".runs"


@dataclass(frozen=True)
class Progress:
    """Callbacks that show how far the runs are."""

    total: Callable[[int], None] = lambda _: None
    """Told once how many runs there are."""
    run: Callable[[str, Done], None] = lambda _name, _done: None
    """Told of each run that is done, or was already, with the name of its experiment."""


def reproduce(
    experiments: Sequence[Experiment],
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    address: str | None = None,
) -> Iterator[Outcome]:
    """Runs experiments side by side; yields each as it is done and written, then writes the book.

    Runs are kept in `out`: the same call goes on where it was stopped, and until then the book
    names the experiments that are missing. Runs are made in processes of this machine, or by the
    workers of the Dask scheduler with that address. Figures have links to the page of the simulator
    at `address`, or to a copy of it in the book.

    Raises:
        CostError: A run needs more memory than there is; found before anything is run.
        SpecError: An experiment names what there is not; found before anything is run, but for
            columns, which are known when the first run has them.
        OutputError: `out` cannot be written.
        ParameterError: So many runs cannot go side by side here.
        KeyboardInterrupt: Ctrl-C; runs that are done are kept.
    """
    check_jobs(jobs, have_threads=False)
    target = Path(out)
    # A directory that cannot be written is refused before anything is simulated.
    for folder in (target, target / _RUNS, *(target / of.name for of in experiments)):
        store.check_folder(folder)
    staging.clean(target / _RUNS)
    progress = progress or Progress()
    planned = {of.name: plans(of, quick=quick) for of in experiments}
    owners = {id(plan): name for name, own in planned.items() for plan in own}
    wanted = [plan for own in planned.values() for plan in own]
    jobs = jobs or os.cpu_count() or 1
    if scheduler is None:
        _check_costs(wanted, jobs)
    progress.total(len(wanted))
    found: dict[str, dict[int, Done]] = {name: {} for name in planned}
    by_name = {of.name: of for of in experiments}
    outcomes: dict[str, shelf.WrittenOutcome] = {}
    with Stop() as stop:
        for plan, done in make(
            wanted, Kept(target / _RUNS), jobs=jobs, stop=stop, scheduler=scheduler
        ):
            name = owners[id(plan)]
            found[name][id(plan)] = done
            progress.run(name, done)
            own = planned[name]
            if len(found[name]) == len(own):
                runs = [(one, found[name][id(one)]) for one in own]
                whole = outcome(by_name[name], runs, quick=quick)
                outcomes[name] = shelf.write(whole, target)
                yield whole
    try:
        there = live.page(target, planned, address)
    except OSError as error:
        raise store.unwritable(target, error) from None
    book.write(experiments, outcomes, target, there)
    if stop.asked:
        raise KeyboardInterrupt


def _check_costs(wanted: Sequence[PlannedRun], jobs: int) -> None:
    """Refuses runs that do not fit the memory, alone or side by side."""
    known: dict[tuple[str, tuple[str, ...], str], costs.Cost] = {}
    for plan in wanted:
        inputs = (plan.source, plan.changes, plan.scheme)
        if plan.scenario is not None and inputs not in known:
            cost = costs.estimate(plan.scenario, [plan.scheme], traces=plan.traces)
            known[inputs] = cost
            if why := costs.too_much(cost):
                raise CostError(f"{plan.label}: {why}")
            if why := costs.too_much(cost, at_once=min(jobs, len(wanted))):
                raise CostError(f"{plan.label}: {why}; or take fewer --jobs")
