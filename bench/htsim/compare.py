"""Runs two networks of the benchmark in htsim and here, in turn, and prints the ratio of each."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from peers import heading, ns_per_hop, row, run, run_ours  # noqa: E402

SOURCE = "https://github.com/Broadcom/csg-htsim"
COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"

# A network, our scenario of it, and for how many us both run: some seconds in either.
PAIRS = (("star", "star", 2_000_000), ("fat-tree", "fat-tree-128", 2_000))
# htsim acknowledges each packet, at once.
SAME = ("transport.stream.delayed_ack=1", "transport.ack_jitter=0us")


def main() -> None:
    """Builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--htsim", required=True, help="a checkout of csg-htsim")
    parser.add_argument("--into", type=Path, required=True, help="folder for what is built")
    parser.add_argument("--pairs", type=int, default=5, help="how often each runs, in turn")
    parser.add_argument(
        "--percent", type=int, default=100, help="how much of the simulated time; 1 to try it out"
    )
    parser.add_argument(
        "--debug", action="store_true", help="ours in a build without optimisation, as tests have"
    )
    arguments = parser.parse_args()
    peer = build(checkout(arguments.htsim), arguments.into.resolve())
    heading()
    for name, scenario, whole in PAIRS:
        microseconds = whole * arguments.percent // 100
        ratios = []
        for pair in range(arguments.pairs):
            theirs = run([peer, name, str(microseconds)])
            ours = run_ours(scenario, microseconds, *SAME, debug=arguments.debug)
            ratios.append(ns_per_hop(theirs) / ns_per_hop(ours))
            if pair == 0:
                row(name, "htsim", theirs)
                row(name, "incast", ours)
        print(
            f"{name:12} a packet-hop takes {statistics.median(ratios):.2f} times as long in htsim "
            f"({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} pairs)"
        )


def fail(why: str) -> NoReturn:
    """Ends the command with a sentence and exit code 2."""
    print(why, file=sys.stderr)
    sys.exit(2)


def checkout(given: str) -> Path:
    """The library's sources in the user's checkout."""
    sources = Path(given).expanduser() / "sim"
    if not given or not (sources / "eventlist.h").is_file():
        which = f"{given} is no checkout of htsim" if given else "htsim is not part of this project"
        fail(
            f"{which}; get it by `git clone {SOURCE}` and `git -C csg-htsim checkout {COMMIT[:7]}`,"
            " and name its folder: make bench-htsim HTSIM=csg-htsim"
        )
    return sources


def build(sources: Path, into: Path) -> str:
    """Our driver, linked with the library, which is compiled by its own Makefile in a copy."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        fail("a C++ compiler is missing; install one (Debian, Ubuntu: apt install g++)")
    copy, program = into / "sim", into / "peer"
    copy.mkdir(parents=True, exist_ok=True)
    for one in sorted([*sources.glob("*.h"), *sources.glob("*.cpp"), sources / "Makefile"]):
        shutil.copy2(one, copy / one.name)
    library = ["/usr/bin/env", "make", "-C", str(copy), "libhtsim.a"]
    made = subprocess.run(library, check=False, capture_output=True, text=True)
    if made.returncode:
        fail(f"htsim cannot be compiled:\n{made.stderr[-2000:]}")
    flags = ["-std=c++17", "-O3", "-isystem", str(copy)]
    sources_and_library = [str(FOLDER / "peer.cpp"), str(copy / "libhtsim.a")]
    subprocess.run([compiler, *flags, *sources_and_library, "-o", str(program)], check=True)
    return str(program)


if __name__ == "__main__":
    main()
