"""The axes of a sweep: keys of a scenario, and the values that they take."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product

from incast._core import ParameterError
from incast.base.words import option

MOST_VALUES = 100_000
"""The most values of an axis."""

Values = str | Sequence[object]
"""Values as a list, or as a text such as `1,4,16` or `0.3..0.9/0.1`."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(
    rf"(?P<low>{_NUMBER})(?P<unit>[^\d.*/,]*(?:b/s)?)\.\.(?P<high>{_NUMBER})(?P<unit2>[^\d.*/,]*"
    rf"(?:b/s)?)(?:/(?P<step>{_NUMBER})(?P<unit3>[^\d.*/,]*(?:b/s)?)|\*(?P<factor>{_NUMBER}))?"
)
_OPEN, _CLOSE = "[{(", "]})"


@dataclass(frozen=True)
class Axis:
    """Values that change together, of one key or several."""

    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    """For each place on the axis a value of each key, as `--set` takes it."""

    @property
    def name(self) -> str:
        """The keys in a line."""
        return " and ".join(self.keys)

    def at(self, place: int) -> tuple[str, ...]:
        """The assignments at a place."""
        pairs = zip(self.keys, self.values[place], strict=True)
        return tuple(f"{key}={value}" for key, value in pairs)


@dataclass(frozen=True)
class Point:
    """A place on each axis."""

    number: int
    places: tuple[int, ...]
    values: Mapping[str, str]
    """The values of all keys."""

    @property
    def assignments(self) -> tuple[str, ...]:
        """The changes of the scenario."""
        return tuple(f"{key}={value}" for key, value in self.values.items())

    @property
    def name(self) -> str:
        """The values in a line; empty where nothing varies."""
        return ", ".join(self.assignments)


def points(axes: Sequence[Axis]) -> list[Point]:
    """All combinations of places, the last axis the fastest; one point where there is no axis."""
    found = []
    for number, places in enumerate(product(*(range(len(axis.values)) for axis in axes))):
        pairs = (
            pair
            for axis, place in zip(axes, places, strict=True)
            for pair in zip(axis.keys, axis.values[place], strict=True)
        )
        found.append(Point(number, places, dict(pairs)))
    return found


def axes_of(
    vary: Mapping[str, Values] | Iterable[str] = (),
    zipped: Iterable[Mapping[str, Values] | str] = (),
    listed: Iterable[Mapping[str, object] | str] = (),
) -> tuple[Axis, ...]:
    """The axes: one for each key that varies, for each group of zipped keys, and for listed points.

    Args:
        vary: Values by key, or texts such as `traffic.0.connections=1,4,16`.
        zipped: Groups of keys that change together: dictionaries of values by key, or texts such
            as `switch.buffer=1MB,2MB; switch.ecn_threshold=50KB,100KB`.
        listed: Points one by one: dictionaries of a value by key, or texts such as
            `switch.buffer=1MB; switch.ecn_threshold=50KB`.

    Raises:
        ParameterError: An axis has no value, two have the same key, or values do not go together.
    """
    pairs = [*(vary.items() if isinstance(vary, Mapping) else map(_pair, vary))]
    found = [
        Axis((key.strip(),), tuple((value,) for value in _values(key, values)))
        for key, values in pairs
    ]
    found += map(_zipped, zipped)
    every = [*listed]
    if every:
        found.append(_listed(every))
    seen: set[str] = set()
    for key in (key for axis in found for key in axis.keys):
        _check_key(key)
        if key in seen:
            raise ParameterError(f"{key}: varied twice; a key has one axis")
        seen.add(key)
    return tuple(found)


def _check_key(key: str) -> None:
    if not key or key != key.strip() or not key.isprintable():
        raise ParameterError(
            f"{key!r}: expected a key of the scenario, as {option('--set', 'with_set')} takes it"
        )
    for chosen, by in (("run.seed", "--seeds"), ("run.schemes", "--cc"), ("cc", "--cc")):
        if key == chosen:
            raise ParameterError(f"{key}: no axis of a sweep; choose them by {option(by)}")


def _pair(text: str) -> tuple[str, str]:
    key, equals, values = text.partition("=")
    if not equals:
        raise ParameterError(
            f"{text}: expected a key and its values, such as traffic.0.connections=1,4,16"
        )
    return key, values


def _parts(text: str) -> list[str]:
    return [part for part in _split(text, ";") if part]


def _zipped(group: Mapping[str, Values] | str) -> Axis:
    pairs = [*group.items()] if isinstance(group, Mapping) else [*map(_pair, _parts(group))]
    columns = {key.strip(): _values(key, values) for key, values in pairs}
    if len(columns) < 2 or len(columns) < len(pairs):
        raise ParameterError(
            f"zip {'; '.join(key for key, _ in pairs)}: expected two keys or more, each once, with "
            "a semicolon between them"
        )
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        said = ", ".join(f"{key} has {len(values)}" for key, values in columns.items())
        raise ParameterError(f"zip of unequal lengths: {said}; expected as many values of each")
    return Axis(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def _listed(every: Sequence[Mapping[str, object] | str]) -> Axis:
    rows = []
    for one in every:
        pairs = [*one.items()] if isinstance(one, Mapping) else [*map(_pair, _parts(one))]
        rows.append({key.strip(): written(value) for key, value in pairs})
        if not rows[-1] or len(rows[-1]) < len(pairs):
            raise ParameterError(
                f"point {len(rows)}: expected keys with a value each, such as run.duration=5ms"
            )
        if rows[-1].keys() != rows[0].keys():
            odd = min(rows[-1].keys() ^ rows[0].keys())
            raise ParameterError(f"point {len(rows)}: {odd} is set by some points and not by all")
    if len({tuple(sorted(row.items())) for row in rows}) < len(rows):
        raise ParameterError("points: one of them is there twice")
    return Axis(tuple(rows[0]), tuple(tuple(row[key] for key in rows[0]) for row in rows))


def _values(key: str, values: Values) -> list[str]:
    """The values of a key as texts, with ranges counted out."""
    given = _split(values, ",") if isinstance(values, str) else [*values]
    found = [
        value
        for one in given
        for value in (_counted(key, one.strip()) if isinstance(one, str) else [written(one)])
    ]
    if not found or "" in found:
        raise ParameterError(
            f"{key.strip()}: an axis without values; expected such as 1,4,16 or 0.3..0.9/0.1"
        )
    seen: set[str] = set()
    for value in found:
        if value in seen:
            raise ParameterError(f"{key.strip()}: {value} is there twice")
        seen.add(value)
    return found


def _counted(key: str, text: str) -> Iterator[str]:
    """The values of a range; a text that is none as it is."""
    match = _RANGE.fullmatch(text)
    if match is None:
        yield text
        return
    try:
        low, high = Decimal(match["low"]), Decimal(match["high"])
        step = Decimal(match["step"] or "1")
        factor = Decimal(match["factor"]) if match["factor"] else None
    except InvalidOperation:  # pragma: no cover - the pattern has numbers alone
        raise ParameterError(f"{key.strip()}: {text}: not a range") from None
    unit = match["unit2"]
    if (match["unit"] or unit) != unit or (match["unit3"] or unit) != unit:
        raise ParameterError(f"{key.strip()}: {text}: expected one unit in all of a range")
    if step <= 0 or (factor is not None and (factor <= 1 or low <= 0)):
        raise ParameterError(
            f"{key.strip()}: {text}: expected a step above 0, or a factor above 1 from above 0"
        )
    count, value = 0, low
    while value <= high:
        if count == MOST_VALUES:
            raise ParameterError(f"{key.strip()}: {text}: more than {MOST_VALUES} values")
        yield f"{_plain(value)}{unit}"
        count += 1
        value = low + count * step if factor is None else value * factor
    if not count:
        raise ParameterError(
            f"{key.strip()}: {text}: an axis without values; it begins above its end"
        )


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def written(value: object) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        inside = (f'"{one}"' if isinstance(one, str) else written(one) for one in value)
        return f"[{', '.join(inside)}]"
    return str(value).strip()


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text, which is not split within brackets and quotes."""
    found, depth, quoted, begin = [], 0, False, 0
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if letter == separator and depth == 0:
                found.append(text[begin:place].strip())
                begin = place + 1
    return [*found, text[begin:].strip()]
