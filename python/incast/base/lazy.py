"""Modules that are imported when a name of theirs is first used.

matplotlib, Numba and Dask take half a second each, and are optional. A module that needs one only
now and then has at its head

    if TYPE_CHECKING:
        from incast.figures import canvas
    else:
        canvas = lazy("incast.figures.canvas", "figures")

No import stands inside a function (`tests/python/test_rooms.py`).
"""

from types import ModuleType
from typing import Any

from incast.base import extras, loading


class _Lazy(ModuleType):
    """Stands for a module, and asks it for every name."""

    def __init__(self, name: str, extra: extras.Extra | None) -> None:
        super().__init__(name)
        self._extra = extra

    def __getattr__(self, name: str) -> object:
        if self._extra:
            extras.need(self._extra)
        return getattr(loading.module(self.__name__), name)


def lazy(name: str, extra: extras.Extra | None = None) -> Any:  # noqa: ANN401 - see the module
    """The module of that name, which is imported when a name of it is used.

    That raises `MissingExtraError` where a package of the extra is not installed.
    """
    return _Lazy(name, extra)
