"""Words of errors."""

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """What an error about an unknown name says of the names that there are."""
    known = list(names)
    near = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(known)}"
