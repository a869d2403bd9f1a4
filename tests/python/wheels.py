"""Wheels of this checkout, as `pip install` would get them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(into: Path, project: Path = ROOT, profile: str = "release") -> Path:
    """Builds a wheel with what is compiled already, by `make setup` for one; seconds."""
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists() or not shutil.which("cargo"):
        pytest.skip("no wheel is built: maturin and cargo are not installed")
    # The interpreter of `make setup`, or the bindings would be compiled again.
    environment = os.environ | {"PYO3_PYTHON": sys.executable}
    done = subprocess.run(
        [maturin, "build", "--profile", profile, "--locked", "--out", into],
        cwd=project, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = into.glob("*.whl")
    return found
