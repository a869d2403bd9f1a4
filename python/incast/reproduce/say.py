"""The command's output on the outcome of experiments."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from incast.reproduce import nearness
from incast.reproduce.claims import Verdict
from incast.reproduce.outcome import At, Outcome
from incast.reproduce.words import (
    case_label,
    difference,
    earlier,
    heading,
    marks,
    origin,
    totals,
)  # fmt: skip
from incast.terminal.numbers import measured, stated
from incast.terminal.writing import print_columns, say, wrapped


def print_outcome(out: Console, of: Outcome, folder: Path) -> None:
    """Measured beside published, then each claim with its verdict."""
    experiment = of.experiment
    say(out, f"{experiment.name}: {experiment.title}", style="bold")
    quick = ", quick: shorter runs and fewer seeds" if of.quick else ""
    wrapped(out, "", f"{experiment.place}; {of.seeds} seed{'s' * (of.seeds > 1)}{quick}")
    front, columns = table(of)
    print_columns(out, front, columns)
    if experiment.published:
        wrapped(out, "", "In parentheses: published.")
    if text := earlier(of):
        wrapped(out, "", text)
    out.print()
    for verdict in of.verdicts:
        wrapped(out, f"  {verdict.word:<14} ", _said(verdict))
        why = " ".join(verdict.cause.split())
        for label, text in (
            ("", origin(verdict.claim)),
            *(("", mark) for mark in marks(verdict)),
            ("why: ", why),
        ):
            if text:
                wrapped(out, f"  {'':<14} {label}", " ".join(text.split()), style="dim")
        for other in verdict.others:
            wrapped(out, f"  {'':<14} - ", f"{other.setup}: {_measured(other)}", style="dim")
    if of.differs:
        wrapped(out, "  why it differs ", of.differs)
    say(out, f"Wrote {folder}/")
    out.print()


def print_summary(out: Console, found: Sequence[Outcome], folder: Path) -> None:
    """Prints how near the published numbers are, and how many claims hold, each counted once."""
    for row in nearness.rows(found):
        classes = zip(row.counts, nearness.CLASSES, strict=True)
        said = ", ".join(f"{count} {name}" for count, name in classes if count)
        wrapped(out, f"{row.total} {row.name}: ", said)
    counts = totals([verdict for of in found for verdict in of.verdicts])
    wrapped(out, "", f"Experiments: {len(found)}; {counts}", style="bold")
    say(out, f"Wrote {folder / 'index.html'}")


def table(of: Outcome) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
    """The table of results: its first columns, then one for each value, published in brackets."""
    places: list[tuple[str, At]] = [
        (case.name, at) for case in of.experiment.case for at in of.places(case)
    ]
    front = [("case", [case_label(of, case) for case, _ in places])]
    if of.experiment.axis is not None:
        front.append(
            (of.experiment.axis.name, ["-" if at is None else str(at) for _, at in places])
        )
    return front, [
        (heading(of, column), [cell(of, case, at, column) for case, at in places])
        for column in of.experiment.columns
    ]


def cell(of: Outcome, case: str, at: At, column: str) -> str:
    """The mean over the seeds, how far it can be off, and what was published.

    Where runs have no value, the number of those that have one.
    """
    found, runs = of.spread(case, at, column), len(of.values(case, at, column))
    text = "-" if found is None else measured(found)
    if found is not None and found.count < runs:
        text += f", {found.count} of {runs} runs"
    said = of.published(case, at, column)
    return text if said is None else f"{text} ({stated(said)})"


def _said(verdict: Verdict) -> str:
    return f"{verdict.claim.says}; {_measured(verdict)}"


def _measured(verdict: Verdict) -> str:
    """The value, what was asked and published, and the verdict's reason."""
    parts = []
    if verdict.measured is not None:
        asked = f", asked {verdict.bound}" if verdict.bound else ""
        parts.append(f"measured {measured(verdict.measured)}{asked}")
    if verdict.claim.published is not None:
        off = difference(verdict)
        parts.append(f"published {verdict.claim.published}{f' ({off})' if off else ''}")
    if verdict.setup:
        parts.append(verdict.word)
    text = "; ".join(parts)
    if not verdict.why:
        return text + verdict.agreed
    return f"{text}: {verdict.why}{verdict.agreed}" if text else verdict.why
