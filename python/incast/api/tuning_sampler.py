"""The proposals of settings, by Optuna's tree-structured Parzen estimator."""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import optuna

from incast.results.goals import Objective
from incast.results.searched import Searched

# Trials that are drawn at random before the estimator has anything to go by.
_RANDOM = 10
# Draws of settings that contradict each other, until a trial is one of these.
_DRAWS = 50

Drawn = Mapping[str, float | str]
"""Values by parameter, as they were drawn."""


@dataclass(frozen=True)
class Told:
    """A trial that has ended, as the sampler learns of it."""

    drawn: Drawn
    values: tuple[float, ...] | None
    """The values of the objectives; None of a trial that has none."""
    violations: tuple[float, ...] = ()


def version() -> str:
    """The version of Optuna, of which other versions may propose other settings."""
    return str(optuna.__version__)


def proposed(
    space: Sequence[Searched],
    objectives: Sequence[Objective],
    told: Sequence[Told],
    *,
    seed: int,
    batch: int,
    count: int,
    fits: Callable[[Drawn], bool],
) -> list[Drawn]:
    """The settings of a batch, which follow from the trials before it and from two numbers alone.

    A study of its own is made for each batch. So nothing depends on when trials ended, and limits
    that move with the best value follow from all trials before the batch. Settings that do not fit
    together are drawn again, up to 50 times.
    """
    ranges = {one.name: _range(one) for one in space}
    digest = hashlib.sha256(f"{seed} {batch}".encode()).digest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            seed=int.from_bytes(digest[:4], "big"),
            n_startup_trials=_RANDOM,
            multivariate=True,
            constant_liar=True,
        )
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(
            sampler=sampler,
            directions=["maximize" if one.maximize else "minimize" for one in objectives],
        )
        for one in told:
            study.add_trial(_trial(one, ranges))
        found: list[Drawn] = []
        draws = 0
        while len(found) < count:
            trial = study.ask(ranges)
            draws += 1
            if draws < _DRAWS and not fits(trial.params):
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            found.append(dict(trial.params))
            draws = 0
    finally:
        optuna.logging.set_verbosity(verbosity)
    return found


def _range(one: Searched) -> optuna.distributions.BaseDistribution:
    if one.words:
        return optuna.distributions.CategoricalDistribution(one.words)
    if one.whole:
        return optuna.distributions.IntDistribution(round(one.low), round(one.high), log=one.log)
    return optuna.distributions.FloatDistribution(one.low, one.high, log=one.log)


def _trial(
    one: Told, ranges: Mapping[str, optuna.distributions.BaseDistribution]
) -> optuna.trial.FrozenTrial:
    if one.values is None:
        return optuna.create_trial(
            state=optuna.trial.TrialState.PRUNED,
            params=dict(one.drawn),
            distributions=dict(ranges),
        )
    return optuna.create_trial(
        values=one.values,
        params=dict(one.drawn),
        distributions=dict(ranges),
        constraints={str(place): each for place, each in enumerate(one.violations)},
    )
