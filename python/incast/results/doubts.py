"""Warnings about traffic that had not finished when the run ended."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import polars as pl

from incast.results.tables import SchemeRun

_TOLERATED = 0.01
"""The tolerated share: beyond it, the 99th percentile is of something that had not finished."""

_KINDS = ("messages", "requests")


class Counted(Protocol):
    """The runs of one scenario, with their traffic counted."""

    @property
    def runs(self) -> Mapping[str, SchemeRun]:
        """The runs by scheme."""

    @property
    def traffic(self) -> pl.DataFrame:
        """The traffic, a row for each scheme and traffic."""


def warnings(results: Iterable[Counted]) -> list[str]:
    """A sentence for each traffic of which more than 1 % had not finished under some scheme.

    The results are of one scenario; what was posted under several seeds is taken together. Runs
    that were stopped are left out: they say so, and nothing of the scenario would help.
    """
    posted: dict[tuple[str, str], dict[str, list[int]]] = {}
    for result in results:
        for row in result.traffic.iter_rows(named=True):
            if not result.runs[row["scheme"]].complete:
                continue
            for kind in _KINDS:
                of_scheme = posted.setdefault((kind, row["traffic"]), {})
                counts = of_scheme.setdefault(row["scheme"], [0, 0])
                counts[0] += row[kind] or 0
                counts[1] += row[f"{kind}_posted"] or 0
    found = []
    for (kind, traffic), of_scheme in posted.items():
        said = [
            f"{(count - finished) / count:.1%} under {scheme} ({count - finished} of {count})"
            for scheme, (finished, count) in of_scheme.items()
            if count - finished > _TOLERATED * count
        ]
        if said:
            found.append(
                f"traffic {traffic}: of the {kind} posted while measured had not finished by the "
                f"end of the run: {', '.join(said)}; percentiles count them as the slowest, means "
                "leave them out; give them time with run.cooldown, or a longer run.duration"
            )
    return found
