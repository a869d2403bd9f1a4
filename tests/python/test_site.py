"""The documentation site: its sources, its gallery, and the check of its links, on small trees.

`make docs` builds the whole, which takes minutes where nothing is compiled, and checks every link.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from incast.figures.catalogue import ABOUT

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging/site"))

import book  # noqa: E402 - the scripts of the site are no package
import experiments  # noqa: E402
import front  # noqa: E402
import gallery  # noqa: E402
import links  # noqa: E402
import rustdoc  # noqa: E402
import words  # noqa: E402

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# A notebook\n", "\n", "[a](../guide/A.md)"]},
        {
            "cell_type": "code",
            "source": "draw()",
            "outputs": [{"text": ["said\n"]}, {"data": {"image/png": "iVBORw0KGgo="}}],
        },
    ]
}
PROJECT = {
    "README.md": "# It\n\n![All\nof it](docs/images/p.svg), [the book](docs/README.md), "
    "[its\nlaw](LAW)\n",
    "LAW": "one line\n```\nof two\n",
    "CHANGELOG.md": "# Changes\n",
    "docs/README.md": "# Book\n\n[Front](../README.md)\n\n## How-tos\n\n* [A](guide/A.md), [again]"
    "(guide/A.md#x)\n* [N](learn/n.ipynb)\n\n## Why\n\n[B](guide/B.md)\n",
    "docs/guide/A.md": "# A\n\n[`code`](../../src/x.rs) and `[kept](x.md)`\n\n```md\n[kept](y.md)\n"
    "```\n\n[b](B.md#c), [here](#a), [web](https://example.org), [sources](../../src)\n",
    "docs/guide/B.md": "# B\n\n## C\n\n[experiments](../../papers/one)\n",
    "docs/learn/n.ipynb": json.dumps(NOTEBOOK),
    "docs/images/p.svg": "<svg/>",
    "papers/one/e.toml": 'title = "An experiment"\n',
    "src/x.rs": "fn main() {}\n",
    "src/made.bin": "\udcff",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return tmp_path / "project"


def text(gathered: book.Book, name: str) -> str:
    return gathered.files[f"{name}.md"].decode()


def test_links_lead_to_pages_of_the_site(project: Path) -> None:
    gathered = book.gather(project)
    front = text(gathered, "index")
    assert "](images/p.svg), [the book](contents.md), [its\nlaw](files/LAW.md)" in front
    page = text(gathered, "guide/A")
    assert "[`code`](../files/src/x.rs.md)" in page
    assert "`[kept](x.md)`" in page
    assert "\n[kept](y.md)\n" in page
    assert "[b](B.md#c), [here](#a), [web](https://example.org)" in page
    assert "[sources](../files/src/index.md)" in page
    assert text(gathered, "contents").endswith("[B](guide/B.md)\n")
    assert gathered.files["images/p.svg"] == b"<svg/>"
    assert gathered.pages["files/src/x.rs"] == "src/x.rs"


def test_a_link_to_nowhere_is_one_sentence(project: Path) -> None:
    (project / "docs/guide/B.md").write_text("# B\n\n[gone](../../gone.rs)\n")
    said = (
        "docs/guide/B.md: the link ../../gone.rs leads to no file of the project; mend or remove it"
    )
    with pytest.raises(book.SiteError, match=f"^{re.escape(said)}$"):
        book.gather(project)


def test_files_are_listed_with_their_language(project: Path) -> None:
    gathered = book.gather(project)
    assert "# `src/x.rs`\n\n```rust\nfn main() {}\n```" in text(gathered, "files/src/x.rs")
    assert "````text\none line\n```\nof two\n````" in text(gathered, "files/LAW")
    assert "nosearch: true" in text(gathered, "files/LAW")


def test_folders_are_listed_with_titles_and_without_binaries(project: Path) -> None:
    gathered = book.gather(project)
    assert "[`x.rs`](x.rs.md)" in text(gathered, "files/src/index")
    assert "made.bin" not in text(gathered, "files/src/index")
    assert "[`e.toml`](e.toml.md): An experiment" in text(gathered, "files/papers/one/index")
    assert "one </files/papers/one/index>" in text(gathered, "files/papers/index")


def test_a_notebook_shows_what_it_has(project: Path) -> None:
    gathered = book.gather(project)
    assert text(gathered, "learn/n").startswith(
        "# A notebook\n\n[a](../guide/A.md)\n\n```python\ndraw()\n```\n\n```text\nsaid\n```\n\n"
        "![What the cell above draws](n-1.png)"
    )
    assert gathered.files["learn/n-1.png"].startswith(b"\x89PNG")


def test_the_navigation_is_that_of_the_contents(project: Path) -> None:
    gathered = book.gather(project)
    book.navigation(gathered, {"gallery": "Gallery"})
    section = text(gathered, "contents/how-tos")
    assert section.startswith("# How-tos\n\n* [A](../guide/A.md), [again](../guide/A.md#x)")
    assert section.endswith("```{toctree}\n:hidden:\n\n/guide/A\n/learn/n\n```\n")
    trees = re.findall(r":caption: .*\n\n([^`]+)\n```", text(gathered, "index"))
    assert trees == [
        "/contents/how-tos\n/contents/why",
        "Gallery </gallery>",
        "Files of the experiments </files/papers/index>\nChanges </changelog>",
    ]


def test_the_front_has_ways_in_and_the_reproduction_as_bars(project: Path) -> None:
    table = """
| claims, each counted once | holds | undecided | falls short | not comparable | all |
| --- | --: | --: | --: | --: | --: |
| A & B (C et al., D 2015) | 27 | 2 | 1 | 0 | 30 |
| all of the above | 27 | 2 | 1 | 0 | 30 |

After.
"""
    (project / "README.md").write_text(f"# It\n\nFirst.\n\n```sh\nrun\n```\n{table}")
    gathered = book.gather(project)
    gathered.add("live", "x", "# Live\n")
    front.add(gathered)
    page = text(gathered, "index")
    before, _, after = page.partition('<div class="tiles">\n<a href="live.html">')
    assert before.endswith("First.\n\n")
    assert "tutorials/first-run" not in page  # which this project has not
    assert after.index("```sh") < after.index('<div class="tiles bars">')
    assert '<a href="reference/reproduction.html#a--b-c-et-al-d-2015"><strong>A &amp; B (C' in after
    key = (
        '30 claims: <span class="key held">27 held</span>, '
        '<span class="key undecided">2 undecided</span>, <span class="key short">1 short</span>'
    )
    assert after.count(key) == 2
    assert "| claims" not in after
    assert after.endswith("</div>\n\nAfter.\n")


def test_the_front_of_this_project_has_a_bar_for_each_row_of_its_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    gathered = book.Book(ROOT, {"index.md": readme.encode()}, dict.fromkeys(front.WAYS, ""))
    front.add(gathered)
    rows = readme.partition("| claims, each counted once")[2].partition("<!-- end -->")[0]
    assert text(gathered, "index").count('class="bar"') == rows.strip().count("\n") - 1
    assert text(gathered, "index").count(" claims: ") >= 18


def _made(folder: Path, summary: str) -> Path:
    for name in ("index.html", "timely/table-1/index.html", ".runs/run.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "summary.md").write_text(summary)
    return folder


def test_the_best_book_that_is_there_is_copied_without_its_runs(tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert experiments.book(tmp_path) is None
    quick = _made(tmp_path / "target/book", "incast 0.1.0, quick form; 0.1 core hours of runs.")
    assert experiments.book(tmp_path) == quick
    experiments.copy(quick, site)
    assert {one.name for one in site.iterdir()} == {"index.html", "summary.md", "timely"}
    assert "one seed, which decides nothing" in experiments.page("", quick)
    whole = _made(tmp_path / "target/reproduction", "incast 0.1.0; 1.6 core hours of runs.")
    assert experiments.book(tmp_path) == whole
    page = experiments.page("", whole)
    assert "here in full." in page
    row = '| Table 1 | <a href="book/timely/table-1/index.html">Table 1: an incast'
    assert row in page
    assert '<a href="files/papers/hpcc/figure-11-half.toml.html">' in page  # which it has not
    experiments.copy(None, site)
    assert not site.exists()


def test_without_a_book_the_page_of_experiments_has_the_stored_verdicts() -> None:
    stored = (ROOT / "docs/reference/reproduction.md").read_text(encoding="utf-8")
    page = experiments.page(stored, None)
    assert "`make book` makes it" in page
    assert "book/" not in page
    assert re.search(
        r'^\| Figure 11a \| <a href="files/papers/hpcc/figure-11-incast\.toml\.html">[^|]*\| '
        r"6 of 6 \|$",
        page,
        flags=re.MULTILINE,
    )
    assert "| Figure 2 | no experiment: a drawing of a sender's counters and queue | |" in page
    # All of them are counted: the claims on nothing fitted, and those on fitted values.
    row = r"^\| (?:all of the above|apart: rest on fitted values) \| (.*) \|$"
    rows = re.findall(row, stored, flags=re.MULTILINE)
    numbers = [[int(one) for one in row.split(" | ")] for row in rows]
    signs = ("✓", "◐", "✗", "○")
    counted = experiments.verdicts(stored).values()
    totals = [sum(of[sign] for of in counted) for sign in signs]
    assert [*totals, sum(totals)] == [sum(one) for one in zip(*numbers, strict=True)]


def test_the_search_knows_compounds_and_their_parts() -> None:
    assert words.split("An all-to-all, fast") == [
        "An", "all", "to", "all", "fast", "all-to-all",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("all to all", ["all-to-all"]),
        ("the All to All traffic", ["the", "All-to-All", "traffic"]),
        ("all-to-all", ["all-to-all"]),
        ("leaf spine", ["leaf", "spine"]),  # whose parts the search knows
        ("all to nothing", ["all", "to", "nothing"]),
    ],
)
def test_a_query_has_compounds_without_their_hyphens(
    query: str,
    found: list[str],
    browser: Any,  # noqa: ANN401
) -> None:
    """The terms of the index are stems, as Sphinx's stemmer makes them."""
    around = """
        const stopwords = new Set(["all", "the", "to"]);
        const Search = { _index: { terms: { "all-to-al": 0, "leaf-spin": 1, leaf: 1, spine: 1 } } };
        class Stemmer { stemWord(word) { return word.replace(/[el]$/, ""); } }
        """
    said = browser.execute_script(f"{around}{words.QUERY}return splitQuery(arguments[0]);", query)
    assert said == found


def test_a_word_that_the_search_does_not_find_is_one_sentence(tmp_path: Path) -> None:
    index = {
        "docnames": ["guide/traffic", "internals/performance", "x"],
        "terms": {"all-to-al": [0], "speed": [1, 2], "fct": 2},
    }
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    assert words.faults(tmp_path) == [
        "reference/results: the search does not find it by FCT; write FCT there"
    ]


def test_what_has_not_changed_is_not_written_again(project: Path, tmp_path: Path) -> None:
    gathered, into = book.gather(project), tmp_path / "source"
    book.write(gathered, into)
    before = (into / "guide/A.md").stat().st_mtime_ns
    (into / "stale.md").write_text("# Gone\n")
    (into / "guide/B.md").write_text("# Another\n")
    book.write(gathered, into)
    assert (into / "guide/A.md").stat().st_mtime_ns == before
    assert (into / "guide/B.md").read_bytes() == gathered.files["guide/B.md"]
    assert not (into / "stale.md").exists()


def test_the_gallery_has_figures_with_commands_and_pictures_with_pages(project: Path) -> None:
    gathered = book.gather(project)
    shown = gallery.Shown("incast", ("timely",), ("run.duration=1ms",), seeds=(1, 2))
    gallery.add(gathered, {"rtt-cdf": (shown, b"png")})
    page = text(gathered, "gallery")
    assert "![rtt-cdf: distribution of RTT samples" in page
    assert (
        "incast run incast --cc timely --seed 1 --seed 2 --set run.duration=1ms \\\n    "
        "--out results/incast\nincast plot results/incast/seed-* --figure rtt-cdf\n" in page
    )
    assert "![All of it](images/p.svg)\n\nIn [It](index.md): All of it." in page
    assert gathered.files["gallery/rtt-cdf.png"] == b"png"


def test_a_figure_that_no_run_has_is_named() -> None:
    assert {"rtt-cdf", "bars"} <= set(ABOUT)
    with pytest.raises(book.SiteError, match=r"no run has what rtt-cdf, .*bars draws; add one"):
        gallery.draw(())


def test_the_project_has_a_site() -> None:
    gathered = book.gather(ROOT)
    book.navigation(gathered, {})
    named = set(re.findall(r"^(?:.* <)?/([^>\n]+)>?$", "\n".join(
        text(gathered, name) for name in gathered.pages
        if name.startswith(("contents/", "files/papers/index")) or name == "index"
    ), flags=re.MULTILINE))  # fmt: skip
    own = {name for name, source in gathered.pages.items() if source.startswith("docs/")}
    assert own - {"contents"} <= named | {"index"}, "a page is in no section of docs/README.md"
    assert {"files/papers/timely/index", "files/scenarios/index", "contributing"} <= named
    assert "algorithms/timely" in named


def test_crates_have_their_own_pages_alone(tmp_path: Path) -> None:
    made = ("own/all.html", "own/index.html", "src/own/x.html", "static.files/x.css", "crates.js")
    for name in (*made, "other/all.html", "src/other/x.html"):
        (tmp_path / "doc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "doc" / name).write_text('<body><nav class="sidebar"></nav></body>')
    crates = rustdoc.Crates(tmp_path / "doc", {"own": ("o-wn", "A crate")})
    crates.copy(tmp_path / "site", "../../index.html")
    copied = [one for one in (tmp_path / "site").rglob("*") if one.is_file()]
    assert {one.relative_to(tmp_path / "site").as_posix() for one in copied} == {*made}
    assert 'href="../../../index.html">Doc' in (tmp_path / "site/own/index.html").read_text()
    assert 'href="../../../../index.html">Doc' in (tmp_path / "site/src/own/x.html").read_text()
    assert (tmp_path / "site/crates.js").read_bytes() == (tmp_path / "doc/crates.js").read_bytes()
    assert '| <a href="rust/own/index.html"><code>o-wn</code></a> | A crate |' in crates.table(
        "rust/"
    )
    (tmp_path / "doc/own/index.html").unlink()
    with pytest.raises(book.SiteError, match=r"doc/own: not there; `cargo doc .*` makes it"):
        crates.copy(tmp_path / "site", "../../index.html")


SITE = {
    "index.html": '<h1 id="top"></h1><a href="a/b.html#there">b</a> <a href="#top">up</a> '
    '<a href="a/">folder</a> <a href="https://example.org">web</a> <img src="data:,">'
    '<link rel="canonical" href="https://example.org"><script src="s.js?v=1"></script>',
    "a/b.html": '<a name="there" href="../index.html">back</a>',
    "a/index.html": "",
    "s.js": "",
    "style.css": "a { background: url(data:,) }",
}


@pytest.mark.parametrize(
    ("path", "more", "said"),
    [
        (
            "a/b.html",
            '<a href="c.html">c</a>',
            (
                "docs/B.md: the link c.html leads to a/c.html, which is not there; name a file "
                "that is, or remove the link"
            ),
        ),
        (
            "index.html",
            '<a href="a/b.html#gone">b</a>',
            (
                "index.html: the link a/b.html#gone leads to no place of a/b.html; name one of its "
                "headings, or remove what follows the #"
            ),
        ),
        (
            "index.html",
            '<a href="../x">out</a>',
            (
                "index.html: the link ../x leads to ../x, which is not there; name a file that is, "
                "or remove the link"
            ),
        ),
        ("index.html", '<script src="https://cdn/x.js"></script>', "https://cdn/x.js"),
        ("index.html", '<link rel="preconnect" href="//fonts/">', "//fonts/"),
        ("index.html", "<style>@import 'https://fonts/a.css';</style>", "https://fonts/a.css"),
        ("index.html", '<p style="background: url(http://x/y.png)">', "http://x/y.png"),
        ("style.css", "b { src: url('//fonts/f.woff') }", "//fonts/f.woff"),
    ],
)
def test_a_fault_of_the_site_is_one_sentence(
    path: str, more: str, said: str, tmp_path: Path
) -> None:
    for name, content in SITE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert links.faults(tmp_path, {}) == []
    (tmp_path / path).write_text(SITE[path] + more)
    if not said.startswith(("docs", "index")):
        said = (
            f"{path}: a reader's browser would load {said} from another host; put it into the site"
        )
    assert links.faults(tmp_path, {"a/b.html": "docs/B.md"}) == [said]


def test_a_fault_of_many_pages_is_told_once(tmp_path: Path) -> None:
    for name in ("a.html", "b.html", "c.html"):
        (tmp_path / name).write_text('<a href="gone.html">x</a>')
    (fault,) = links.faults(tmp_path, {})
    assert fault.startswith("a.html: the link gone.html leads to gone.html, which is not there")
    assert fault.endswith("; as on 2 more pages")


def test_links_of_others_are_theirs_and_links_to_them_are_ours(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api/x.html").write_text('<a href="gone.html" id="here">x</a>')
    (tmp_path / "index.html").write_text('<a href="api/x.html#here">x</a>')
    assert links.faults(tmp_path, {}, unchecked=("api/",)) == []
    assert len(links.faults(tmp_path, {"api/x.html": "x.rs"}, unchecked=("api/",))) == 1
    (tmp_path / "index.html").write_text('<a href="api/x.html#there">x</a>')
    assert len(links.faults(tmp_path, {}, unchecked=("api/",))) == 1
