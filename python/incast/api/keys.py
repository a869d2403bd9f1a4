"""The keys of a scenario, explained from its JSON Schema."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from incast import _core
from incast._core import ParameterError
from incast.base.words import nearest

_Node = Mapping[str, Any]

_KINDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "section",
}
_OF_KIND = "section of this kind"
_ANY = "<name>"
"""The part of a path that a scenario names itself, such as the scheme below `published`."""


@dataclass(frozen=True)
class Key:
    """A key of a scenario: a value, or a section with keys inside."""

    path: str
    """The path, such as `transport.segment`; with the kind in it where a section has several:
    `traffic.poisson.load`."""
    doc: str
    kind: str
    """The type of the value, such as `text` or `list of integer`."""
    default: str | None = None
    """The default as the schema has it; None where the text says it, or where there is none."""
    required: bool = False
    values: tuple[tuple[str, str], ...] = ()
    """The accepted words with their meanings, where they are few."""
    inside: tuple[str, ...] = ()
    """The paths of the keys of a section."""
    key: str = ""
    """The key as a scenario has it: `traffic.load`."""
    of_kind: str | None = None
    """The kind of the section that has it, such as `poisson`, if not all kinds do."""

    def to_dict(self) -> dict[str, Any]:
        """The key, ready for JSON."""
        return {
            "key": self.key,
            "of_kind": self.of_kind,
            "doc": self.doc,
            "type": self.kind,
            "default": self.default,
            "required": self.required,
            "values": [{"value": value, "doc": doc} for value, doc in self.values],
            "keys": list(self.inside),
        }


@cache
def keys() -> dict[str, Key]:
    """All keys by path, sections before what is in them."""
    schema = json.loads(_core.schema())
    found: dict[str, Key] = {}
    for key in _below(schema, schema, "", frozenset()):
        # A field that all variants of a section have is explained by the first.
        found.setdefault(key.path, key)
    inside: dict[str, list[str]] = {}
    for path in found:
        inside.setdefault(path.rpartition(".")[0], []).append(path)
    kinds = {path for path, key in found.items() if key.kind.startswith(_OF_KIND)}
    return {
        path: replace(key, inside=tuple(inside.get(path, ())), **_as_written(path, kinds))
        for path, key in found.items()
    }


def _as_written(path: str, kinds: set[str]) -> dict[str, Any]:
    """The key without the kinds that a scenario says in the field `kind`, and the last of them."""
    parts = path.split(".")
    said = [at for at in range(len(parts)) if ".".join(parts[: at + 1]) in kinds]
    key = ".".join(part for at, part in enumerate(parts) if at not in said)
    return {"key": key, "of_kind": parts[said[-1]] if said else None}


def sections() -> list[Key]:
    """The keys at the top of a scenario."""
    return [key for path, key in keys().items() if "." not in path]


def explain(asked: str) -> list[Key]:
    """The keys of that name: one of a whole path, else all whose path ends with it.

    Numbers of elements are left out: `traffic.0.poisson.load` is `traffic.poisson.load`. So is the
    kind of traffic: `traffic.load` is the load of each kind.

    Raises:
        ParameterError: There is none.
    """
    known = keys()
    parts = [part for part in re.split(r"[.\[\]]+", asked.strip()) if part and not part.isdigit()]
    path = ".".join(parts)
    exact = [key for key in known.values() if _fits(parts, key.path.split("."))]
    if exact:
        return exact
    found = [key for other, key in known.items() if other.endswith(f".{path}")] if path else []
    within = [
        key
        for other, key in known.items()
        if len(parts) > 1
        and other.startswith(f"{parts[0]}.")
        and other.endswith("." + ".".join(parts[1:]))
    ]
    if found or within:
        return found or within
    raise ParameterError(f"{asked}: no such key of a scenario; {_near(path, known)}")


def _near(path: str, known: Mapping[str, Key]) -> str:
    """The hint of an error: paths that are nearly this one, or whose last name is nearly its."""
    hint = nearest(path, known)
    if hint.startswith("did you mean"):
        return hint
    name = path.rpartition(".")[2]
    last = {other.rpartition(".")[2]: other for other in reversed([*known])}
    hint = nearest(name, last)
    if hint.startswith("did you mean"):
        return re.sub(r"[\w-]+(?= or |\?)", lambda found: last.get(found[0], found[0]), hint)
    return f"the sections are {', '.join(key.path for key in sections())}"


def _fits(parts: list[str], path: list[str]) -> bool:
    return len(parts) == len(path) and all(
        there in (part, _ANY) for part, there in zip(parts, path, strict=True)
    )


def _below(root: _Node, node: _Node, path: str, seen: frozenset[str]) -> Iterator[Key]:
    """The keys inside a section; `seen` are the definitions on the way, which end a ring."""
    required = set(node.get("required", ()))
    for name, field in node.get("properties", {}).items():
        yield from _key(root, field, f"{path}{name}", name in required, seen)
    more = node.get("additionalProperties")
    if isinstance(more, dict) and "$ref" in more:
        yield from _key(root, more, f"{path}{_ANY}", False, seen)
    for variant in (*node.get("oneOf", ()), *node.get("anyOf", ())):
        whole, inner = _resolved(root, variant, seen)
        kind = whole.get("properties", {}).get("kind", {}).get("const")
        if kind is None:
            yield from _below(root, whole, path, inner)
            continue
        fields = {key: one for key, one in whole["properties"].items() if key != "kind"}
        yield Key(f"{path}{kind}", _text(whole), _OF_KIND)
        yield from _below(root, {**whole, "properties": fields}, f"{path}{kind}.", inner)


def _key(
    root: _Node, field: _Node, path: str, required: bool, seen: frozenset[str]
) -> Iterator[Key]:
    whole, inner = _resolved(root, field, seen)
    item: _Node = whole
    kind = _kind(whole)
    if "items" in whole:
        item, inner = _resolved(root, whole["items"], inner)
        kind = f"list of {_plural(_kind(item))}"
    default = whole.get("default")
    yield Key(
        path,
        _text(whole),
        kind,
        None if default in (None, "", [], {}) else _written(default),
        required,
        tuple(_values(item)),
    )
    yield from _below(root, item, f"{path}.", inner)


def _resolved(root: _Node, node: _Node, seen: frozenset[str]) -> tuple[_Node, frozenset[str]]:
    """A node with its definition; the text beside the reference counts, or a longer form of it."""
    options = [one for one in node.get("anyOf", ()) if one.get("type") != "null"]
    if len(options) == 1:
        node = {**options[0], **{key: one for key, one in node.items() if key != "anyOf"}}
    reference = node.get("$ref")
    if reference is None:
        return node, seen
    name = reference.rpartition("/")[2]
    found = {} if name in seen else root["$defs"][name]
    own = {key: one for key, one in node.items() if key != "$ref"}
    whole = {**found, **own}
    if found.get("description", "").startswith(own.get("description", "").rstrip(".")):
        whole["description"] = found.get("description", "")
    return _resolved(root, whole, seen | {name}) if "$ref" in whole else (whole, seen | {name})


def _kind(node: _Node) -> str:
    """The type of a value in words."""
    if _values(node):
        return "one of these words"
    if "properties" in node or "oneOf" in node or "additionalProperties" in node:
        return "section"
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = [_KINDS[kind] for kind in kinds if kind in _KINDS]
    if "number" in words and "integer" in words:
        words.remove("integer")
    return " or ".join(words) or "text"


def _plural(kind: str) -> str:
    return f"{kind}s" if kind in {"section", "integer", "number"} else kind


def _values(node: _Node) -> list[tuple[str, str]]:
    """The words that a value may be, with their meanings."""
    words = [(str(word), "") for word in node.get("enum", ()) if isinstance(word, str)]
    for one in node.get("oneOf", ()):
        if isinstance(one.get("const"), str):
            words.append((one["const"], _text(one)))
        elif one.get("type") == "string":
            words += [(str(word), "") for word in one.get("enum", ())]
    return words


def _text(node: _Node) -> str:
    """The description in one line, without the brackets of links."""
    text = " ".join(str(node.get("description", "")).split())
    return re.sub(r"\[(`[^`]*`)\](\([^)]*\))?", r"\1", text)


def _written(value: object) -> str:
    """A default as a scenario has it."""
    return value if isinstance(value, str) else json.dumps(value)
