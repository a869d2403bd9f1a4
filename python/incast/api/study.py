"""Studies: runs that a proposer asks for, made side by side and kept in one directory.

A proposer is a generator of rounds of runs. It goes on when all runs of a round have ended, and
reads their outcomes in the study. A sweep has one round, a tuning has a round for each batch, and
the search for a saturated load has one for the loads and one for each halving.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import polars as pl

from incast import _core
from incast._core import ParameterError, Run, Scenario
from incast.api import batch, costs, guests, scenarios
from incast.api.costs import CostError
from incast.api.interruption import Interrupted
from incast.base import engine, executor, pool
from incast.base.stopping import Stop
from incast.base.words import option
from incast.results import doubts, ideals
from incast.results.comparison import number
from incast.results.study_files import Outcome, StudyFolder
from incast.results.tables import frame
from incast.terminal import progress

Found = TypeVar("Found", bound=Any)
Values = Mapping[str, float | int | None]
Measure = Callable[[Run, Scenario], Values]

_NONE: Mapping[str, bytes] = {}
# The most scenarios whose costs are estimated; of more, as many evenly.
_MOST_ESTIMATES = 300


@dataclass(frozen=True)
class Options:
    """The way in which the runs of a study are made; their results are the same in any way."""

    jobs: int | None = None
    """The number side by side; a core each if None."""
    scheduler: str | None = None
    """The address of a Dask scheduler whose workers make them."""
    threads: int | str | None = "1"
    """The threads of each run, a number or `auto`; what the scenario says if None."""
    progress: bool = False
    whatever_it_costs: bool = False
    ask: Callable[[str], bool] | None = None
    """Asks whether to go on with what takes long; without, there is a warning."""

    def __post_init__(self) -> None:
        """Refuses both jobs and a scheduler, and numbers that there cannot be."""
        if self.scheduler is not None and self.jobs is not None:
            raise ParameterError(
                f"jobs {self.jobs} and scheduler {self.scheduler}: a cluster has as many runs side "
                "by side as its workers have threads; leave one of the two out"
            )
        batch.check_jobs(self.jobs)
        scenarios.check_threads(self.threads)


@dataclass(frozen=True)
class StudyRun:
    """A run of a study, which several points may share."""

    scenario: Scenario
    """The scenario without what varies."""
    assignments: tuple[str, ...]
    """The changes that matter to the scheme."""
    scheme: str
    seed: int

    @property
    def name(self) -> str:
        """The name of the run in errors."""
        at = f" at {', '.join(self.assignments)}" if self.assignments else ""
        return f"{self.scheme}, seed {self.seed}{at}"

    @property
    def changed(self) -> Scenario:
        """The scenario of the run."""
        return self.scenario.with_set(*self.assignments) if self.assignments else self.scenario


Round = Iterable[tuple[str, StudyRun]]
"""Runs with their keys, which may be there several times."""


def digest(scenario: Scenario) -> str:
    """A digest of all that a scenario says, and of the simulator."""
    said = [engine.own().version, engine.own().digest, scenario.toml(), scenario.inputs]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def key_of(text: str, scheme: str, seed: int, *others: str) -> str:
    """The key of a run: a digest of its scenario's digest, its scheme, its seed, and of others."""
    said = [text, scheme, seed, *filter(None, others)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def figures(run: Run, scenario: Scenario) -> Values:
    """The summary of a run, and its ideal."""
    return {**run.summary, **ideals.of_run(run, scenario)}


class Study:
    """The runs of a directory: it keeps those that have ended, and makes those that are missing."""

    def __init__(
        self,
        folder: StudyFolder,
        scenario: Scenario,
        schemes: Sequence[str],
        options: Options,
        measure: Measure = figures,
        *,
        sizes: bool = False,
    ) -> None:
        self.folder = folder
        self.outcomes: dict[str, Outcome] = {}
        """The outcomes of runs by their keys."""
        self._scenario = scenario
        self._schemes = schemes
        self._options = options
        self._measure = measure
        self._sizes = sizes
        self._asked = 0
        self._left = 0
        """The runs of the round that have not ended."""
        self._failed = 0

    def make(
        self,
        rounds: Iterable[Round],
        planned: int,
        variants: Callable[[], Sequence[tuple[Scenario, str]]],
        write: Callable[[bool], Found],
    ) -> Found:
        """Makes the runs of all rounds that are missing, and gives what is found in them.

        Args:
            rounds: Generates the runs of each round.
            planned: The number of runs, as far as it is known.
            variants: Gives the scenarios and schemes of the runs, whose costs are estimated.
            write: Writes the files and gives what is found, of all runs or else of those that
                ended before Ctrl-C.

        Raises:
            Interrupted: Ctrl-C.
            IncastError: The directory holds something else, a run is too large, or no cluster
                answers.
        """
        self.folder.claim()
        each = iter(rounds)
        tasks = self._missing(each)
        jobs = self._side_by_side(planned - self._asked + self._left, variants) if tasks else 1
        with (
            Stop() as stop,
            progress.bar_of_study(visible=self._options.progress) as show,
        ):
            show(self._done, self._failed, planned)
            for (key, run), outcome in executor.executed(
                partial(
                    execute_run,
                    threads=scenarios.check_threads(self._options.threads),
                    classes=guests.parcel(self._schemes),
                    measure=self._measure,
                    sizes=self._sizes,
                ),
                tasks,
                jobs,
                label=lambda task: task[1].name,
                scheduler=self._options.scheduler,
                stop=stop,
                lost=lost_run,
            ):
                if outcome is None:
                    continue
                self.folder.put(key, run.scheme, run.seed, outcome)
                self.outcomes[key] = outcome
                self._failed += outcome.error is not None
                self._left -= 1
                if not self._left and not stop.asked:
                    tasks += self._missing(each)
                show(self._done, self._failed, max(planned, self._asked))
            found = write(not stop.asked)
        if stop.asked:
            raise Interrupted(found)
        return found

    @property
    def _done(self) -> int:
        return self._asked - self._left - self._failed

    def _missing(self, rounds: Iterator[Round]) -> list[tuple[str, StudyRun]]:
        """The missing runs of the next round that lacks any; none at the end."""
        for one in rounds:
            runs = list(one)
            unknown = {key: run for key, run in runs if key not in self.outcomes}
            self.outcomes |= self.folder.kept(unknown)
            missing = [pair for pair in unknown.items() if pair[0] not in self.outcomes]
            self._asked += len(runs)
            self._left = len(missing)
            if missing:
                return missing
        return []

    def _side_by_side(
        self, runs: int, variants: Callable[[], Sequence[tuple[Scenario, str]]]
    ) -> int:
        """The number of runs that go side by side; refuses what does not fit the memory."""
        options, name = self._options, self._scenario.name
        if options.scheduler is not None:
            return 1
        most = min(runs, batch.at_once(options.jobs, options.threads or self._scenario.threads))
        if options.whatever_it_costs:
            return most
        found = variants()
        some = found[:: -(-len(found) // _MOST_ESTIMATES)]
        every = [costs.estimate(scenario, [scheme]) for scenario, scheme in some]
        largest = max(every, key=lambda cost: cost.memory_bytes)
        if why := costs.too_much(largest):
            anyway = option("--yes", "whatever_it_costs=True")
            raise CostError(f"{name}: {why}; or go on with {anyway}")
        share = runs / len(every)
        total = replace(
            largest,
            seconds=share * sum(cost.seconds for cost in every),
            packet_hops=share * sum(cost.packet_hops for cost in every),
        )
        costs.doubt(name, total, options.ask)
        return batch.fitting(name, largest, most, options.jobs)


def execute_run(
    task: tuple[str, StudyRun],
    *,
    threads: str | None,
    classes: Mapping[str, bytes] = _NONE,
    measure: Measure = figures,
    sizes: bool = False,
) -> Outcome | None:
    """Makes a run in a worker; None if that was told to stop."""
    run = task[1]
    began = time.thread_time()
    try:
        with pool.worker.stoppable():
            guests.receive(classes)
            scenario = _cached(run)
            made = _core.run(
                scenario,
                run.scheme,
                seed=run.seed,
                threads=threads,
                progress=lambda _time, _events: not pool.worker.stopped,
            )
        if not made.complete:
            return None
        values = {name: number(value) for name, value in measure(made, scenario).items()}
        seen = doubts.of_run(made, scenario)
        by_size = _sizes(made) if sizes else {}
    except KeyboardInterrupt:
        return None
    except guests.OtherPackageError:
        raise  # no run would be one of the client's
    except BaseException as error:  # noqa: BLE001 - one run stops no other, whatever it raises
        return Outcome({}, f"{' '.join(str(error).split()) or type(error).__name__}")
    return Outcome(values, None, round(time.thread_time() - began, 6), seen, by_size)


def warnings(scenario: Scenario, schemes: Iterable[str]) -> list[str]:
    """The warnings of a scenario under schemes, without those of algorithms of one's own.

    Warnings start a flow, and only a worker may be lost by what such an algorithm does.
    """
    known = [scheme for scheme in schemes if not guests.digest_of(scheme)]
    return scenarios.warnings(scenario, known)


def _sizes(run: Run) -> dict[str, list[Any]]:
    """The completion times by size, of sizes that have messages."""
    rows = next((frame(table) for table in run.tables if table.name == "fct"), None)
    if rows is None or rows.is_empty():
        return {}
    found = rows.filter(pl.col("posted") > 0)
    return {} if found.is_empty() else found.to_dict(as_series=False)


def lost_run(task: tuple[str, StudyRun]) -> Outcome | None:
    """The outcome of a run that the system killed several workers of."""
    return Outcome({}, pool.killed(task[1].name))


_last: tuple[StudyRun, Scenario] | None = None


def _cached(run: StudyRun) -> Scenario:
    """The scenario of a run; that of the last one where it is the same."""
    global _last  # noqa: PLW0603 - runs of a point follow each other
    last = _last
    if last and last[0].scenario is run.scenario and last[0].assignments == run.assignments:
        return last[1]
    found = run.changed
    _last = run, found
    return found
