"""Pages of the manual in a terminal."""

import re
from collections.abc import Iterable
from posixpath import dirname, join, normpath

from rich.console import Console
from rich.markdown import Markdown

from incast.base.manual import Page
from incast.terminal.writing import grid_of

_FENCED = re.compile(r"(^```.*?^```[^\n]*$)", flags=re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"!\[([^]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^]]*)\]\(([^)\s]+)\)")


def print_topics(out: Console, pages: Iterable[Page]) -> None:
    """Prints a line for each page: its topic and its title."""
    grid = grid_of(out, wrap=True)
    grid.add_column("topic", no_wrap=True)
    grid.add_column("title")
    for page in pages:
        grid.add_row(page.topic, page.title)
    out.print(grid)


def print_page(out: Console, page: Page, topics: Iterable[str]) -> None:
    """Prints a page; links to other pages name their topics."""
    out.print(Markdown(in_words(page, {*topics}), hyperlinks=False))


def in_words(page: Page, topics: set[str]) -> str:
    """The Markdown of a page without addresses that lead nowhere from a terminal."""
    parts = _FENCED.split(page.text)
    return "".join(
        part if part.startswith("```") else _LINK.sub(
            lambda link: _link(page, topics, link), _PICTURE.sub(r"*Picture: \1*", part)
        )
        for part in parts
    )  # fmt: skip


def _link(page: Page, topics: set[str], link: re.Match[str]) -> str:
    """A link in words: with the topic of a page, with the address of the web, or its text alone."""
    text, target = link.groups()
    if re.match(r"[a-z]+:", target):
        return link[0]
    path = normpath(join(dirname(page.topic), target.partition("#")[0]))
    topic = path.removesuffix(".md")
    return f"{text} (`{topic}`)" if path.endswith(".md") and topic in topics else text
