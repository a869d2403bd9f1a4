"""The directory of a result: written whole or not at all, then its figures."""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast import _core
from incast._core import IncastError
from incast.base import inputs, staging
from incast.results.record import Record

RUN = "run.json"
# The folder of files that the scenario names; the core looks for them there.
_INPUTS = "inputs"


class OutputError(IncastError):
    """A directory that a result cannot be written to."""


class OutputWarning(UserWarning):
    """A result that took the place of another one, of other schemes, another seed or scenario."""


@dataclass(frozen=True)
class DirectoryKind:
    """The kind of a directory's content, so that nothing else is ever replaced."""

    mark: str
    """The file that says so: JSON, with all names in `files`."""
    name: str


_RESULT = DirectoryKind(RUN, "a result of incast")


@dataclass(frozen=True)
class Written:
    """The paths of a result that was written."""

    directory: Path
    scenario: Path
    run: Path
    figures: list[Path]
    tables: list[Path]
    replaced: str | None = None
    """The earlier result in words, if it was another one."""

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
    with staged(target):
        pass


def replaces(
    directory: str | os.PathLike[str],
    scenario: str,
    schemes: Sequence[str],
    seed: int,
    named: Mapping[str, str] | None = None,
) -> str | None:
    """The earlier result that a complete one would take the place of, in words.

    None where there is none, or where it is of the same scenario text, schemes, seed and version:
    nothing is lost then.

    Raises:
        OutputError: The directory holds something else.
    """
    target = Path(directory)
    earlier = _earlier(target, _RESULT)
    if earlier is None:
        return None
    same = (
        earlier.get("schemes") == list(schemes)
        and earlier.get("named", {}) == dict(named or {})
        and earlier.get("seed") == seed
        and earlier.get("incast") == _core.__version__
    )
    try:
        then = time.localtime((target / RUN).stat().st_mtime)
        if same and inputs.text(target / "scenario.toml", inputs.SCENARIO_BYTES) == scenario:
            return None
    except (OSError, IncastError):
        return "an earlier result"
    of = ", ".join(map(str, earlier.get("schemes") or ["no scheme"]))
    when = time.strftime("%Y-%m-%d %H:%M", then)
    return f"the result of {of} (seed {earlier.get('seed')}, written {when})"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Finds out whether files can be written to a folder; makes it if it is missing.

    Raises:
        OutputError: They cannot.
    """
    try:
        staging.check(Path(folder))
    except OSError as error:
        raise unwritable(Path(folder), error) from None


@contextlib.contextmanager
def filling(directory: Path, kind: DirectoryKind) -> Iterator[Path]:
    """A new directory, which takes the place of an earlier one of its kind unless the block fails.

    Raises:
        OutputError: The directory cannot be written or holds something else.
    """
    _earlier(directory, kind)
    with staged(directory) as place:
        yield place
        _earlier(directory, kind)  # again: a long time may have passed
        _replace(directory.resolve(), place)


def write(result: Record, directory: str | os.PathLike[str]) -> Written:
    """Writes a result to a new directory and puts that in the place of an earlier result.

    Figures come later, when all else is there: whoever stops them has a result without.

    Raises:
        OutputError: The directory cannot be written or holds something else.
    """
    target = Path(directory)
    earlier = _earlier(target, _RESULT)
    if earlier is not None and earlier.get("complete") and not result.complete:
        target = target.with_name(f"{target.name}-incomplete")
    replaced = replaces(target, result.scenario.toml(), result.schemes, result.seed, result.named)
    with staged(target) as place:
        tables = _fill(place, result)
        _replace(target.resolve(), place)
    return Written(
        directory=target,
        scenario=target / "scenario.toml",
        run=target / RUN,
        figures=[],
        tables=[target / name for name in tables],
        replaced=replaced,
    )


def _fill(place: Path, result: Record) -> list[str]:
    """Writes the files of a result but for its figures; returns the names of the tables."""
    (place / "scenario.toml").write_text(result.scenario.toml(), encoding="utf-8")
    if result.scenario.inputs:
        (place / _INPUTS).mkdir()
    for name, text in result.scenario.inputs.items():
        (place / _INPUTS / name).write_bytes(text.encode())  # line ends as they are
    tables = []
    for name, description in result.describe_tables().items():
        tables.append(f"{name}.parquet")
        metadata = {"incast": json.dumps(description)}
        result.table(name).write_parquet(place / tables[-1], metadata=metadata)
    (place / RUN).write_text(describe(result, tables), encoding="utf-8")
    return tables


def describe(result: Record, files: list[str]) -> str:
    """The text of `run.json`, for a directory with these files."""
    inputs_there = [_INPUTS] if result.scenario.inputs else []
    summary = {
        **result.to_dict(),
        "tables": result.describe_tables(),
        "files": sorted(["scenario.toml", RUN, *inputs_there, *files]),
    }
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


def _earlier(target: Path, kind: DirectoryKind) -> dict[str, Any] | None:
    """The mark of what would be replaced, None where nothing would be."""
    # A process that died while it replaced a result has left that beside its place.
    staging.clean(target.resolve().parent, target.resolve().name)
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
        run = json.loads(inputs.text(target / kind.mark, inputs.MARK_BYTES))
        ours = set(run["files"])
    except (IncastError, ValueError, KeyError, TypeError, RecursionError):
        raise OutputError(f"{target}: holds something else than {kind.name}") from None
    foreign = sorted(names - ours)
    if foreign:
        raise OutputError(f"{target}: holds {foreign[0]}, which incast did not write there")
    return dict(run)


@contextlib.contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A new directory beside the target, for as long as the block runs.

    Raises:
        OutputError: It cannot be made.
    """
    try:
        with staging.directory(target) as place:
            yield place
    except OSError as error:
        raise unwritable(target, error) from error


def _replace(target: Path, place: Path) -> None:
    """Moves the new directory to the target, and an earlier one out of its way first."""
    old = place.with_suffix(".old")
    # A rename replaces an empty directory, but not an earlier result.
    if not target.is_dir():
        place.rename(target)
        return
    target.rename(old)
    try:
        place.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def unwritable(target: Path, error: OSError) -> OutputError:
    """The error for a directory that the system refuses."""
    return OutputError(f"{target}: cannot be written: {error.strerror or error}")
