"""Imports of large modules: quicker in the command, where nobody reads their documentation."""

import contextlib
import gc
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

# The rooms that draw.
_WITH_MATPLOTLIB = ("incast.figures.", "incast.reproduce.")

_in_command = False


def begin() -> None:
    """Says that this process is the command."""
    global _in_command  # noqa: PLW0603 - the process is
    _in_command = True


def module(name: str) -> ModuleType:
    """The module of that name, imported if it was not."""
    if not _in_command or name in sys.modules:
        return import_module(name)
    with _without_search():
        if not name.startswith(_WITH_MATPLOTLIB):
            return import_module(name)
        with _without_lists():
            return import_module(name)


@contextlib.contextmanager
def _without_search() -> Iterator[None]:
    """Imports without the search for garbage: modules stay, and no later search goes over them."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if searched:
            gc.enable()


@contextlib.contextmanager
def _without_lists() -> Iterator[None]:
    """Imports of matplotlib without the lists of properties that its docstrings have.

    To make them takes a third of its import.
    """
    artist: Any = import_module("matplotlib.artist")
    lists = artist.kwdoc
    artist.kwdoc = lambda _artist: ""
    try:
        yield
    finally:
        artist.kwdoc = lists
