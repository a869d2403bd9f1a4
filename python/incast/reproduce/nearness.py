"""The distance of what is measured from the numbers that the sources print, counted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from incast.reproduce.outcome import Outcome

CLASSES = ("within 10 %", "within 25 %", "within a factor of two", "beyond")
"""The classes of distance; a number is in the first one that has it."""


@dataclass(frozen=True)
class Row:
    """The numbers of one kind, counted by their distance."""

    name: str
    counts: tuple[int, ...]
    """As many as there are [CLASSES][]."""

    @property
    def total(self) -> int:
        """All numbers of the row."""
        return sum(self.counts)


def rows(found: Sequence[Outcome]) -> list[Row]:
    """The table of distances: numbers in claims, values of tables, and both where one is fitted.

    Each claim is there once, in its main set-up. Earlier set-ups are left out, and so is a number
    of the source that is zero, from which nothing has a distance.
    """
    claims: list[float] = []
    cells: list[float] = []
    fitted: list[float] = []
    for of in found:
        for verdict in of.verdicts:
            if verdict.off is not None and verdict.claim.kind == "source":
                (fitted if verdict.fitted else claims).append(verdict.off)
    for of in found:
        for cell in of.cells:
            if cell.off is not None and not cell.case.earlier:
                (fitted if cell.case.fitted else cells).append(cell.off)
    named = (
        ("numbers in claims", claims),
        ("values of tables and figures", cells),
        ("of either kind, where a value was fitted to that source", fitted),
    )
    return [Row(name, _counted(own)) for name, own in named if own]


def class_of(off: float) -> int:
    """The place among the [CLASSES][] of a difference, given as a share of the published number."""
    if abs(off) <= 0.10:
        return 0
    if abs(off) <= 0.25:
        return 1
    return 2 if 0.5 <= 1 + off <= 2 else 3


def _counted(differences: Iterable[float]) -> tuple[int, ...]:
    classes = [class_of(off) for off in differences]
    return tuple(classes.count(place) for place in range(len(CLASSES)))
