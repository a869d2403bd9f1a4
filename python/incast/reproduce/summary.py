"""The summary as Markdown: docs/reference/reproduction.md has all experiments."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from incast import _core
from incast.reproduce import nearness
from incast.reproduce.claims import Verdict, Word
from incast.reproduce.outcome import Outcome
from incast.reproduce.sources import source
from incast.reproduce.words import (
    SIGNS,
    Kind,
    case_label,
    difference,
    kind,
    marks,
    origin,
    published,
    totals,
    whole,
)  # fmt: skip
from incast.terminal.numbers import measured

_RULES = """
A claim is counted once, in its main set-up. Earlier, fitted and other set-ups are listed under it.

A claim holds if the whole 95 % confidence interval of the mean over the seeds keeps its bounds. It
falls short if no value of the interval does. Else it is undecided, and the report says how many
seeds would decide.

Where a source says that a value equals a number, the value must be within a factor of 1.25 of it,
above and below. Other bounds are those of the source's words; each is in the file of its
experiment.

A value that is endless, or that a run should have and has not, is the worst that it can be for the
claim. It is left out of no mean and no quantile.

A claim whose value rests on what was fitted to that source is counted apart.

A bound or a sentence that changed after a result was known is marked, with the earlier one.

A claim that no source makes is ours, and counted apart. An open question has a value and no
verdict.

Causes have the numbers of the runs that they name: they are filled in when the report is written.
"""
RULES = tuple(" ".join(rule.split()) for rule in _RULES.split("\n\n"))
"""The rules of judging, for people."""

_HEADINGS = ("experiment", "claim", "source", "published", "asked", "measured", "off", "verdict")
_WIDTH = 100


def markdown(found: Sequence[Outcome]) -> str:
    """The summary: distances, shortfalls, what was fitted, then each claim by source."""
    quick = ", quick form" if any(of.quick for of in found) else ""
    cores = sum(of.seconds for of in found) / 3600
    lines = [
        "# What was published, and what is measured here",
        "",
        *_paragraph(
            "This page is written by `incast reproduce --all`, as `summary.md` beside its report, "
            "which has each experiment's figures, tables, parameters and assumptions. "
            f"incast {_core.__version__}{quick}; {cores:.2f} core hours of runs."
        ),
        "## How near the published numbers are",
        "",
        *distances(found),
        "",
        *counts(found),
        "",
        "## How it is judged",
        "",
        *(line for rule in RULES for line in _item(rule)),
        "",
        *_paragraph(f"{whole(found)}."),
    ]
    lines += _listed("What falls short", found, "falls short")
    lines += _listed("What is undecided", found, "undecided")
    if there := list(fitted(found)):
        lines += ["## What was fitted", ""]
        for of, text in there:
            lines += _item(f"`{of.experiment.name}`: {text}")
        lines.append("")
    for name, own in _by_source(found):
        lines += [f"## {source(name).title}", ""]
        lines += _paragraph(f"{totals([one for of in own for one in of.verdicts])}.")
        lines += [_row(_HEADINGS), _row(["---"] * len(_HEADINGS))]
        for of in own:
            for verdict in of.verdicts:
                lines.append(_cells(of, verdict))
                lines += [_cells(of, other) for other in verdict.others]
        lines.append("")
    return "\n".join(lines)


def distances(found: Sequence[Outcome]) -> list[str]:
    """The table of distances from the published numbers."""
    headings = ("", *nearness.CLASSES, "all")
    lines = [_row(headings), _row(["---"] + ["--:"] * (len(headings) - 1))]
    lines += [
        _row([row.name, *map(str, row.counts), str(row.total)]) for row in nearness.rows(found)
    ]
    return lines


def counts(found: Sequence[Outcome]) -> list[str]:
    """The table of verdicts: a row for each source, for what rests on fitted values, for ours."""
    words: tuple[Word, ...] = ("holds", "undecided", "falls short", "not comparable")

    def of_kind(wanted: Kind, outcomes: Iterable[Outcome] = found) -> list[Word]:
        verdicts = (verdict for of in outcomes for verdict in of.verdicts)
        return [verdict.word for verdict in verdicts if kind(verdict) == wanted]

    rows = {source(name).title: of_kind("source", own) for name, own in _by_source(found)}
    rows["all of the above"] = of_kind("source")
    apart: dict[str, Kind] = {"rest on fitted values": "fitted", "claims of ours": "ours"}
    rows |= {f"apart: {name}": own for name, of in apart.items() if (own := of_kind(of))}
    headings = ("claims, each counted once", *words, "all")
    lines = [_row(headings), _row(["---"] + ["--:"] * (len(headings) - 1))]
    for name, own in rows.items():
        lines.append(_row([name, *(str(own.count(word)) for word in words), str(len(own))]))
    return lines


def _by_source(found: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """The experiments of each source, sources in the order of their first one."""
    for name in dict.fromkeys(of.experiment.source for of in found):
        yield name, [of for of in found if of.experiment.source == name]


def of_sources(found: Sequence[Outcome], word: Word) -> Iterator[tuple[Outcome, Verdict]]:
    """The claims of the sources that have this verdict."""
    for of in found:
        for verdict in of.verdicts:
            if verdict.word == word and kind(verdict) in ("source", "fitted"):
                yield of, verdict


def fitted(found: Sequence[Outcome]) -> Iterator[tuple[Outcome, str]]:
    """The fitted values of all experiments, each with its case."""
    for of in found:
        for case in of.experiment.case:
            if case.fitted:
                yield of, f"{case_label(of, case.name)}: {' '.join(case.fitted.split())}"


def _listed(title: str, found: Sequence[Outcome], word: Word) -> list[str]:
    there = list(of_sources(found, word))
    lines = [f"## {title}", ""] if there else []
    for of, verdict in there:
        value = "" if verdict.measured is None else f" {measured(verdict.measured)},"
        said = published(verdict.claim)
        printed = f" published {said}," if said else ""
        cause = f" {' '.join(verdict.cause.split())}" if verdict.cause else ""
        lines += _item(
            f"`{of.experiment.name}`: {verdict.claim.says}:{value}{printed} asked "
            f"{verdict.bound}: {verdict.why or verdict.word}.{cause}"
        )
    return [*lines, ""] if lines else []


def _cells(of: Outcome, verdict: Verdict) -> str:
    claim = verdict.claim
    says = f"— {verdict.setup}" if verdict.setup else claim.says
    cause = f". {' '.join(verdict.cause.split())}" if verdict.cause else ""
    notes = "".join(f" ({note})" for note in marks(verdict))
    return _row(
        (
            f"`{of.experiment.name}`",
            says + notes,
            "" if verdict.setup else " ".join(origin(claim).split()),
            published(claim),
            verdict.bound,
            "" if verdict.measured is None else measured(verdict.measured),
            difference(verdict),
            f"{SIGNS[verdict.word]} {verdict.text}{cause}",
        )
    )


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _paragraph(text: str) -> list[str]:
    return [*_wrapped(text), ""]


def _item(text: str) -> list[str]:
    return _wrapped(text, "* ")


def _wrapped(text: str, first: str = "") -> list[str]:
    """Lines of a paragraph or an item. No word is broken, so that code in the text stays whole."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
