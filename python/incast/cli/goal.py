"""The command `incast-goal`: the packet level of simulators that run GOAL schedules.

It takes the words that such simulators pass to htsim's program, so that setting one variable to it
is enough.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from incast._core import IncastError, ScenarioError, __version__, algorithms
from incast.api.goal import run_job
from incast.base import staging
from incast.cli import exits

PROFILES = {"rnic-nn": "line-rate", "rnic-cn": "dcqcn"}
"""Names of models of other programs, with the schemes that stand for them here."""

_OPTIONS = {
    "-goal": "FILE",
    "-linkspeed_bps": "N",
    "-rnic_profile": "NAME",
    "-completion_csv": "FILE",
    "-topo": "FILE",
}
_NEEDED = ("-goal", "-linkspeed_bps", "-rnic_profile")
_USAGE = """\
usage: incast-goal -goal FILE -linkspeed_bps N -rnic_profile NAME [-completion_csv FILE]
                   [-topo FILE]

Runs a GOAL schedule, text or binary, and writes when each message started and arrived.

  -goal FILE            the schedule
  -linkspeed_bps N      the rate of each rank's link, in bits per second
  -rnic_profile NAME    the congestion control: an algorithm, such as dcqcn, timely or hpcc, or a
                        preset of one; rnic-nn runs line-rate, and rnic-cn dcqcn
  -completion_csv FILE  where the table of messages goes
  -topo FILE            a topology of htsim, whose links have rates of their own; one switch if not
                        given
"""


def main() -> None:
    """Runs the command."""
    words = sys.argv[1:]
    if not words or any(word in ("-h", "--help", "-help") for word in words):
        print(_USAGE, end="")
        return
    try:
        for line in _answer(_given(words)):
            print(line)
    except IncastError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(exits.USAGE)


def _given(words: Sequence[str]) -> dict[str, str]:
    """The values by option."""
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word not in _OPTIONS:
            raise ScenarioError(f"unknown option {word!r}; expected one of {', '.join(_OPTIONS)}")
        value = next(rest, None)
        if value is None:
            raise ScenarioError(f"{word} has no value; expected {word} {_OPTIONS[word]}")
        if word in given:
            raise ScenarioError(f"{word} is there twice; take one out")
        given[word] = value
    absent = [word for word in _NEEDED if word not in given]
    if absent:
        raise ScenarioError(f"no {absent[0]}; expected {absent[0]} {_OPTIONS[absent[0]]}")
    return given


def _answer(given: dict[str, str]) -> Iterator[str]:
    """Runs the schedule, writes the table, and gives the lines to print."""
    profile, speed = given["-rnic_profile"], given["-linkspeed_bps"]
    scheme = PROFILES.get(profile, profile)
    known = [algorithm.name for algorithm in algorithms()]
    if scheme.split(":")[0] not in known:
        names = ", ".join([*PROFILES, *known])
        raise ScenarioError(f"unknown -rnic_profile {profile!r}; expected one of {names}")
    if not speed.isdecimal() or not int(speed):
        raise ScenarioError(f"-linkspeed_bps is {speed!r}; expected a whole number above 0")
    topology = given.get("-topo")
    table = run_job(given["-goal"], scheme, rate_bps=int(speed), topology=topology, profile=profile)
    if "-completion_csv" in given:
        _write(Path(given["-completion_csv"]), table.write_csv())
    last = max(table["completion_time_ps"].to_list(), default=0)
    yield (
        f"[RNIC manifest] backend=incast version={__version__} profile={profile} scheme={scheme} "
        f"linkspeed_bps={speed} topology={topology or 'star'} flows={table.height} "
        f"end_time_ps={last} physical_quiescence=verified"
    )


def _write(path: Path, text: str) -> None:
    try:
        with staging.file(path) as place:
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot write {path}: {error.strerror}") from error
