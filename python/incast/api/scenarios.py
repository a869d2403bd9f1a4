"""Scenarios found by name, and what is asked of a run checked: before anything is simulated."""

import os
from collections.abc import Sequence
from pathlib import Path

from incast import _core
from incast._core import ParameterError, Scenario, ScenarioError
from incast.base.words import nearest

TRACES = tuple(_core.trace_names)
"""The traces: tables with a row for each event, beside those that every run gives."""

_SHIPPED = Path(__file__).parents[1] / "scenarios"


def shipped() -> dict[str, Path]:
    """The scenarios that come with the package: file by name."""
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.toml"))}


def load(scenario: str | os.PathLike[str]) -> Scenario:
    """Reads a scenario file, or the shipped scenario of that name.

    A file wins over a shipped scenario of the same name.

    Raises:
        ScenarioError: Neither exists, or the file is not a scenario.
    """
    path = Path(scenario)
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


def check_schemes(scenario: Scenario, cc: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """The schemes to run, each found fit to run in the scenario.

    Raises:
        ScenarioError: The scenario cannot be run.
        ParameterError: A scheme is unknown or named twice, or there is none.
    """
    schemes = tuple(scenario.schemes if cc is None else [cc] if isinstance(cc, str) else cc)
    if not schemes:
        raise ParameterError(f"{scenario.name}: names no scheme to run, and none was asked for")
    for index, scheme in enumerate(schemes):
        if scheme in schemes[:index]:
            raise ParameterError(f"{scheme}: named twice; a scheme is run once")
        scenario.check(scheme)
    return schemes


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
