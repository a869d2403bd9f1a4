"""The documentation is a book: every link leads somewhere, and the contents name every page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "bench").rglob("*.md")])
# Sources whose comments and messages name pages.
SOURCES = ("crates", "python/incast", "bench", "tests/python")
NAMED = re.compile(r"\bdocs/[a-z0-9/-]+\.md\b")


def prose(page: Path) -> str:
    """The text of a page without blocks of code."""
    return re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def links(page: Path) -> list[str]:
    """The targets of links and pictures on a page, but for those to the web."""
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page)))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    made: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        twins = sum(1 for other in made if re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", other))
        made.add(f"{anchor}-{twins}" if twins else anchor)
    return made


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}, which is not there"
        assert target.is_relative_to(ROOT), f"{name(page)} links to {link}, outside the project"
        if anchor:
            assert anchor in anchors(target), f"{name(page)} links to {link}: no such heading"


def test_anchors_are_those_of_github(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` of C: d, e\n\n```sh\n# no heading\n```\n\n## T_low, [x](y.md)\n\n## T_low, x\n"
    )
    assert anchors(page) == {"a-b-of-c-d-e", "t_low-x", "t_low-x-1"}


def test_the_contents_name_every_page_once() -> None:
    named = [(DOCS / link).resolve() for link in links(DOCS / "README.md")]
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {DOCS / "README.md"}
    missing = sorted(name(page) for page in pages - set(named))
    assert not missing, f"docs/README.md does not name {', '.join(missing)}"
    assert len(named) == len(set(named)), "docs/README.md names a page twice"


def test_pages_that_sources_name_are_there() -> None:
    suffixes = {".rs", ".py", ".pyi", ".toml", ".c", ".h"}
    files = [path for folder in SOURCES for path in (ROOT / folder).rglob("*")]
    files += [ROOT / "Makefile", ROOT / "clippy.toml", ROOT / "fuzz" / "targets.rs"]
    seen = set()
    for path in files:
        if (path.suffix not in suffixes and path.name != "Makefile") or "target" in path.parts:
            continue
        for page in NAMED.findall(path.read_text(encoding="utf-8")):
            # The page of an algorithm that a test makes up.
            if page == "docs/algorithms/new.md":
                continue
            seen.add(page)
            assert (ROOT / page).exists(), f"{name(path)} names {page}, which is not there"
    assert "docs/internals/architecture.md" in seen


# Guides name files that their readers write.
NO_GUIDES = [page for page in PAGES if not page.name.startswith(("adding-", "your-own-"))]


@pytest.mark.parametrize("page", NO_GUIDES, ids=name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    folders = "bench|crates|docs|fuzz|papers|python|scenarios"
    for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", prose(page)):
        # A placeholder, such as NAME, or something that is built.
        if re.search(r"[A-Z]{4}|/target/", path):
            continue
        assert (ROOT / path).exists(), f"{name(page)} names {path}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_have_at_most_a_hundred_columns(page: Path) -> None:
    """Rows of tables may have more, and what a program prints."""
    text = page.read_text(encoding="utf-8")
    text = text.partition("<!-- what follows is printed by")[0]
    printed = re.compile(r"^```(?:text|console)\n.*?^```", flags=re.DOTALL | re.MULTILINE)
    text = printed.sub(lambda block: "\n" * block[0].count("\n"), text)
    long = [
        f"{number}"
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > 100 and not line.lstrip().startswith("|")
    ]
    assert not long, f"{name(page)} has more than 100 columns in lines {', '.join(long)}"


# Folders of crates; `target` has what is built.
COMMENTED = (
    "core/cc",
    "front",
    "real/kernel",
    "simulator/net",
    "simulator/plan",
    "simulator/sim",
    "simulator/table",
)


@pytest.mark.parametrize("folder", COMMENTED)
def test_comments_have_at_most_a_hundred_columns(folder: str) -> None:
    """rustfmt breaks code at 100 columns and leaves comments alone."""
    files = [
        path for path in (ROOT / "crates" / folder).rglob("*.rs") if "target" not in path.parts
    ]
    long = [
        f"{name(path)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 100 and line.lstrip().startswith("//")
    ]
    assert files
    assert not long, f"comments have more than 100 columns at {', '.join(long)}"
