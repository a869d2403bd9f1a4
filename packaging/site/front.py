"""The front page of the site: the README's picture, three ways in, and the reproduction as bars."""

import re
from html import escape

from book import Book

WAYS = {
    "live": ("Try it in the page", "Move a slider, watch the queue: it runs in the browser."),
    "tutorials/first-run": (
        "A first run",
        "The incast of the TIMELY paper from the command line, its table, one value changed.",
    ),
    "experiments": (
        "Read the results",
        "From each figure of the papers to its experiment, and to the claims that hold there.",
    ),
}
"""The ways in: page, title, and a sentence."""
WORDS = ("held", "undecided", "short", "not comparable")
"""The verdicts, in the order of the columns of the README's table."""

_COUNTED = "Claims of the papers, each counted once; those on fitted values and ours stand apart:"
_ROW = re.compile(r"^\| (.+?) ((?:\| \d+ ){5})\|$", flags=re.MULTILINE)
_CLAIMS = re.compile(r"^\| claims, each counted once .*\n\| --- .*\n((?:\|.*\n)+)", re.MULTILINE)


def add(book: Book) -> None:
    """Puts the ways in below the first words of the front page, and bars in place of its table."""
    text = book.files["index.md"].decode()
    before, fence, after = text.partition("```sh\n")
    ways = {page: way for page, way in WAYS.items() if page in book.pages}
    text = f"{before}{_tiles(ways)}{fence}{after}" if ways else text
    book.files["index.md"] = _CLAIMS.sub(lambda found: _bars(found[1]), text).encode()


def _tiles(ways: dict[str, tuple[str, str]]) -> str:
    tiles = (
        f'<a href="{page}.html"><strong>{title}</strong> {about}</a>'
        for page, (title, about) in ways.items()
    )
    return "\n".join(['<div class="tiles">', *tiles, "</div>", "", ""])


def _bars(rows: str) -> str:
    """The rows of the table of claims, each as a bar whose numbers below it are its key."""
    lines = [_COUNTED, "", '<div class="tiles bars">']
    for title, numbers in _ROW.findall(rows):
        *counts, every = map(int, re.findall(r"\d+", numbers))
        said = [
            (word.replace(" ", "-"), word, count)
            for word, count in zip(WORDS, counts, strict=True) if count
        ]  # fmt: skip
        parts = "".join(
            f'<span class="{slug}" style="flex-grow: {count}"></span>' for slug, _, count in said
        )
        # The words are the key of the bar.
        words = ", ".join(
            f'<span class="key {slug}">{count} {word}</span>' for slug, word, count in said
        )
        lines += [
            f"<div>{_named(title)}",
            f'<div class="bar" aria-hidden="true">{parts}</div>',
            f"{every} claims: {words}</div>",
        ]
    return "\n".join([*lines, "</div>", ""])


def _named(title: str) -> str:
    """The title of a row, which leads to the section of its source."""
    if " (" not in title:
        return f"<strong>{escape(title)}</strong>"
    place = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
    return f'<a href="reference/reproduction.html#{place}"><strong>{escape(title)}</strong></a>'
