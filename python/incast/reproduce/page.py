"""The report: one HTML file that needs nothing beside it."""

from collections.abc import Sequence
from pathlib import Path

from incast.reproduce.shelf import Written


def write(found: Sequence[Written], out: Path) -> Path:
    """Writes `index.html`.

    Raises:
        OutputError: It cannot be written.
    """
    return out
