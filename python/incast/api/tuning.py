"""Tunings: settings of an algorithm that Optuna proposes, and runs that judge them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from incast._core import ParameterError, Scenario
from incast.api import scenarios, study, sweeping, tuning_plan, tuning_space
from incast.api.interruption import Interrupted
from incast.api.scenarios import Scheme
from incast.api.study import Options, Round, Study, StudyRun
from incast.api.sweep import Sweep
from incast.api.tuned import Tuning
from incast.api.tuning_plan import BATCH, TuningPlan
from incast.base import extras
from incast.base.lazy import lazy
from incast.results import doubts
from incast.results.study_files import Outcome, StudyFolder
from incast.results.tunings import RUNS, TRIALS, Ran, Trial

if TYPE_CHECKING:
    from incast.api import tuning_sampler
else:
    tuning_sampler = lazy("incast.api.tuning_sampler", "tune")

# The most settings of a front that are validated, evenly along it.
_MOST_VALIDATED = 5

Scenarios = Scenario | str | os.PathLike[str]


def tune(
    scenario: Scenarios | Sequence[Scenarios],
    cc: Scheme,
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    over: Iterable[str] | Mapping[str, object] | None = None,
    trials: int = 100,
    seeds: int | Sequence[int] = 1,
    batch: int = BATCH,
    sampler_seed: int = 0,
    validate: Scenarios | Sequence[Scenarios] = (),
    validate_seeds: int | Sequence[int] | None = None,
    out: str | os.PathLike[str],
    jobs: int | None = None,
    scheduler: str | None = None,
    threads: int | str = 1,
    progress: bool = False,
    whatever_it_costs: bool = False,
) -> Tuning:
    """Searches settings of an algorithm that are good by some figures of runs.

    Runs are kept in `out` as soon as they end. The same call makes only those that are missing, and
    one with more trials goes on from there. The result depends neither on the number of jobs nor on
    interruptions: settings are proposed in batches of a fixed size, each by what the batches before
    it gave. Ctrl-C raises `Interrupted`, a KeyboardInterrupt, whose `result` has what there is.

    Args:
        scenario: A scenario, the path of one, or the name of one that ships; or several of them.
        cc: The scheme: an algorithm, a preset of it, or a class of `CongestionControl`; parameters
            in its brackets stay.
        minimize: Figures of runs that are to be small, such as `rtt_p99_us`, in the unit that
            `incast tables` tells. Of several scenarios each is the geometric mean of its ratios
            to the scheme as it was given.
        maximize: Figures that are to be large.
        subject_to: Constraints, such as `throughput_gbps >= 0.95 * best`, which hold in each
            scenario.
        over: Parameters to search, each as `t_high`, `t_high=50us..2ms` or `startup=on,off`, or
            such ranges by name; all with a number that is not zero if None.
        trials: How many settings are tried, the given scheme included.
        seeds: The seeds of the runs of each trial, or how many of them from 1.
        batch: How many trials are proposed at once.
        sampler_seed: The seed of the proposals.
        validate: Scenarios in which what was found is run beside the defaults and presets.
        validate_seeds: The seeds of that, or how many seeds after the tuning's. Without `validate`
            they run in the scenarios of the tuning.
        out: The directory.
        jobs: How many runs go side by side, each in a process of its own; a core each if None.
        scheduler: The address of a Dask scheduler whose workers make the runs.
        threads: How many threads each run has, a number or `auto`.
        progress: Shows runs done, failed and left on the terminal.
        whatever_it_costs: Runs what needs more memory than there seems to be, and does not warn of
            hours.

    Raises:
        ClusterError: The cluster does not answer, or its workers have another version.
        CostError: A run would need more memory than this machine has.
        Interrupted: Ctrl-C.
        MissingExtraError: Optuna is not installed.
        ParameterError: A scheme, a figure, a constraint, a range, a seed or a number does not fit.
        ScenarioError: A scenario cannot be read.
        OutputError: The directory cannot be written or holds something else.

    Example:
        ```python
        import incast

        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        found = incast.tune(
            short,
            "timely",
            minimize="rtt_p99_us",
            subject_to="throughput_gbps >= 0.9 * best",
            over={"t_high": "100us..1ms", "beta": None},
            trials=4,
            out="tuning",
            jobs=1,
        )
        found.trials  # a Polars frame, a row for each setting
        found.best and found.best.scheme  # timely[t_high=...,beta=...], which `run` takes
        ```
    """
    extras.need("tune")
    found = tuning_plan.planned(
        _loaded(scenario),
        cc,
        minimize=minimize,
        maximize=maximize,
        subject_to=subject_to,
        over=over,
        trials=trials,
        seeds=seeds,
        batch=batch,
        sampler_seed=sampler_seed,
        validate=_loaded(validate),
        validate_seeds=validate_seeds,
    )
    options = Options(jobs, scheduler, threads, progress, whatever_it_costs)
    return execute(found, Path(out), options)


def _loaded(named: Scenarios | Sequence[Scenarios]) -> list[Scenario]:
    every = [named] if isinstance(named, (Scenario, str, os.PathLike)) else [*named]
    return [one if isinstance(one, Scenario) else scenarios.load(one) for one in every]


def execute(plan: TuningPlan, out: Path, options: Options) -> Tuning:
    """Makes the runs that are missing in a directory, and writes the tables.

    Raises:
        Interrupted: Ctrl-C.
        IncastError: As `tune`.
    """
    extras.need("tune")
    folder = StudyFolder(out, "tuning")
    runs = Study(folder, plan.scenarios[0], [plan.scheme], options)
    trials = _Trials(plan, runs.outcomes)

    def write(_complete: bool) -> Tuning:
        found = trials.result(out)
        folder.write(found.to_dict(), {TRIALS: found.trials, RUNS: found.runs})
        return found

    count = plan.trials * len(plan.scenarios) * len(plan.seeds)
    # The costs are estimated with the given scheme.
    variants = [(one, plan.scheme) for one in plan.scenarios]
    found = runs.make(trials.rounds(), count, lambda: variants, write)
    return _validated(plan, found, options) if plan.validate else found


class _Trials:
    """The trials of a tuning, proposed in batches by the outcomes of the batches before."""

    def __init__(self, plan: TuningPlan, outcomes: Mapping[str, Outcome]) -> None:
        self._plan = plan
        self._outcomes = outcomes
        self._asked: list[tuple[Mapping[str, str], Mapping[str, float | str] | None]] = []
        self._ended: list[Ran] = []

    def rounds(self) -> Iterator[Round]:
        """The runs of each batch.

        Raises:
            ParameterError: The runs have no such figure.
        """
        while (begin := len(self._asked)) < self._plan.trials:
            self._ask(min(self._plan.batch, self._plan.trials - begin))
            batch = range(begin, len(self._asked))
            yield [pair for number in batch for pair in self._runs(number)]
            self._ended += map(self._ran, batch)
            self._check_figures()

    def result(self, out: Path) -> Tuning:
        """The tuning with all batches that have ended."""
        plan = self._plan
        found = Tuning(
            plan.scheme,
            plan.goals,
            plan.space,
            plan.seeds,
            plan.trials,
            tuple(self._judged()),
            {
                "batch": plan.batch,
                "sampler_seed": plan.sampler_seed,
                "optuna": tuning_sampler.version(),
            },
            directory=out,
        )
        return replace(found, warnings=(*plan.warnings, *self._doubts(found)))

    def _doubts(self, found: Tuning) -> list[str]:
        """Doubts about the trials that are reported: the first one, and the best."""
        best = found.front or [one for one in (found.nearest,) if one is not None]
        seen: dict[str, dict[str, list[doubts.Doubts]]] = {}
        for trial in {one.number: one for one in [*found.every[:1], *best]}.values():
            for name, _, _, outcome in trial.ran.runs:
                at = name if len(self._plan.scenarios) > 1 else ""
                seen.setdefault(at, {}).setdefault(trial.scheme, []).append(outcome.doubts)
        return doubts.sentences(seen.items())

    def _judged(self) -> list[Trial]:
        return self._plan.goals.judged(self._ended) if self._ended else []

    def _ask(self, count: int) -> None:
        plan = self._plan
        number = len(self._asked) // plan.batch
        if not self._asked:
            starts = {one.name: one.start for one in plan.space}
            known = {name: start for name, start in starts.items() if start is not None}
            inside = known if len(known) == len(starts) else None
            self._asked.append(({one.name: one.value for one in plan.space}, inside))
            count -= 1
        told = [
            tuning_sampler.Told(ran.drawn, trial.values, trial.violations)
            for ran, trial in zip(self._ended, self._judged(), strict=True)
            if ran.drawn is not None
        ]
        for drawn in tuning_sampler.proposed(
            plan.space,
            plan.goals.objectives,
            told,
            seed=plan.sampler_seed,
            batch=number,
            count=count,
            fits=lambda drawn: plan.fits(self._scheme(self._texts(drawn))),
        ):
            self._asked.append((self._texts(drawn), drawn))

    def _texts(self, drawn: Mapping[str, float | str]) -> dict[str, str]:
        return {one.name: one.text(drawn[one.name]) for one in self._plan.space}

    def _scheme(self, settings: Mapping[str, str]) -> str:
        return tuning_space.with_settings(self._plan.scheme, settings)

    def _runs(self, number: int) -> list[tuple[str, StudyRun]]:
        """The runs of a trial by their keys: by scenario, then by seed."""
        plan = self._plan
        scheme = self._scheme(self._asked[number][0]) if number else plan.scheme
        return [
            (
                study.key_of(digest, scheme, seed, plan.code),
                StudyRun(scenario, (), scheme, seed),
            )
            for scenario, digest in zip(plan.scenarios, plan.digests, strict=True)
            for seed in plan.seeds
        ]

    def _ran(self, number: int) -> Ran:
        runs = self._runs(number)
        settings, drawn = self._asked[number]
        return Ran(
            number,
            number // self._plan.batch,
            runs[0][1].scheme,
            settings,
            drawn,
            tuple((run.scenario.name, run.seed, key, self._outcomes[key]) for key, run in runs),
        )

    def _check_figures(self) -> None:
        """Refuses goals by what no run has, as soon as runs have ended."""
        goals, ended = self._plan.goals, self._ended
        for name in goals.scenarios:
            for figure in goals.figures:
                if all(ran.error is not None or ran.mean(name, figure) is None for ran in ended):
                    if any(ran.spread(name, figure) is not None for ran in ended):
                        raise ParameterError(
                            f"{figure}: no run of {self._plan.scheme} in {name} has more than a "
                            "bound of this figure, since too many messages had not finished; give "
                            "them time with run.cooldown and a longer run.duration"
                        )
                    why = next((f"; {ran.error}" for ran in ended if ran.error), "")
                    raise ParameterError(
                        f"{figure}: no run of {self._plan.scheme} in {name} has this figure{why}; "
                        "take another one"
                    )
        for goal in goals.objectives if len(goals.scenarios) > 1 else ():
            if goals.combined(ended[0], ended[0], goal.figure) is None:
                raise ParameterError(
                    f"{goal.figure}: is zero or missing with {self._plan.scheme} as it is, so "
                    "there are no ratios to combine scenarios by; take another figure, or one "
                    "scenario"
                )


def _validated(plan: TuningPlan, found: Tuning, options: Options) -> Tuning:
    """The tuning with sweeps of what was found beside the defaults and the presets."""
    front = list(found.front)
    if not front:
        return found
    step = max(1.0, (len(front) - 1) / (_MOST_VALIDATED - 1))
    picked = [front[round(place * step)] for place in range(min(len(front), _MOST_VALIDATED))]
    schemes = dict.fromkeys(
        [*(one.scheme for one in picked), plan.scheme, *tuning_space.published(plan.scheme)]
    )
    sweeps: dict[str, Sweep] = {}
    for scenario in plan.validate:
        place = (found.directory or Path()) / "validation" / scenario.name
        place.parent.mkdir(parents=True, exist_ok=True)
        # Presets that the scenario cannot run would be rows of errors.
        fit = [one for one in schemes if _fits(scenario, one)]
        swept = sweeping.planned(scenario, fit, (), plan.validate_seeds)
        try:
            sweeps[scenario.name] = sweeping.execute(swept, place, options, plan.scheme)
        except Interrupted as interrupted:
            sweeps[scenario.name] = cast("Sweep", interrupted.result)
            raise Interrupted(replace(found, validation=sweeps)) from None
    return replace(found, validation=sweeps)


def _fits(scenario: Scenario, scheme: str) -> bool:
    try:
        scenario.check(scheme)
    except ParameterError:
        return False
    return True
