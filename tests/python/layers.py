"""The layers of the house: which crates and which modules of Rust use which.

Both are read from the sources. A module uses another one if its text without tests

* imports something of it, or names it in a path; names that a module passes on (`pub use`) are
  followed to the module that defines them;
* calls a macro of it;
* calls a method that the other one adds to a type of this one, if only one function of the crate
  has its name.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import msgspec

Module = tuple[str, ...]
"""The names on the way from the root of a crate to a module; the root itself has none."""


def ring(graph: Mapping[str, AbstractSet[str]]) -> list[str]:
    """A ring of nodes, each of which uses the next one, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


def names_of_imports(body: Iterable[ast.stmt]) -> dict[str, str]:
    """The names that imports in Python bind, each with what it is imported from."""
    found = {}
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            found |= {one.asname or one.name: f"{home}{one.name}" for one in node.names}
    return found


def wings(folder: Path) -> dict[str, str]:
    """The wing of each crate of a folder: the name of the folder that it is in."""
    paths = sorted(folder.glob("*/*/Cargo.toml"))
    return {
        msgspec.toml.decode(path.read_bytes())["package"]["name"]: path.parts[-3] for path in paths
    }


def crates(folder: Path) -> dict[str, set[str]]:
    """The crates of a folder by name, each with the ones of ours that it depends on."""
    manifests = [msgspec.toml.decode(path.read_bytes()) for path in folder.glob("*/*/Cargo.toml")]
    names = {manifest["package"]["name"] for manifest in manifests}
    return {
        manifest["package"]["name"]: names & {*manifest.get("dependencies", {})}
        for manifest in manifests
    }


@dataclass(frozen=True)
class Use:
    """A place where a module names something of another module."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line}: {self.text}"


@dataclass
class Source:
    """The text of a file without comments, strings and tests; lines keep their numbers."""

    path: Path
    module: Module
    text: str
    # The modules that are written inside the file, with the places where they begin and end.
    inner: list[tuple[int, int, Module]] = field(default_factory=list)

    def at(self, place: int) -> Module:
        """The module that the text at a place belongs to."""
        around = [module for begin, end, module in self.inner if begin <= place < end]
        return max(around, key=len, default=self.module)

    def use(self, place: int, text: str) -> Use:
        return Use(self.path, self.text.count("\n", 0, place) + 1, text)


BLANK = re.compile(
    r"""//[^\n]* | /\*.*?\*/
    | (?<!\w)[bc]?r(?P<fence>\#*)".*?"(?P=fence)
    | (?<!\w)[bc]?"(?P<string>(?:\\.|[^"\\])*)"
    | b?'(?:\\.[^'\n]*|[^\\'\n])'""",
    re.VERBOSE | re.DOTALL,
)
USE = re.compile(r"(?<![\w#])use\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])(?:crate|self|super)(?:\s*::\s*\w+)+")
MACRO = re.compile(r"(?<![\w:])(\w+)!(?!=)")
MACRO_RULES = re.compile(r"macro_rules!\s*(\w+)")
IMPL = re.compile(r"(?<!\w)impl(?:<[^{;]*?>)?\s+((?:\w+::)*\w+)(?:<[^{;]*?>)?\s*(?:where[^{]*)?\{")
FUNCTION = re.compile(r"(?<!\w)fn\s+(\w+)")
MODULE = re.compile(r"(?<!\w)mod\s+(\w+)\s*\{")
FOR_TESTS = re.compile(r"#\[cfg\(test\)\]")
ATTRIBUTE = re.compile(r"\s*#\[")
TEST_FILE = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")


def blank(found: re.Match[str]) -> str:
    """The lines of a comment or string; a path in a string stays, as in `#[serde(with)]`."""
    string = found["string"]
    if string is not None and PATH.fullmatch(string):
        return f" {string} "
    return "\n" * found[0].count("\n") or " "


def closing(text: str, place: int) -> int:
    """The place behind an item or an attribute: a `;`, or the bracket that closes the last one."""
    depth = 0
    for at in range(place, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 and text[at] in ";}]" and not (text[at] == "]" and text[place] != "["):
            return at + 1
    return len(text)


def without_tests(text: str) -> tuple[str, set[str]]:
    """The text without items for tests, and the names of the files that are modules of tests."""
    files = set()
    while found := FOR_TESTS.search(text):
        item = found.end()
        while attribute := ATTRIBUTE.match(text, item):
            item = closing(text, attribute.end() - 1)
        if named := TEST_FILE.match(text, item):
            files.add(named[1])
        end = closing(text, item)
        text = text[: found.start()] + "\n" * text.count("\n", found.start(), end) + text[end:]
    return text, files


def sources(root: Path) -> Iterator[Source]:
    """The files of a crate, but for the command and for tests."""
    tests: set[Module] = set()
    for path in sorted(root.rglob("*.rs"), key=lambda path: (len(path.parts), path)):
        module = path.relative_to(root).with_suffix("").parts
        if module[-1] in {"lib", "mod"}:
            module = module[:-1]
        if module == ("main",) or any(module[: len(of)] == of for of in tests):
            continue
        text, of_tests = without_tests(BLANK.sub(blank, path.read_text(encoding="utf-8")))
        tests |= {(*module, name) for name in of_tests}
        source = Source(path, module, text)
        for found in MODULE.finditer(text):
            name = (*source.at(found.start()), found[1])
            source.inner.append((found.end(), closing(text, found.end() - 1), name))
        yield source


def trees(text: str) -> Iterator[tuple[list[str], str]]:
    """The paths of one `use`, each with the name that it gives: `a::{b, c as d}` has two."""
    head, brace, tail = text.strip().partition("{")
    if brace:
        items, depth = [""], 0
        for letter in tail[: tail.rindex("}")]:
            depth += (letter == "{") - (letter == "}")
            if letter == "," and depth == 0:
                items.append("")
            else:
                items[-1] += letter
        for item in items:
            if item.strip():
                yield from trees(head + item.strip())
        return
    path, _, name = re.sub(r"\s+", " ", text.strip()).partition(" as ")
    names = [part.strip() for part in path.split("::")]
    if len(names) > 1 and names[-1] == "self":
        names.pop()
    yield names, name or names[-1]


class Crate:
    """The modules of a crate, and where each of them uses others."""

    def __init__(self, folder: Path) -> None:
        self.sources = list(sources(folder / "src"))
        self.modules = {source.module for source in self.sources}
        self.modules |= {name for source in self.sources for *_, name in source.inner}
        # The names that a module imports, and the modules of which it imports everything.
        self.names: dict[Module, dict[str, list[str]]] = {module: {} for module in self.modules}
        self.all_of: dict[Module, list[list[str]]] = {module: [] for module in self.modules}
        for source in self.sources:
            for found in USE.finditer(source.text):
                at = source.at(found.start())
                for path, name in trees(found[1]):
                    if name == "*":
                        self.all_of[at].append(path[:-1])
                    else:
                        self.names[at][name] = path

    def home(
        self, at: Module, path: list[str], seen: frozenset[tuple[Module, str]] = frozenset()
    ) -> tuple[Module, bool] | None:
        """The module in which a path ends, and whether it is what the path names.

        `None` stands for what is not of this crate.
        """
        first, *rest = path
        if first == "crate":
            here: Module = ()
        elif first == "self":
            here = at
        elif first == "super":
            here = at[:-1]
        elif (*at, first) in self.modules or first in self.names[at]:
            here, rest = at, path
        else:
            return None
        while rest:
            name, *after = rest
            if name == "super":
                here, rest = here[:-1], after
                continue
            if (*here, name) in self.modules:
                here, rest = (*here, name), after
                continue
            if (here, name) in seen:
                return here, False
            seen |= {(here, name)}
            onward = self.names[here].get(name)
            passed = self.home(here, onward, seen) if onward else self.among(here, name, seen)
            if passed is None:
                return here, False
            here, is_module = passed
            if not is_module:
                return here, False
            rest = after
        return here, True

    def among(
        self, here: Module, name: str, seen: frozenset[tuple[Module, str]]
    ) -> tuple[Module, bool] | None:
        """The module of ours from which a module gets a name along with all others (`use a::*`)."""
        for path in self.all_of[here]:
            of = self.home(here, path, seen)
            if of is not None and self.defines(of[0], name):
                return self.home(of[0], ["self", name], seen)
        return None

    def defines(self, module: Module, name: str) -> bool:
        item = re.compile(rf"\b(?:struct|enum|union|trait|type|fn|const|static)\s+{name}\b")
        texts = (source.text for source in self.sources if source.module == module)
        return name in self.names[module] or any(item.search(text) for text in texts)

    def uses(self) -> dict[tuple[Module, Module], Use]:
        """Pairs of modules, the first of which uses the second, with the first such place."""
        found: dict[tuple[Module, Module], Use] = {}
        homes: dict[str, set[Module]] = {}
        for source in self.sources:
            for macro in MACRO_RULES.findall(source.text):
                homes.setdefault(macro, set()).add(source.module)
        for source in self.sources:
            for place, path in self.paths(source):
                at = source.at(place)
                home = self.home(at, path)
                if home is not None:
                    found.setdefault((at, home[0]), source.use(place, "::".join(path)))
            for call in MACRO.finditer(source.text):
                of = homes.get(call[1], set())
                if len(of) == 1 and source.module not in of:
                    (home_of,) = of
                    place = call.start()
                    found.setdefault((source.at(place), home_of), source.use(place, call[0]))
        for at, home_of, use in self.methods():
            found.setdefault((at, home_of), use)
        return found

    def methods(self) -> Iterator[tuple[Module, Module, Use]]:
        """Calls of methods in the module of their type, which another module adds to that type.

        Methods whose name some other function of the crate has are left out: nothing but types
        would tell the two apart.
        """
        functions = Counter(
            name for source in self.sources for name in FUNCTION.findall(source.text)
        )
        for source in self.sources:
            for found in IMPL.finditer(source.text):
                at, path = source.at(found.start()), found[1].split("::")
                home = self.home(at, path if len(path) > 1 else ["self", *path])
                if home is None or home[0] == at[: len(home[0])]:
                    continue
                body = source.text[found.end() : closing(source.text, found.end() - 1)]
                added = [name for name in FUNCTION.findall(body) if functions[name] == 1]
                call = re.compile(rf"(?:\.|(?:Self|{path[-1]})::)(?:{'|'.join(added)})\(")
                for caller in self.sources if added else []:
                    for called in call.finditer(caller.text):
                        if caller.at(called.start()) == home[0]:
                            yield home[0], at, caller.use(called.start(), called[0])

    def paths(self, source: Source) -> Iterator[tuple[int, list[str]]]:
        """The paths in a file, with their places."""
        imports = list(USE.finditer(source.text))
        for found in imports:
            for path, _ in trees(found[1]):
                yield found.start(), [name for name in path if name != "*"]
        for found in PATH.finditer(source.text):
            if not any(use.start() <= found.start() < use.end() for use in imports):
                yield found.start(), [name.strip() for name in found[0].split("::")]

    def beside(self) -> dict[Module, dict[tuple[str, str], Use]]:
        """For each module with children: which of these, or of theirs, use which others.

        A module and its own children may use each other and are left out.
        """
        all_of: dict[Module, dict[tuple[str, str], Use]] = {}
        for (one, other), use in self.uses().items():
            common = 0
            while common < min(len(one), len(other)) and one[common] == other[common]:
                common += 1
            if common < min(len(one), len(other)):
                pair = (one[common], other[common])
                all_of.setdefault(one[:common], {}).setdefault(pair, use)
        return all_of

    def rings(self) -> list[str]:
        """For each module whose children use each other in a ring: that ring, with its places."""
        found = []
        for parent, pairs in self.beside().items():
            graph: dict[str, set[str]] = {}
            for one, other in pairs:
                graph.setdefault(one, set()).add(other)
            around = ring(graph)
            if around:
                steps = [
                    f"  {one} uses {other}: {pairs[one, other]}" for one, other in pairwise(around)
                ]
                found.append("\n".join([f"in {'::'.join(('crate', *parent))}:", *steps]))
        return found
