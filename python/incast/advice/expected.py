"""The bus bandwidth that a collective should reach, by size, beside what was measured."""

from dataclasses import dataclass
from typing import Any

from incast.advice import nccl
from incast.advice.nccl import Line

FITS = 0.12
"""The distance of a run from what was measured up to which its fault explains it.

Half of what lies between a third and a quarter of a link."""


@dataclass(frozen=True)
class Reach:
    """The bus bandwidth that one size should reach, and the one that was measured."""

    size: int
    """Bytes, as the collective counts them."""
    time_us: float
    """The time that is expected."""
    busbw: float
    """The bus bandwidth that is expected, in GB/s."""
    tolerance: float
    """The part of it that may be missing."""
    measured: float | None = None
    """The bus bandwidth that was measured, in GB/s."""

    @property
    def short(self) -> bool:
        """Whether what was measured falls short."""
        return self.measured is not None and self.measured < self.busbw * (1 - self.tolerance)


@dataclass(frozen=True)
class Explanation:
    """A fault, and what a run with it reaches."""

    name: str
    """The fault in words."""
    busbw: dict[int, float]
    """The bus bandwidth in GB/s by size."""
    off: float
    """The greatest distance from what was measured, as a part of that."""

    @property
    def fits(self) -> bool:
        """Whether the run shows what was measured."""
        return self.off <= FITS


@dataclass(frozen=True)
class Expectation:
    """What a collective should reach on a cluster, size by size."""

    collective: str
    """The collective, such as all-reduce."""
    algorithm: str
    """The collective's algorithm."""
    scheme: str
    """The congestion control."""
    ranks: int
    """The number of ranks."""
    about: str
    """The cluster in words."""
    lines: tuple[Reach, ...]
    """A line for each size, in ascending order."""
    explanations: tuple[Explanation, ...] = ()
    """Runs with a fault each, the nearest to what was measured first."""

    @property
    def short(self) -> list[int]:
        """The sizes that fall short."""
        return [line.size for line in self.lines if line.short]

    def text(self) -> str:
        """The table that nccl-tests prints, with the expected values."""
        lines = [Line(one.size, one.time_us, one.busbw) for one in self.lines]
        about = (self.about, f"{self.ranks} ranks, {self.algorithm}, under {self.scheme}; expected")
        tolerances = [one.tolerance for one in self.lines]
        return nccl.text(self.collective, self.ranks, lines, about, tolerances)

    def to_dict(self) -> dict[str, Any]:
        """The JSON that nccl-tests writes, with tolerances, measured values and explanations."""
        lines = [Line(one.size, one.time_us, one.busbw) for one in self.lines]
        about = {
            "about": self.about, "ranks": self.ranks, "algorithm": self.algorithm,
            "scheme": self.scheme,
        }  # fmt: skip
        found = nccl.document(
            self.collective, self.ranks, lines, about, [one.tolerance for one in self.lines]
        )
        for row, line in zip(found["results"], self.lines, strict=True):
            if line.measured is not None:
                row |= {"measured_bus_bw": line.measured, "short": line.short}
        if any(line.measured is not None for line in self.lines):
            found["explanations"] = [
                {"name": one.name, "fits": one.fits, "bus_bw": one.busbw}
                for one in self.explanations
            ]
        return found
