"""Differences between schemes, seed by seed: equal seeds have equal arrivals.

Two schemes with one seed have the same arrivals. Their common effect drops out of the difference,
so its interval is narrower than the schemes' intervals suggest (common random numbers).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from incast._core import ParameterError
from incast.base.words import nearest, option
from incast.results.pairs import SlowdownRatio, slowdown_ratio
from incast.results.records import Case, Records, known
from incast.results.seeds import Known, Spread, limits, spread


@dataclass(frozen=True)
class Difference:
    """The difference of a scheme to the baseline, over the seeds that both were run with."""

    case: str
    """The label of the scheme, with its scenario where there are several."""
    scheme: str
    baseline: str
    seeds: tuple[int, ...]
    """The seeds of the pairs."""
    left_out: tuple[int, ...]
    """The seeds that one of the two was not run with to the end."""
    values: Mapping[str, Spread]
    """The mean difference of each figure of the summary that both have."""
    means: Mapping[str, float]
    """The means of the baseline over the seeds of the pairs, of figures that are known."""
    slowdown_ratio: SlowdownRatio | None = None
    """Message by message; None where messages have no likes."""

    def relative(self, key: str) -> float | None:
        """The mean difference as a part of the mean of the baseline; None of nothing."""
        base = self.means.get(key)
        return self.values[key].mean / base if base and not self.values[key].side else None

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, ready for JSON."""
        return {
            "case": self.case,
            "scheme": self.scheme,
            "baseline": self.baseline,
            "seeds": list(self.seeds),
            "seeds_left_out": list(self.left_out),
            "values": {
                key: {**value.to_dict(), "relative": self.relative(key)}
                for key, value in self.values.items()
            },
            "slowdown_ratio": self.slowdown_ratio and self.slowdown_ratio.to_dict(),
        }


def check_baseline(baseline: str, schemes: Iterable[str]) -> None:
    """Finds out whether there is something to compare.

    Raises:
        ParameterError: The baseline is none of the schemes, or the only one.
    """
    there = list(dict.fromkeys(schemes))
    if baseline not in there:
        raise ParameterError(
            f"baseline {baseline}: none of the schemes; {nearest(baseline, there)}"
        )
    if len(there) == 1:
        raise ParameterError(
            f"baseline {baseline}: there is no other scheme to compare with it; name one with "
            f"{option('--cc')}, or the directory of its result"
        )


def differences(results: Records, baseline: str) -> list[Difference]:
    """Every other scheme less the baseline, within each scenario.

    Only runs of the same scenario, version and seed are paired. A pair of which one was stopped is
    left out.

    Raises:
        ParameterError: The baseline is none of the schemes, or alone wherever it is.
    """
    check_baseline(baseline, [case.scheme for case in results.cases])
    if not comparable(results, baseline):
        raise ParameterError(
            f"baseline {baseline}: no other scheme was run in its scenario; runs of different "
            "scenarios or versions have other arrivals, and are not paired"
        )
    found = []
    for _, cases in results.experiments:
        base = next((case for case in cases if case.scheme == baseline), None)
        if base is not None:
            found += [_difference(case, base) for case in cases if case is not base]
    return found


def comparable(results: Records, baseline: str) -> bool:
    """Whether any scenario has runs of the baseline and of another scheme."""
    return any(
        len(cases) > 1 and any(case.scheme == baseline for case in cases)
        for _, cases in results.experiments
    )


def without_baseline(results: Records, baseline: str) -> list[str]:
    """The names of the scenarios that have no run of the baseline."""
    return [
        name
        for name, cases in results.experiments
        if all(case.scheme != baseline for case in cases)
    ]


def _difference(case: Case, base: Case) -> Difference:
    ours_by_seed, base_by_seed = (
        {result.seed: result for result in one.results} for one in (case, base)
    )
    ours = {seed: result.runs[case.scheme] for seed, result in ours_by_seed.items()}
    theirs = {seed: result.runs[base.scheme] for seed, result in base_by_seed.items()}
    seeds = sorted(
        seed
        for seed in ours.keys() & theirs.keys()
        if ours[seed].complete and theirs[seed].complete
    )
    keys = dict.fromkeys(key for seed in seeds for key in ours[seed].summary)
    values, means = {}, {}
    for key in keys:
        pairs = [
            (known(ours[seed].summary, key), known(theirs[seed].summary, key)) for seed in seeds
        ]
        low, high = limits(key)
        found = spread([less(*pair) for pair in pairs], (low - high, high - low))
        if found is None or key.endswith(("_bound", "_bound_us")):
            continue
        values[key] = found
        of_base = spread([base for own, base in pairs if own is not None])
        if of_base is not None and not of_base.side:
            means[key] = of_base.mean
    both = [(ours_by_seed[seed], base_by_seed[seed]) for seed in seeds]
    ratio = slowdown_ratio(both, case.scheme, base.scheme)
    return Difference(
        case.label, case.scheme, base.scheme, tuple(seeds),
        tuple(sorted((ours.keys() | theirs.keys()) - set(seeds))), values, means, ratio,
    )  # fmt: skip


def less(ours: float | Known | None, theirs: float | Known | None) -> float | Known | None:
    """The first less the second, or the least and greatest that this can be."""
    if ours is None or theirs is None:
        return None
    if not isinstance(ours, tuple) and not isinstance(theirs, tuple):
        return ours - theirs
    (low, high), (least, most) = (
        one if isinstance(one, tuple) else (one, one) for one in (ours, theirs)
    )
    return low - most, high - least
