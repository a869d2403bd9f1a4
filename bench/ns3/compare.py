# SPDX-License-Identifier: GPL-2.0-only
"""Runs the TCP networks of the benchmark in ns-3 and here, and prints the ratio of each pair."""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from peers import heading, ns_per_hop, row, run, run_ours  # noqa: E402

VERSION = "3.44"
# Measured with ns-3 built from source with -O3, on the same kind of runs.
WHEEL_IS_SLOWER = 1.7

# A network, our scenario of it, and for how many ms both run: half a minute in ns-3.
PAIRS = (("star", "star", 1_000), ("leaf-spine", "leaf-spine-tcp", 10))


def main() -> None:
    """Installs, builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder for what is built")
    parser.add_argument(
        "--percent", type=int, default=100, help="how much of the simulated time; 1 to try it out"
    )
    parser.add_argument(
        "--debug", action="store_true", help="ours in a build without optimisation, as tests have"
    )
    arguments = parser.parse_args()
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        here = f"{platform.system()} on {platform.machine()}"
        sys.exit(f"the wheel of ns-3 is for Linux on x86_64, not for {here}; run it there")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        sys.exit("a C++ compiler is missing; install one (Debian, Ubuntu: apt install g++)")
    into = arguments.into.resolve()
    peer = build(compiler, install(into), into, "peer")
    heading()
    for name, scenario, milliseconds in PAIRS:
        microseconds = milliseconds * 10 * arguments.percent
        theirs = run([peer, name, str(microseconds / 1_000)])
        ours = run_ours(scenario, microseconds, debug=arguments.debug)
        row(name, "ns-3", theirs)
        row(name, "incast", ours)
        ratio = ns_per_hop(theirs) / ns_per_hop(ours)
        print(
            f"{name:12} a packet-hop takes {ratio:.1f} times as long in ns-3; "
            f"about {ratio / WHEEL_IS_SLOWER:.1f} times if it were built with -O3"
        )
    print(
        f"\nThis ns-3 is the wheel of {VERSION}, about {WHEEL_IS_SLOWER} times slower than ns-3 "
        "built with -O3;\nthe second ratio is the first one divided by that."
    )


def install(into: Path) -> Path:
    """The folder of ns-3's headers and libraries, from its wheel, which no Python needs to load."""
    requirements = FOLDER / "requirements.txt"
    wheel = into / "wheel"
    stamp = into / "installed.txt"
    if stamp.is_file() and stamp.read_bytes() == requirements.read_bytes():
        return wheel / "ns3"
    shutil.rmtree(wheel, ignore_errors=True)
    # The wheel for one Python, whichever runs this: only one hash is to be known.
    which = "--platform manylinux_2_28_x86_64 --implementation cp --python-version 3.11"
    how = "--quiet --disable-pip-version-check --root-user-action ignore --no-deps --require-hashes"
    pip = [sys.executable, "-m", "pip", "install", *how.split(), "--only-binary", ":all:"]
    where = ["--target", str(wheel), "--requirement", str(requirements)]
    if subprocess.run([*pip, *which.split(), *where], check=False).returncode:
        sys.exit("the wheel of ns-3 cannot be had, as pip says above; it needs the network, once")
    shutil.copy(requirements, stamp)
    return wheel / "ns3"


def build(compiler: str, ns3: Path, into: Path, name: str) -> str:
    """The program that runs networks in ns-3 and is called `name`."""
    program = into / name
    modules = ("applications", "internet", "traffic-control", "point-to-point", "network", "core")
    libraries = ns3 / "lib64"
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    named = [f"-lns{VERSION}-{module}" for module in modules]
    source = [str(FOLDER / f"{name}.cc"), "-isystem", str(ns3 / "include")]
    flags = ["-std=c++20", "-O3", "-Wall", "-Wextra"]
    subprocess.run([compiler, *flags, *source, "-o", str(program), *link, *named], check=True)
    return str(program)


if __name__ == "__main__":
    main()
