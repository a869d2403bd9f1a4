"""Operating systems: what some of them lack that parts of the package need."""

import platform
import sys

HAS_WORKERS = sys.platform not in ("win32", "emscripten")
"""Whether runs can go side by side, in processes that signals tell to stop."""


def name() -> str:
    """The name of this system, as its users know it."""
    return {"Darwin": "macOS"}.get(found := platform.system(), found)


def no_linux(what: str) -> str | None:
    """The sentence on what needs Linux; None if this is Linux."""
    refusal = f"{what} needs Linux, and this is {name()}: run it on a machine with Linux"
    return None if sys.platform == "linux" else refusal
