"""The faults of an experiment's file that can be seen before anything runs."""

import re
from collections.abc import Iterator

from incast import _core
from incast.base.words import nearest
from incast.reproduce.experiment import PLACE, Experiment, asked_for

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def of(found: Experiment) -> Iterator[str]:
    """Names that do not go together, and whatever else cannot be judged, a sentence each."""
    for what in (_names, _cases, _claims, _figures, _columns):
        yield from what(found)


def _names(found: Experiment) -> Iterator[str]:
    cases = [case.name for case in found.case]
    axis = [found.axis.name] if found.axis else []
    for name in (*cases, *axis, *found.measure):
        if not _NAME.fullmatch(name):
            yield f'name "{name}": expected small letters, digits and _, a letter first'
    if len({*cases, *axis}) != len(cases + axis):
        yield "two cases, or a case and the axis, have the same name"
    for value in found.quick.values:
        if not found.axis or value not in found.axis.values:
            yield f"quick.values: {value} is none of the axis's values"


def _cases(found: Experiment) -> Iterator[str]:
    if not found.case:
        yield "has no [[case]]"
    for case in found.case:
        if not case.fluid and not (case.scheme and (case.scenario or found.scenario)):
            yield f'case "{case.name}": expected a scheme and a scenario, or fluid'
        if case.ideal and not case.scheme:
            yield (
                f'case "{case.name}": ideal = "{case.ideal}" is of the messages of a run; '
                "expected the scheme of that run"
            )
    for one in found.published:
        yield from _unknown("[[published]]", one.case, [case.name for case in found.case])


def _claims(found: Experiment) -> Iterator[str]:
    for claim in found.claim:
        place = f'claim "{claim.says}"'
        bounded = claim.at_most is not None or claim.at_least is not None
        named = [key for key in ("source", "ours", "open") if getattr(claim, key)]
        if not named:
            yield (
                f"{place}: does not say who makes it; name the place in the source with source = "
                "..., or say ours = ... and why, or open = ... and the question"
            )
        if len(named) > 1:
            yield f"{place}: has {' and '.join(named)}; keep the one that is true"
        if claim.kind == "open":
            if bounded or claim.published is not None:
                yield (
                    f"{place}: open asks, and has no at_most, at_least or published; "
                    "drop them, or name the source that claims it"
                )
            if claim.not_comparable or not claim.value:
                yield f"{place}: open shows what was measured; expected value alone"
        elif not claim.not_comparable and not (claim.value and (bounded or claim.equality)):
            yield f"{place}: expected value, and at_most, at_least or a published number"
        elif claim.equality and not claim.published and not claim.not_comparable:
            yield f"{place}: published is 0, which nothing comes near; give at_most or at_least"
        if claim.setup and (claim.not_comparable or not claim.value):
            yield f"{place}: has a setup and no value; drop one of them"
        for setup in claim.setup:
            own = f'{place}, setup "{setup.name}"'
            if not (setup.cases or setup.value):
                yield f"{own}: expected cases or a value; without them it is the claim itself"
        if claim.kind == "ours" and claim.published is not None:
            yield f"{place}: is ours and published; drop published, or name its source"


def _figures(found: Experiment) -> Iterator[str]:
    for figure in found.figure:
        place = f'figure "{figure.name}"'
        for name in figure.cases:
            yield from _unknown(place, name, [case.name for case in found.case])
        if figure.kind not in ("lines", "bars"):
            yield from _unknown(f"{place}, curve", figure.curve, list(found.curve))
        elif not figure.columns:
            yield f"{place}: expected columns"
        elif figure.kind == "lines" and not found.axis:
            yield f"{place}: lines are drawn over an [axis]"


def _columns(found: Experiment) -> Iterator[str]:
    there = [*(name for name, _, _ in _core.summary_figures()), *found.measure]
    for column in found.columns:
        yield from _unknown("columns", column, there)
    for one in found.published:
        yield from _unknown("[[published]]", one.column, there)
    for figure in found.figure:
        for column in figure.columns:
            yield from _unknown(f'figure "{figure.name}"', column, there)
    for claim in found.claim:
        place = f'claim "{claim.says}"'
        yield from _expression(found, place, claim.value)
        yield from _texts(found, place, claim.differs)
        for setup in claim.setup:
            own = f'{place}, setup "{setup.name}"'
            yield from _expression(found, own, setup.value)
            yield from _texts(found, own, setup.differs)
            for name in (*setup.cases, *setup.cases.values()):
                yield from _unknown(own, name, [case.name for case in found.case])
    yield from _texts(found, "differs", found.differs)


def _texts(found: Experiment, place: str, text: str) -> Iterator[str]:
    """The faults of the expressions in a text."""
    for expression in PLACE.findall(text):
        yield from _expression(found, place, expression)


def _expression(found: Experiment, place: str, value: str) -> Iterator[str]:
    """The faults of an expression that can be seen before anything runs."""
    there = [*(name for name, _, _ in _core.summary_figures()), *found.measure]
    try:
        asked = asked_for(value)
    except SyntaxError as error:
        yield f"{place}: {value}: {error.msg}"
        return
    except (ValueError, MemoryError, RecursionError):
        yield f"{place}: its value cannot be read; expected a short expression"
        return
    for case, column in asked:
        yield from _unknown(place, case, [case.name for case in found.case])
        yield from _unknown(f"{place}, {case}", column, there)


def _unknown(place: str, name: str, there: list[str]) -> Iterator[str]:
    if name not in there:
        yield f'{place}: there is no "{name}"; {nearest(name, there)}'
