"""Optional parts of the package, each an extra of pip: which are there, and how to get them."""

from importlib.util import find_spec
from typing import Literal

from incast._core import IncastError

Extra = Literal[
    "cluster", "compiled", "distill", "figures", "fluid", "learn", "reproduce", "tune"
]  # fmt: skip

_FIGURES = ("matplotlib", "numpy")
_LEARN = ("gymnasium", "numpy", "pettingzoo")
_MODULES: dict[Extra, tuple[str, ...]] = {
    "cluster": ("distributed",),
    "compiled": ("numba",),
    "distill": (*_LEARN, "sklearn"),
    "figures": _FIGURES,
    "fluid": ("jitcdde",),
    "learn": _LEARN,
    "reproduce": (*_FIGURES, "jinja2", "simpleeval"),
    "tune": ("optuna",),
}
_WHAT: dict[Extra, str] = {
    "cluster": "clusters", "compiled": "compiled algorithms", "distill": "trees of policies",
    "figures": "figures", "fluid": "fluid models", "learn": "environments for learning",
    "reproduce": "experiments", "tune": "tunings",
}  # fmt: skip


class MissingExtraError(IncastError, ModuleNotFoundError):
    """A part of the package that is not installed."""

    def __init__(self, extra: Extra) -> None:
        *others, last = _missing(extra) or _MODULES[extra]
        names = f"{', '.join(others)} and {last}" if others else last
        verb = "are" if others else "is"
        super().__init__(f"{_WHAT[extra]} need {names}, which {verb} not installed: {how(extra)}")


def have(extra: Extra) -> bool:
    """Whether all packages of an extra are installed; imports none of them."""
    return not _missing(extra)


def need(extra: Extra) -> None:
    """Makes sure of an extra.

    Raises:
        MissingExtraError: A package of it is not installed.
    """
    if not have(extra):
        raise MissingExtraError(extra)


def how(extra: Extra) -> str:
    """The command that installs an extra."""
    return f"pip install 'incast[{extra}]'"


def _missing(extra: Extra) -> list[str]:
    return [name for name in _MODULES[extra] if find_spec(name) is None]
