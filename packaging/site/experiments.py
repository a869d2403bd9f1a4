"""The experiments in the site: a page that leads to each by its figure, and the book of a run.

The page has the verdicts of the reproduction, which stands in the project, so it needs no run. The
book is copied from a folder that `make reproduction`, `make book` or the tests have filled.
"""

import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from incast.reproduce.experiment import Experiment
from incast.reproduce.sources import SOURCES, in_order
from incast.reproduce.spec import known, load
from incast.reproduce.words import of_all

PAGE = "experiments"
BOOKS = ("target/reproduction", "target/book")
"""The folders where a book may be: of full runs, and of their quick form."""

_RUNS = ".runs"
_ROW = re.compile(r"^\| `([\w-]+/[\w-]+)` \| (?!— )(.*) \|$", flags=re.MULTILINE)
_WITHOUT = (
    "This copy of the site was built without the book of figures and numbers. `make book` makes it "
    "in its quick form, `make reproduction` in full, and the next `make docs` puts it here."
)


def book(root: Path) -> Path | None:
    """The folder of the best book that there is; None without any."""
    return next((root / name for name in BOOKS if (root / name / "index.html").is_file()), None)


def copy(made: Path | None, into: Path) -> None:
    """Copies a book, without the runs that are kept beside it."""
    shutil.rmtree(into, ignore_errors=True)
    if made:
        shutil.copytree(made, into, ignore=shutil.ignore_patterns(_RUNS))


def page(reproduction: str, made: Path | None) -> str:
    """The page that leads from figures to experiments, in the book where there is one."""
    blocks = ["# Experiments of the papers", _start(made)]
    counts = verdicts(reproduction)
    every = [load(name) for name in known()]
    for name, source in SOURCES.items():
        own = [of for of in every if of.source == name]
        there = _in_book(name, made)
        leads = f' <a href="{there}">Its pages in the book</a>.' if there else ""
        blocks += [f"## {source.title}", f"{source.claims}{leads}"]
        blocks.append(_table(own, source.not_run, counts, made))
    return "\n\n".join([*blocks, ""])


def verdicts(reproduction: str) -> dict[str, Counter[str]]:
    """The claims of the sources by experiment: how many have each verdict, as its sign."""
    found: dict[str, Counter[str]] = {}
    for name, rest in _ROW.findall(reproduction):
        _, source, *_, verdict = rest.split(" | ")
        if not source.startswith("ours:") and verdict[0] != "?":
            found.setdefault(name, Counter())[verdict[0]] += 1
    return found


def _start(made: Path | None) -> str:
    judged = (
        "Each figure and table of the papers that is run again, with its experiment, and how many "
        "claims of the paper hold there, as [the reproduction](reference/reproduction.md) has them."
    )
    if made is None:
        return f"{judged}\n\n{_WITHOUT}"
    quick = "quick form" in (made / "summary.md").read_text(encoding="utf-8")[:1000]
    form = (
        "in its quick form: short runs and one seed, which decides nothing" if quick else "in full"
    )
    link = '<a href="book/index.html">The book of experiments</a>'
    return f"{judged}\n\n{link} has their figures, numbers and set-ups, here {form}."


def _table(
    own: list[Experiment],
    not_run: Mapping[str, str],
    counts: dict[str, Counter[str]],
    made: Path | None,
) -> str:
    rows = {(name, of.name): _row(name, of, counts, made) for of in own for name in of.shows}
    rows |= {(name, ""): f"| {name} | no experiment: {why} | |" for name, why in not_run.items()}
    ordered = [rows[key] for key in sorted(rows, key=lambda key: in_order(key[0]))]
    return "\n".join(["| in the paper | experiment | claims held |", "|---|---|---|", *ordered])


def _in_book(name: str, made: Path | None) -> str:
    """The page of a paper or experiment in the book; empty where the book has none of it."""
    page = f"{name}/index.html"
    return f"book/{page}" if made and (made / page).is_file() else ""


def _row(name: str, of: Experiment, counts: dict[str, Counter[str]], made: Path | None) -> str:
    path = _in_book(of.name, made) or f"files/papers/{of.name}.toml.html"
    there = counts.get(of.name, Counter())
    held = of_all(there["✓"], there["◐"], there.total()) if there else ""
    return f'| {name} | <a href="{path}">{of.title}</a> | {held} |'
