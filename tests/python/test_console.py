"""The tutorials and the how-tos: every command runs, and prints what its page shows.

A block `console` has commands behind `$`, continued behind `>`, each with what it prints. A block
`toml NAME` or `python NAME` is a file. `...` stands for what is left out: for lines where it is a
line, for a part of one, such as a time or a path, otherwise. A block `sh` does not run, and a
comment above it says why: `<!-- not run: ... -->`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.font_manager  # makes the font cache, or a command says that it does
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*DOCS.glob("tutorials/*.md"), *DOCS.glob("how-to/*.md")])
_BLOCK = re.compile(
    r"^```(console|(?:toml|python) [\w.-]+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE
)
_UNTOLD = re.compile(r"(?<!-->\n)^```(?:sh|bash)\n", flags=re.MULTILINE)
_REASON = re.compile(r"<!-- not run: .{10,} -->\n```(?:sh|bash)\n")


def steps(text: str) -> list[tuple[str, str]]:
    """What a page asks for in its order: files by name, and commands behind `$`."""
    found = []
    for kind, body in _BLOCK.findall(text):
        if kind != "console":
            found.append((kind.partition(" ")[2], body))
            continue
        assert body.startswith("$ "), body
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            last = 1
            while last < len(lines) and lines[last].startswith("> "):
                last += 1
            command = "\n".join([lines[0], *(line[2:] for line in lines[1:last])])
            found.append((f"$ {command}", "\n".join(lines[last:])))
    return found


def pattern(shown: str) -> re.Pattern[str]:
    """What a page shows, as an expression for what may be printed."""
    lines = [line.rstrip() for line in shown.splitlines()]
    parts = [
        "(?:.*\n)*?" if line == "..." else r".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in lines
    ]
    return re.compile("".join(parts))


def run(command: str, folder: Path) -> tuple[int, str]:
    """Runs a line of a shell as a reader would, who sees both streams."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {
        "PATH": path, "HOME": str(folder), "PYTHONUNBUFFERED": "1",
        "MPLCONFIGDIR": matplotlib.get_configdir(),
    }  # fmt: skip
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=folder, env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.returncode, "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```console" in page.read_text(encoding="utf-8")],
    ids=lambda page: f"{page.parent.name}/{page.stem}",
)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for what, shown in steps(text):
        if not what.startswith("$ "):
            (tmp_path / what).write_text(shown, encoding="utf-8")
            continue
        code, printed = run(what[2:], tmp_path)
        assert code == 0 or "error: " in shown, f"{what}\n{printed}"
        assert pattern(shown).fullmatch(printed), f"{what}\n\nprints\n\n{printed}\n\nnot\n\n{shown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_what_does_not_run_says_why(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not _UNTOLD.findall(text)
    assert len(re.findall(r"^```(?:sh|bash)$", text, re.MULTILINE)) == len(_REASON.findall(text))


def test_patterns_leave_out_what_they_say_and_nothing_else() -> None:
    assert pattern("a\n...\nb").fullmatch("a\nx\ny\nb\n")
    assert pattern("a\n...\nb").fullmatch("a\nb\n")
    assert pattern("took ... s").fullmatch("took 0.3 s\n")
    assert not pattern("took ... s").fullmatch("took 0.3 ms\n")
    assert not pattern("a\nb").fullmatch("a\nx\nb\n")
    assert not pattern("a.c").fullmatch("abc\n")
    assert steps("```console\n$ a \\\n>   b\nout\n$ c\n```\n```toml x.toml\ny = 1\n```\n") == [
        ("$ a \\\n  b", "out"), ("$ c", ""), ("x.toml", "y = 1\n"),
    ]  # fmt: skip
