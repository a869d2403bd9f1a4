"""The identity of the simulator: results are equal where it is."""

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import NamedTuple

from incast import _core


class Engine(NamedTuple):
    """A build of the simulator."""

    version: str
    platform: str
    """The system and the processor that it was built for."""
    digest: str
    """The digest of the compiled core."""

    def differs(self, other: "Engine") -> str | None:
        """The way in which another build differs, in words; None if results are equal.

        Builds for different processors have different digests, and are told apart by the version.
        """
        if self.version != other.version:
            return f"incast {other.version}, not {self.version}"
        if self.platform == other.platform and self.digest != other.digest:
            return f"another build of incast {other.version}"
        return None


@cache
def own() -> Engine:
    """The simulator of this process."""
    digest = hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()
    return Engine(_core.__version__, f"{platform.system()} {platform.machine()}", digest)
