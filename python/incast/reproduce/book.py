"""The book of experiments: a front, a page for each publication, a page for each experiment.

Pages lie beside the files of their experiments, and lead to each other by relative links: the
folder can be moved, and opens from disk.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from incast import _core
from incast.reproduce import nearness, summary
from incast.reproduce.claims import Verdict
from incast.reproduce.experiment import Experiment
from incast.reproduce.live import Page
from incast.reproduce.outcome import Outcome
from incast.reproduce.say import cell, table
from incast.reproduce.shelf import THUMBNAIL, WrittenOutcome, put
from incast.reproduce.sources import SOURCES, Source, in_order, source
from incast.reproduce.words import (
    SIGNS,
    case_label,
    difference,
    earlier,
    heading,
    held,
    kind,
    marks,
    number_of,
    origin,
    published,
    several,
    tally,
    totals,
    whole,
)  # fmt: skip
from incast.results.store import unwritable
from incast.terminal.numbers import measured, number

_ASSETS = ("book.css", "book.js")
_FRONT = "index.html"


@dataclass(frozen=True)
class _Leaf:
    """A page: its place in the folder, its title, its template and what that shows."""

    path: str
    title: str
    template: str
    content: Mapping[str, Any]

    @property
    def root(self) -> str:
        """The way up to the folder of the book."""
        return "../" * self.path.count("/")


@dataclass(frozen=True)
class _Paper:
    """A publication with its experiments, of which the first one leads."""

    name: str
    source: Source
    experiments: Sequence[Experiment]
    found: Sequence[WrittenOutcome]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of all its experiments that were run."""
        return [verdict for one in self.found for verdict in one.outcome.verdicts]


def write(
    chosen: Sequence[Experiment],
    found: Mapping[str, WrittenOutcome],
    out: Path,
    live: Page | None = None,
) -> None:
    """Writes the pages and `summary.md`, publications in the order of [SOURCES][].

    Experiments that are chosen and not found are named as missing. Figures have links to a page
    that runs them.

    Raises:
        OutputError: They cannot be written.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("incast.reproduce"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"folding": _folding, "address": quote}
    papers = list(_papers(chosen, found))
    ordered = [one for paper in papers for one in paper.found]
    leaves = list(_leaves(papers, live))
    everywhere = {
        "version": _core.__version__,
        "quick": any(one.outcome.quick for one in ordered),
        "signs": SIGNS,
        "leading": [leaf for leaf in leaves if "/" not in leaf.path],
        "papers": [_entry(paper) for paper in papers],
    }
    try:
        for place, leaf in enumerate(leaves):
            around = {
                "leaf": leaf,
                "root": leaf.root,
                "before": leaves[place - 1] if place else None,
                "after": leaves[place + 1] if place + 1 < len(leaves) else None,
            }
            page = environment.get_template(leaf.template)
            (out / leaf.path).parent.mkdir(parents=True, exist_ok=True)
            put(out / leaf.path, page.render(**everywhere, **around, **leaf.content))
        for name in _ASSETS:
            put(out / name, environment.get_template(name).render())
        # In the order of the files.
        listed = [found[of.name].outcome for of in chosen if of.name in found]
        listed.sort(key=lambda of: [paper.name for paper in papers].index(of.experiment.source))
        put(out / "summary.md", summary.markdown(listed))
    except OSError as error:
        raise unwritable(out, error) from None


def _papers(chosen: Sequence[Experiment], found: Mapping[str, WrittenOutcome]) -> Iterator[_Paper]:
    """The publications of the chosen experiments; those of yours come last."""
    names = dict.fromkeys(of.source for of in chosen)
    for name in sorted(names, key=lambda name: [*SOURCES, name].index(name)):
        about = source(name)
        own = [of for of in chosen if of.source == name]
        own.sort(key=lambda of: of.slug != about.leads)
        yield _Paper(name, about, own, [found[of.name] for of in own if of.name in found])


def _leaves(papers: Sequence[_Paper], live: Page | None) -> Iterator[_Leaf]:
    """All pages, in the order in which they are read."""
    found = [one for paper in papers for one in paper.found]
    outcomes = [one.outcome for one in found]
    every = [verdict for of in outcomes for verdict in of.verdicts]
    yield _Leaf(_FRONT, "Published and measured", "front.html.j2", {
        "totals": whole(outcomes) if found else "",
        "missing": sum(len(paper.experiments) for paper in papers) - len(found),
        "bar": _bar(every, "of the sources"),
        "hours": sum(of.seconds for of in outcomes) / 3600,
        "classes": nearness.CLASSES,
        "near": nearness.rows(outcomes),
        "first": _leading(papers[0]) if papers else None,
        "tiles": [_paper_tile(paper) for paper in papers],
    })  # fmt: skip
    yield _Leaf("short.html", "What falls short", "short.html.j2", {
        "short": [_named(*one) for one in summary.of_sources(outcomes, "falls short")],
    })  # fmt: skip
    yield _Leaf("claims.html", "All claims", "claims.html.j2", {
        "totals": whole(outcomes) if found else "",
        "words": [word for word, _ in tally(every)],
        "sections": [
            (_experiment(one.outcome), [_claim(verdict) for verdict in one.outcome.verdicts])
            for one in found
        ],
    })  # fmt: skip
    yield _Leaf("judged.html", "How it is judged", "judged.html.j2", {
        "rules": summary.RULES,
        "fitted": [(_experiment(of), text) for of, text in summary.fitted(outcomes)],
        "changed": [
            _named(of, verdict)
            for of in outcomes for verdict in of.verdicts if verdict.claim.was
        ],
    })  # fmt: skip
    for paper in papers:
        yield _Leaf(_page_of(paper.name), paper.source.title, "paper.html.j2", {
            "about": paper.source.claims,
            "bar": _bar(paper.verdicts),
            "totals": totals(paper.verdicts),
            "first": _leading(paper),
            "shown": _shown(paper),
            "tiles": [_tile(of, paper.found) for of in paper.experiments],
        })  # fmt: skip
        for one in paper.found:
            of = one.outcome.experiment
            yield _Leaf(
                _page_of(of.name), of.title, "experiment.html.j2", _section(one, live, paper)
            )


def _page_of(name: str) -> str:
    """The place of the page of a publication or an experiment."""
    return f"{name}/{_FRONT}"


def _entry(paper: _Paper) -> dict[str, Any]:
    """A publication in the list of contents, with its experiments."""
    there = {one.outcome.experiment.name for one in paper.found}
    return {
        "path": _page_of(paper.name),
        "folder": f"{paper.name}/",
        "title": paper.source.short,
        "experiments": [
            {"path": _page_of(of.name), "title": of.title, "there": of.name in there}
            for of in paper.experiments
        ],
    }


def _paper_tile(paper: _Paper) -> dict[str, Any]:
    drawn = next((one for one in paper.found if one.figures), None)
    return {
        "path": _page_of(paper.name),
        "title": paper.source.title,
        "picture": _picture(drawn),
        "bar": _bar(paper.verdicts),
        "missing": len(paper.experiments) - len(paper.found),
    }


def _tile(of: Experiment, found: Sequence[WrittenOutcome]) -> dict[str, Any]:
    own = next((one for one in found if one.outcome.experiment.name == of.name), None)
    return {
        "path": _page_of(of.name) if own else "",
        "title": of.title,
        "picture": _picture(own),
        "bar": _bar(own.outcome.verdicts) if own else None,
        "missing": int(own is None),
    }


def _shown(paper: _Paper) -> list[dict[str, Any]]:
    """The figures and tables of a publication, each with its experiment or why there is none."""
    of_name = {one.outcome.experiment.name: one.outcome.verdicts for one in paper.found}
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "title": of.title,
            "path": _page_of(of.name) if of.name in of_name else "",
            "held": held(of_name.get(of.name, [])),
        }
        for of in paper.experiments
        for name in of.shows
    ]
    if rows:
        rows += [{"name": name, "why": why} for name, why in paper.source.not_run.items()]
    return sorted(rows, key=lambda row: in_order(row["name"]))


def _picture(one: WrittenOutcome | None) -> dict[str, str] | None:
    """The thumbnail of an experiment that has figures."""
    if one is None or not one.figures:
        return None
    name = one.outcome.experiment.name
    return {"path": f"{name}/{THUMBNAIL}", "alt": one.figures[0].title}


def _bar(verdicts: Sequence[Verdict], of: str = "of the source") -> dict[str, Any] | None:
    """The verdicts on claims of sources as lengths and words; None where there are none."""
    own = [verdict for verdict in verdicts if kind(verdict) in ("source", "fitted")]
    if not own:
        return None
    fitted = sum(kind(verdict) == "fitted" for verdict in own)
    return {
        "what": f"{several(len(own), 'claim')} {of}",
        "parts": [
            (word.replace(" ", "-"), count, number_of(word, count)) for word, count in tally(own)
        ],
        "fitted": f"{fitted} of them on fitted values" if fitted else "",
    }


def _leading(paper: _Paper) -> dict[str, Any] | None:
    """The experiment that leads: its published numbers beside the measured ones, and a figure."""
    if not paper.found or paper.found[0].outcome.experiment is not paper.experiments[0]:
        return None
    one = paper.found[0]
    of = one.outcome
    printed = [one for one in of.experiment.published if one.at is None]
    columns = [name for name in of.experiment.columns if name in {one.column for one in printed}]
    cases = list(dict.fromkeys(one.case for one in printed)) if columns else []
    fitted = [case_label(of, case) for case in cases if of.experiment.case_of(case).fitted]
    return {
        "experiment": _experiment(of),
        "headings": [heading(of, column) for column in columns],
        "rows": [
            (case_label(of, case), [cell(of, case, None, column) for column in columns])
            for case in cases
        ],
        "fitted": ", ".join(fitted),
        "figure": one.figures[0] if one.figures else None,
    }


def _experiment(of: Outcome) -> dict[str, str]:
    return {
        "name": of.experiment.name,
        "source": of.experiment.source,
        "title": of.experiment.title,
        "path": _page_of(of.experiment.name),
    }


def _named(of: Outcome, verdict: Verdict) -> dict[str, Any]:
    """A claim outside the page of its experiment."""
    return {
        "experiment": _experiment(of),
        "number": of.experiment.claim.index(verdict.claim) + 1,
        "claim": _claim(verdict),
    }


def _section(one: WrittenOutcome, live: Page | None, paper: _Paper) -> dict[str, Any]:
    """The page of an experiment."""
    of = one.outcome
    experiment = of.experiment
    front, columns = table(of)
    cells = [values for _, values in [*front, *columns]]
    figures = [
        {"drawn": drawn, "live": live.entries(of, wanted) if live else []}
        for drawn, wanted in zip(one.figures, experiment.figure, strict=True)
    ]
    return {
        "paper": {"path": _page_of(paper.name), "title": paper.source.title},
        "place": experiment.place,
        "about": _paragraphs(experiment.about),
        "assumed": experiment.assumed,
        "fitted": [text for _, text in summary.fitted([of])],
        "differs": _paragraphs(of.differs),
        "claims": [_claim(verdict) for verdict in of.verdicts],
        "bar": _bar(of.verdicts),
        "counted": totals(of.verdicts),
        "headings": [name for name, _ in [*front, *columns]],
        "fronts": len(front),
        "rows": list(zip(*cells, strict=True)),
        "published": bool(experiment.published),
        "earlier": earlier(of),
        "figures": figures,
        "parameters": _parameters(one),
        "seeds": several(of.seeds, "seed"),
        "runs": several(len(of.runs), "run"),
        "seconds": number(of.seconds),
        "command": f"incast reproduce {experiment.name}{' --quick' if of.quick else ''}",
    }


def _parameters(one: WrittenOutcome) -> list[tuple[str, str]]:
    """The scheme and scenario of each case, with its changes."""
    of = one.outcome
    experiment = of.experiment
    everywhere = [*experiment.set, *(experiment.quick.set if of.quick else [])]
    found = []
    for case in experiment.case:
        if case.fluid:
            what = "fluid model: " + ", ".join(
                f"{key} = {value}" for key, value in case.fluid.items()
            )
        else:
            changes = [part for change in (*case.set, *everywhere) for part in ("--set", change)]
            scenario = case.scenario or experiment.scenario
            what = shlex.join(["incast", "run", str(scenario), "--cc", str(case.scheme), *changes])
        found.append((case_label(of, case.name), what))
    if experiment.axis is not None:
        values = ", ".join(str(value) for value in of.axis)
        what = " ".join(f"--set {change}" for change in experiment.axis.set)
        found.append((experiment.axis.label or experiment.axis.name, f"{values} {what}".strip()))
    return found


def _claim(verdict: Verdict) -> dict[str, Any]:
    found = verdict.measured
    return {
        "says": verdict.claim.says,
        "origin": " ".join(origin(verdict.claim).split()),
        "marks": marks(verdict),
        "cause": " ".join(verdict.cause.split()),
        "word": verdict.word,
        "sign": SIGNS[verdict.word],
        "slug": verdict.word.replace(" ", "-"),
        "verdict": verdict.text,
        "why": verdict.text.removeprefix(verdict.word).lstrip(", "),
        "measured": "" if found is None else measured(found),
        "bound": verdict.bound,
        "published": published(verdict.claim),
        "off": difference(verdict),
        "setup": verdict.setup,
        "others": [_claim(other) for other in verdict.others],
    }


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _folding(cell: str) -> str:
    """A cell that folds between the mean, its uncertainty and the published value alone."""
    parts = re.split(r" (?=[±(])", cell)
    return " ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
