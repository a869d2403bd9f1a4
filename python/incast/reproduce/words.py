"""The names of columns and values where people read them."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from incast.reproduce.claims import Verdict, Word
from incast.reproduce.experiment import Claim
from incast.reproduce.outcome import Outcome
from incast.terminal.numbers import stated, told

SIGNS: dict[Word, str] = {
    "holds": "✓", "undecided": "◐", "falls short": "✗", "not comparable": "○",
    "open question": "?",
}  # fmt: skip
"""The sign of each verdict, which tells it apart without colour."""

Kind = Literal["source", "fitted", "ours", "open"]
"""The author of a claim; `fitted` is a source's claim that rests on values fitted to it."""

_KINDS: dict[Kind, tuple[str, str]] = {
    "source": ("claim of the sources", "claims of the sources"),
    "fitted": ("claim of the sources on fitted values", "claims of the sources on fitted values"),
    "ours": ("claim of ours", "claims of ours"),
    "open": ("open question", "open questions"),
}
_COUNTED: dict[Word, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "undecided": ("is undecided", "are undecided"),
    "falls short": ("falls short", "fall short"),
    "not comparable": ("is not comparable", "are not comparable"),
    "open question": ("is open", "are open"),
}
_EARLIER = "(earlier): an earlier set-up, as measured before; kept for comparison."

_UNITS = {
    "gbps": "Gb/s", "mbps": "Mb/s", "us": "us", "ms": "ms", "s": "s", "kb": "KB", "bytes": "B",
    "percent": "%",
}  # fmt: skip
_WORDS = {
    "rtt": "RTT", "fct": "FCT", "rct": "RCT", "rpc": "RPC", "pfc": "PFC", "ecn": "ECN",
    "jain": "Jain",
}  # fmt: skip


def heading(of: Outcome, column: str) -> str:
    """A column's name: as the experiment gives it, or its key in words, `RTT p99 (us)`."""
    measure = of.experiment.measure.get(column)
    if measure is not None and measure.label:
        return measure.label
    *words, last = column.split("_")
    if last in _UNITS and words:
        return f"{' '.join(_WORDS.get(word, word) for word in words)} ({_UNITS[last]})"
    return " ".join(_WORDS.get(word, word) for word in (*words, last))


def case_label(of: Outcome, case: str) -> str:
    """The label of a case in figures and tables; an earlier set-up is marked as such."""
    found = of.experiment.case_of(case)
    return f"{found.label or case}{' (earlier)' if found.earlier else ''}"


def earlier(of: Outcome) -> str:
    """The note on the mark of earlier set-ups; empty where there are none."""
    return _EARLIER if any(case.earlier for case in of.experiment.case) else ""


def origin(claim: Claim) -> str:
    """The origin of a claim: the place in the source, our reason, or the open question."""
    if claim.source:
        return claim.source
    return f"ours: {claim.ours}" if claim.ours else claim.open


def kind(verdict: Verdict) -> Kind:
    """The kind under which a verdict is counted."""
    own = verdict.claim.kind
    return "fitted" if own == "source" and verdict.fitted else own


def marks(verdict: Verdict) -> list[str]:
    """The notes on a verdict: what was fitted, and what changed after a result was known."""
    notes = []
    if verdict.fitted:
        notes.append(f"rests on cases with fitted values: {verdict.fitted}")
    if verdict.claim.was and not verdict.setup:
        notes.append(f"changed after a result was known; before: {verdict.claim.was}")
    return [" ".join(note.split()) for note in notes]


def published(claim: Claim) -> str:
    """The number that the source has, in its own digits or words; empty where it has none."""
    said = claim.published
    return "" if said is None else said if isinstance(said, str) else stated(said)


def several(number_of: int, what: str) -> str:
    """A count and its noun: `1 seed`, `5 seeds`."""
    return f"{number_of} {what}{'' if number_of == 1 else 's'}"


def difference(verdict: Verdict) -> str:
    """The difference to the published number in per cent, or as a factor; empty without one."""
    return "" if verdict.off is None else percent(verdict.off)


def percent(off: float) -> str:
    """A share of a published number in words: `+4 %`, `3.2 times`."""
    if 0.5 <= 1 + off <= 2:
        return f"{100 * off:+.0f} %".replace("-0 %", "0 %").replace("+0 %", "0 %")
    return f"{told(1 + off)} times"


def counted(verdicts: Sequence[Verdict]) -> str:
    """Verdicts, counted: `8 hold, 1 is undecided (1 by a mean within the bounds)`."""
    parts = []
    for word, count in tally(verdicts):
        said = number_of(word, count)
        if word == "undecided":
            keeping = sum(verdict.keeps for verdict in verdicts if verdict.word == word)
            said += f" ({keeping} by a mean within the bounds)"
        parts.append(said)
    return ", ".join(parts)


def number_of(word: Word, count: int) -> str:
    """A count of verdicts: `1 holds`, `8 hold`."""
    return f"{count} {_COUNTED[word][count > 1]}"


def held(verdicts: Sequence[Verdict]) -> str:
    """The claims of the source that hold, of all of them: `5 of 6`; empty where it makes none."""
    own = [verdict.word for verdict in verdicts if kind(verdict) in ("source", "fitted")]
    if not own:
        return ""
    return of_all(own.count("holds"), own.count("undecided"), len(own))


def of_all(holding: int, undecided: int, count: int) -> str:
    """So many claims that hold of all: `5 of 6`, `4 of 6; 1 undecided`."""
    said = f"{holding} of {count}"
    return f"{said}; {undecided} undecided" if undecided else said


def tally(verdicts: Sequence[Verdict]) -> list[tuple[Word, int]]:
    """The number of verdicts of each word that is there."""
    counts = Counter(verdict.word for verdict in verdicts)
    return [(word, counts[word]) for word in SIGNS if counts[word]]


def totals(verdicts: Sequence[Verdict]) -> str:
    """Verdicts, counted once each: of the sources' claims, of ours apart, and open questions."""
    parts = []
    kinds = Counter(map(kind, verdicts))
    for own, names in _KINDS.items():
        there = [verdict for verdict in verdicts if kind(verdict) == own]
        if there:
            said = f"{len(there)} {names[len(there) > 1]}"
            if own == "source" and kinds["fitted"]:
                said += " without fitted values"
            parts.append(said if own == "open" else f"{said}: {counted(there)}")
    return "; ".join(parts)


def whole(found: Sequence[Outcome]) -> str:
    """All experiments and their verdicts, counted, the sum first."""
    verdicts = [verdict for of in found for verdict in of.verdicts]
    every = f"{several(len(found), 'experiment')}, {len(verdicts)} claims and questions"
    return f"{every}. {totals(verdicts)}"
