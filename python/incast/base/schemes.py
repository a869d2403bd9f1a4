"""The parts of a scheme: algorithm, preset, and parameters in brackets."""

from typing import NamedTuple


class Parts(NamedTuple):
    """Of `timely:zhu[t_high=1ms,beta=0.5]` `timely`, `zhu`, and two settings."""

    algorithm: str
    preset: str
    """Empty for the default one."""
    settings: list[str]
    """The parameters in brackets, each as `KEY=VALUE`."""

    @property
    def plain(self) -> str:
        """The scheme without brackets."""
        return f"{self.algorithm}:{self.preset}" if self.preset else self.algorithm


def parts(scheme: str) -> Parts:
    """The parts of a scheme that has been checked."""
    plain, _, inside = scheme.partition("[")
    algorithm, _, preset = plain.partition(":")
    return Parts(algorithm, preset, inside.rstrip("]").split(",") if inside else [])
