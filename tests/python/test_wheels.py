"""The wheel of `incast-kernel`, installed into an environment that has nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wheels
from incast import _core

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "packaging" / "kernel"
BUILT = ROOT / "crates" / "real" / "kernel" / "target"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program on the path of a fresh environment, from the newest build that there is."""
    built = [
        path for name in ("debug", "release") if (path := BUILT / name / "incast-kernel").exists()
    ]
    if not built or not shutil.which("clang"):
        pytest.skip("no wheel of incast-kernel: it is not built here (make kernel)")
    newest = max(built, key=lambda path: path.stat().st_mtime).parent.name
    folder = tmp_path_factory.mktemp("kernel")
    wheel = wheels.build(folder, PROJECT, {"debug": "dev"}.get(newest, newest))
    uv = Path(sys.executable).with_name("uv")
    fresh = folder / "fresh"
    subprocess.run(
        [uv, "venv", "--quiet", "--offline", "--python", sys.executable, fresh], check=True
    )
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--offline", "--no-index", "--python", fresh, wheel],
        check=True,
    )
    return fresh / "bin" / "incast-kernel"


def said(*command: str | Path) -> str:
    # Nothing of this environment: no interpreter, no clang.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(Path(command[0]).parent)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_has_the_version_that_incast_asks_for(program: Path) -> None:
    assert said(program, "--version").split()[-1] == _core.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'kernel = ["incast-kernel=={_core.__version__}"]' in project


def test_it_lists_its_algorithms(program: Path) -> None:
    found = json.loads(said(program, "algorithms", "--json"))
    assert {one["name"] for one in found} == {"dctcp", "rtcp", "timely"}


def test_it_carries_its_objects(program: Path, tmp_path: Path) -> None:
    for name in ("dctcp", "rtcp", "timely"):
        said(program, "object", name, "--out", str(tmp_path))
    objects = sorted(tmp_path.glob("*.o"))
    assert {path.name.partition("-")[0].partition(".")[0] for path in objects} == {
        "dctcp", "rtcp", "timely",
    }  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x7fELF") for path in objects)
