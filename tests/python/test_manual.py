"""`incast docs`: the pages of the documentation, from a checkout and from the wheel."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from conftest import Command
from incast.base import manual
from incast.terminal.pages import in_words

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES = sorted(DOCS.rglob("*.md"))

FENCED = re.DOTALL | re.MULTILINE


def test_it_lists_every_page_in_order_of_reading(command: Command) -> None:
    items = json.loads(command("docs", "--json").out)
    topics = [item["topic"] for item in items]
    files = {path.relative_to(DOCS).with_suffix("").as_posix() for path in FILES}
    assert {*topics} == files - {"README"} | {"contents"}
    assert topics[:3] == ["contents", "tutorials/first-run", "tutorials/your-own-network"]
    assert topics.index("how-to/installing") < topics.index("reference/results")
    assert all(item["title"] and not item["title"].startswith("#") for item in items)
    listed = command("docs")
    assert listed.code == 0
    assert all(re.search(rf"^{re.escape(topic)} ", listed.out, re.MULTILINE) for topic in topics)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_prints_every_page(path: Path, command: Command) -> None:
    topic = path.relative_to(DOCS).with_suffix("").as_posix().replace("README", "contents")
    done = command("docs", topic)
    assert done.code == 0, done.err
    page = manual.page(topic)
    assert page.title in " ".join(done.out.split())
    text = re.sub(r"^```.*?^```", "", in_words(page, {*manual.pages()}), flags=FENCED)
    assert not re.search(r"\]\((?!https?:)", re.sub(r"`[^`]*`", "", text))
    assert json.loads(command("docs", topic, "--json").out) == {
        "topic": topic, "title": page.title, "text": path.read_text(encoding="utf-8"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["switches", "guide/switches", "docs/guide/switches.md", "guide/switches/"]
)
def test_names_may_be_short(name: str) -> None:
    assert manual.page(name).topic == "guide/switches"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("swiches", "swiches: no such topic; did you mean guide/switches"),
        ("timelyy", "did you mean algorithms/timely?"),
        ("zzz", "zzz: no such topic; `incast docs` lists the topics"),
        ("", ": no such topic; `incast docs` lists the topics"),
    ],
)
def test_an_unknown_topic_is_one_sentence(name: str, said: str, command: Command) -> None:
    assert said in command("docs", name).error


def test_links_name_topics(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "# A\n\n[Linux](../guide/kernel.md#x), [code](../../crates/a.rs), "
        "![a plot](x.png), [web](https://example.org)\n\n```\n[kept](as-it-is.md)\n```\n"
    )
    text = in_words(manual.Page("start/page", path), {"guide/kernel"})
    assert text.splitlines()[2:] == [
        "Linux (`guide/kernel`), code, *Picture: a plot*, [web](https://example.org)", "",
        "```", "[kept](as-it-is.md)", "```",
    ]  # fmt: skip


def test_the_wheel_has_every_page(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("incast/docs/")}
        assert packed == {f"incast/{path.relative_to(ROOT).as_posix()}" for path in FILES}
        for path in FILES:
            name = f"incast/{path.relative_to(ROOT).as_posix()}"
            assert archive.read(name) == path.read_bytes()
        assert not [name for name in archive.namelist() if name.startswith("docs/")]
