"""Searches for the load at which a network saturates, as data: traffic, points and outcome."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from incast import _core
from incast._core import Scenario
from incast.results import titles

TABLE = "saturation.parquet"
"""The table of a search."""


@dataclass(frozen=True)
class OpenLoop:
    """Traffic that offers a load whether or not it is carried."""

    index: int
    name: str
    """The name of the traffic in results."""
    kind: str
    """The kind of the traffic, such as `poisson`."""

    def at(self, load: float) -> str:
        """The assignment that makes it offer a load."""
        return f"traffic.{self.index}.load={load:g}"

    def __str__(self) -> str:
        return f"{self.name} ({self.index})"


@dataclass(frozen=True)
class Point:
    """The measurement of one scheme at one load."""

    scheme: str
    load: float
    """The load that was asked for, in the scenario's terms."""
    offered_gbps: float
    carried_gbps: float
    slowdown_p99: float | None
    messages: int = 0
    """The number of messages posted while measured, which the point rests on."""
    equal_messages: float = 0.0
    """Messages of one size that would say as much: (Σ bytes)² / Σ bytes²."""
    slowdown_p99_bound: float | None = None
    """The least value of the 99th percentile, where that message had not been delivered."""

    @property
    def uncertainty(self) -> float:
        """The standard error of the offered load: 1 / √ of equal messages."""
        return 1 / math.sqrt(self.equal_messages) if self.equal_messages else 1.0

    @property
    def ratio(self) -> float:
        """Carried over offered."""
        return self.carried_gbps / self.offered_gbps


@dataclass(frozen=True)
class Saturation:
    """All points of a search, of each scheme and load. Rates are in Gb/s, of payload.

    `table` has them as a Polars frame: the load that was asked for, what was offered and carried,
    their ratio, and the 99th percentile of the slowdown.
    """

    scenario: Scenario
    """The scenario."""
    traffic: OpenLoop
    """The traffic whose load was raised."""
    schemes: tuple[str, ...]
    """The schemes."""
    seed: int
    """The seed of all runs."""
    threshold: float
    """The least part of the offered load that counts as carrying it."""
    points: tuple[Point, ...]
    """The measurements, in the order in which schemes and loads were run."""
    complete: bool
    """Whether the search reached its end."""
    warnings: tuple[str, ...] = ()
    """Doubts about the scenario, its schemes and what was measured: a sentence for each cause."""

    @property
    def title(self) -> str:
        """The title of the table and of the figure."""
        return titles.title(self.scenario, self.schemes)

    def of(self, scheme: str) -> list[Point]:
        """The points of a scheme by rising load."""
        return sorted((p for p in self.points if p.scheme == scheme), key=lambda p: p.load)

    def saturated(self, scheme: str) -> tuple[float | None, float | None]:
        """The highest load up to which all is carried, and the next above it, which is not.

        The first is None where the lowest load is too much already, the second where the highest is
        not too much.
        """
        carried = None
        for point in self.of(scheme):
            if point.ratio < self.threshold:
                return carried, point.load
            carried = point.load
        return carried, None

    def doubts(self, scheme: str) -> str | None:
        """The reason why a saturated load is uncertain, if it rests on too few messages."""
        worst = max(self.of(scheme), key=lambda point: point.uncertainty, default=None)
        if worst is None or worst.uncertainty <= 1 - self.threshold:
            return None
        factor = (worst.uncertainty / (1 - self.threshold)) ** 2 if self.threshold < 1 else math.inf
        longer = "several seeds" if math.isinf(factor) else f"{math.ceil(factor)} times the time"
        return (
            f"{scheme}, load {worst.load:g}: {worst.messages} messages that say as much as "
            f"{worst.equal_messages:.0f} of one size are too few for a threshold of "
            f"{self.threshold:g}; measure {longer}"
        )

    @property
    def table(self) -> pl.DataFrame:
        """A row for each point."""
        schema = {
            "scheme": pl.String, "load": pl.Float64, "offered_gbps": pl.Float64,
            "carried_gbps": pl.Float64, "ratio": pl.Float64, "slowdown_p99": pl.Float64,
            "slowdown_p99_bound": pl.Float64, "messages": pl.UInt64, "equal_messages": pl.Float64,
        }  # fmt: skip
        rows = [
            {**asdict(point), "ratio": point.ratio}
            for scheme in self.schemes
            for point in self.of(scheme)
        ]
        return pl.DataFrame(rows, schema)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as a dictionary, ready for JSON."""
        return {
            "incast": _core.__version__,
            "scenario": self.scenario.name,
            "traffic": self.traffic.index,
            "seed": self.seed,
            "threshold": self.threshold,
            "complete": self.complete,
            "warnings": list(self.warnings),
            "schemes": [
                {
                    "scheme": scheme,
                    "saturated_load": carried,
                    "first_above": above,
                    "doubts": self.doubts(scheme),
                }
                for scheme in self.schemes
                for carried, above in [self.saturated(scheme)]
            ],
            "points": self.table.to_dicts(),
        }
