"""Files around the package: the citation, the container, and what they say of it."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from incast import _core

ROOT = Path(__file__).parents[2]

# What the Citation File Format 1.2.0 asks for, of the keys that we use.
CITATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["cff-version", "message", "title", "authors"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": {"type": "string", "minLength": 1},
        "title": {"type": "string", "minLength": 1},
        "type": {"enum": ["software", "dataset"]},
        "abstract": {"type": "string", "minLength": 1},
        "version": {"type": "string"},
        "license": {"type": "array", "items": {"enum": ["MIT", "Apache-2.0"]}, "minItems": 1},
        "keywords": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "authors": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {"name": {"type": "string", "minLength": 1}},
            },
        },
    },
}


def yaml(text: str) -> dict[str, Any]:
    """The YAML of a plain file: keys with a string, a folded text, or a list; nothing else."""
    found: dict[str, Any] = {}
    for block in re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]:
        head, *below = block.rstrip().split("\n")
        key, value = re.fullmatch(r"([\w-]+):(?: (.+))?", head).groups()  # type: ignore[union-attr]
        assert key not in found, key
        lines = [line.removeprefix("  ") for line in below]
        assert all(line == before[2:] for line, before in zip(lines, below, strict=True))
        if value == ">-":
            found[key] = " ".join(lines)
        elif value is None:
            items = [line.removeprefix("- ") for line in lines]
            assert all(line.startswith("- ") for line in lines), block
            pairs = [re.fullmatch(r"([\w-]+): (.+)", item) for item in items]
            found[key] = [
                {pair[1]: scalar(pair[2])} if pair else scalar(item)
                for pair, item in zip(pairs, items, strict=True)
            ]
        else:
            assert not below, block
            found[key] = scalar(value)
    return found


def scalar(text: str) -> str:
    quoted = re.fullmatch(r'"([^"\\]*)"', text)
    assert quoted or not re.search(r": | #|^[\[{&*!|>'\"%@`]", text), text
    return quoted[1] if quoted else text


def test_the_citation_is_one() -> None:
    found = yaml((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(CITATION).validate(found)
    assert found["version"] == _core.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'license = "{" OR ".join(found["license"])}"' in project
    assert all(f'"{keyword}"' in project for keyword in found["keywords"])


@pytest.mark.parametrize(
    "damage", [("authors:", "author:"), ("1.2.0", "1.2"), ('  - name: "', '  - nmae: "')]
)
def test_a_damaged_citation_is_none(damage: tuple[str, str]) -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace(*damage)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(CITATION).validate(yaml(text))


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]  # type: ignore[misc]


def test_the_image_runs_the_command_as_a_user_without_rights() -> None:
    found = instructions()
    stages = [index for index, (name, _) in enumerate(found) if name == "FROM"]
    assert len(stages) == 2
    run = found[stages[1] :]
    assert not any(word in what for _, what in run for word in ("rust", "apt-get", "maturin"))
    names = [name for name, _ in run]
    user = run[names.index("USER")][1]
    assert user.isdecimal()
    assert int(user) > 0
    # Nothing needs rights after it.
    assert "RUN" not in names[names.index("USER") :]
    assert ("ENTRYPOINT", '["incast"]') in run


def test_the_image_is_built_from_all_that_the_wheel_needs() -> None:
    """And from nothing that a build leaves behind."""
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    patterns = [line for line in patterns if line and not line.startswith("#")]

    def copied(path: str) -> bool:
        kept = True
        for pattern in patterns:
            bare = pattern.removeprefix("!").removeprefix("**/")
            parts = path.split("/")
            inside = pattern.startswith("**/") and any(fnmatch(part, bare) for part in parts)
            if inside or fnmatch(parts[0], bare):
                kept = pattern.startswith("!")
        return kept

    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'(?:manifest-path|readme|python-source) = "([^"]+)"', project)
    named += re.findall(r'"(LICENSE-\w+)"', project)
    assert len(named) == 5
    sources = ["Cargo.toml", "Cargo.lock", "crates/core/cc/src/lib.rs", "docs/README.md", *named]
    assert [path for path in sources if not copied(path)] == []
    assert all((ROOT / path).exists() for path in sources)
    waste = [".venv/bin/python", "target/release/x", "crates/real/kernel/target/x", ".git/HEAD"]
    waste += ["results/demo/run.json", "python/incast/_core.abi3.so"]
    assert [path for path in waste if copied(path)] == []
