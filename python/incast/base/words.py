"""Words of errors."""

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """The hint of an error about an unknown name: the names nearest to it, or all names."""
    known = list(names)
    near = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(known)}"
