"""Words of errors."""

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> list[str]:
    """The names that are nearly this one, at most three, the nearest first."""
    close = difflib.get_close_matches(name, list(names), n=3)
    return [other for other in close if _is_near(name, other)]


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
