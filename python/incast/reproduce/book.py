"""The report: one HTML file that needs nothing beside it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from incast import _core
from incast.reproduce import nearness, summary
from incast.reproduce.claims import Verdict
from incast.reproduce.interactive import inline
from incast.reproduce.live import Page
from incast.reproduce.outcome import Outcome
from incast.reproduce.say import table
from incast.reproduce.shelf import WrittenOutcome, put
from incast.reproduce.words import (
    SIGNS,
    case_label,
    counted,
    difference,
    earlier,
    marks,
    origin,
    published,
    several,
    totals,
)  # fmt: skip
from incast.results.store import unwritable
from incast.terminal.numbers import measured, number

SOURCES = {
    "timely": "TIMELY (Mittal et al., SIGCOMM 2015)",
    "cs244": "TIMELY in ns-3 (Fang and Orbay, CS244, 2016)",
    "rtcp": "Regulated TCP (Huang, Li and Walrand, IFIP 2020)",
    "zhu": "ECN or Delay: fixed points, bursts, stability (Zhu et al., CoNEXT 2016)",
    "pfabric": "pFabric (Alizadeh et al., SIGCOMM 2013)",
    "pias": "PIAS (Bai et al., NSDI 2015)",
    "hpcc": "HPCC (Li et al., SIGCOMM 2019)",
    "powertcp": "PowerTCP (Addanki, Michel and Schmid, NSDI 2022)",
    "swift": "Swift (Kumar et al., SIGCOMM 2020)",
    "tcp-bolt": "TCP-Bolt (Stephens et al., INFOCOM 2014)",
    "ledbat": "LEDBAT (RFC 6817, 2012)",
    "d2tcp": "D2TCP (Vamanan, Hasan and Vijaykumar, SIGCOMM 2012)",
    "karuna": "Karuna (Chen et al., SIGCOMM 2016)",
    "d3": "D3 (Wilson et al., SIGCOMM 2011)",
    "vcp": "VCP (Xia et al., SIGCOMM 2005)",
    "hull": "HULL (Alizadeh et al., NSDI 2012)",
}
"""The publications, by their folder under `papers`."""


def write(found: Sequence[WrittenOutcome], out: Path, live: Page | None = None) -> None:
    """Writes `index.html` and `summary.md`, sources in the order of [SOURCES][].

    Figures have links to a page that runs them.

    Raises:
        OutputError: They cannot be written.
    """
    order = {name: place for place, name in enumerate(SOURCES)}
    found = sorted(found, key=lambda one: order.get(one.outcome.experiment.source, len(order)))
    try:
        put(out / "index.html", html(found, live))
        put(out / "summary.md", summary.markdown([one.outcome for one in found], SOURCES))
    except OSError as error:
        raise unwritable(out, error) from None


def html(found: Sequence[WrittenOutcome], live: Page | None = None) -> str:
    """The report: every claim with its verdict, then a section for each experiment.

    It needs no network. A script of its own filters the claims, shows values below the pointer, and
    switches the series of figures; without it all is there, and none of this.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("incast.reproduce"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["folding"] = _folding
    return environment.get_template("report.html.j2").render(**_content(found, live))


def _content(found: Sequence[WrittenOutcome], live: Page | None = None) -> dict[str, Any]:
    verdicts = [verdict for one in found for verdict in one.outcome.verdicts]
    by_source: dict[str, list[WrittenOutcome]] = {name: [] for name in SOURCES}
    for one in found:
        by_source.setdefault(one.outcome.experiment.source, []).append(one)
    outcomes = [one.outcome for one in found]
    return {
        "version": _core.__version__,
        "quick": any(one.quick for one in outcomes),
        "totals": f"{several(len(found), 'experiment')}; {totals(verdicts)}",
        "words": [word for word in SIGNS if any(verdict.word == word for verdict in verdicts)],
        "hours": sum(one.seconds for one in outcomes) / 3600,
        "signs": SIGNS,
        "rules": summary.RULES,
        "classes": nearness.CLASSES,
        "near": nearness.rows(outcomes),
        "short": [
            {"name": of.experiment.name, "anchor": _anchor(of), "claim": _claim(verdict)}
            for of, verdict in summary.of_sources(outcomes, "falls short")
        ],
        "fitted": [
            {"name": of.experiment.name, "anchor": _anchor(of), "text": text}
            for of, text in summary.fitted(outcomes)
        ],
        "changed": [
            {"name": of.experiment.name, "anchor": _anchor(of), "claim": _claim(verdict)}
            for of in outcomes for verdict in of.verdicts if verdict.claim.was
        ],
        "sources": [
            {
                "name": source,
                "title": SOURCES.get(source, source),
                "totals": totals([verdict for one in own for verdict in one.outcome.verdicts]),
                "sections": [_section(one, live) for one in own],
            }
            for source, own in by_source.items()
            if own
        ],
    }  # fmt: skip


def _anchor(of: Outcome) -> str:
    return of.experiment.name.replace("/", "-")


def _section(one: WrittenOutcome, live: Page | None) -> dict[str, Any]:
    of = one.outcome
    experiment = of.experiment
    front, columns = table(of)
    cells = [values for _, values in [*front, *columns]]
    return {
        "name": experiment.name,
        "anchor": _anchor(of),
        "title": experiment.title,
        "place": experiment.place,
        "about": _paragraphs(experiment.about),
        "assumed": experiment.assumed,
        "differs": _paragraphs(of.differs),
        "claims": [_claim(verdict) for verdict in of.verdicts],
        "counted": counted(of.verdicts),
        "headings": [heading for heading, _ in [*front, *columns]],
        "fronts": len(front),
        "rows": list(zip(*cells, strict=True)),
        "published": bool(experiment.published),
        "earlier": earlier(of),
        "figures": [
            {
                "name": drawn.name,
                "title": drawn.title,
                "drawn": inline(drawn, f"{experiment.name}-{drawn.name}-".replace("/", "-")),
                "folder": experiment.name,
                "live": live.entries(of, wanted) if live else [],
            }
            for drawn, wanted in zip(one.figures, experiment.figure, strict=True)
        ],
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
            what = " ".join(
                [
                    f"{case.scheme} in {case.scenario or experiment.scenario}",
                    *(f"--set {change}" for change in [*case.set, *everywhere]),
                ]
            )
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
