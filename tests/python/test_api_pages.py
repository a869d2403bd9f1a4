"""The Python interface: each public name has its docstring, the pages are built of these, and every
example in them runs."""

import importlib.util
import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
from pdoc import doc

import incast
import incast.learning
from incast.base import extras

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "packaging/site/api.py"
EXAMPLE = re.compile(r"^Example:\n+((?:(?:[ ]+.*)?\n?)+)", re.MULTILINE)
# Names whose use no sentence makes plain.
SHOWN = {
    "incast": {
        "CompiledControl", "CongestionControl", "Result", "Results", "Scenario", "Sweep", "Tuning",
        "algorithms", "compare", "load", "open_result", "parameter", "run", "saturate", "schema",
        "shipped", "sweep", "tune", "workloads",
    },
    "incast.learning": {
        "Batch", "CongestionEnv", "CongestionParallelEnv", "CongestionVectorEnv", "Reward", "Tree",
        "Uniform", "distill", "place",
    },
}  # fmt: skip


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("api_pages", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = script()
MODULES: dict[str, doc.Module] = PAGES.modules()
EVERY = {
    f"{name}.{one.qualname}": one
    for name, module in MODULES.items()
    for one in PAGES.documented(module)
}


def section(text: str, name: str) -> str:
    found = re.search(rf"^{name}:\n((?:(?:[ ]+.*)?(?:\n|\Z))+)", text, re.MULTILINE)
    return found[1] if found else ""


def example(one: doc.Doc[object]) -> str:
    """The code of the example of a docstring; empty where there is none."""
    said = inspect.cleandoc(section(one.docstring, "Example"))
    found = re.fullmatch(r"```python\n(.*?)\n```", said, re.DOTALL)
    assert found or not said, f"{one.qualname}: an example is one block of Python"
    return found[1] if found else ""


EXAMPLES = {name: code for name, one in EVERY.items() if (code := example(one))}


def test_every_public_name_is_described() -> None:
    named = {f"incast.{name}" for name in incast.__all__}
    named |= {f"incast.learning.{name}" for name in incast.learning.__all__}
    assert named <= set(EVERY), "pages lack names"
    silent = [name for name, one in EVERY.items() if not one.docstring.strip()]
    assert not silent, f"without a docstring: {', '.join(silent)}"


def test_every_argument_of_a_public_function_is_described() -> None:
    lacks = []
    for name, one in EVERY.items():
        said = section(one.docstring, "Args")
        if said:
            known = set(re.findall(r"^ {4}(\w+):", said, re.MULTILINE))
            asked = set(one.signature.parameters) if isinstance(one, doc.Function) else known
            lacks += [
                f"{name}({argument})" for argument in sorted((asked ^ known) - {"self", "cls"})
            ]
    assert not lacks, f"not described, or not there: {', '.join(lacks)}"


def test_names_that_need_one_have_an_example() -> None:
    wanted = {f"{module}.{name}" for module, names in SHOWN.items() for name in names}
    assert not wanted - set(EXAMPLES), f"without an example: {sorted(wanted - set(EXAMPLES))}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = EXAMPLES[name]
    needs: list[extras.Extra] = ["tune"] * ("tune(" in code) + ["compiled"] * ("Compiled" in code)
    needs += ["distill"] * ("distill" in code)
    for extra in needs:
        if not extras.have(extra):
            pytest.skip(f"{extras.how(extra)} is not there")
    assert max(map(len, code.splitlines())) <= 92, "it is too wide for a docstring"
    monkeypatch.chdir(tmp_path)
    # A module of its own: algorithms are told apart by the module that they are in.
    module = f"example_{abs(hash(name))}"
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(module)


class Requests(HTMLParser):
    """The addresses that a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.anchors: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.anchors.add(said.get("id", ""))
        if tag == "a":
            self.links.add(said.get("href", ""))
            return
        for name in ("src", "href", "data", "poster", "action"):
            if re.match(r"(https?:)?//", said.get(name, "")):
                self.found.append(said[name])

    def handle_data(self, data: str) -> None:
        self.found += re.findall(r"@import[^;]*|url\(\s*[\"']?https?:[^)]*|fetch\([^)]*", data)


def test_the_pages_are_built_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    pages = {path: Requests() for path in sorted(tmp_path.rglob("*.html"))}
    names = {path.relative_to(tmp_path).as_posix() for path in pages}
    assert names == {"incast.html", "incast/learning.html", "index.html"}
    for path, page in pages.items():
        page.feed(path.read_text(encoding="utf-8"))
        assert not page.found, f"{path.name} loads {page.found}"
    assert "incast.html" in done.stdout
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link) or path.name == "index.html":
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target in pages, f"{path.name} links to {link}"
            assert not anchor or anchor in pages[target].anchors, f"{path.name} links to {link}"
    text = (tmp_path / "incast.html").read_text(encoding="utf-8")
    # Types of the core are those of its stub, and examples are code.
    assert "Sequence" in text
    assert 'class="pdoc-code' in text
    assert {"Scenario.with_set", "Result.summary", "run", "Ack.rtt"} <= pages[
        tmp_path / "incast.html"
    ].anchors
