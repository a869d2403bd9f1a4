"""Commands that a page, the Makefile or a comment names: what they name is there.

Blocks of a shell and words in backquotes are read, not run: `tests/python/test_console.py` runs
those of the tutorials and the how-tos.
"""

import itertools
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from incast import cli
from test_pages import PAGES, name

ROOT = Path(__file__).parents[2]
MAKEFILE = ROOT / "Makefile"
# What has commands in comments or in its own code.
OTHERS = [
    MAKEFILE,
    ROOT / ".ci/run",
    *(path for path in (ROOT / "bench").rglob("*.py")),
    *(path for path in (ROOT / "crates").glob("*/*/[!t]*/**/*.rs") if "target" not in path.parts),
]
_BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_ANY_BLOCK = re.compile(r"^ *```.*?^ *```$", flags=re.DOTALL | re.MULTILINE)
_WORDS = re.compile(r"`([^`]+)`")


def commands(page: Path) -> Iterator[list[str]]:
    """The commands of a page, each as its words; what a shell joins is parted."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        lines = [line for block in _BLOCK.findall(text) for line in _joined(block)]
        lines += [" ".join(part.split()) for part in _WORDS.findall(_ANY_BLOCK.sub("", text))]
    elif page.suffix == ".rs":
        comments = re.findall(r"^\s*//[/!] ?(.*)$", text, flags=re.MULTILINE)
        joined = "\n".join(comments)
        lines = [*_joined(joined), *(" ".join(one.split()) for one in _WORDS.findall(joined))]
    else:
        lines = [*_joined(text), *(" ".join(one.split()) for one in _WORDS.findall(text))]
    for line in lines:
        for part in re.split(r"\s(?:&&|\|\||\||;)\s|[\"'(]\s*(?=cargo |make )", line):
            words = _split(part)
            while words and re.fullmatch(r"[A-Z_]+=.*|sudo|nice|env|time|[@$]+", words[0]):
                words = words[1:]
            if words:
                yield words


def _joined(block: str) -> list[str]:
    """The lines of a block, without comments and prompts, those that go on as one."""
    text = re.sub(r"\s\\\n(?:> )?\s*", " ", block)
    return [re.sub(r"^(?:\$ |\t@?)", "", line) for line in text.splitlines()]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # an apostrophe of a comment
        return line.split()


@cache
def targets() -> frozenset[str]:
    return frozenset(
        re.findall(r"^([a-z0-9-]+):", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)
    )


@cache
def packages() -> dict[str, dict[str, Any]]:
    """The crates by their names, as cargo knows them, with their targets by kinds."""
    found = {}
    for manifest in ("Cargo.toml", "crates/real/kernel/Cargo.toml", "fuzz/Cargo.toml"):
        done = subprocess.run(
            [
                str(shutil.which("cargo")), "metadata", "--no-deps", "--offline",
                "--format-version=1", f"--manifest-path={manifest}",
            ],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        for package in json.loads(done.stdout)["packages"]:
            kinds: dict[str, Any] = {"features": {*package["features"]}}
            for target in package["targets"]:
                for kind in target["kind"]:
                    kinds.setdefault(kind, set()).add(target["name"])
            found[package["name"]] = kinds
    return found


@cache
def incast() -> Any:  # noqa: ANN401 - Typer's own Click has no public types
    return typer.main.get_command(cli.app)


def after(words: list[str], *options: str) -> list[str]:
    """The values of options, as `--example speed` and as `--example=speed`."""
    found = [value for option, value in itertools.pairwise(words) if option in options]
    return found + [
        word.partition("=")[2]
        for word in words
        if word.partition("=")[0] in options and "=" in word
    ]


def is_open(word: str) -> bool:
    """Whether a word stands for others: NAME, $(NAME), ..., {name}, a pattern."""
    return bool(re.search(r"\b[A-Z_]{2,}\b|[$<{*\[]|\.\.\.|^[-.\\]", word))


def wrong(words: list[str]) -> str | None:
    """The first thing that a command names and that is not there."""
    first = words[0].rpartition("/")[2]
    if first in ("make", "$(MAKE)") and words[0] != "/":
        rest = [word.rstrip("'") for word in words[1:] if "=" not in word and not is_open(word)]
        if words[1:2] == ["TARGET,"]:  # the list of them
            rest = []
        asked = itertools.takewhile(lambda word: re.fullmatch(r"[a-z][a-z0-9-]*", word), rest)
        return next((f"make {one}" for one in asked if one not in targets()), None)
    if first == "cargo":
        return wrong_of_cargo(words[: words.index("--")] if "--" in words else words)
    if first in ("python", "python3", "$(BIN)/python"):
        files = [word for word in words[1:2] if word.endswith(".py") and "/" in word]
        return next((one for one in files if not (ROOT / one).exists()), None)
    if re.fullmatch(
        r"(?:\.ci|bench|crates|fuzz|packaging)/(?:[\w./-]+/)?(?:run|\w+\.py)", words[0]
    ):
        return None if (ROOT / words[0]).exists() else words[0]
    if first == "incast":
        return wrong_of_incast(words[1:])
    return None


def wrong_of_cargo(words: list[str]) -> str | None:
    of = [one for one in after(words, "-p", "--package") if not is_open(one)]
    for crate in of:
        if crate not in packages():
            return f"-p {crate}"
    for path in after(words, "--manifest-path"):
        if not is_open(path) and not (ROOT / path).exists():
            return path
    chosen = [packages()[crate] for crate in of] or list(packages().values())
    for option, kind in (("example", "example"), ("test", "test"), ("bench", "bench")):
        for value in after(words, f"--{option}"):
            if not is_open(value) and not any(value in one.get(kind, ()) for one in chosen):
                return f"--{option} {value}"
    for value in after(words, "--features"):
        for feature in value.split(","):
            crate, _, name = feature.rpartition("/")
            having = [packages()[crate]] if crate in packages() else chosen
            if not is_open(feature) and not any(name in one["features"] for one in having):
                return f"--features {feature}"
    return None


def wrong_of_incast(words: list[str]) -> str | None:
    command = incast()
    said = "incast"
    while words and hasattr(command, "commands") and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        said += f" {words[0]}"
        if words[0] not in command.commands:
            return said
        command, words = command.commands[words[0]], words[1:]
    if command.name == "kernel":  # incast-kernel reads its arguments itself
        return None
    known = {one for option in command.params for one in (*option.opts, *option.secondary_opts)}
    for word in words:
        option = word.partition("=")[0].rstrip(",.;")
        if re.fullmatch(r"--[a-z][a-z-]*|-[a-z]", option) and option not in {*known, "--help"}:
            return f"{said} {option}"
    return None


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_what_commands_name_is_there() -> None:
    lines = [
        f"{name(page)}: {' '.join(words)}: there is no {missing}"
        for page in [*PAGES, *OTHERS]
        for words in commands(page)
        if (missing := wrong(words)) is not None
    ]
    assert not lines, "\n".join(lines)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("make serach SEED=7", "make serach"),
        ("sudo make kernel frobnicate", "make frobnicate"),
        ("cargo run --release -p incast-sim --example gone -- x", "--example gone"),
        ("cargo run -p incast-gone --example search", "-p incast-gone"),
        ("cargo run -p incast-cc --example search", "--example search"),
        ("cargo test -p incast-cc --test gone", "--test gone"),
        ("cargo fmt --manifest-path gone/Cargo.toml", "gone/Cargo.toml"),
        ("cargo build -p incast-quic --features example-gone", "--features example-gone"),
        ("cargo check --features incast-quic/gone", "--features incast-quic/gone"),
        (".venv/bin/python bench/gone.py", "bench/gone.py"),
        ("fuzz/gone/run 3", "fuzz/gone/run"),
        (".venv/bin/incast swep incast", "incast swep"),
        ("incast sweep incast --varry x=1", "incast sweep --varry"),
        ("sudo incast udp serve 0.0.0.0:7000 --plain", "incast udp serve --plain"),
        ("make bench", None),
        ("cargo run --release --example speed -- --json --example gone", None),
        ("incast udp call HOST:7000 --plaintext --size 64KB", None),
    ],
)
def test_what_is_missing_is_found(tmp_path: Path, line: str, missing: str | None) -> None:
    for text in (f"```sh\n{line}\n```\n", f"```sh\ncd x && {line}  # y\n```\n", f"A `{line}`.\n"):
        page = tmp_path / "page.md"
        page.write_text(text)
        found = [of for words in commands(page) if (of := wrong(words)) is not None]
        assert found == ([] if missing is None else [missing]), text


def test_what_has_commands_is_read() -> None:
    """Commands of each kind are read, or the test above would hold of nothing."""
    read = [words for page in [*PAGES, *OTHERS] for words in commands(page)]
    for start, number in (("make", 20), ("cargo", 20), ("incast", 50)):
        of = [words for words in read if words[0].rpartition("/")[2] == start]
        assert len(of) > number, start
