"""The runs of a sweep, found fit to run before any is made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from incast._core import IncastError, ParameterError, Scenario
from incast.api import guests, study
from incast.api.study import StudyRun
from incast.base import schemes
from incast.base.words import option
from incast.results import doubts
from incast.results.axes import MOST_VALUES, Axis, Point, points

MOST_RUNS = 1_000_000
"""The most runs of a sweep."""
# The most points whose warnings are asked for; of more, as many evenly.
_MOST_WARNED = 100


@dataclass(frozen=True)
class Place:
    """A row of the dataset that is planned."""

    point: Point
    scheme: str
    seed: int
    key: str | None
    """The key of its run; None where the scenario cannot be run."""
    error: str | None = None


@dataclass(frozen=True)
class SweepPlan:
    """The rows of a sweep, and the runs that they are of."""

    scenario: Scenario
    axes: tuple[Axis, ...]
    schemes: tuple[str, ...]
    seeds: tuple[int, ...]
    places: tuple[Place, ...]
    """The rows by point, scheme and seed."""
    runs: Mapping[str, StudyRun]
    """The runs by their keys: runs of equal text, scheme and seed are one."""

    def variants(self) -> list[tuple[Scenario, str]]:
        """The scenarios and schemes of the runs, each once."""
        found = {(run.assignments, run.scheme): run for run in self.runs.values()}
        return [(run.changed, run.scheme) for run in found.values()]

    @cached_property
    def warnings(self) -> list[str]:
        """What `run` warns of before it runs, at any point: a sentence for each cause."""
        points: dict[tuple[str, ...], dict[str, StudyRun]] = {}
        for run in self.runs.values():
            points.setdefault(run.assignments, {}).setdefault(run.scheme, run)
        some = list(points.items())[:: -(-len(points) // _MOST_WARNED)]
        return doubts.once(
            (", ".join(assignments), text)
            for assignments, of_schemes in some
            for text in ["", *_warnings(of_schemes)]
        )


def _warnings(of_schemes: Mapping[str, StudyRun]) -> list[str]:
    """The warnings of the schemes at a point."""
    return study.warnings(next(iter(of_schemes.values())).changed, of_schemes)


def plan(
    scenario: Scenario, axes: Sequence[Axis], chosen: Sequence[str], seeds: Sequence[int]
) -> SweepPlan:
    """Plans all runs, and checks each point with each scheme.

    A point that cannot be run is planned as one that fails, unless a value of an axis is to blame.

    Raises:
        ParameterError: A key or a value does not fit the scenario, an axis changes nothing, or
            there are too many runs.
    """
    count = len(chosen) * len(seeds)
    for axis in axes:
        count *= len(axis.values)
        _check_axis(axis, scenario, chosen)
    if count > MOST_RUNS:
        raise ParameterError(f"{count} runs: expected {MOST_RUNS} at most; take fewer values")
    every = points(axes)
    refused: dict[tuple[int, str], str] = {}
    places: list[Place] = []
    runs: dict[str, StudyRun] = {}
    digests = {scheme: guests.digest_of(scheme) for scheme in chosen}
    for point in every:
        variants: dict[tuple[str, ...], Scenario | str] = {}
        for scheme in chosen:
            matter = relevant(point, scheme)
            if matter not in variants:
                variants[matter] = _changed(scenario, matter)
            found = variants[matter]
            why = found if isinstance(found, str) else _unfit(found, scheme)
            if why is not None or isinstance(found, str):
                refused[point.number, scheme] = str(why)
                places += [Place(point, scheme, seed, None, str(why)) for seed in seeds]
                continue
            text = study.digest(found)
            for seed in seeds:
                key = study.key_of(text, scheme, seed, digests[scheme])
                places.append(Place(point, scheme, seed, key))
                runs.setdefault(key, StudyRun(scenario, matter, scheme, seed))
    _check_refused(every, axes, chosen, refused)
    return SweepPlan(scenario, tuple(axes), tuple(chosen), tuple(seeds), tuple(places), runs)


def relevant(point: Point, scheme: str) -> tuple[str, ...]:
    """The changes at a point without parameters of other schemes, which make no difference."""
    plain = schemes.parts(scheme).plain
    return tuple(
        f"{key}={value}"
        for key, value in point.values.items()
        if (section := _section(key)) is None or section == plain
    )


def _section(key: str) -> str | None:
    """The scheme whose parameters a key is of."""
    parts = key.split(".")
    return parts[1].strip('"') if parts[0] == "cc" and len(parts) > 1 else None


def _check_axis(axis: Axis, scenario: Scenario, chosen: Sequence[str]) -> None:
    if len(axis.values) > MOST_VALUES:
        raise ParameterError(f"{axis.name}: expected {MOST_VALUES} values at most")
    for key in axis.keys:
        section = _section(key)
        if section is None:
            continue
        own = [scheme for scheme in chosen if schemes.parts(scheme).plain == section]
        if not own:
            # The name may be wrong, which is a better answer.
            scenario.with_set(*axis.at(0))
            raise ParameterError(
                f"{key}: none of the schemes, {', '.join(chosen)}, has this parameter; add "
                f"{option(f'--cc {section}', f'{section} to cc')}"
            )
        name = key.rpartition(".")[2]
        for scheme in own:
            for setting in schemes.parts(scheme).settings:
                if setting.partition("=")[0] == name:
                    raise ParameterError(
                        f"{key}: varied, and set in {scheme}; leave one of the two out"
                    )


def _changed(scenario: Scenario, assignments: tuple[str, ...]) -> Scenario | str:
    try:
        return scenario.with_set(*assignments) if assignments else scenario
    except IncastError as error:
        return str(error)


def _unfit(scenario: Scenario, scheme: str) -> str | None:
    try:
        scenario.check(scheme)
    except IncastError as error:
        return str(error)
    return None


def _check_refused(
    every: Sequence[Point],
    axes: Sequence[Axis],
    chosen: Sequence[str],
    refused: Mapping[tuple[int, str], str],
) -> None:
    """Refuses a value with which nothing can be run, and a sweep of which nothing can."""
    for texts in _of_values(every, axes, chosen, refused):
        if all(text is not None for text in texts):
            raise ParameterError(str(texts[0]))


def _of_values(
    every: Sequence[Point],
    axes: Sequence[Axis],
    chosen: Sequence[str],
    refused: Mapping[tuple[int, str], str],
) -> Iterator[list[str | None]]:
    """The errors, or None, at all points that have a value: of each value of each key.

    Those of a parameter are of the schemes that have it: to others it makes no difference.
    """
    if not refused:
        return
    whole = [refused.get((point.number, scheme)) for point in every for scheme in chosen]
    for number, axis in enumerate(axes):
        for section in dict.fromkeys(map(_section, axis.keys)):
            of = [one for one in chosen if section in (None, schemes.parts(one).plain)]
            for place in range(len(axis.values)):
                yield [
                    refused.get((point.number, scheme))
                    for point in every
                    if point.places[number] == place
                    for scheme in of
                ]
    yield whole
