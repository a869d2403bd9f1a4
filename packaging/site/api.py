"""The pages of the Python interface, which pdoc makes of the docstrings of the public names.

    python packaging/site/api.py --out target/docs/api/python

`incast` and `incast.learning` have a page each, with what their `__all__` names. Pages load nothing
from elsewhere: a browser without a network shows them in full.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from pdoc import doc, render

PAGES = ("incast", "incast.learning")
CORE = "incast._core"
TEMPLATES = Path(__file__).parent / "templates"


def modules() -> dict[str, doc.Module]:
    """The documented modules by name, with types in the signatures of the core."""
    core = doc.Module.from_name(CORE)  # with its stub file
    found = {}
    for name in PAGES:
        loaded = importlib.import_module(name)
        for public in loaded.__all__:
            getattr(loaded, public)  # `incast` imports a name when it is asked for
        module = doc.Module(loaded)
        for public, member in module.members.items():
            if isinstance(member, doc.Variable):
                member.docstring = member.docstring or _told(public, member.default_value, name)
            elif public in core.members and member.obj is core.members[public].obj:
                module.members[public] = _moved(core.members[public], name)
        for one in module.members.values():
            _with_bases(one)
        found[name] = module
    return found


def abouts() -> dict[str, str]:
    """The first sentence of each documented module, by name."""
    told = {name: inspect.getdoc(importlib.import_module(name)) or "" for name in PAGES}
    return {name: " ".join(text.partition("\n\n")[0].split()) for name, text in told.items()}


def documented(module: doc.Module) -> Iterator[doc.Doc[object]]:
    """The public names of a module, and the public members of its classes."""
    for member in module.members.values():
        yield member
        if isinstance(member, doc.Class):
            yield from (one for one in member.own_members if not one.name.startswith("_"))


def write(out: Path, home: str = "") -> list[Path]:
    """Writes the pages, their index and the index of their search; returns the files.

    `home` is a page that theirs lead to, as seen from `out`.
    """
    render.configure(
        docformat="google", footer_text="incast", show_source=True, template_directory=TEMPLATES
    )
    render.env.globals["home"] = home
    found = modules()
    pages = {f"{name.replace('.', '/')}.html": one for name, one in found.items()}
    texts = {path: render.html_module(one, found) for path, one in pages.items()}
    texts["index.html"] = render.html_index(found)
    texts["search.js"] = render.search_index(found)
    for path, text in texts.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text, encoding="utf-8")
    return [out / path for path in texts]


def _moved(one: doc.Doc[object], module: str) -> doc.Doc[object]:
    """A name of the core as one of the module that hands it on, where links find it."""
    one.modulename = module
    if isinstance(one, doc.Class):
        for member in one.members.values():
            _moved(member, module)
    return one


def _told(name: str, value: object, package: str) -> str:
    """The docstring of a constant, which stands in the module that has made it."""
    for module in [CORE, *(one for one in sys.modules if one.startswith(f"{package}."))]:
        if vars(sys.modules[module]).get(name) is value:
            found = doc.Module(sys.modules[module]).members.get(name)
            if found is not None and found.docstring:
                return found.docstring
    return ""


def _with_bases(one: doc.Doc[object]) -> None:
    """Gives a class the members of its bases in this project, which have no page of their own."""
    if isinstance(one, doc.Class):
        bases = [base for base in one.obj.__mro__[1:] if base.__module__.startswith("incast.")]
        names = {name for base in [one.obj, *bases] for name in vars(base)}
        names |= {name for base in [one.obj, *bases] for name in inspect.get_annotations(base)}
        vars(one)["own_members"] = [member for name, member in one.members.items() if name in names]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the directory")
    for path in write(parser.parse_args().out):
        print(path)  # noqa: T201 - the script says what it has made
