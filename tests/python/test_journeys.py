"""tests/journeys: what users do, in an environment that has the built wheel and what it asks for.

The environment has no packages of the developer: its site-packages has links to the locked
dependencies that the wheel names, with the extras of docs/how-to/installing.md, and nothing else.
So it takes no network and no second, and an undeclared dependency is missing.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import wheels
from incast.base import links

ROOT = Path(__file__).parents[2]
JOURNEYS = ROOT / "tests" / "journeys"
EXTRAS = ("figures", "learn", "reproduce")
_MISSING = 77
_CPU_S = 120.0


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A fresh environment with the wheel, and that of incast-kernel where it is built."""
    folder = tmp_path_factory.mktemp("journeys")
    fresh = folder / "fresh"
    tools = Path(sys.executable).parent
    subprocess.run(
        [tools / "uv", "venv", "--quiet", "--offline", "--python", sys.executable, fresh],
        check=True,
    )
    found = [wheel]
    built = ROOT / "crates" / "real" / "kernel" / "target" / "release" / "incast-kernel"
    if built.exists() and shutil.which("clang"):
        found.append(wheels.build(folder / "kernel", ROOT / "packaging" / "kernel"))
    install = [tools / "uv", "pip", "install", "--quiet", "--offline", "--no-index", "--no-deps"]
    subprocess.run([*install, "--python", fresh, *found], check=True)
    (site,) = (fresh / "lib").glob("python*/site-packages")
    (installed,) = metadata.distributions(name="incast", path=[str(site)])
    for name in _needed(installed):
        _link(metadata.distribution(name), site)
    return fresh


def test_the_wheel_has_the_page_and_serves_it(environment: Path, tmp_path: Path) -> None:
    """As `make wheels` builds it, where `make page` has made the page."""
    if not links.PAGE.is_file():
        pytest.skip("the wheel has no page: it is not built (make page)")
    command = [environment / "bin" / "incast", "ui", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as served:
        assert served.stdout is not None
        address = served.stdout.readline().split()[0]
        with urllib.request.urlopen(address) as answer:  # noqa: S310
            assert answer.read() == links.PAGE.read_bytes()
        served.send_signal(signal.SIGINT)
        assert served.wait(10) == 0


def _needed(installed: metadata.Distribution) -> set[str]:
    """The distributions that it takes, and those that these take."""
    found: set[str] = set()
    waiting = [(installed, extra) for extra in ("", *EXTRAS)]
    while waiting:
        distribution, extra = waiting.pop()
        for text in distribution.requires or ():
            one = Requirement(text)
            if one.marker is not None and not one.marker.evaluate({"extra": extra}):
                continue
            name = re.sub(r"[-_.]+", "-", one.name).lower()
            if name != "incast" and name not in found:
                found.add(name)
                needed = metadata.distribution(name)
                waiting += [(needed, also) for also in ("", *one.extras)]
    return found


def _link(distribution: metadata.Distribution, site: Path) -> None:
    """Links what a distribution has in site-packages."""
    for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        target = Path(str(distribution.locate_file(top)))
        if target.exists() and not (site / top).exists():
            (site / top).symlink_to(target)


@pytest.fixture
def cpu() -> Iterator[None]:
    """Holds what a journey takes of a processor to its limit."""
    before = _children_s()
    yield
    assert _children_s() - before < _CPU_S


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _system_path() -> str:
    """The path without the developer's environment."""
    own = Path(sys.prefix).resolve()
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(
        part for part in parts if part and own not in Path(part).resolve().parents
    )


def test_the_environment_has_nothing_of_the_developers(environment: Path) -> None:
    code = "import incast, sys; print(incast.__file__); import pytest"
    done = subprocess.run(
        [environment / "bin" / "python", "-c", code],
        capture_output=True, text=True, check=False, cwd=environment, env={"PATH": os.defpath},
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(environment)
    assert "No module named 'pytest'" in done.stderr


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize(
    "journey", sorted(path.stem for path in JOURNEYS.glob("*.py") if path.stem != "steps")
)
def test_journey(environment: Path, tmp_path: Path, journey: str) -> None:
    path = f"{environment / 'bin'}{os.pathsep}{_system_path()}"
    done = subprocess.run(
        [environment / "bin" / "python", JOURNEYS / f"{journey}.py"],
        cwd=tmp_path, env={"PATH": path, "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    if done.returncode == _MISSING:
        pytest.skip(f"{journey}: the rest was done; {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr
