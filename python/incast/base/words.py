"""Words of errors."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_COMMANDS: list[None] = []
"""An element while the command runs."""


@contextmanager
def of_the_command() -> Iterator[None]:
    """Has errors name options of the command, in place of Python's keyword arguments."""
    _COMMANDS.append(None)
    try:
        yield
    finally:
        _COMMANDS.pop()


def option(name: str, python: str | None = None) -> str:
    """A setting as its user knows it: `--validate-seeds`, or `validate_seeds` in Python.

    Args:
        name: The option of the command.
        python: The words in Python, where they are others.
    """
    return name if _COMMANDS else python or name.removeprefix("--").replace("-", "_")


def near(name: str, names: Iterable[str]) -> list[str]:
    """The names that are nearly this one, at most three, the nearest first."""
    close = difflib.get_close_matches(name, list(names), n=3)
    # An algorithm comes before its presets: timely, then timely:zhu.
    return sorted((one for one in close if _is_near(name, one)), key=lambda one: ":" in one)


def nearest(name: str, names: Iterable[str]) -> str:
    """The hint of an error about an unknown name: the names nearest to it, or all names."""
    known = list(names)
    close = near(name, known)
    return f"did you mean {' or '.join(close)}?" if close else f"there is {', '.join(known)}"


def _is_near(name: str, other: str) -> bool:
    """Whether the lengths are close as well, or one name begins or ends the other.

    Common letters alone are not enough: rtcp is in powertcp, and another algorithm.
    """
    short, long = sorted((len(name), len(other)))
    part = other.startswith(name) or other.endswith(name) or name.startswith(other)
    return part or short >= 0.6 * long
