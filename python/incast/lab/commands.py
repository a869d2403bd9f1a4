"""Commands that make a test bed."""

import subprocess
from collections.abc import Sequence

from incast.lab.plan import LabError


def call(*command: str, told: str | None = None, named: str = "") -> str:
    """Runs a command with this input; returns its output. An error names the command, or `named`.

    Raises:
        LabError: It failed.
    """
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        reason = said[0].removeprefix("error: ") if said else "failed"
        raise LabError(f"{named or _tail(command)}: {reason}")
    return done.stdout


def _tail(command: Sequence[str]) -> str:
    """The command without what only says where it runs."""
    words = list(command)
    if "taskset" in words:
        words = words[words.index("taskset") + 3 :]
    return " ".join(words)
