"""Experiments by name, and from their files."""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from incast._core import ScenarioError
from incast.base import inputs
from incast.base.words import nearest
from incast.reproduce import faults
from incast.reproduce.experiment import Experiment, SpecError

_SHIPPED = Path(__file__).parent.parent / "papers"
# The place of an error, as tomllib words it.
_AT = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)",
    re.DOTALL,
)
# The deepest nesting of brackets that is read.
_DEEPEST = 100


@cache
def known() -> Mapping[str, Path]:
    """The experiments that ship, by name."""
    return {
        f"{path.parent.name}/{path.stem}": path
        for path in sorted(_SHIPPED.glob("*/*.toml"), key=lambda path: (path.parent, path.stem))
    }


def load(name: str | os.PathLike[str]) -> Experiment:
    """Reads the experiment of that name, or that file.

    Raises:
        SpecError: There is none, or it is not one.
    """
    there = known()
    path = there.get(str(name)) or Path(name)
    if not path.suffix and not (path.exists() and not path.is_dir()):
        raise SpecError(f"{name}: no such experiment; {nearest(str(name), there)}")
    found = _decoded(path)
    home = path.resolve().parent
    found = msgspec.structs.replace(found, name=f"{home.name}/{path.stem}", folder=str(home))
    for fault in faults.of(found):
        raise SpecError(f"{path}: {fault}")
    return found


def _decoded(path: Path) -> Experiment:
    try:
        whole = inputs.read(path, inputs.SCENARIO_BYTES)
    except ScenarioError as error:
        raise SpecError(str(error)) from None
    try:
        text = whole.decode("utf-8-sig")
        return msgspec.toml.decode(text, type=Experiment)
    except UnicodeDecodeError as error:
        place = _place(path, whole[: error.start].decode("utf-8"))
        raise SpecError(f"{place}: not a text in UTF-8; expected an experiment in TOML") from None
    except RecursionError:
        place = _place(path, _shallow(text))
        raise SpecError(
            f"{place}: brackets in brackets, too deep; expected an experiment"
        ) from None
    except msgspec.DecodeError as error:
        if at := _AT.fullmatch(str(error)):
            where = f"{path}:{at['line']}:{at['column']}" if at["line"] else _place(path, text)
            raise SpecError(f"{where}: {at['what']}") from None
        raise SpecError(f"{path}: is no experiment: {error}") from None


def _place(path: Path, before: str) -> str:
    """File, line and column of what comes after that part of its text."""
    return f"{path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _shallow(text: str) -> str:
    """The text up to where brackets are too deep."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "[{") - (sign in "]}")
        if depth > _DEEPEST:
            return text[:place]
    return ""
