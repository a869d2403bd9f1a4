"""Scenarios from files of other simulators."""

from collections.abc import Sequence
from pathlib import Path

from incast import _core
from incast._core import ScenarioError


def write(
    files: Sequence[Path], formats: Sequence[str], out: Path, *, force: bool = False
) -> tuple[list[Path], list[str]]:
    """Writes the scenario that `files` make to `out`, and beside it what it reads.

    Returns what was written, and notes on what was not taken over. Nothing is overwritten unless
    `force` says so, and the files that are read never are.
    """
    texts = [(str(file), read(file)) for file in files]
    toml, beside, notes = _core.import_files(texts, formats)
    sources = {file.resolve() for file in files}
    planned = [(out, toml)]
    for name, text in beside:
        path = out.parent / name
        # The flows already lie beside the scenario.
        if path.resolve() not in sources:
            planned.append((path, text))
    for path, _ in planned:
        if path.resolve() in sources:
            raise ScenarioError(f"{path} is one of the files that are read; choose another --out")
        if path.exists() and not force:
            raise ScenarioError(f"{path} is there already; choose another --out, or take --force")
    for path, text in planned:
        _write(path, text)
    return [path for path, _ in planned], notes


def read(file: Path) -> str:
    """The text of a file that the user names.

    Raises:
        ScenarioError: It cannot be read, or is none.
    """
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"cannot read {file}: not a text in UTF-8") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot write {path}: {error.strerror}") from error
