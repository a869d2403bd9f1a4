"""Modules that import Polars, NumPy, matplotlib or Rich, each imported where it is first used.

They take up to a second, which versions, help, lists and completion need not wait for. A command
says `late.store.check(...)`, and type checkers see the module itself. Ctrl-C during an import ends
the process: a command names what it needs before it begins what it would have to clean up.
"""

import importlib

from incast.base import leaving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from incast.api import imports, result, running, saturation
    from incast.cli import lab, observing
    from incast.figures import canvas, gallery, look
    from incast.reproduce import driver, say
    from incast.results import described, differences, store
    from incast.terminal import catalogue, progress, report, writing

_HOMES = {
    "canvas": "figures.canvas",
    "catalogue": "terminal.catalogue",
    "described": "results.described",
    "differences": "results.differences",
    "driver": "reproduce.driver",
    "gallery": "figures.gallery",
    "imports": "api.imports",
    "lab": "cli.lab",
    "look": "figures.look",
    "observing": "cli.observing",
    "progress": "terminal.progress",
    "report": "terminal.report",
    "result": "api.result",
    "running": "api.running",
    "saturation": "api.saturation",
    "say": "reproduce.say",
    "store": "results.store",
    "writing": "terminal.writing",
}

__all__ = [
    "canvas",
    "catalogue",
    "described",
    "differences",
    "driver",
    "gallery",
    "imports",
    "lab",
    "look",
    "observing",
    "progress",
    "report",
    "result",
    "running",
    "saturation",
    "say",
    "store",
    "writing",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with leaving.at_once():
        return importlib.import_module(f"incast.{_HOMES[name]}")
