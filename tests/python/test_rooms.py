"""The rooms of the package: which may import which, and that no imports run in a ring."""

import ast
from pathlib import Path

import pytest

import incast
import layers

# From the bottom up: a module imports its own room and those below it. `lab` and `reproduce` stand
# side by side, but are both below the command line.
ROOMS = (
    "_core", "base", "udp", "results", "advice", "traces", "terminal", "figures", "api",
    "learning", "reproduce", "lab", "cli", "examples",
)  # fmt: skip
# The package's own modules, above all rooms: public names, and the start of the command.
DOORS = {"", "command", "__main__"}
ROOT = Path(incast.__file__).parent


def modules() -> dict[str, Path]:
    """The files of the package by name, without `incast` in front; a room is its `__init__`."""
    names = {path: path.relative_to(ROOT).with_suffix("") for path in ROOT.rglob("*.py")}
    return {
        ".".join(name.parts).removesuffix("__init__").rstrip("."): p for p, name in names.items()
    }


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """All modules of the package that a file imports: at its head, in functions, and for types."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        for name in names:
            if name == "incast" or name.startswith("incast."):
                inside = name.removeprefix("incast").removeprefix(".")
                found.add(inside if inside in known else inside.rpartition(".")[0])
    return found


def room(module: str) -> str:
    return module.partition(".")[0]


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = {**modules(), "_core": Path()}
    return {name: imported(path, known) for name, path in modules().items()}


def test_every_module_is_in_a_room(graph: dict[str, set[str]]) -> None:
    assert len(graph) > 60
    assert {room(name) for name in graph if name not in DOORS} == {*ROOMS} - {"_core"}
    assert all("." in name for name in graph if name not in {*DOORS, *ROOMS})


def test_no_imports_run_in_a_ring(graph: dict[str, set[str]]) -> None:
    assert graph["results.store"]
    assert layers.ring(graph) == []


def test_rooms_import_rooms_below_them(graph: dict[str, set[str]]) -> None:
    upward = [
        f"{name} imports {one}"
        for name, of in graph.items()
        for one in of
        if name not in DOORS
        # An example has what users have.
        and not (room(name) == "examples" and one == "")
        and (one in DOORS or ROOMS.index(room(one)) > ROOMS.index(room(name)))
    ]
    assert not upward
    of_lab = {room(one) for name, of in graph.items() if room(name) == "lab" for one in of}
    assert "reproduce" not in of_lab


def test_no_import_stands_in_a_function() -> None:
    """Modules that take long, or may be missing, are `lazy`."""
    inside = [
        f"{path}: line {node.lineno}"
        for path in modules().values()
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not inside


def test_a_lazy_module_is_the_one_that_type_checkers_see() -> None:
    pairs = []
    for path in modules().values():
        for block in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
                seen = layers.names_of_imports(block.body)
                pairs += [
                    (seen[ast.unparse(line.targets[0])], line.value.args[0].value)
                    for line in block.orelse
                    if isinstance(line, ast.Assign)
                    and isinstance(line.value, ast.Call)
                    and isinstance(line.value.args[0], ast.Constant)
                ]
    assert len(pairs) > 10
    assert [seen for seen, _ in pairs] == [name for _, name in pairs]
