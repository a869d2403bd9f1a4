"""A reader of a report: from the front to a paper, an experiment, a claim, and its scenario."""

import html
import re
from pathlib import Path

from steps import as_json, incast

asked = ("timely/table-1", "swift/table-3")
listed = incast("reproduce", "--list")
assert all(name in listed for name in asked), listed
said = as_json("reproduce", "timely/table-1", "--quick", "--out", "report")
assert said


def links(page: Path) -> dict[Path, str]:
    """The files that a page links to, with the words of the link."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r'<a [^>]*?href="([^"#:]+?)(?:#[^"]*)?"[^>]*>(.*?)</a>', text, re.DOTALL)
    return {page.parent / html.unescape(to): re.sub(r"<[^>]+>", " ", words) for to, words in found}


def readable(page: Path) -> str:
    """The text of a page as a reader sees it."""
    text = re.sub(
        r"<(script|style).*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


front = Path("report/index.html")
assert "TIMELY" in readable(front)
seen: dict[Path, str] = {}
waiting = [front]
while waiting:
    page = waiting.pop().resolve()
    if page in seen or page.suffix != ".html":
        continue
    assert page.exists(), page
    seen[page] = readable(page) if page.stat().st_size < 2_000_000 else ""
    waiting += links(page)
tables = [page for page, text in seen.items() if "keeps the bounds" in text and "Table 1" in text]
assert tables, sorted(map(str, seen))

# The experiment's page says how it is run again, and the command works.
pattern = re.compile(r"incast reproduce timely/table-1")
command = next(found[0] for text in seen.values() if (found := pattern.search(text)))
assert incast(*command.split()[1:], "--quick", "--out", "report")
