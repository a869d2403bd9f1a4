"""The manual: the pages of the documentation, which come with the package."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from incast._core import IncastError
from incast.base import words

# In a checkout a link to the folder `docs`, in an installed package the pages themselves.
_PAGES = Path(__file__).parents[1] / "docs"
_CONTENTS = "README"
_LINK = re.compile(r"\]\(([^)#\s]+)\.md(?:#[^)\s]*)?\)")


class TopicError(IncastError):
    """A topic that the manual does not have."""


@dataclass(frozen=True)
class Page:
    """A page of the manual."""

    topic: str
    """The name of its file below `docs`: `guide/switches`."""
    path: Path

    @cached_property
    def text(self) -> str:
        """The page, in Markdown."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def title(self) -> str:
        """The heading of the page."""
        return self.text.partition("\n")[0].lstrip("# ").strip()


def pages() -> dict[str, Page]:
    """All pages by topic, in the order of the table of contents, which comes first."""
    topics = {
        path.relative_to(_PAGES).with_suffix("").as_posix(): path for path in _PAGES.rglob("*.md")
    }
    contents = Page(_CONTENTS, topics.pop(_CONTENTS))
    order = {topic: place for place, topic in enumerate(_LINK.findall(contents.text))}
    ordered = sorted(topics, key=lambda topic: (order.get(topic, len(order)), topic))
    return {"contents": Page("contents", contents.path)} | {
        topic: Page(topic, topics[topic]) for topic in ordered
    }


def page(topic: str) -> Page:
    """The page of a topic, or of the last part of its name where no other ends so.

    Raises:
        TopicError: There is none.
    """
    known = pages()
    short: dict[str, list[str]] = {}
    for name in known:
        short.setdefault(name.rpartition("/")[2], []).append(name)
    wanted = topic.strip("/").removesuffix(".md").removeprefix("docs/")
    found = [wanted] if wanted in known else short.get(wanted, [])
    if len(found) == 1:
        return known[found[0]]
    near = found or words.near(wanted, [*known, *short])
    names = dict.fromkeys(one for name in near for one in short.get(name, [name]))
    hint = f"did you mean {' or '.join(names)}?" if names else "`incast docs` lists the topics"
    raise TopicError(f"{topic}: no such topic; {hint}")
