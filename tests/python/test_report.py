"""The book of experiments: pages complete without scripts, whose parts a script can find."""

import base64
import json
import re
import signal
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec
import numpy as np
import pytest
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import incast
from incast import _core
from incast.base import links
from incast.figures import look
from incast.figures.style import blank, logarithmic
from incast.reproduce import book as pages
from incast.reproduce import driver, figures, live, shelf, sources
from incast.reproduce.claims import Verdict
from incast.reproduce.experiment import Claim
from incast.reproduce.interactive import inline
from incast.reproduce.outcome import Outcome
from incast.reproduce.runs import Done, plans
from incast.reproduce.sources import Source
from incast.reproduce.spec import load
from incast.reproduce.words import counted
from incast.results.seeds import NOT_NEGATIVE, Spread
from incast.terminal.numbers import measured
from test_reproduce import EXPERIMENT

PAGE = "<!doctype html><title>the page</title>"
PLACE = 'place = "nowhere"\n'
FIRST = EXPERIMENT.replace(PLACE, f'{PLACE}shows = ["Figure 10", "Table 1", "Abstract"]\n')
SECOND = EXPERIMENT.replace("Two schemes", "Again two schemes").replace(
    PLACE, f'{PLACE}shows = ["Figure 9b"]\n'
)


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and data.strip():
            self.scripts.append(data)
        else:
            self.texts.append(data)

    @property
    def words(self) -> str:
        """The text, with a space for each space between its words."""
        return " ".join("".join(self.texts).split())

    def all(self, tag: str, *keys: str) -> list[dict[str, str]]:
        return [own for name, own in self.found if name == tag and own.keys() >= {*keys}]


@dataclass(frozen=True)
class Book:
    """Two experiments, and the pages that were written of them."""

    found: list[Outcome]
    folder: Path

    def pages(self) -> dict[str, str]:
        """The text of each page by its path, without the page of the simulator."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_text()
            for path in self.folder.rglob("*.html")
            if path.name != "page.html"
        }

    def of(self, one: Outcome) -> str:
        """The page of an experiment."""
        return (self.folder / one.experiment.name / "index.html").read_text()


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp("report")
    for name, text in (("first", FIRST), ("second", SECOND)):
        (folder / f"{name}.toml").write_text(text)
    chosen = [load(folder / "first.toml"), load(folder / "second.toml")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "PAGE", folder / "built.html")
        links.PAGE.write_text(PAGE)
        found = list(driver.reproduce(chosen, folder / "out", jobs=1))
    assert (folder / "out" / "page.html").read_text() == PAGE
    return Book(found, folder / "out")


def test_there_is_a_page_for_each_paper_and_experiment(book: Book) -> None:
    names = {of.experiment.name for of in book.found}
    (paper,) = {name.partition("/")[0] for name in names}
    leading = {"index.html", "short.html", "claims.html", "judged.html"}
    assert book.pages().keys() == leading | {f"{name}/index.html" for name in names | {paper}}
    # Tiles lead to them, with a picture and the verdicts in words.
    front, of_paper = book.pages()["index.html"], book.pages()[f"{paper}/index.html"]
    assert front.count("<h3>") == 1
    assert of_paper.count("<h3>") == 2
    assert f'<h3><a href="{paper}/index.html">{paper}</a></h3>' in front
    assert len(Page(of_paper).all("img")) == 2


def test_each_bar_has_its_key_and_each_number_says_what_it_counts(book: Book) -> None:
    names = {of.experiment.name for of in book.found}
    (paper,) = {name.partition("/")[0] for name in names}
    front, of_paper = (Page(book.pages()[path]) for path in ("index.html", f"{paper}/index.html"))
    own = "hold, 2 fall short, 2 are not comparable."
    assert f"8 claims of the sources: 4 {own}" in front.words
    assert of_paper.words.count("4 claims of the source: 2 hold, 1 falls short, 1 is not") == 2
    bars = [one["class"] for one in front.all("span", "class") if "key" not in one["class"]]
    keys = [one["class"] for one in front.all("span", "class") if "key" in one["class"]]
    assert keys == [f"key {slug}" for slug in bars]
    said = "2 experiments, 8 claims and questions. 8 claims of the sources: 4 hold"
    assert said in front.words


def test_a_paper_leads_from_its_figures_to_experiments(
    book: Book, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (paper,) = {of.experiment.source for of in book.found}
    rows = re.findall(
        r'<tr><th scope="row">([^<]*)</th><td><a href="([^"]*)">[^<]*</a></td><td [^>]*>([^<]*)<',
        book.pages()[f"{paper}/index.html"],
    )
    first, second = (f"../{paper}/{name}/index.html" for name in ("first", "second"))
    assert [(name, path) for name, path, _ in rows] == [
        ("Figure 9b", second), ("Figure 10", first), ("Table 1", first), ("Abstract", first),
    ]  # fmt: skip
    assert {held for _, _, held in rows} == {"2 of 4"}
    # What no experiment runs has the reason.
    told = Source(paper, not_run={"Figure 2": "a drawing"})
    monkeypatch.setitem(sources.SOURCES, paper, told)
    written = {of.experiment.name: shelf.write(of, tmp_path) for of in book.found}
    pages.write([of.experiment for of in book.found], written, tmp_path)
    assert (
        "Figure 2no experiment: a drawing"
        in Page((tmp_path / paper / "index.html").read_text()).words
    )


def test_every_link_of_the_book_leads_somewhere(book: Book) -> None:
    texts = book.pages()
    for path, text in texts.items():
        page = Page(text)
        links = [own[key] for _, own in page.found for key in ("href", "src") if key in own]
        for link in links:
            target, _, place = link.partition("#")
            if link == "data:," or target.endswith("page.html"):
                continue
            file = (book.folder / path).parent / unquote(target) if target else book.folder / path
            assert file.is_file(), (path, link)
            if place:
                assert f'id="{place}"' in file.read_text(), (path, link)


def test_pages_are_read_one_after_the_other(book: Book) -> None:
    seen, path = [], "index.html"
    while path and path not in seen:
        seen.append(path)
        page = Page(book.pages()[path])
        following = [own["href"] for own in page.all("a", "rel") if own["rel"] == "next"]
        path = normpath(join(dirname(path), following[0])) if following else ""
    assert not path
    assert sorted(seen) == sorted(book.pages())


def test_a_book_that_was_interrupted_names_what_is_missing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for name, text in (("first", EXPERIMENT), ("second", SECOND)):
        (tmp_path / f"{name}.toml").write_text(text)
    chosen = [load(tmp_path / "first.toml"), load(tmp_path / "second.toml")]
    begun: list[str] = []

    def interrupt(name: str, _: Done) -> None:
        begun.append(name)
        if len(begun) == 1:
            signal.raise_signal(signal.SIGINT)

    stopped = driver.Progress(run=interrupt)
    # A shell starts what runs in the background with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with pytest.raises(KeyboardInterrupt):
        list(driver.reproduce(chosen, tmp_path / "out", quick=True, jobs=1, progress=stopped))
    assert "2 of the experiments are not run yet" in (tmp_path / "out/index.html").read_text()
    paper = (tmp_path / "out" / chosen[0].source / "index.html").read_text()
    assert paper.count("(not run yet)") == 3  # in the contents, and beside a figure
    assert not (tmp_path / "out" / chosen[0].name / "index.html").exists()


def test_nothing_comes_from_elsewhere(book: Book) -> None:
    for text in book.pages().values():
        page = Page(text)
        assert not re.search(r"https?:|//[a-z]|@import|fetch\(|XMLHttp", text)
        for tag, own in page.found:
            for key in ("src", "href", "xlink:href", "data", "action", "srcset"):
                link = own.get(key, "")
                assert not re.match(r"[a-z]+:", link) or link == "data:,", (tag, link)
    for name in ("book.css", "book.js"):
        text = (book.folder / name).read_text()
        assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttp", text)


def test_ids_are_unique_and_what_refers_to_them_finds_them(book: Book) -> None:
    for text in book.pages().values():
        page = Page(text)
        ids = Counter(own["id"] for _, own in page.found if "id" in own)
        assert not [name for name, count in ids.items() if count > 1]
        wanted = set(re.findall(r"url\(#([^)]+)\)", text))
        wanted |= {own["aria-labelledby"] for _, own in page.found if "aria-labelledby" in own}
        assert wanted <= ids.keys()


def test_each_claim_is_told_once_with_what_the_filter_reads(book: Book) -> None:
    text = book.pages()["claims.html"]
    page = Page(text)
    rows = page.all("tr", "data-verdict", "data-paper")
    assert len(rows) == sum(len(of.verdicts) for of in book.found) == 8
    for of in book.found:
        for verdict in of.verdicts:
            assert text.count(verdict.claim.says) == 2  # the experiments have the same claims
            assert book.of(of).count(verdict.claim.says) == 1
            told = book.pages()["short.html"].count(verdict.claim.says)
            assert told == 2 * (verdict.word == "falls short")
        assert len(Page(book.of(of)).all("tr", "data-verdict")) == len(of.verdicts)
    offered = {own["value"] for own in page.all("input", "name", "value")}
    assert {row["data-verdict"] for row in rows} == offered
    assert {row["data-paper"] for row in rows} <= {own["value"] for own in page.all("option")}
    # Without a script the filter is not there; all claims are.
    (form,) = page.all("form")
    assert "hidden" in form
    assert not [row for row in rows if "hidden" in row]


def test_figures_have_series_to_switch_and_points_to_hover(book: Book) -> None:
    text = "".join(map(book.of, book.found))
    parts = re.findall(r"<figure>.*?</figure>", text, flags=re.DOTALL)
    assert len(parts) == sum(len(of.experiment.figure) for of in book.found)
    for part in parts:
        page = Page(part)
        data = json.loads(page.scripts[0])
        there = {int(own["data-series"]) for own in page.all("g", "data-series")}
        assert there == set(range(len(data["series"])))
        # Bars have their names beside them, and no legend of their own.
        entries = {data["series"][int(own["data-entry"])] for own in page.all("g", "data-entry")}
        bars = all(not panel["y"] for panel in data["panels"])
        assert entries == ({"published"} if bars else set(data["series"]))
        width, height = map(float, page.all("svg")[0]["viewbox"].split()[2:])
        for panel in data["panels"]:
            left, top, right, bottom = panel["box"]
            assert 0 < left < right < width
            assert 0 < top < bottom < height
            for index, *points in panel["traces"]:
                assert points, data["series"][index]
                for x, y, *values in points:
                    assert left - 1.1 <= x <= right + 1.1
                    assert top - 1.1 <= y <= bottom + 1.1
                    assert all(isinstance(value, str) for value in values)


def test_points_have_the_values_of_the_figure(book: Book) -> None:
    of = book.found[0]
    drawn = {one.name: one for one in figures.draw(of)}
    lines = json.loads(inline(drawn["lines"], "x-").data)
    (panel,) = lines["panels"]
    timely = panel["traces"][0]
    assert lines["series"] == ["TIMELY", "pfc"]
    assert panel["x"] == "delay of the clients' links (us)"
    spread = of.spread("timely", 5, "rtt_mean_us")
    assert spread is not None
    assert timely[2][2:] == ["5", measured(spread)]
    # PFC alone, which the axis does not change, is a level line.
    (first, last) = panel["traces"][1][1:]
    assert first[1] == last[1]
    assert first[3] == last[3]
    bars = json.loads(inline(drawn["bars"], "x-").data)
    said = [point for trace in bars["panels"][0]["traces"] for point in trace[1:]]
    assert any(value.endswith("; published 19.4") for _, _, value, _ in said)


def state(drawn: figures.Drawn) -> list[Any]:
    """What the report changes of a figure while it draws it."""
    parts = [one for trace in drawn.traces for one in trace.artists]
    lines = [
        (*map(np.array, one.get_data()), one.get_rasterized() or False)
        for one in parts
        if isinstance(one, Line2D)
    ]
    hatches = [one.get_hatch() for one in parts if isinstance(one, Patch)]
    return [{one.get_gid() for one in drawn.figure.findobj()}, lines, hatches]


def test_a_figure_is_as_before_when_it_was_put_into_a_page(book: Book) -> None:
    for one in figures.draw(book.found[0]):
        before = state(one)
        svg = inline(one, "x-").svg
        np.testing.assert_equal(state(one), before)
        assert 5_000 < len(svg) < 200_000


def test_the_small_form_shows_where_the_cases_differ_most(book: Book) -> None:
    """In an incast the RTT tells TIMELY from PFC alone, and the throughput does not."""
    of = book.found[0]
    first = msgspec.structs.replace(
        of.experiment.figure[0], columns=["throughput_gbps", "rtt_mean_us", "jain_index"]
    )
    cases = [msgspec.structs.replace(one, earlier=one.name == "pfc") for one in of.experiment.case]
    for own, shown in ((of.experiment.case, 3), (cases, 2)):
        changed = msgspec.structs.replace(of.experiment, figure=[first], case=own)
        (axes,) = figures.thumbnail(replace(of, experiment=changed)).axes
        assert axes.get_xlabel() == "RTT mean (us)"
        # TIMELY at two delays, and PFC alone unless it is an earlier set-up.
        assert len(axes.get_yticks()) == shown


def test_figures_have_links_to_a_page_that_runs_what_is_behind_them(book: Book) -> None:
    text = "".join(map(book.of, book.found))
    parts = re.findall(r"<figure>.*?</figure>", text, flags=re.DOTALL)
    drawn = [(of, figure) for of in book.found for figure in of.experiment.figure]
    for part, (of, figure) in zip(parts, drawn, strict=True):
        hrefs = [own["href"] for own in Page(part).all("a", "href") if "#" in own["href"]]
        # TIMELY at the values of the axis that are drawn, and PFC alone, which the axis leaves.
        shown = [("timely", at) for at in (2, 5) if not figure.at or at in figure.at]
        for href, (case, at) in zip(hrefs, [*shown, ("pfc", None)], strict=True):
            page, _, fragment = href.partition("#")
            state = parse_qs(fragment)
            scheme = of.experiment.case_of(case).scheme
            assert (page, state["s"], state["cc"]) == (
                "../../page.html", ["incast"], [scheme]
            )  # fmt: skip
            scenario = incast.load("incast").with_set(*state["set"])
            run = _core.run(scenario, scheme, seed=int(state["seed"][0]))
            assert run.summary["rtt_mean_us"] == of.values(case, at, "rtt_mean_us")[0]


def test_links_lead_to_the_page_that_was_named_or_to_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "PAGE", tmp_path / "built.html")
    assert live.page(tmp_path, {}, None) is None
    links.PAGE.write_text(PAGE)
    named = live.page(tmp_path, {}, "https://example.org/page/")
    assert named is not None
    assert named.address == "https://example.org/page/"
    assert not (tmp_path / "page.html").exists()


def test_a_scenario_that_does_not_ship_is_in_its_link(tmp_path: Path) -> None:
    text = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms").toml()
    (tmp_path / "mine.toml").write_text(text)
    changed = EXPERIMENT.replace('scenario = "incast"', 'scenario = "mine.toml"')
    (tmp_path / "changed.toml").write_text(changed)
    of = load(tmp_path / "changed.toml")
    planned = {of.name: plans(of, quick=True)}
    outcome = Outcome(of, True, {(plan.case, plan.at, 1): Done({}) for plan in planned[of.name]})
    entries = live.Page("p", planned).entries(outcome, of.figure[0])
    (state,) = {entry.links[0][1].partition("&t=")[2] for entry in entries}
    whole = zlib.decompress(base64.urlsafe_b64decode(state + "=="), wbits=-15)
    assert json.loads(whole) == [text, {}]


def test_what_a_page_would_refuse_has_no_link(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(EXPERIMENT.replace("duration=5ms", "duration=1000s"))
    of = load(tmp_path / "large.toml")
    planned = {of.name: plans(of, quick=True)}
    outcome = Outcome(of, True, {(plan.case, plan.at, 1): Done({}) for plan in planned[of.name]})
    assert live.Page("p", planned).entries(outcome, of.figure[0]) == []


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (19.469931, 3.4e-5, "19.469931 ± 0.000034"),
        (0.9267, 0.0271, "0.927 ± 0.027"),
        (0.9267, 0.0996, "0.93 ± 0.10"),
        (58838.2, 2329.0, "58800 ± 2300"),
        (118.52, 3.37, "118.5 ± 3.4"),
        (0.3, 12.7, "0 ± 13"),
        (-0.0004, 0.012, "0.000 ± 0.012"),
        (1e-5, 3.21e-6, "0.0000100 ± 0.0000032"),
        (19.469931, 4e-9, "19.469931 ± <0.000001"),
        (19.469931, 4e-13, "19.47 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (3.0, 0.0, "3 ± 0"),
        (0.25, None, "0.250"),
    ],
)
def test_the_uncertainty_decides_the_digits(mean: float, half: float | None, text: str) -> None:
    assert measured(Spread(mean, half, 3)) == text


def test_an_interval_that_is_cut_has_the_same_digits() -> None:
    assert measured(Spread(0.31, 0.56, 3, NOT_NEGATIVE)) == "0.31 (0.00 to 0.87)"


def test_counts_are_whole_sentences() -> None:
    def several(**count: int) -> list[Verdict]:
        return [
            Verdict(Claim("x"), word.replace("_", " "))
            for word, number in count.items()
            for _ in range(number)
        ]

    assert counted(several(holds=8, falls_short=1)) == "8 hold, 1 falls short"
    assert counted(several(undecided=1, not_comparable=2)) == (
        "1 is undecided (0 by a mean within the bounds), 2 are not comparable"
    )
    assert counted(several(falls_short=5)) == "5 fall short"


def test_values_below_the_pointer_have_the_unit_of_the_axis() -> None:
    with look.use(look.Look()):
        figure = blank(3.0)
        axes = figure.subplots()
        x, y = np.array([1e3, 2e5]), np.array([1.0, 2.0])
        line = axes.plot(x, y)
        axes.set_xlabel("RTT (us)")
        logarithmic(axes, "x", 1e3, 2e5)
        one = figures.Drawn("a", "A", figure, traces=[figures.Trace(axes, "a", [*line], x, y)])
        (panel,) = json.loads(inline(one, "x-").data)["panels"]
    assert panel["x"] == "RTT (ms)"
    assert [point[2:] for point in panel["traces"][0][1:]] == [["1", "1"], ["200", "2"]]
