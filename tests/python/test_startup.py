"""The start of the command: it imports what it needs, and what waits for nothing starts at once."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import incast
import layers
from incast.cli import late
from incast.figures import gallery
from incast.figures.catalogue import ABOUT

HEAVY = ("polars", "numpy", "matplotlib", "pandas", "pyarrow", "jinja2", "jitcdde", "simpleeval",
         "distributed", "optuna")  # fmt: skip

# Runs a command line and says on stderr, last, which of the modules it has imported.
COMMAND = """
import json, sys
sys.argv = ["incast", *{arguments!r}]
from incast.command import main
try:
    main()
finally:
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def imported_by(code: str, cwd: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "--help",
        "algorithms --help",
        "docs --help",
        "import --help",
        "plot --help",
        "reproduce --help",
        "compare --help",
        "run --help",
        "saturate --help",
        "scenario --help",
        "scenario check --help",
        "show --help",
        "sweep --help",
        "tune --help",
        "tables --help",
        "workloads --help",
        "algorithms",
        "algorithms timely --json",
        "docs",
        "docs switches --json",
        "plot --list",
        "reproduce --list",
        "reproduce --list --json",
        "scenario check incast",
        "scenario list",
        "scenario schema",
        "workloads",
        "workloads web-search",
    ],
)
def test_it_imports_nothing_heavy(line: str, tmp_path: Path) -> None:
    modules = imported_by(COMMAND.format(arguments=line.split()), tmp_path)
    assert "incast.cli" in modules
    assert modules.isdisjoint(HEAVY)
    assert not [name for name in modules if name.startswith("incast.results.") and "store" in name]


@pytest.mark.parametrize("line", ["--version", "--help"])
def test_what_prints_no_table_does_without_rich_and_pydantic(line: str, tmp_path: Path) -> None:
    modules = imported_by(COMMAND.format(arguments=line.split()), tmp_path)
    assert modules.isdisjoint({"rich", "pydantic"})


@pytest.mark.parametrize(
    ("code", "there"),
    [
        ("import incast", "incast"),
        ("import incast; incast.load('incast').schemes", "incast.api.scenarios"),
        ("import incast; incast.algorithms(); incast.shipped()", "incast._core"),
        ("import incast; incast.Interrupted; incast.CostError", "incast.api.costs"),
    ],
)
def test_python_imports_what_is_asked_for(code: str, there: str, tmp_path: Path) -> None:
    said = "import json, sys; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    modules = imported_by(f"{code}\n{said}", tmp_path)
    assert there in modules
    assert modules.isdisjoint({*HEAVY, "rich", "typer"})


def test_a_run_imports_what_it_needs(tmp_path: Path) -> None:
    """So that the names above are those of real modules."""
    scenario = ["run", "incast", "--set", "run.duration=2ms", "--set", "run.warmup=1ms", "--quiet"]
    modules = imported_by(COMMAND.format(arguments=scenario), tmp_path)
    assert {"polars", "numpy", "matplotlib", "rich"} <= modules


def test_every_late_module_is_there() -> None:
    text = Path(late.__file__).read_text(encoding="utf-8")
    (typed,) = (node for node in ast.parse(text).body if isinstance(node, ast.If))
    homes = {name: f"incast.{home}" for name, home in late._HOMES.items()}
    assert layers.names_of_imports(typed.body) == homes
    assert {name: getattr(late, name).__name__ for name in homes} == homes
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = late.nothing


def test_every_public_name_is_there() -> None:
    assert sorted(incast.__all__) == sorted(incast._HOMES)
    assert all(getattr(incast, name) is not None for name in incast.__all__)


def test_the_catalogue_has_every_figure_once() -> None:
    drawn = [drawing.name for family in gallery._FAMILIES for drawing in family.DRAWINGS]
    assert sorted(drawn) == sorted(ABOUT)
    assert list(gallery.DRAWINGS) == list(ABOUT)
