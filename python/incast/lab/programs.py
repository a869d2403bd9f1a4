"""The algorithms that `incast-kernel` attaches, as the program itself lists them."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from incast.lab.plan import LabError


@dataclass(frozen=True)
class BpfProgram:
    """An algorithm that has a BPF program."""

    preset: str | None
    """The preset that is attached if none is named; None for the algorithm's own defaults."""
    line_rate: bool
    """Whether the program has to know the rate of the NIC."""
    ecn: bool
    """Whether its connections must have agreed on ECN."""
    host_params: Mapping[str, str]
    """The parameters that every preset takes from `preset` unless it sets them itself."""


@cache
def listed(kernel: Path) -> Mapping[str, BpfProgram]:
    """The BPF programs of `incast-kernel` by the names of their algorithms.

    Raises:
        LabError: There is no `incast-kernel`, or one of another version.
    """
    command = [str(kernel), "algorithms", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        reason = error.strerror or "cannot be run"
        raise LabError(f"{kernel}: {reason}; `make kernel` builds it") from None
    try:
        return {
            one["name"]: BpfProgram(
                preset=one["preset"],
                line_rate=one["line_rate"],
                ecn=one["ecn"],
                host_params=one["host_params"],
            )
            for one in json.loads(done.stdout)
        }
    except (ValueError, KeyError, TypeError):
        raise LabError(
            f"{kernel}: does not list its algorithms; `make kernel` builds the one of this version"
        ) from None
