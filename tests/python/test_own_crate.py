"""An algorithm in a crate of its own: the template builds to a package that incast finds."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

import dask_cluster

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "examples/own-algorithm"
SHORT = ("--set", "run.duration=6ms", "--set", "run.warmup=1ms")

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package, as pip would unpack it."""
    return built(CRATE, tmp_path_factory.mktemp("own-crate"))


def built(crate: Path, out: Path) -> Path:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "maturin", "build", "--offline", "--locked"),
            *("--profile", "dev", "--out", str(out), "--interpreter", sys.executable),
        ],
        check=False, cwd=crate, capture_output=True, text=True,
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(out / "site")
    return out / "site"


def command(site: Path, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "incast", *arguments],
        check=False, cwd=directory, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(site)},
    )  # fmt: skip


def test_the_command_lists_and_prints_it(installed: Path, tmp_path: Path) -> None:
    done = command(installed, tmp_path, "algorithms")
    assert done.returncode == 0, done.stderr
    assert "delay-target" in done.stdout
    done = command(installed, tmp_path, "algorithms", "delay-target")
    assert done.returncode == 0, done.stderr
    assert "The rate rises below a target RTT, and falls above it" in done.stdout
    assert "target=60us  (time, 1us to 1s)" in done.stdout


def test_it_runs_with_parameters_in_several_processes_and_in_sweeps(
    installed: Path, tmp_path: Path
) -> None:
    frames = []
    for jobs in ("1", "2"):
        done = command(
            installed, tmp_path, "run", "incast", *SHORT, "--cc", "delay-target",
            "--cc", "delay-target[target=200us]", "--seed", "1", "--seed", "2",
            "--jobs", jobs, "--out", jobs, "--trace", "flows",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        frames.append(
            [pl.read_parquet(path) for path in sorted((tmp_path / jobs).rglob("flows.parquet"))]
        )
    assert frames[0]
    assert all(one.equals(two) for one, two in zip(*frames, strict=True))
    sweep = ("sweep", "incast", *SHORT, "--vary", "transport.mtu=1000B,1500B",
             "--cc", "delay-target", "--out", "s", "--quiet")  # fmt: skip
    assert command(installed, tmp_path, *sweep).returncode == 0
    before = {path.name for path in (tmp_path / "s").rglob("*") if path.is_file()}
    assert command(installed, tmp_path, *sweep).returncode == 0
    assert {path.name for path in (tmp_path / "s").rglob("*") if path.is_file()} == before


def test_a_sweep_makes_the_runs_of_a_changed_package_again_and_no_others(
    installed: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    sweep = ("sweep", "incast", *SHORT, "--vary", "transport.mtu=1000B,1500B", "--cc",
             "delay-target", "--cc", "timely", "--out", "s", "--quiet")  # fmt: skip

    def made() -> set[str]:
        done = command(site, tmp_path, *sweep)
        assert done.returncode == 0, done.stderr
        return {path.name for path in (tmp_path / "s" / "runs").iterdir()}

    first = made()
    assert len(first) == 4
    data = (tmp_path / "s" / "runs.parquet").read_bytes()
    (library,) = site.rglob("*.so")
    with library.open("ab") as file:
        file.write(b"another build")
    second = made()
    changed = {json.loads((tmp_path / "s" / "runs" / name).read_text())["scheme"]
               for name in second - first}  # fmt: skip
    assert (first <= second, len(second), changed) == (True, 6, {"delay-target"})
    # The same algorithm gives the same results, under the digest of another build.
    assert data != (tmp_path / "s" / "runs.parquet").read_bytes()


def test_a_worker_with_another_build_of_the_package_is_refused(
    installed: Path, tmp_path: Path
) -> None:
    worker = tmp_path / "site"
    shutil.copytree(installed, worker)
    (library,) = worker.rglob("*.so")
    with library.open("ab") as file:
        file.write(b"another build")
    line = ("sweep", "incast", *SHORT, "--cc", "delay-target", "--quiet")
    with dask_cluster.cluster(tmp_path / "dask", workers=0) as found:
        with_it = {"PYTHONPATH": str(worker)}
        found.add(environment=with_it)
        there = ("--scheduler", found.address)
        done = command(installed, tmp_path, *line, *there, "--out", "other")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == (
            "error: delay-target: a worker has another build of its package: install the same on "
            "the workers as here"
        )
        assert "Traceback" not in done.stderr
        done = command(worker, tmp_path, *line, *there, "--out", "same")
        assert done.returncode == 0, done.stderr
    with dask_cluster.cluster(tmp_path / "none", workers=1) as found:
        done = command(installed, tmp_path, *line, "--scheduler", found.address, "--out", "no")
        assert done.returncode == 2
        assert "a worker has no package with this algorithm" in done.stderr.splitlines()[-1]


PANIC = """        assert!(ack.now < incast_cc::Time::from_ps(3_000_000_000), "the trap");
"""


def test_a_panic_in_an_algorithm_names_flow_and_time(tmp_path: Path) -> None:
    """One in a crate that is built with it, here in `on_ack` from 3 ms on."""
    crate = tmp_path / "crate"
    shutil.copytree(CRATE, crate)
    # Of another version, or Cargo would take one of the two for the other.
    mine, other = (f'name = "own-algorithm"\nversion = "0.1.{place}"' for place in (0, 1))
    begin = "    fn on_ack(&mut self, ack: &Ack<'_>) {\n"
    for path, old, new in (
        ("Cargo.toml", "../../crates", str(ROOT / "crates")),
        ("Cargo.toml", mine, other),
        ("Cargo.lock", mine, other),
        ("src/lib.rs", begin, begin + PANIC),
    ):
        text = (crate / path).read_text()
        assert old in text, path
        (crate / path).write_text(text.replace(old, new))
    site = built(crate, tmp_path / "out")
    done = command(site, tmp_path, "run", "incast", *SHORT, "--cc", "delay-target", "--out", "o")
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    place = r"flow \d+ at 3\d{3}\.\d{3} us, in on_ack\(\)"
    assert re.search(f"{place}: ValueError: it failed: an exception or a panic", last), last
    assert "the trap" in done.stderr, "Rust's own words stand above"


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("delay-target[target=0us]", "expected 1us to 1s"),
        ("delay-target[beta=much]", "is not a number"),
        ("delay-target[goal=1us]", 'unknown parameter "goal"'),
        ("broken-target", "broken_target:table of broken-target cannot be loaded: ImportError: no"),
        ("text-target", "returned 'nothing'; expected the address of a table, an int"),
        ("other-target", "the algorithm is called delay-target; name its entry point so"),
        ("old-target", "built with another version of incast-native: its interface is 99 of 0 B"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    installed: Path, tmp_path: Path, scheme: str, message: str
) -> None:
    for name, text in {
        "broken": "raise ImportError('no')",
        "text": "def table(): return 'nothing'",
        "other": "from own_algorithm import table",
        "old": "import ctypes\nmade = (ctypes.c_uint64 * 64)(99)\n"
        "def table(): return ctypes.addressof(made)",
    }.items():
        (tmp_path / f"{name}_target.py").write_text(text)
        about = tmp_path / f"{name}_target-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-target\nVersion: 1\n")
        (about / "entry_points.txt").write_text(
            f"[incast.algorithms]\n{name}-target = {name}_target:table\n"
        )
    done = command(
        Path(f"{installed}{os.pathsep}{tmp_path}"), tmp_path, "run", "incast", *SHORT,
        "--cc", scheme, "--out", "o",
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "o").exists()
