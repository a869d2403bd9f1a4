"""Algorithms of installed packages, which name them as entry points of `incast.algorithms`."""

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from incast._core import Algorithm, AlgorithmError, ParameterError, know_table
from incast.base.lazy import lazy

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = lazy("importlib.metadata")

GROUP = "incast.algorithms"


@cache
def _points() -> "dict[str, metadata.EntryPoint]":
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def names() -> list[str]:
    """The names of the algorithms; imports none of them."""
    return sorted(_points())


def know(name: str) -> Algorithm:
    """Makes an algorithm known to the core; returns its description.

    Its entry point is a function, which returns the address of the table that
    `incast_native::export_algorithm!` makes.

    Raises:
        AlgorithmError: The module raised an exception, which is the cause.
        ParameterError: It was built for another version, or has another name than its entry point.
    """
    point = _points()[name]
    place = f"{name}: {point.value} of {point.dist.name if point.dist else GROUP}"
    try:
        address = point.load()()
    except Exception as error:
        raise AlgorithmError(
            f"{place} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(address, int):
        raise ParameterError(
            f"{place} returned {address!r}; expected the address of a table, an int"
        )
    try:
        algorithm = know_table(address)
    except ParameterError as error:
        raise ParameterError(f"{place}: {error}") from None
    if algorithm.name != name:
        raise ParameterError(
            f"{place}: the algorithm is called {algorithm.name}; name its entry point so"
        )
    return algorithm


def digest_of(name: str) -> str:
    """A digest of the files of the modules that an algorithm is in."""
    package = _points()[name].module.partition(".")[0]
    digest = hashlib.sha256()
    for module in sorted(sys.modules):
        if module.partition(".")[0] == package:
            file = getattr(sys.modules[module], "__file__", None)
            if file is not None:
                digest.update(Path(file).read_bytes())
    return digest.hexdigest()
