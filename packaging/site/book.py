"""The sources of the documentation site, in the Markdown that Sphinx reads with MyST.

A page of the project links to any file of the project, as a code host shows them. A file that a
page links to has a page in the site, too: pages of Markdown as they are, notebooks with their
outputs, other files as listings of their text, folders as lists of their files. So every link leads
to the version that the site was made of, without a host.

The navigation is that of `docs/README.md`: a section of it is a page of the site, and the pages
that it names stand below it.
"""

import base64
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FRONT = "README.md"
CONTENTS = "docs/README.md"
# Pages and folders that the navigation has beside the sections of the contents, and their names.
EXTRA = {
    "papers": "Files of the experiments",
    "scenarios": "Shipped scenarios",
    "CONTRIBUTING.md": "Contributing",
    "CHANGELOG.md": "Changes",
}
PICTURES = {".png", ".svg", ".jpg"}
LANGUAGES = {
    ".c": "c", ".h": "c", ".cc": "cpp", ".cff": "yaml", ".json": "json", ".py": "python",
    ".rs": "rust", ".toml": "toml", ".ts": "typescript",
}  # fmt: skip

_FENCED = re.compile(r"(^```.*?^```[^\n]*$)", flags=re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(``.+?``|`[^`]+`)", flags=re.DOTALL)
# The text of a link may go over lines, and has brackets of code at most.
_LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^)\s]+)\)")
_TARGET = re.compile(r"\]\(([^)\s]+)\)")
_SECTION = re.compile(r"^## +(.*)$", flags=re.MULTILINE)
# Neither in the navigation nor found by the search, which would find each word of the code.
_ASIDE = "---\norphan: true\nnosearch: true\n---\n\n"
_ORPHAN = "---\norphan: true\n---\n\n"


class SiteError(Exception):
    """Something that keeps the site from being made, in one sentence."""


@dataclass
class Book:
    """The sources of a site, as they are gathered."""

    root: Path
    files: dict[str, bytes] = field(default_factory=dict)
    """The files of the sources by path."""
    pages: dict[str, str] = field(default_factory=dict)
    """The file that each page of the site, by its name without suffix, was made of."""
    uses: dict[str, dict[str, str]] = field(default_factory=dict)
    """The pictures in pages: file, page and the text that stands for the picture."""

    def add(self, name: str, source: str, text: str) -> None:
        """Adds a page that is made of `source`."""
        self.files[f"{name}.md"] = text.encode()
        self.pages[name] = source

    def title(self, path: str) -> str:
        """The heading of the page of a file."""
        text = self.files[f"{place(path, self.root)}.md"].decode()
        found = re.search(r"^# +(.*)$", text, flags=re.MULTILINE)
        return found[1] if found else path


def gather(root: Path) -> Book:
    """The pages of a project, with links between them; without what is generated elsewhere.

    Raises:
        SiteError: A page links to a file that is not there.
    """
    book = Book(root)
    docs = sorted([*(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.ipynb")])
    wanted = [FRONT, CONTENTS, *(name for name in EXTRA if (root / name).exists())]
    wanted += [path.relative_to(root).as_posix() for path in docs]
    while wanted:
        path = wanted.pop(0)
        name = place(path, root)
        if name in book.pages or name in book.files:
            continue
        if Path(path).suffix in PICTURES:
            book.files[name] = (root / path).read_bytes()
            continue
        text, linked = _relinked(_page(book, path), path, name, book)
        book.add(name, path, text)
        wanted += linked
    return book


def navigation(book: Book, generated: dict[str, str]) -> None:
    """Adds a page for each section of the contents, and the navigation to the front page.

    Args:
        book: The pages so far.
        generated: Pages of the site that are made of no file of the project, and their names.
    """
    text = (book.root / CONTENTS).read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    entries = []
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        name = f"contents/{re.sub(r'[^a-z]+', '-', title.lower())}"
        relinked, linked = _relinked(f"# {title}\n\n{body.strip()}\n", CONTENTS, name, book)
        below = [place(path, book.root) for path in dict.fromkeys(linked)]
        book.add(name, CONTENTS, f"{relinked}{_toctree(dict.fromkeys(below, ''))}")
        entries.append(name)
    extra = {place(path, book.root): name for path, name in EXTRA.items()}
    known = {name: title for name, title in extra.items() if name in book.pages}
    front = book.files["index.md"].decode()
    trees = [
        _toctree(dict.fromkeys(entries, ""), "The book"),
        _toctree(generated, "Made of the code"),
        _toctree(known, "The project"),
    ]
    book.files["index.md"] = "\n".join([front, *trees]).encode()


def place(path: str, root: Path) -> str:
    """The name of the page of a file or folder: its path in the site, without a suffix.

    A picture keeps its suffix.
    """
    if path == FRONT:
        return "index"
    if path == CONTENTS:
        return "contents"
    if path.startswith("docs/") and Path(path).suffix in {".md", ".ipynb"}:
        return str(Path(path.removeprefix("docs/")).with_suffix(""))
    if Path(path).suffix in PICTURES:
        return path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"
    if path.endswith(".md"):
        return path.removesuffix(".md").lower() if "/" not in path else f"files/{path[:-3]}"
    return f"files/{path}/index" if (root / path).is_dir() else f"files/{path}"


def write(book: Book, into: Path) -> None:
    """Writes the sources; files that are as they were keep their time, and others go."""
    for path, content in book.files.items():
        target = into / path
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for old in [*into.rglob("*")]:
        if old.is_file() and old.relative_to(into).as_posix() not in book.files:
            old.unlink()


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text whose parts outside code were changed."""
    blocks = _FENCED.split(text)
    for place_of, block in enumerate(blocks):
        if not block.startswith("```"):
            parts = _CODE.split(block)
            parts[::2] = [change(part) for part in parts[::2]]
            blocks[place_of] = "".join(parts)
    return "".join(blocks)


def _page(book: Book, path: str) -> str:
    """The page of a file or folder, with links as from where that is."""
    source = book.root / path
    if source.is_dir():
        return _folder(book, source, path)
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SiteError(f"{path}: not a text, and a page links to it; link to its folder") from None
    if path.endswith(".ipynb"):
        return _notebook(book, path, json.loads(text))
    if path.endswith(".md"):
        aside = not path.startswith("docs/") and path not in {FRONT, *EXTRA}
        return f"{_ORPHAN * (aside or path == CONTENTS)}{text}"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    language = LANGUAGES.get(source.suffix, "text")
    return f"{_ASIDE}# `{path}`\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _folder(book: Book, folder: Path, path: str) -> str:
    """The list of the files of a folder, with the titles that they give themselves.

    Folders in one that the navigation has are there, too.
    """
    lines, below = [], {}
    for child in sorted(folder.iterdir()):
        if child.name.startswith((".", "__")) or child.name == "target":
            continue
        if child.is_file() and not _is_text(child):
            continue
        title = ""
        if child.suffix == ".toml":
            said = tomllib.loads(child.read_text(encoding="utf-8")).get("title", "")
            title = f": {said}" if isinstance(said, str) and said else ""
        mark = "/" if child.is_dir() else ""
        lines.append(f"* [`{child.name}{mark}`]({child.name}){title}")
        if child.is_dir() and path in EXTRA:
            below[place(f"{path}/{child.name}", book.root)] = child.name
    aside = path not in EXTRA and dirname(path) not in EXTRA
    heading = EXTRA.get(path, f"`{path}`")
    page = [f"{_ASIDE * aside}# {heading}", "", f"Files in `{path}`:", "", *lines, ""]
    return "\n".join([*page, _toctree(below)] if below else page)


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _notebook(book: Book, path: str, notebook: dict[str, Any]) -> str:
    """A notebook as a page: its texts, its code and what that has shown."""
    blocks = []
    for number, cell in enumerate(notebook["cells"]):
        source = _whole(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(source)
            continue
        blocks.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{place(path, book.root)}-{number}.png"
                book.files[picture] = base64.b64decode(_whole(data["image/png"]))
                blocks.append(f"![What the cell above draws]({Path(picture).name})")
            elif said := _whole(output.get("text") or data.get("text/plain") or ""):
                blocks.append(f"```text\n{said.rstrip()}\n```")
    last = f"The notebook itself is `{path}` of the project."
    return "\n\n".join([*blocks, last, ""])


def _whole(text: str | list[str]) -> str:
    """A text of a notebook, which has it whole or in lines."""
    return text if isinstance(text, str) else "".join(text)


def _relinked(text: str, path: str, name: str, book: Book) -> tuple[str, list[str]]:
    """A page whose links lead to pages of the site, and the files that it links to."""
    linked: list[str] = []
    made = {Path(file).name for file in book.files if file.startswith(f"{name}-")}

    def change(link: str) -> str:
        target, mark, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not target or link in made:
            return link
        found = normpath(join(path if (book.root / path).is_dir() else dirname(path), target))
        if found.startswith("..") or not (book.root / found).exists():
            raise SiteError(
                f"{path}: the link {link} leads to no file of the project; mend or remove it"
            )
        linked.append(found)
        to = place(found, book.root)
        suffix = "" if Path(found).suffix in PICTURES else ".md"
        return f"{relpath(to, dirname(name) or '.')}{suffix}{mark}{anchor}"

    for image, about, link in _LINK.findall(_FENCED.sub("", text)):
        if image and not re.match(r"[a-z]+:", link):
            found = normpath(join(dirname(path), link))
            if (book.root / found).is_file():
                book.uses.setdefault(found, {})[path] = " ".join(about.split())
    replaced = outside_code(
        text, lambda part: _TARGET.sub(lambda link: f"]({change(link[1])})", part)
    )
    return replaced, linked


def _toctree(entries: dict[str, str], caption: str = "") -> str:
    """The part of the navigation below a page: names of pages, and titles where they differ."""
    lines = [f"{title} </{name}>" if title else f"/{name}" for name, title in entries.items()]
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *lines, "```", ""])
