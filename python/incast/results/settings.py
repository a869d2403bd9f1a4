"""The settings in which scenarios differ, in words."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

# Texts, and the schemes that are chosen, are no settings of a run.
_NO_SETTINGS = ("title", "description", "published", "run.schemes")
# Names that say nothing without the table that they are of.
_VAGUE = {"enabled", "kind"}
_MOST = 3
"""The most settings that a name has room for."""


def differences(texts: Sequence[str]) -> list[str]:
    """For each scenario, of their texts in TOML, the settings in which it differs from the others.

    `t_high=100us, seed=3`; `t_high default` where a scenario does not set what another does. Empty
    names where there are no differences, or too many of them.
    """
    none = [""] * len(texts)
    try:
        tables = [dict(flat(msgspec.toml.decode(text))) for text in texts]
    except (msgspec.DecodeError, RecursionError):
        return none
    keys = [
        key
        for key in dict.fromkeys(key for table in tables for key in table)
        if len({table.get(key) for table in tables}) > 1
    ]
    if not 0 < len(keys) <= _MOST:
        return none
    return [
        ", ".join(
            f"{name}={table[key]}" if key in table else f"{name} default"
            for key, name in zip(keys, short(keys), strict=True)
        )
        for table in tables
    ]


def flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The values of a table by their keys with dots, as `--set` takes them."""
    if path in _NO_SETTINGS:
        return
    inside: list[tuple[object, object]] = []
    if isinstance(value, Mapping):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    else:
        yield path, str(value).lower() if isinstance(value, bool) else str(value)
    for key, one in inside:
        yield from flat(one, f"{path}.{key}" if path else str(key))


def short(keys: Sequence[str]) -> list[str]:
    """The last words of keys, as many as tell them apart."""
    for words in range(1, max(key.count(".") for key in keys) + 2):
        names = [".".join(key.split(".")[-words:]) for key in keys]
        # A number alone, the place in a list, says nothing either.
        vague = any(name in _VAGUE or name[0].isdigit() for name in names)
        if len(set(names)) == len(names) and not vague:
            return names
    return list(keys)
