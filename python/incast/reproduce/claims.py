"""Claims and their verdicts: an expression for each seed, and a verdict over all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from incast.reproduce.experiment import Claim
from incast.reproduce.expressions import MissingValueError, Names, evaluate
from incast.results.seeds import Spread, spread, t95
from incast.terminal.numbers import told

Word = Literal["holds", "undecided", "falls short", "not comparable", "open question"]

# A claim that fails by the last digit of a double does not fail.
_SLACK = 1e-9
_MOST_SEEDS = 1000
"""The most seeds that a verdict names; a value that needs more is at its bound."""


@dataclass(frozen=True)
class Verdict:
    """A claim, judged in one set-up."""

    claim: Claim
    word: Word
    why: str = ""
    """The amount by which the value falls short, or the reason why it cannot be judged."""
    measured: Spread | None = None
    seeds: int = 0
    held: int = 0
    """The number of seeds by which it holds."""
    chance: bool = True
    """Whether its runs differ from seed to seed."""
    keeps: bool = False
    """Whether the mean over the seeds keeps the bounds."""
    needed: int | None = None
    """The seeds that would decide it, if mean and deviation stay: None unless undecided."""
    setup: str = ""
    """The name of the set-up, if it is not the main one."""
    fitted: str = ""
    """The cases that the value rests on in which something was fitted; empty if there are none."""
    cause: str = ""
    """The cause of a mean outside the bounds, with the numbers of the runs that show it."""
    others: tuple["Verdict", ...] = ()
    """The verdicts on the claim in other set-ups, which are listed and not counted."""

    @property
    def bound(self) -> str:
        """The bounds in words: `≤ 0.15`, `0.8 to 1.25`."""
        least, most = self.claim.asked
        if least is not None and most is not None:
            return f"= {least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
        if least is not None:
            return f"≥ {least:.4g}"
        return "" if most is None else f"≤ {most:.4g}"

    @property
    def off(self) -> float | None:
        """The difference to the published number, as a share of it; None where there is none."""
        said = self.claim.published
        if self.measured is None or said is None or isinstance(said, str):
            return None
        return distance(self.measured, said)

    @property
    def agreed(self) -> str:
        """The number of seeds that keep the bounds, in words: ` (2 of 3 seeds)`."""
        if self.word in ("open question", "not comparable") or not self.seeds:
            return ""
        if not self.chance:
            return " (without chance)"
        return f" ({self.held} of {self.seeds} seeds)" if self.seeds > 1 else ""

    @property
    def text(self) -> str:
        """The verdict with its reason, as people read it."""
        return f"{self.word}{f', {self.why}' if self.why else ''}{self.agreed}"


def distance(measured: Spread, said: float) -> float | None:
    """The difference of a mean to a published number, as a share of it.

    None where either has none: the number is zero, or the mean endless.
    """
    return measured.mean / said - 1 if said and math.isfinite(measured.mean) else None


def judge(claim: Claim, names: Sequence[Sequence[Names]], *, chance: bool = True) -> Verdict:
    """Judges a claim; `names` has the names of each seed, in each of the worlds.

    * It holds if the whole confidence interval of the mean over the seeds keeps the bounds.
    * It falls short if no value of the interval does.
    * Else it is undecided, and so is one seed alone, unless there is no chance in it.

    A value that is endless or not there is the worst that it can be. An open question has none.

    Raises:
        SpecError: Its expression names what there is not, or is none.
    """
    unjudged: Word = "open question" if claim.kind == "open" else "not comparable"
    if claim.not_comparable:
        return Verdict(claim, unjudged, claim.not_comparable)
    place = f'claim "{claim.says}"'
    try:
        worlds = [[evaluate(claim.value, known, place) for known in seed] for seed in names]
    except MissingValueError as missing:
        return Verdict(claim, unjudged, str(missing))
    if claim.kind == "open":
        measured = spread([seed[0] for seed in worlds if len(set(seed)) == 1])
        if measured is None:
            return Verdict(claim, unjudged, "the expression has no value", None, len(worlds))
        return Verdict(claim, unjudged, "", measured, measured.count, chance=chance)
    values = [_worst(claim, seed) for seed in worlds]
    return _judged(claim, values, chance=chance)


def _judged(claim: Claim, values: Sequence[float], *, chance: bool) -> Verdict:
    """The verdict on the values of the seeds."""
    measured = spread(values)
    held = sum(_excess(claim, value) <= 0 for value in values)
    if measured is None or not all(map(math.isfinite, values)):
        # The mean of an endless value and of others says nothing of the others.
        decides = _worst(claim, values)
        low, high = decides, decides
        where = f"by seed {values.index(decides) + 1}" if decides in values else ""
    else:
        decides, where = measured.mean, ""
        low, high = measured.interval or (decides, decides)
    keeps = _excess(claim, decides) <= 0
    far = "" if keeps or not math.isfinite(decides) else _how_far(claim, decides)
    why = ", ".join(filter(None, (far, where)))
    if not keeps and not far:
        why += ", which has no finite value"
    word: Word
    needed = None
    if len(values) == 1 and chance:
        word = "undecided"
        why = f"one seed, which {'keeps the bounds' if keeps else f'misses them {why}'}"
    elif _excess(claim, low) <= 0 and _excess(claim, high) <= 0:
        word, why = "holds", ""
    elif _apart(claim, low, high):
        word = "falls short"
    else:
        word, needed = "undecided", _needed(claim, values)
        bound = f"its interval crosses {_crossed(claim, low, high):.4g}"
        seeds = f"more than {_MOST_SEEDS:,}" if needed is None else f"some {needed:,}"
        why = f"{bound}; {seeds} seeds would decide"
    return Verdict(
        claim, word, why, measured, len(values), held, chance=chance, keeps=keeps, needed=needed
    )


def _apart(claim: Claim, low: float, high: float) -> bool:
    """Whether no value from low to high keeps the bounds."""
    least, most = claim.asked
    below = least is not None and high < least - _slack(high)
    above = most is not None and low > most + _slack(low)
    return below or above


def _crossed(claim: Claim, low: float, high: float) -> float:
    """The bound that lies between low and high; of two the one that is nearer to their middle."""
    middle = (low + high) / 2
    inside = [bound for bound in claim.asked if bound is not None and low <= bound <= high]
    return min(inside, key=lambda bound: abs(bound - middle))


def _needed(claim: Claim, values: Sequence[float]) -> int | None:
    """The least number of seeds whose interval crosses no bound, if mean and deviation stay.

    The half width of n seeds is t(0.975, n - 1) s / √n; it must fall below the distance of the mean
    from the nearest bound. None if that takes more than [_MOST_SEEDS][].
    """
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in values) / (len(values) - 1))
    distance = min(abs(mean - bound) for bound in claim.asked if bound is not None)
    for count in range(len(values) + 1, _MOST_SEEDS + 1):
        if t95(count - 1) * deviation / math.sqrt(count) <= distance:
            return count
    return None


def _worst(claim: Claim, values: Sequence[float]) -> float:
    """The value that is farthest from keeping the bounds; what is no number is farther than all."""
    worst = max(values, key=lambda value: _excess(claim, value))
    if math.isnan(worst):
        return -math.inf if claim.asked[1] is None else math.inf
    return worst


def _excess(claim: Claim, value: float) -> float:
    """The distance of a value from the bounds, below zero inside."""
    if math.isnan(value):
        return math.inf
    least, most = claim.asked
    above = -math.inf if most is None else value - most
    below = -math.inf if least is None else least - value
    excess = max(above, below)
    return excess - _slack(value) if math.isfinite(value) else excess


def _slack(value: float) -> float:
    return _SLACK * max(1.0, abs(value)) if math.isfinite(value) else 0.0


def _factor(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else told(value)


def _how_far(claim: Claim, value: float) -> str:
    least, most = claim.asked
    bound = (most if most is not None and value > most else least) or 0.0
    if bound and value / bound > 0:
        factor = max(value / bound, bound / value)
        return (
            f"by a factor of {_factor(factor)}"
            if factor >= 2
            else f"by {abs(value / bound - 1):.1%}"
        )
    return f"by {abs(value - bound):.3g}"
