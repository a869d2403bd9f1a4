"""The targets of the Makefile that no other test needs work, each in a short form."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging/site"))

import reproduction  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (shutil.which("cargo") and shutil.which("make") and (ROOT / ".venv/bin/incast").exists()),
    reason="make, cargo or the environment of `make setup` is missing",
)


def make(*arguments: str, path: str | None = None) -> "subprocess.CompletedProcess[str]":
    # Nothing is left of the make that runs the tests.
    return subprocess.run(
        ["/usr/bin/env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", *arguments, "SHORT=1"],
        check=False, cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PATH": path or os.environ["PATH"]},
    )  # fmt: skip


def with_cargo(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """`make miri` with another cargo: Miri itself takes two minutes and nightly Rust."""
    cargo = folder / "cargo"
    cargo.write_text(f"#!/bin/sh\n{script}\n")
    cargo.chmod(0o755)
    return make("miri", path=f"{folder}:{os.environ['PATH']}")


def test_miri_says_how_it_is_added_and_runs_tests_that_are_there(tmp_path: Path) -> None:
    lacks = with_cargo("exit 101", tmp_path)
    assert lacks.returncode == 2
    said = "Miri is not installed: rustup toolchain install nightly --component miri"
    assert lacks.stderr.startswith(said)
    done = with_cargo('echo "ran $MIRIFLAGS $*"', tmp_path)
    assert done.returncode == 0, done.stderr
    ran = r"^ran -Zmiri-disable-isolation \+nightly miri test .* --(lib|test it) -- (.*)$"
    runs = re.findall(ran, done.stdout, re.MULTILINE)
    assert [kind for kind, _ in runs] == ["lib", "test it"]
    for (_, filters), sources in zip(runs, ("src", "tests/it"), strict=True):
        for one in re.findall(r"(\w+)::", filters):
            found = [*(ROOT / "crates/real/udp" / sources).rglob(f"{one}.rs")]
            found += (ROOT / "crates/real/udp" / sources).glob(f"**/{one}/*.rs")
            assert any("#[test]" in path.read_text() for path in found), one


def test_search_draws_the_cells_of_a_seed_and_judges_them() -> None:
    done = make("search", "SEED=7", "MINUTES=0.02")
    said = re.search(r"^(\d+) cells in \d+ s: (\d+) starve without", done.stdout, re.MULTILINE)
    assert said, done.stdout + done.stderr
    assert int(said[1]) > 0
    assert (done.returncode == 0) == (said[2] == "0")
    one, again, other = (make("search", "SEED=7", f"CELL={number}").stdout for number in (2, 2, 3))
    assert "[[traffic]]" in one
    assert one == again != other.replace("--cell 3", "--cell 2")


def test_bench_prints_the_speed_of_whole_runs_and_runs_the_parts() -> None:
    done = make("bench")
    assert done.returncode == 0, done.stderr
    row = re.search(r"^star +dctcp +(\d+) ", done.stdout, re.MULTILINE)
    assert row, done.stdout
    # Ten senders at 10 Gb/s for a millisecond and more, over two links.
    assert int(row[1]) > 3_000
    for parts in ("algorithms", "parts", "security"):
        assert re.search(rf"^{parts}$", done.stdout, re.MULTILINE), done.stdout


def test_reproduction_renews_the_page_and_the_readme() -> None:
    done = make("reproduction")
    assert done.returncode == 0, done.stderr
    pages = ROOT / "target" / "reproduction-short" / "pages"
    page = (pages / "docs" / "reference" / "reproduction.md").read_text(encoding="utf-8")
    readme = (pages / "README.md").read_text(encoding="utf-8")
    assert "`timely/rtt-queue`" in page
    assert reproduction.front(page) in readme
    # Beside the tables it is the README that there is.
    own = (ROOT / "README.md").read_text(encoding="utf-8")
    assert own.partition("<!-- by make")[0] == readme.partition("<!-- by make")[0]
    assert own.partition("<!-- end")[2] == readme.partition("<!-- end")[2]


def test_the_readme_has_the_tables_of_the_reproduction() -> None:
    page = (ROOT / "docs" / "reference" / "reproduction.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert reproduction.renewed(readme, page) == readme


def test_every_claim_that_falls_short_has_its_cause() -> None:
    page = (ROOT / "docs" / "reference" / "reproduction.md").read_text(encoding="utf-8")
    # Other set-ups stand below the claim that they are of, which has the cause.
    short = [line for line in page.splitlines() if "| ✗ falls short" in line and "| — " not in line]
    assert short
    without = [line for line in short if not re.search(r"(seeds|chance)\)\. .+ \|$", line)]
    assert without == []


def test_bench_ns3_compares_both_networks() -> None:
    done = make("bench-ns3")
    for lacks in ("the wheel of ns-3", "a C++ compiler is missing"):
        if done.returncode and lacks in done.stderr:
            line = next(one for one in done.stderr.splitlines() if lacks in one)
            pytest.skip(f"ns-3 is not run: {line}")
    assert done.returncode == 0, done.stderr
    for network in ("star", "leaf-spine"):
        theirs, ours = (
            re.search(rf"^{network} +{of} +([\d,]+) .* ([\d.]+)$", done.stdout, re.MULTILINE)
            for of in ("ns-3", "incast")
        )
        assert theirs, done.stdout
        assert ours, done.stdout
        hops = [int(one[1].replace(",", "")) for one in (theirs, ours)]
        assert 0.8 < hops[1] / hops[0] < 1.4, done.stdout


def test_bench_htsim_says_where_htsim_is_had() -> None:
    done = make("bench-htsim")
    assert done.returncode == 2
    assert "git clone https://github.com/Broadcom/csg-htsim" in done.stderr
    assert "nowhere is no checkout of htsim" in make("bench-htsim", "HTSIM=nowhere").stderr


def test_bench_htsim_compares_both_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another program in place of htsim's, unless HTSIM names a checkout."""
    there = os.environ.get("HTSIM")
    if there is None:
        there = str(tmp_path)
        (tmp_path / "sim").mkdir()
        (tmp_path / "sim" / "eventlist.h").touch()
        (tmp_path / "sim" / "Makefile").write_text("libhtsim.a:\n\ttouch $@\n")
        peer, compiler = tmp_path / "peer", tmp_path / "compiler"
        said = '{"packet_hops": 70000, "user_s": 0.01, "goodput_gbps": 9.7}'
        peer.write_text(f"#!/bin/sh\necho what the library says\necho '{said}'\n")
        compiler.write_text(f"#!/bin/sh\nfor program; do :; done\ncp {peer} $program\n")
        for one in (peer, compiler):
            one.chmod(0o755)
        monkeypatch.setenv("CXX", str(compiler))
    done = make("bench-htsim", f"HTSIM={there}")
    assert done.returncode == 0, done.stderr
    for network in ("star", "fat-tree"):
        hops = re.search(rf"^{network} +incast +([\d,]+) ", done.stdout, re.MULTILINE)
        assert hops, done.stdout
        assert int(hops[1].replace(",", "")) > 10_000
        said = re.search(
            rf"^{network} +a packet-hop takes ([\d.]+) times", done.stdout, re.MULTILINE
        )
        assert said, done.stdout
        assert float(said[1]) > 0
