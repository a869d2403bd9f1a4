"""Decision trees as schemes: `tree:FILE` runs the tree of a file."""

from pathlib import Path

from incast import _core
from incast._core import Algorithm, ParameterError

_PREFIX = "tree:"

_known: dict[str, tuple[str, Algorithm]] = {}
"""The texts of trees that the core knows, and their descriptions, by name."""


def is_one(scheme: str) -> bool:
    """Whether a scheme names a tree."""
    return scheme.startswith(_PREFIX) and scheme != _PREFIX


def know(name: str) -> Algorithm:
    """Reads the file of a tree, and makes it known to the core.

    Raises:
        ParameterError: The file cannot be read, or has no tree.
    """
    return _made_known(name, _read(name))


def content(name: str) -> bytes:
    """The file of a tree that is known, as it was read."""
    return _known[name][0].encode()


def receive(name: str, text: bytes) -> None:
    """Makes a tree known that came from another process."""
    _made_known(name, text.decode())


def _made_known(name: str, text: str) -> Algorithm:
    if name not in _known or _known[name][0] != text:
        _known[name] = (text, _core.know_tree(name, text))
    return _known[name][1]


def _read(name: str) -> str:
    path = Path(name.removeprefix(_PREFIX))
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(
            f"{name}: there is no file {path}; expected one that incast.learning.Tree has saved"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name}: {path} cannot be read: {error}") from None
