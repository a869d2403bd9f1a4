"""All experiments in their quick form: verdicts as before, and a report that works in a browser."""

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from incast.reproduce import driver
from incast.reproduce.outcome import Outcome
from incast.reproduce.sources import SOURCES
from incast.reproduce.spec import known, load

WORDS = ("holds", "keeps", "misses", "falls short", "not comparable", "open question")
"""Verdicts; "keeps" and "misses" are undecided ones, by their mean, which is that of one seed."""
ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "verdicts.txt"


@pytest.fixture(scope="module")
def report() -> Path:
    """A new book, which stays: `make docs` takes it into the site."""
    folder = ROOT / "target" / "book"
    shutil.rmtree(folder, ignore_errors=True)
    return folder


@pytest.fixture(scope="module")
def outcomes(report: Path) -> list[Outcome]:
    """Every experiment, run and written; minutes."""
    found = driver.reproduce([load(name) for name in known()], report, quick=True)
    return sorted(found, key=lambda of: list(known()).index(of.experiment.name))


def test_verdicts_are_as_before(outcomes: list[Outcome]) -> None:
    """A claim that changes its verdict does so in a commit of its own, with the reason.

    A line for each experiment: of each verdict, the numbers of the claims in the order of its file.
    """
    table = "".join(f"{of.experiment.name:<32} {_verdicts(of)}\n" for of in outcomes)
    if os.environ.get("INCAST_UPDATE_GOLDEN"):
        GOLDEN.write_text(table, encoding="utf-8")
    assert table.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def _verdicts(of: Outcome) -> str:
    numbers: dict[str, list[str]] = {}
    for number, verdict in enumerate(of.verdicts, 1):
        word = verdict.word
        if word == "undecided":
            word = "keeps" if verdict.keeps else "misses"
        numbers.setdefault(word, []).append(str(number))
    return "; ".join(f"{word} {' '.join(numbers[word])}" for word in WORDS if word in numbers)


def test_few_seeds_are_of_what_has_no_chance(outcomes: list[Outcome]) -> None:
    """Five seeds and more wherever chance matters; two show that it does not."""
    few = [of for of in outcomes if of.experiment.seeds < 5]
    assert [of.experiment.name for of in few if any(one.chance for one in of.verdicts)] == []


def test_nothing_published_is_left_out(outcomes: list[Outcome]) -> None:
    """Each published number stands beside a measured one."""
    for of in outcomes:
        for one in of.experiment.published:
            at = one.at if of.experiment.case_of(one.case).axis else None
            if at in (of.axis or [None]):
                assert of.spread(one.case, at, one.column), (of.experiment.name, one)


def test_no_page_is_large(outcomes: list[Outcome], report: Path) -> None:
    pages = [path for path in report.rglob("*.html") if path.name != "page.html"]
    assert len(pages) == len(outcomes) + len(SOURCES) + 4
    assert {str(path): size for path in pages if (size := path.stat().st_size) > 1e6} == {}


@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_works_in_a_browser(
    outcomes: list[Outcome],
    report: Path,
    browser: Any,  # noqa: ANN401
    width: int,
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    pages = [path for path in report.rglob("*.html") if path.name != "page.html"]
    figures = 0
    for path in pages:
        browser.get(path.as_uri())
        assert browser.get_log("browser") == []
        seen = browser.execute_script(
            """
            const hrefs = [...document.querySelectorAll("a")].map(a => a.getAttribute("href"));
            return {
              figures: [...document.querySelectorAll("figure svg")].map(one =>
                [one.getAttribute("aria-label"), one.getBoundingClientRect().width]),
              pictures: [...document.images].map(one => one.getAttribute("src")),
              cut: [...document.querySelectorAll(".scroll")]
                .filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText),
              links: hrefs,
              wide: document.documentElement.scrollWidth,
              contents: document.querySelector(".contents details").open,
              from: performance.getEntriesByType("resource").map(entry => entry.name),
            };
            """
        )
        figures += len(seen["figures"])
        assert all(label and shown > 300 for label, shown in seen["figures"])
        # Without the state that a link to the page has.
        files = {href.partition("#")[0] for href in [*seen["links"], *seen["pictures"]]}
        assert all((path.parent / unquote(href)).is_file() for href in files), files
        # Nothing scrolls sideways: on a phone the rows of tables are cards.
        assert seen["wide"] <= width, path
        assert seen["cut"] == [], path
        assert seen["contents"] is (width > 500)
        assert all(name.startswith(("data:", report.as_uri())) for name in seen["from"])
    leading = len(SOURCES)  # each paper begins with a figure of the experiment that leads
    assert figures == leading + sum(len(of.experiment.figure) for of in outcomes)


def test_claims_are_filtered_in_a_browser(
    outcomes: list[Outcome],
    report: Path,
    browser: Any,  # noqa: ANN401
) -> None:
    browser.get((report / "claims.html").as_uri())

    def shown(*change: str) -> list[list[str]]:
        return browser.execute_script(
            f"""
            const form = document.querySelector("form.filter");
            {"; ".join(change)};
            form.dispatchEvent(new Event("input"));
            return [...document.querySelectorAll("[data-verdict]")]
              .filter(one => one.getClientRects().length)
              .map(one => [one.dataset.paper, one.dataset.verdict]);
            """
        )

    every = [(of.experiment.source, verdict) for of in outcomes for verdict in of.verdicts]
    assert len(shown()) == len(every)
    short = [paper for paper, verdict in every if verdict.word == "undecided"]
    short.sort(key=list(SOURCES).index)
    others = "form.verdict.forEach(box => box.checked = box.value === 'undecided')"
    assert shown(others) == [[paper, "undecided"] for paper in short]
    of_swift = shown("form.paper.value = 'swift'")
    assert of_swift == [["swift", "undecided"]] * short.count("swift")
    assert 0 < len(shown("form.reset()", "form.text.value = 'FAST throughput'")) < len(every)
    assert shown("form.text.value = 'no-such-word'") == []
    assert len(shown("form.reset()")) == len(every)


def test_figures_answer_the_pointer_in_a_browser(
    outcomes: list[Outcome],
    report: Path,
    browser: Any,  # noqa: ANN401
) -> None:
    """Every figure: the value at a point, and its series switched off and on."""
    answer = """
        return [...document.querySelectorAll("figure")].map(figure => {
          const svg = figure.querySelector("svg");
          const { series, panels } = JSON.parse(figure.querySelector("script").textContent);
          const [index, shown] = panels.flatMap(one => one.traces)[0];
          const point = shown.slice(0, 2);
          const at = () => {
            const { x, y } = new DOMPoint(...point).matrixTransform(svg.getScreenCTM());
            svg.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
            const tip = figure.querySelector(".tip");
            return tip.hidden ? "" : tip.innerText;
          };
          const drawn = () => [...svg.querySelectorAll(`[data-series="${index}"]`)]
            .filter(one => getComputedStyle(one).display !== "none").length;
          const before = [at(), drawn()];
          const entry = svg.querySelector(`[data-entry="${index}"][role=button]`);
          if (!entry) return [series[index], shown[2], ...before, null];
          entry.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
          const off = drawn();
          entry.dispatchEvent(new MouseEvent("click", { bubbles: true }));
          return [series[index], shown[2], ...before, off, drawn()];
        });
        """
    seen = []
    for of in outcomes:
        browser.get((report / of.experiment.name / "index.html").as_uri())
        seen += browser.execute_script(answer)
    assert len(seen) == sum(len(of.experiment.figure) for of in outcomes)
    for name, value, tip, drawn, off, *again in seen:
        assert drawn > 0
        assert value in tip, (name, tip)
        assert off in (0, None)
        assert again in ([], [drawn])
    assert sum(one[4] is not None for one in seen) > len(seen) / 2
