"""The command's output on the outcome of experiments."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from incast.reproduce.claims import Verdict
from incast.reproduce.outcome import At, Outcome
from incast.reproduce.words import case_label, earlier, heading, origin, totals
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
        for label, text in (("", origin(verdict.claim)), ("why: ", verdict.cause)):
            if text:
                wrapped(out, f"  {'':<14} {label}", " ".join(text.split()), style="dim")
    if experiment.differs:
        wrapped(out, "  why it differs ", experiment.differs)
    say(out, f"Wrote {folder}/")
    out.print()


def print_summary(out: Console, found: Sequence[Outcome], folder: Path) -> None:
    """Prints how many claims hold, of the sources and of ours, and how many do not."""
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
    parts = [verdict.claim.says]
    if verdict.measured is not None:
        value = measured(verdict.measured)
        asked = f", asked {verdict.bound}" if verdict.bound else ""
        parts.append(f"measured {value}{asked}")
    if verdict.claim.published is not None:
        parts.append(f"published {verdict.claim.published}")
    text = "; ".join(parts)
    return f"{text}: {verdict.why}{verdict.agreed}" if verdict.why else f"{text}{verdict.agreed}"
