"""Files and directories that appear whole: made beside their place, then moved there.

An unfinished file or directory is called `.NAME.PID.tmp`. Its process holds a lock on it, which the
system releases when the process dies: so the next one that writes there knows what to remove.
Windows has no locks on directories: there leftovers go when they are a day old.
"""

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from incast.base import leaving

if sys.platform != "win32":
    import fcntl

# The age of leftovers that go even where locks do not work or a process has their number.
_OLD_S = 24 * 3600.0
_LEFT = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)\.(?P<kind>tmp|old)")


@contextlib.contextmanager
def directory(target: Path) -> Iterator[Path]:
    """A new directory beside the target, removed in the end unless it was moved away.

    Beside it, because only a rename within one file system is atomic. Parents are made. What dead
    processes have left there goes.

    Raises:
        OSError: It cannot be made.
    """
    real = target.resolve()  # a symbolic link stays, and its directory is replaced
    staging = real.with_name(_name(real))
    made = []
    try:
        with leaving.not_now():
            made = _make_parents(real.parent)
        clean(real.parent, real.name)
        staging.mkdir()
        with _locked(staging):
            yield staging
    except OSError:
        _remove_empty(made)
        raise
    finally:
        with leaving.not_now():
            shutil.rmtree(staging, ignore_errors=True)


@contextlib.contextmanager
def file(target: Path) -> Iterator[Path]:
    """A file beside the target, which takes its place in the end, or goes if the block fails.

    Raises:
        OSError: It cannot be written.
    """
    staging = target.with_name(_name(target))
    try:
        staging.touch()
        with _locked(staging):
            yield staging
            staging.replace(target)
    finally:
        with leaving.not_now(), contextlib.suppress(OSError):
            staging.unlink(missing_ok=True)


def check(folder: Path) -> None:
    """Finds out whether files can be written to a folder; makes it, and its parents, if missing.

    Raises:
        OSError: They cannot; nothing is left behind.
    """
    with leaving.not_now():
        made = _make_parents(folder)
        probe = folder / _name(folder)
        try:
            probe.touch()
            probe.unlink()
        except OSError:
            _remove_empty(made)
            raise


def clean(folder: Path, name: str | None = None) -> None:
    """Removes what dead processes have left of a target in a folder, or of all targets there.

    An earlier directory that a process was about to replace when it died is put back.
    """
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for left in entries:
        match = _LEFT.fullmatch(left.name)
        if match is None or name not in (None, match["name"]) or not _is_dead(left, match):
            continue
        target = folder / match["name"]
        with contextlib.suppress(OSError):
            if match["kind"] == "old" and not target.exists():
                left.rename(target)
            elif left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()


def is_left(name: str) -> bool:
    """Whether that is the name of something that is, or was, being made."""
    return _LEFT.fullmatch(name) is not None


def _name(target: Path) -> str:
    return f".{target.name}.{os.getpid()}.tmp"


def _make_parents(folder: Path) -> list[Path]:
    """Makes a folder; returns what had to be made, the outermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        _remove_empty(missing[::-1])
        raise
    return missing[::-1]


def _remove_empty(folders: list[Path]) -> None:
    for one in reversed(folders):
        with contextlib.suppress(OSError):
            one.rmdir()


def _is_dead(left: Path, match: re.Match[str]) -> bool:
    """Whether the process that made it is gone for certain."""
    if int(match["pid"]) == os.getpid():
        return False
    if sys.platform == "win32":
        return _is_old(left)
    alive = _is_alive(int(match["pid"]))
    try:
        old = _is_old(left)
        descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # its process lives, perhaps in another container
    except OSError:
        return old and not alive  # no locks on this file system
    else:
        # Process numbers are used again, and a process that has just begun has no lock yet.
        return old or not alive
    finally:
        os.close(descriptor)


def _is_old(left: Path) -> bool:
    try:
        return time.time() - left.stat().st_mtime > _OLD_S
    except OSError:  # it has gone
        return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process, or no process number
        return True
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock, where there are any: it goes with the process."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
