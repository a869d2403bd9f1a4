"""The check of a built site: each link leads somewhere, and nothing is loaded from other hosts.

A fault is a sentence with the file, the link and the remedy.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, normpath
from urllib.parse import unquote

# What a browser loads by itself, by element and attribute. A link is followed by a person.
LOADED = {
    ("script", "src"), ("img", "src"), ("img", "srcset"), ("iframe", "src"), ("source", "src"),
    ("source", "srcset"), ("video", "src"), ("audio", "src"), ("embed", "src"), ("object", "data"),
    ("image", "href"), ("use", "href"), ("input", "src"), ("track", "src"),
}  # fmt: skip
# Relations of <link> that load nothing.
TOLD = {"canonical", "alternate", "author", "license", "prev", "next", "index", "search", "home"}
_REMOTE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|[a-z][a-z0-9+.-]*:", flags=re.IGNORECASE)
_IN_STYLE = re.compile(r"""(?:url\(|@import)\s*['"]?((?:https?:)?//[^'")\s]+)""")


@dataclass
class Page(HTMLParser):
    """The links and the anchors of a page."""

    anchors: set[str] = field(default_factory=set)
    links: list[tuple[str, bool]] = field(default_factory=list)
    """Addresses, and whether a browser loads them by itself."""

    def __post_init__(self) -> None:
        """Prepares the parser."""
        super().__init__()
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps anchors and addresses."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self._style = tag == "style"
        self.links += [
            (value, (tag, name) in LOADED) for name, value in given.items()
            if (tag, name) in LOADED or (tag in {"a", "area"} and name == "href")
        ]  # fmt: skip
        if tag == "link" and "href" in given:
            told = {*given.get("rel", "").lower().split()} <= TOLD
            self.links.append((given["href"], not told))
        self.links += [(found, True) for found in _IN_STYLE.findall(given.get("style", ""))]

    def handle_data(self, data: str) -> None:
        """Keeps the addresses of a style."""
        if self._style:
            self.links += [(found, True) for found in _IN_STYLE.findall(data)]


def faults(site: Path, sources: dict[str, str], unchecked: tuple[str, ...] = ()) -> list[str]:
    """The links of a site that lead nowhere, and what it would ask other hosts for.

    Args:
        site: The directory of the site.
        sources: The file of the project that a page was made of, by the path of the page.
        unchecked: Folders of pages that others have made and checked. Links into them are checked.
    """

    @cache
    def page(path: str) -> Page:
        read = Page()
        read.feed((site / path).read_text(encoding="utf-8"))
        return read

    found: dict[str, list[str]] = {}  # by what is wrong: the navigation has its links on all pages
    for file in sorted(site.rglob("*.html")):
        path = file.relative_to(site).as_posix()
        if path.startswith(unchecked) and path not in sources:
            continue
        source = sources.get(path, path)
        for link, loaded in dict.fromkeys(page(path).links):
            if _REMOTE.match(link):
                if loaded and not link.startswith("data:"):
                    found.setdefault(link, []).append(_asks(source, link))
            elif why := _leads_nowhere(site, path, link, page):
                found.setdefault(why, []).append(f"{source}: the link {link} {why}")
    for file in sorted(site.rglob("*.css")):
        path = file.relative_to(site).as_posix()
        said = _IN_STYLE.findall(file.read_text(encoding="utf-8"))
        for link in said:
            found.setdefault(link, []).append(_asks(path, link))
    return [
        f"{first}; as on {len(others)} more pages" if others else first
        for first, *others in found.values()
    ]


def _asks(source: str, link: str) -> str:
    return f"{source}: a reader's browser would load {link} from another host; put it into the site"


def _leads_nowhere(site: Path, path: str, link: str, page: Callable[[str], Page]) -> str:
    """The rest of a sentence on a link that leads nowhere, empty where it leads somewhere."""
    target, _, anchor = unquote(link).partition("#")
    target = target.partition("?")[0]
    to = normpath(f"{dirname(path) or '.'}/{target}") if target else path
    if (site / to).is_dir():
        to = normpath(f"{to}/index.html")
    if to.startswith("..") or not (site / to).is_file():
        return f"leads to {to}, which is not there; name a file that is, or remove the link"
    if anchor and to.endswith(".html") and anchor not in page(to).anchors:
        return f"leads to no place of {to}; name one of its headings, or remove what follows the #"
    return ""
