"""The plan of a tuning, found fit to run before anything is run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from incast._core import ParameterError, Scenario
from incast.api import guests, scenarios, study, sweep_plan, sweeping, tuning_space
from incast.api.scenarios import Scheme
from incast.base.words import option
from incast.results import doubts, goals
from incast.results.searched import Searched
from incast.results.tunings import Goals

MOST_TRIALS = 100_000
"""The most trials of a tuning."""

BATCH = 10
"""The size of a batch, if nobody asks for another."""

# Seeds of a validation that nobody named, after the greatest that the tuning has.
_UNSEEN = 5


@dataclass(frozen=True)
class TuningPlan:
    """The trials of a tuning that are to be made, and the goals that judge them."""

    scenarios: tuple[Scenario, ...]
    scheme: str
    goals: Goals
    space: tuple[Searched, ...]
    seeds: tuple[int, ...]
    trials: int
    batch: int
    sampler_seed: int
    validate: tuple[Scenario, ...] = ()
    validate_seeds: tuple[int, ...] = ()
    digests: tuple[str, ...] = ()
    """The digests of the scenarios, of which the keys of runs are made."""
    code: str = ""
    """The digest of the module of an algorithm in Python."""

    @cached_property
    def warnings(self) -> list[str]:
        """What `run` warns of before it runs the scheme as given: a sentence for each cause."""
        return doubts.once(
            (one.name if len(self.scenarios) > 1 else "", text)
            for one in self.scenarios
            for text in ["", *study.warnings(one, [self.scheme])]
        )

    def fits(self, scheme: str) -> bool:
        """Whether a scheme can be run in all scenarios."""
        try:
            for one in self.scenarios:
                one.check(scheme)
        except ParameterError:
            return False
        return True


def planned(
    chosen: Sequence[Scenario],
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
    validate: Sequence[Scenario] = (),
    validate_seeds: int | Sequence[int] | None = None,
) -> TuningPlan:
    """The plan of a tuning.

    Raises:
        ParameterError: A scheme, a figure, a constraint, a range, a number or a seed does not fit.
    """
    if not chosen:
        raise ParameterError("no scenario: expected one to tune in, or several")
    for what, value, most in (("trials", trials, MOST_TRIALS), ("batch", batch, MOST_TRIALS)):
        if not 1 <= value <= most:
            name = option(f"--{what}")
            raise ParameterError(f"{name} {value}: expected a number from 1 to {most}")
    if not 0 <= sampler_seed < 2**32:
        raise ParameterError(
            f"{option('--sampler-seed')} {sampler_seed}: expected a number from 0 to {2**32 - 1}"
        )
    names = [one.name for one in chosen]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ParameterError(f"{name}: two scenarios have this name; tune in each once")
    scheme = scenarios.canonical(cc)
    aims = Goals(
        tuple(names),
        tuple(goals.objectives(minimize, maximize)),
        tuple(goals.constraints(subject_to)),
    )
    for one in chosen:
        one.check(scheme)
    wanted = sweeping.checked_seeds(chosen[0], seeds)
    unseen = _unseen(chosen, wanted, validate, validate_seeds)
    return TuningPlan(
        tuple(chosen),
        scheme,
        aims,
        tuning_space.searched(chosen[0], scheme, over),
        tuple(wanted),
        trials,
        batch,
        sampler_seed,
        tuple(validate) or (tuple(chosen) if validate_seeds is not None else ()),
        tuple(unseen),
        tuple(study.digest(one) for one in chosen),
        guests.digest_of(scheme),
    )


def _unseen(
    chosen: Sequence[Scenario],
    seeds: Sequence[int],
    validate: Sequence[Scenario],
    wanted: int | Sequence[int] | None,
) -> list[int]:
    """The seeds of the validation, of which the tuning has seen none in the same scenario."""
    if not validate and wanted is None:
        return []
    after = max(seeds) + 1
    if wanted is None or isinstance(wanted, int):
        count = _UNSEEN if wanted is None else wanted
        if not 1 <= count <= sweep_plan.MOST_RUNS:
            raise ParameterError(
                f"{option('--validate-seeds')} {count}: expected a number of 1 or more"
            )
        wanted = range(after, after + count)
    found = sweeping.checked_seeds(chosen[0], wanted)
    names = [one.name for one in validate]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ParameterError(
                f"{option('--validate')} {name}: two scenarios have this name; name each once"
            )
    known = {one.toml() for one in chosen}
    for scenario in validate or chosen:
        both = sorted({*found} & {*seeds})
        if both and scenario.toml() in known:
            raise ParameterError(
                f"{option('--validate-seeds')} {both[0]}: the tuning has seen this seed of "
                f"{scenario.name}; take others, such as {after}"
            )
    return found
