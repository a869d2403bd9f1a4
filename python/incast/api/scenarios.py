"""Scenarios found by name, and what is asked of a run checked: before anything is simulated."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from incast import _core
from incast._core import ParameterError, Scenario, ScenarioError
from incast.api import guests
from incast.api.control import OwnControl
from incast.base.words import nearest

Scheme = str | OwnControl | type[OwnControl]
"""An algorithm with its parameters: as text, or of one's own in Python."""
Schemes = Scheme | Sequence[Scheme] | None
"""Schemes; None leaves them to the scenario."""
Chosen = Schemes | Mapping[str, Scheme]
"""Schemes, perhaps by their labels."""

TRACES = tuple(_core.trace_names)
"""The traces: tables with a row for each event, beside those that every run gives."""

_SHIPPED = Path(__file__).parents[1] / "scenarios"


def shipped() -> dict[str, Path]:
    """The scenarios that come with the package: file by name.

    Example:
        ```python
        import incast

        incast.load(incast.shipped()["incast"]).title
        ```
    """
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.toml"))}


def load(scenario: str | os.PathLike[str]) -> Scenario:
    """Reads a scenario file, or the shipped scenario of that name.

    A file wins over a shipped scenario of the same name.

    Raises:
        ScenarioError: Neither exists, or the file is not a scenario.

    Example:
        ```python
        import incast

        scenario = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        scenario.schemes  # the schemes that it names
        scenario.duration_s  # 0.005
        ```
    """
    path = Path(scenario)
    if (path / "run.json").exists() and str(scenario) not in shipped():
        raise ScenarioError(
            f"{path}: a result, not a scenario; read it with incast show, or incast.open_result"
        )
    # A bare word is a name; anything with a folder or a suffix is meant as a file, and the error
    # for a missing one should say so.
    is_name = isinstance(scenario, str) and path.name == scenario and not path.suffix
    if not is_name or (path.exists() and not path.is_dir()):
        return Scenario.load(path)
    names = shipped()
    if scenario in names:
        return Scenario.load(names[path.name])
    hint = nearest(path.name, names)
    raise ScenarioError(f"{path.name}: neither a file nor a shipped scenario; {hint}")


def asked(scenario: Scenario, cc: Schemes = None) -> list[str]:
    """The schemes that are asked for, or the scenario's, each as `canonical` has it.

    Raises:
        ParameterError: A scheme is no text, or a class that cannot be found.
    """
    if cc is None:
        cc = scenario.schemes
    return [canonical(one) for one in (cc if _several(cc) else [cc])]


def _several(cc: object) -> TypeGuard[Sequence[Scheme]]:
    return isinstance(cc, Sequence) and not isinstance(cc, str)


def labelled(scenario: Scenario, cc: Chosen = None) -> dict[str, str]:
    """The schemes to run by their labels, each found fit to run in the scenario.

    The label of a scheme that has none is the scheme, without the module of a class.

    Raises:
        ScenarioError: The scenario cannot be run.
        ParameterError: A scheme is unknown, a scheme or a label is there twice, or there is none.
    """
    if isinstance(cc, Mapping):
        wanted = [(_label(label), canonical(scheme)) for label, scheme in cc.items()]
    else:
        every = asked(scenario, cc)
        short = [guests.label_of(scheme) for scheme in every]
        wanted = [
            (label if short.count(label) == 1 else scheme, scheme)
            for label, scheme in zip(short, every, strict=True)
        ]
    if not wanted:
        raise ParameterError(f"{scenario.name}: names no scheme to run, and none was asked for")
    found: dict[str, str] = {}
    for label, scheme in wanted:
        if label in found and isinstance(cc, Mapping):
            raise ParameterError(f"{label}: the label of two schemes; expected one for each")
        if scheme in found.values():
            raise ParameterError(f"{scheme}: named twice; a scheme is run once")
        scenario.check(scheme)
        found[label] = scheme
    return found


def check_schemes(scenario: Scenario, cc: Schemes = None) -> tuple[str, ...]:
    """The schemes to run, each found fit to run in the scenario.

    Raises:
        ScenarioError: The scenario cannot be run.
        ParameterError: A scheme is unknown or named twice, or there is none.
    """
    return tuple(labelled(scenario, cc).values())


def canonical(scheme: object) -> str:
    """A scheme without spaces around its brackets, commas and equal signs.

    A class of `CongestionControl`, an object of one, or its place, `module:Class`, is made known.

    Raises:
        ParameterError: It is none of these, or the module has no such class.
    """
    if isinstance(scheme, OwnControl) or (
        isinstance(scheme, type) and issubclass(scheme, OwnControl)
    ):
        return guests.scheme_of(scheme)
    if not isinstance(scheme, str):
        raise ParameterError(
            f"{scheme!r}: expected a scheme such as timely or timely[t_high=1ms], or a class of "
            "incast.CongestionControl"
        )
    text = re.sub(r"\s*([\[\],=])\s*", r"\1", scheme.strip())
    return guests.found(text)


def _label(label: object) -> str:
    text = label.strip() if isinstance(label, str) else ""
    if not text or not text.isprintable():
        raise ParameterError(f"{label!r}: expected a label of one line")
    return text


def warnings(scenario: Scenario, schemes: Sequence[str]) -> list[str]:
    """Things that no network carries, and needs of the schemes that the network lacks.

    A need that several schemes have is a single sentence.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for scheme in schemes:
        for text in scenario.warnings(scheme):
            name, needs, what = text.partition(" needs ")
            cause = (needs, what) if needs and name == scheme else ("", text)
            found.setdefault(cause, []).append(scheme)
    said = (
        what
        if not needs
        else f"{names[0]}{needs}{what}"
        if len(names) == 1
        else f"{', '.join(names[:-1])} and {names[-1]} need {what}"
        for (needs, what), names in found.items()
    )
    return [*scenario.load_warnings(), *said]


def check_seeds(scenario: Scenario, seed: int | Sequence[int] | None) -> list[int]:
    """The seeds that were asked for, or the scenario's.

    Raises:
        ParameterError: There is none, or one is named twice.
    """
    if seed is None or isinstance(seed, int):
        return [scenario.seed if seed is None else seed]
    seeds = list(seed)
    if not seeds:
        raise ParameterError("no seed: expected a number, or several")
    for place, one in enumerate(seeds):
        if one in seeds[:place]:
            raise ParameterError(f"seed {one}: named twice; it would give the same result twice")
    return seeds


def check_traces(traces: Sequence[str]) -> tuple[str, ...]:
    """The traces to record, each once.

    Raises:
        ParameterError: One is unknown.
    """
    for trace in traces:
        if trace not in TRACES:
            raise ParameterError(f"{trace}: no such trace; {nearest(trace, TRACES)}")
    return tuple(dict.fromkeys(traces))


def check_threads(threads: int | str | None) -> str | None:
    """The number of threads of each run, as the core takes it; None leaves it to the scenario.

    Raises:
        ParameterError: There cannot be so many.
    """
    if threads is None:
        return None
    text = str(threads)
    if text != "auto" and not (
        text.isascii() and text.isdigit() and 1 <= int(text) <= _core.most_threads
    ):
        raise ParameterError(
            f'threads "{text}": expected "auto" or a number from 1 to {_core.most_threads}'
        )
    return text
