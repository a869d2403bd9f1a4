"""A writer removes what dead writers have left half written, and nothing of living ones."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import incast
from incast.base import staging
from incast.results import store

# Begins to write and never ends.
WRITER = """
import sys, time
from pathlib import Path
from incast.base import staging
with staging.{kind}(Path("out")) as place:
    if place.is_dir():
        (place / "half").touch()
    print(place.name, flush=True)
    time.sleep(600)
"""


def dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_what_the_dead_leave_goes_and_what_the_living_make_stays(tmp_path: Path, kind: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER.format(kind=kind)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert name == f".out.{process.pid}.tmp"
        staging.clean(tmp_path, "out")
        assert (tmp_path / name).exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / name).exists()
        staging.clean(tmp_path, "other")
        assert (tmp_path / name).exists()
        staging.clean(tmp_path, "out")
        assert not (tmp_path / name).exists()


def test_the_next_result_cleans_up(result: incast.Result, tmp_path: Path) -> None:
    left = tmp_path / f".out.{dead_process()}.tmp"
    left.mkdir()
    (left / "flows.parquet").touch()
    result.write(tmp_path / "out", figures=False)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_result_that_was_moved_away_by_the_dead_comes_back(
    result: incast.Result, tmp_path: Path
) -> None:
    result.write(tmp_path / "out", figures=False)
    (tmp_path / "out").rename(tmp_path / f".out.{dead_process()}.old")
    store.check(tmp_path / "out")
    assert incast.Result.read(tmp_path / "out").complete
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_number_of_a_living_process_is_given_a_day(tmp_path: Path) -> None:
    # Of the test's parent: it holds no lock, as one that has just begun, or another of that number.
    left = tmp_path / f".out.{os.getppid()}.tmp"
    left.mkdir()
    staging.clean(tmp_path)
    assert left.exists()
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(left, (long_ago, long_ago))
    staging.clean(tmp_path)
    assert not left.exists()


def test_without_locks_only_what_is_old_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(staging.fcntl, "flock", no_locks)
    left = tmp_path / f".out.{dead_process()}.tmp"
    left.mkdir()
    staging.clean(tmp_path)
    assert left.exists()
    os.utime(left, (0, 0))
    staging.clean(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize("name", ["out.1.tmp", ".out.tmp", ".out.x.tmp", "notes.tmp", ".1.tmp"])
def test_other_names_are_let_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (0, 0))
    staging.clean(tmp_path)
    assert (tmp_path / name).exists()


def test_a_folder_that_cannot_be_written_leaves_no_parents(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in ("file", "file/below", "new/" + "a" * 300):
        with pytest.raises(OSError, match=r"."):
            staging.check(tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    staging.check(tmp_path / "new" / "er")
    assert not list((tmp_path / "new" / "er").iterdir())
