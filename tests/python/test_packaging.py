"""Files around the package: the citation, the container, and what they say of it."""

import re
import subprocess
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement

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


def read_yaml(path: str) -> Any:  # noqa: ANN401
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_citation_is_one() -> None:
    found = read_yaml("CITATION.cff")
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
        jsonschema.Draft202012Validator(CITATION).validate(yaml.safe_load(text))


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


def test_the_recipe_for_conda_asks_for_what_pip_installs() -> None:
    """As `incast[reproduce]`, under the names that conda-forge has."""
    recipe = read_yaml("packaging/conda/recipe.yaml")
    assert recipe["context"]["version"] == _core.__version__
    taken = {text.split()[0]: text.split()[1] for text in recipe["requirements"]["run"]}
    asked = {}
    oldest = {"python_version": "3.10", "python_full_version": "3.10.0"}
    for text in metadata.requires("incast") or ():
        one = Requirement(text)
        extras = ("", "figures", "reproduce")
        environments = [{"extra": extra, **oldest} for extra in extras]
        markers = one.marker is None or any(map(one.marker.evaluate, environments))
        if markers and one.name != "incast":
            asked[{"matplotlib": "matplotlib-base"}.get(one.name, one.name)] = str(one.specifier)
    assert taken.pop("python") == metadata.metadata("incast")["Requires-Python"]
    assert taken == asked
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'license = "{recipe["about"]["license"]}"' in project
    [maturin] = [text for text in recipe["requirements"]["host"] if text.startswith("maturin")]
    assert f'requires = ["{maturin.replace(" ", "")}"]' in project


def test_the_workflow_of_the_forge_runs_what_ci_runs() -> None:
    workflow = read_yaml(".github/workflows/ci.yml")
    runs = [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert any(".ci/run" in run for run in runs)
    for target in re.findall(r"make ([a-z-]+)", "\n".join(runs)):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    assert workflow["permissions"] == {"contents": "read"}


def test_the_quick_check_of_the_artifact_runs_and_the_others_are_scripts() -> None:
    scripts = ROOT / "packaging/artifact"
    for path in scripts.glob("*.sh"):
        subprocess.run(["/bin/sh", "-n", path], check=True)
    done = subprocess.run([scripts / "quick.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    book = ROOT / done.stdout.splitlines()[-1].removeprefix("Open ")
    assert "Table 1" in book.read_text(encoding="utf-8")
