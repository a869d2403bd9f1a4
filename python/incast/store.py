"""The directory of a result: written whole or not at all."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast._core import IncastError

if TYPE_CHECKING:
    from incast.result import Result

_RUN = "run.json"
# Files that the scenario names; the core looks for them there, too.
_INPUTS = "inputs"


class OutputError(IncastError):
    """A directory that a result cannot be written to."""


@dataclass(frozen=True)
class Kind:
    """What a directory holds, so that nothing else is ever replaced."""

    mark: str
    """The file that says so: JSON, with all names in `files`."""
    name: str


_RESULT = Kind(_RUN, "a result of incast")


@dataclass(frozen=True)
class Written:
    """Where a result is."""

    directory: Path
    scenario: Path
    run: Path
    figures: list[Path]
    tables: list[Path]

    def to_dict(self) -> dict[str, Any]:
        """The paths, ready for JSON."""
        return {
            "directory": str(self.directory),
            "scenario": str(self.scenario),
            "run": str(self.run),
            "figures": [str(path) for path in self.figures],
            "tables": [str(path) for path in self.tables],
        }


def check(directory: str | os.PathLike[str]) -> None:
    """Finds out before a long run whether its result can be written; makes missing parents.

    Raises:
        OutputError: It cannot.
    """
    target = Path(directory)
    _earlier(target, _RESULT)
    with _staging(target):
        pass


@contextlib.contextmanager
def filling(directory: Path, kind: Kind) -> Iterator[Path]:
    """A new directory, which takes the place of an earlier one of its kind unless the block fails.

    Raises:
        OutputError: The directory cannot be written or holds something else.
    """
    _earlier(directory, kind)
    with _staging(directory) as staging:
        yield staging
        _earlier(directory, kind)  # a long time may have passed
        _replace(directory.resolve(), staging)


def write(result: "Result", directory: str | os.PathLike[str], *, figures: bool = True) -> Written:
    """Writes a result to a new directory and puts that in the place of an earlier result.

    Raises:
        OutputError: The directory cannot be written or holds something else.
    """
    target = Path(directory)
    earlier = _earlier(target, _RESULT)
    if earlier is not None and earlier.get("complete") and not result.complete:
        target = target.with_name(f"{target.name}-incomplete")
        _earlier(target, _RESULT)
    with _staging(target) as staging:
        pictures, tables = _fill(staging, result, figures=figures)
        _replace(target.resolve(), staging)
    return Written(
        directory=target,
        scenario=target / "scenario.toml",
        run=target / _RUN,
        figures=[target / name for name in pictures],
        tables=[target / name for name in tables],
    )


def _fill(staging: Path, result: "Result", *, figures: bool) -> tuple[list[str], list[str]]:
    """Writes the files of a result; returns the names of the figures and of the tables."""
    from incast import plots  # noqa: PLC0415

    (staging / "scenario.toml").write_text(result.scenario.toml(), encoding="utf-8")
    inputs = result.scenario.inputs
    if inputs:
        (staging / _INPUTS).mkdir()
    for name, text in inputs.items():
        (staging / _INPUTS / name).write_bytes(text.encode())  # line ends as they are
    descriptions = result.describe_tables()
    tables = []
    for name, description in descriptions.items():
        tables.append(f"{name}.parquet")
        metadata = {"incast": json.dumps(description)}
        result.table(name).write_parquet(staging / tables[-1], metadata=metadata)
    pictures = []
    for name, figure in (result.plot() if figures else {}).items():
        for suffix in ("png", "svg"):
            pictures.append(f"{name}.{suffix}")
            plots.save(figure, staging / pictures[-1])
    summary = {
        **result.to_dict(),
        "tables": descriptions,
        "files": sorted(
            ["scenario.toml", _RUN, *([_INPUTS] if inputs else []), *pictures, *tables]
        ),
    }
    text = json.dumps(summary, indent=2, allow_nan=False)
    (staging / _RUN).write_text(text + "\n", encoding="utf-8")
    return pictures, tables


def _earlier(target: Path, kind: Kind) -> dict[str, Any] | None:
    """The mark of what would be replaced, None where nothing would be."""
    try:
        names = {path.name for path in target.iterdir()}
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise OutputError(f"{target}: is in the way: not a directory") from None
    except OSError as error:
        raise unwritable(target, error) from None
    if not names:
        return None
    try:
        run = json.loads((target / kind.mark).read_text(encoding="utf-8"))
        ours = set(run["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{target}: holds something else than {kind.name}") from None
    foreign = sorted(names - ours)
    if foreign:
        raise OutputError(f"{target}: holds {foreign[0]}, which incast did not write there")
    return dict(run)


@contextlib.contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """A new directory beside the target, removed in the end unless it was moved away.

    Beside it, because only a rename within one file system is atomic.
    """
    real = target.resolve()  # of a symbolic link, the directory is replaced and the link kept
    staging = real.with_name(f".{real.name}.{os.getpid()}.tmp")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        staging.mkdir()
        yield staging
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _replace(target: Path, staging: Path) -> None:
    """Moves the new directory to the target, and an earlier one out of its way first."""
    old = staging.with_suffix(".old")
    # Not `exists`: an empty directory may be renamed over, but a result that is there may not.
    if not target.is_dir():
        staging.rename(target)
        return
    target.rename(old)
    try:
        staging.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def unwritable(target: Path, error: OSError) -> OutputError:
    """What is said of a directory that the system refuses."""
    return OutputError(f"{target}: cannot be written: {error.strerror or error}")
