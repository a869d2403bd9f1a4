"""Every key of a scenario as a page of the manual."""

from collections.abc import Mapping

from incast.api.keys import Key, keys


def markdown() -> str:
    """A section for each section of a scenario, with a row for each of its keys."""
    known = keys()
    sections = [key for key in known.values() if key.inside]
    return "\n\n".join(_section(key, known) for key in sections) + "\n"


def _section(section: Key, known: Mapping[str, Key]) -> str:
    inside = [known[path] for path in section.inside]
    rows = [_row(key) for key in inside if not key.inside]
    below = [f"`{key.path}`" for key in inside if key.inside]
    parts = [f"## {_code(section.path)}", section.doc]
    if rows:
        parts.append("\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows]))
    if below:
        parts.append(f"Sections: {', '.join(below)}.")
    return "\n\n".join(parts)


def _row(key: Key) -> str:
    said = [key.doc, *(f"{_code(value)}: {doc}" for value, doc in key.values if doc)]
    if key.values and not any(doc for _, doc in key.values):
        said.append(f"One of {', '.join(_code(value) for value, _ in key.values)}.")
    default = "required" if key.required else "" if key.default is None else _code(key.default)
    cells = (_code(key.path.rpartition(".")[2]), key.kind, default, " ".join(said))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(text: str) -> str:
    return f"`{text}`"
