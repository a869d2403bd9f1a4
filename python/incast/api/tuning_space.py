"""The parameters that a tuning searches, and the range of each."""

import contextlib
import math
from collections.abc import Iterable, Mapping

from incast import _core
from incast._core import Algorithm, IncastError, Parameter, ParameterError, Scenario
from incast.api import guests
from incast.base import schemes
from incast.base.words import nearest, option
from incast.results.quantities import numbers
from incast.results.searched import Searched, number_of, text_of

REACH = 10.0
"""The range of a parameter that none is named for: from a tenth of its value to ten times it."""


def searched(
    scenario: Scenario, scheme: str, over: Iterable[str] | Mapping[str, object] | None = None
) -> tuple[Searched, ...]:
    """The parameters to search: those that are named, else all with a number that is not zero.

    Of the latter those that have no effect, which the scheme refuses, are left out.

    Args:
        scenario: The scenario whose sections `[cc.NAME]` count.
        scheme: An algorithm, or a preset of it; parameters in its brackets are left as they are.
        over: Parameters, each as `t_high`, with a range `t_high=50us..2ms`, or with words
            `startup=on,off`; or such ranges by name.

    Raises:
        ParameterError: There is no such parameter, a range has not two ends, or nothing is left.
    """
    known = _known(scheme)
    set_already = {text.partition("=")[0] for text in schemes.parts(scheme).settings}
    values = _values(scenario, scheme)
    if over is None or (not isinstance(over, Mapping) and not (over := [*over])):
        every = [
            _round(one, values[name])
            for name, one in known.items()
            if name not in set_already and _is_number(values[name])
        ]
        found = [one for one in every if _is_taken(scenario, scheme, one)]
        if not found:
            raise ParameterError(f"{scheme}: has no parameter with a number; nothing to tune")
        return tuple(found)
    pairs = (
        [(name, str(span or "")) for name, span in over.items()]
        if isinstance(over, Mapping)
        else [(text.partition("=")[0].strip(), text.partition("=")[2].strip()) for text in over]
    )
    chosen: dict[str, Searched] = {}
    place = option("--over")
    for name, span in pairs:
        if name not in known:
            raise ParameterError(
                f"{place} {name}: no parameter of {scheme}; {nearest(name, known)}"
            )
        if name in chosen:
            raise ParameterError(f"{place} {name}: named twice; a parameter has one range")
        if name in set_already:
            raise ParameterError(f"{place} {name}: is set in {scheme}; leave one of the two out")
        chosen[name] = _named(scenario, scheme, known[name], span, values[name])
    for one in chosen.values():
        if one.low < one.high and (why := _refusal(scenario, scheme, one, chosen.values())):
            raise ParameterError(f"{place} {one.name}={'..'.join(one.ends)}: {why}")
    return tuple(chosen.values())


def with_settings(scheme: str, settings: Mapping[str, str]) -> str:
    """The scheme with settings added to its brackets."""
    parts = schemes.parts(scheme)
    inside = ",".join([*parts.settings, *(f"{name}={text}" for name, text in settings.items())])
    return f"{parts.plain}[{inside}]" if inside else parts.plain


def published(scheme: str) -> list[str]:
    """The algorithm's presets as schemes, the default one by the algorithm's name alone."""
    name = _algorithm(scheme).name
    others = _algorithm(scheme).presets[1:]
    return [name, *(f"{name}:{preset.name}" for preset in others)]


def _known(scheme: str) -> dict[str, Parameter]:
    return {one.name: one for one in _algorithm(scheme).parameters}


def _algorithm(scheme: str) -> Algorithm:
    parts = schemes.parts(scheme)
    found = {one.name: one for one in _core.algorithms()}.get(parts.algorithm)
    found = found or guests.described(parts.plain)
    if found is None:
        raise ParameterError(f"{scheme}: no algorithm to tune")
    return found


def _values(scenario: Scenario, scheme: str) -> dict[str, str]:
    """The values of all parameters without tuning: default, preset, section of the scenario."""
    parts = schemes.parts(scheme)
    values = {name: one.default for name, one in _known(scheme).items()}
    for preset in _algorithm(scheme).presets:
        if preset.name == parts.preset:
            values |= preset.values
    sections = scenario.resolved()["parameters"]
    values |= {name: text for name, text in sections.get(parts.plain, ()) if name in values}
    return values


def _is_taken(scenario: Scenario, scheme: str, one: Searched) -> bool:
    """Whether a scheme takes other values: it refuses values of a parameter without effect."""
    for value in (one.low, one.high, math.sqrt(one.low * one.high)):
        text = one.text(value)
        if one.number(text) != one.number(one.value):
            with contextlib.suppress(ParameterError):
                scenario.check(with_settings(scheme, {one.name: text}))
                return True
    return False


def _refusal(
    scenario: Scenario, scheme: str, one: Searched, every: Iterable[Searched]
) -> str | None:
    """The reason why nothing of a range is taken, wherever in theirs the others are."""
    first = None
    others = [other for other in every if other is not one and other.low < other.high]
    for place in _PLACES:
        for elsewhere in (None, *_PLACES):
            settings = {one.name: one.text(_at(one, place))}
            if elsewhere is not None:
                settings |= {other.name: other.text(_at(other, elsewhere)) for other in others}
            try:
                scenario.check(with_settings(scheme, settings))
            except IncastError as error:
                first = first or str(error)
            else:
                return None
    return first


# Ends and middle of a range.
_PLACES = (0.0, 0.5, 1.0)


def _at(one: Searched, place: float) -> float:
    return one.low + place * (one.high - one.low)


def _is_number(text: str) -> bool:
    found = numbers([text])
    return found is not None and found.values[0] > 0


def _bounds(parameter: Parameter, unit: str) -> tuple[float, float, str, str]:
    """The least and the greatest value that a parameter takes, as numbers and as texts."""
    low, _, high = parameter.range.partition(" to ")
    least, most = number_of(low, unit), number_of(high, unit)
    return (
        0.0 if least is None else least, math.inf if most is None else most, low, high,
    )  # fmt: skip


def _round(parameter: Parameter, value: str) -> Searched:
    """The range round a value."""
    found = numbers([value])
    if found is None or found.values[0] <= 0:
        raise ParameterError(
            f"{option('--over')} {parameter.name}: {value} has no range round it; name one, such "
            f"as {parameter.name}=LOW..HIGH"
        )
    (middle,), unit = found.values, found.unit
    whole = parameter.unit == "count" or unit == "bytes"
    least, most, low, high = _bounds(parameter, unit)
    ends = []
    for end, bound, text, outside in (
        (middle / REACH, least, low, middle / REACH < least),
        (middle * REACH, most, high, middle * REACH > most),
    ):
        chosen = max(1.0, end) if whole and not outside else end
        ends.append((bound, text) if outside else (chosen, text_of(chosen, unit, whole=whole)))
    first, last = ((number_of(text, unit) or 0.0, text) for _, text in ends)
    return Searched(
        parameter.name, unit, first[0], last[0], (first[1], last[1]), whole, value=value
    )


def _named(
    scenario: Scenario, scheme: str, parameter: Parameter, span: str, value: str
) -> Searched:
    """The range or the words that were asked for."""
    name = parameter.name
    if not span:
        return _round(parameter, value)
    place = f"{option('--over')} {name}={span}"
    if ".." not in span:
        words = tuple(dict.fromkeys(part.strip() for part in span.split(",")))
        if len(words) < 2 or "" in words:
            raise ParameterError(
                f"{place}: expected a range such as 50us..2ms, or values such as on,off"
            )
        for word in words:
            try:
                scenario.check(with_settings(scheme, {name: word}))
            except IncastError as error:  # noqa: PERF203 - a few words
                raise ParameterError(f"{place}: {error}") from None
        return Searched(name, words=words, value=value)
    low, _, high = (part.strip() for part in span.partition(".."))
    if not low or not high or "inf" in (low, high):
        raise ParameterError(f"{place}: an unbounded range; expected both ends, such as 50us..2ms")
    found = numbers([low, high])
    if found is None:
        raise ParameterError(
            f"{place}: expected two numbers with the same kind of unit, such as 50us..2ms"
        )
    least, most, of_least, of_most = _bounds(parameter, found.unit)
    first, last = found.values
    if first >= last:
        raise ParameterError(f"{place}: expected a range that begins below its end")
    own = numbers([value])
    if own is not None and own.unit != found.unit and own.values[0] != 0:
        raise ParameterError(f"{place}: expected a {parameter.unit}, such as {value}")
    if first < least or last > most or not math.isfinite(last):
        raise ParameterError(
            f"{place}: expected a range within {of_least or 0} to {of_most or 'a finite number'}"
        )
    whole = parameter.unit == "count" or found.unit == "bytes"
    if whole and not (first.is_integer() and last.is_integer()):
        raise ParameterError(f"{place}: expected whole numbers")
    return Searched(name, found.unit, first, last, (low, high), whole, value=value)
