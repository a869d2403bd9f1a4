"""docs/start/first-scenario.md: its scenario runs, and its commands print what it shows."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from conftest import Finished

Command = Callable[..., Finished]
PAGE = Path(__file__).parents[2] / "docs" / "start" / "first-scenario.md"


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of code of a page: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_commands_print_what_the_page_shows(command: Command) -> None:
    (language, scenario), *rest = blocks(PAGE.read_text(encoding="utf-8"))
    assert language == "toml"
    Path("mine.toml").write_text(scenario, encoding="utf-8")
    languages, texts = [language for language, _ in rest], [text for _, text in rest]
    assert languages == ["sh", "text"] * 3
    for line, shown in zip(texts[::2], texts[1::2], strict=True):
        program, *arguments = shlex.split(line)
        assert program == "incast"
        done = command(*arguments)
        assert done.code == 0, done.err
        printed = "\n".join(row.rstrip() for row in (done.err + done.out).splitlines())
        assert shown.rstrip("\n") in printed, line
    assert (Path("results") / "mine" / "run.json").exists()
