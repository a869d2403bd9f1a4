"""Files that the user names: regular ones, of a size that fits."""

import os
import stat
from pathlib import Path

from incast._core import ScenarioError

MARK_BYTES = 256_000_000
"""The most bytes of a `run.json`, or of another file that marks a directory."""
SCENARIO_BYTES = 64_000_000
"""The most bytes of a scenario, or of an experiment."""
FOREIGN_BYTES = 1_000_000_000
"""The most bytes of another program's file."""


def text(file: Path, most: int = FOREIGN_BYTES) -> str:
    """The text of a file that the user names.

    Raises:
        ScenarioError: It cannot be read, is none, has no end, or is too long.
    """
    try:
        # Editors of Windows begin a text with a byte-order mark.
        return read(file, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"cannot read {file}: not a text in UTF-8") from None


def read(file: Path, most: int) -> bytes:
    """The bytes of a file that the user names.

    Raises:
        ScenarioError: It cannot be read, has no end, or is too long.
    """
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode):
            what = "a directory" if stat.S_ISDIR(about.st_mode) else "a device or a pipe"
            raise ScenarioError(f"cannot read {file}: {what} is no regular file")
        whole = b""
        if about.st_size <= most:
            # The size is not trusted: system files say that they are empty, and some have no end.
            with file.open("rb") as opened:
                whole = opened.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ScenarioError(f"cannot read {os.fspath(file)!s}: {reason}") from None
    if about.st_size > most or len(whole) > most:
        raise ScenarioError(f"cannot read {file}: more than {most // 1_000_000} MB")
    return whole
