"""The start of the command: it imports what it needs, and what waits for nothing starts at once."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import incast
import layers
from incast.cli import late
from incast.figures import gallery
from incast.figures.catalogue import ABOUT

HEAVY = ("polars", "numpy", "matplotlib", "pandas", "pyarrow", "jinja2", "jitcdde", "simpleeval",
         "distributed", "optuna")  # fmt: skip

# Runs command lines in turn, and says on stderr, last, which modules were there after each.
COMMANDS = """
import contextlib, io, json, sys
from incast.command import main
seen = []
for line in {lines!r}:
    sys.argv = ["incast", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as left:
            assert not left.code, line
    seen.append(sorted(sys.modules))
sys.stderr.write(json.dumps(seen))
"""


def said_by(code: str, cwd: Path) -> Any:  # noqa: ANN401 - JSON
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


def imported_by(lines: list[str], cwd: Path) -> dict[str, set[str]]:
    """The modules after each line; those of the lines before it are among them."""
    seen = said_by(COMMANDS.format(lines=lines), cwd)
    return {line: {*modules} for line, modules in zip(lines, seen, strict=True)}


LINES = [
    "--version", "--help", *(f"{name} --help" for name in (
        "algorithms", "docs", "import", "plot", "reproduce", "compare", "run", "saturate",
        "scenario", "scenario check", "show", "sweep", "tune", "tables", "workloads",
    )), "algorithms", "algorithms timely --json", "docs", "docs switches --json", "plot --list",
    "reproduce --list", "reproduce --list --json", "scenario check incast", "scenario list",
    "scenario schema", "workloads", "workloads web-search",
]  # fmt: skip


def test_what_waits_for_nothing_imports_nothing_heavy(tmp_path: Path) -> None:
    for line, modules in imported_by(LINES, tmp_path).items():
        assert "incast.cli" in modules
        assert modules.isdisjoint(HEAVY), line
        assert not [one for one in modules if one.startswith("incast.results.store")], line
        # What prints no table does without these.
        assert line not in ("--version", "--help") or modules.isdisjoint({"rich", "pydantic"})


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
    modules = {*said_by(f"{code}\n{said}", tmp_path)}
    assert there in modules
    assert modules.isdisjoint({*HEAVY, "rich", "typer"})


def test_a_run_imports_what_it_needs(tmp_path: Path) -> None:
    """So that the names above are those of real modules."""
    line = "run incast --set run.duration=2ms --set run.warmup=1ms"
    modules = imported_by([line], tmp_path)[line]
    assert {"polars", "numpy", "matplotlib", "rich"} <= modules


def test_only_the_command_imports_without_lists_and_search(tmp_path: Path) -> None:
    asked = """
import gc, json, sys
import matplotlib.lines
lists = "antialiased" in matplotlib.lines.Line2D.set.__doc__
sys.stderr.write("\\n" + json.dumps([lists, gc.isenabled(), gc.get_freeze_count() > 0]))
"""
    line = "run incast --set run.duration=2ms --set run.warmup=1ms"
    assert said_by(f"{COMMANDS.format(lines=[line])}\n{asked}", tmp_path) == [False, True, True]
    python = "import incast; incast.FigureError; import incast.figures.gallery"
    assert said_by(f"{python}\n{asked}", tmp_path) == [True, True, False]


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
