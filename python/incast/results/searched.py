"""A parameter that a tuning searches: its range, and its values as texts and as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from incast.results.quantities import numbers

# Units as they are written, with their size in the unit of `quantities`; the largest first.
_WRITTEN = {
    "us": (("s", 1e6), ("ms", 1e3), ("us", 1.0), ("ns", 1e-3)),
    "gbps": (("Gbps", 1.0), ("Mbps", 1e-3), ("kbps", 1e-6), ("bps", 1e-9)),
    "bytes": (("B", 1.0),),
    "": (("", 1.0),),
}
# The digits of a value: more tell no settings apart.
_DIGITS = 3


@dataclass(frozen=True)
class Searched:
    """A parameter that is searched: numbers from `low` to `high`, or words."""

    name: str
    unit: str = ""
    """`us`, `gbps` or `bytes`; empty for pure numbers and words."""
    low: float = 0.0
    high: float = 0.0
    ends: tuple[str, str] = ("", "")
    """Both ends as texts."""
    whole: bool = False
    words: tuple[str, ...] = ()
    """The words, or values one by one; empty for a range."""
    value: str = ""
    """The value without tuning."""

    @property
    def log(self) -> bool:
        """Whether it is searched on a logarithmic scale; one from 0 is not."""
        return self.low > 0

    @property
    def column(self) -> str:
        """The name of its column in tables, with the unit."""
        return f"{self.name}_{self.unit}" if self.unit else self.name

    @property
    def range(self) -> str:
        """The range in words."""
        return ",".join(self.words) if self.words else "..".join(self.ends)

    @property
    def start(self) -> float | str | None:
        """The value without tuning as it is searched; None where it is not in the range."""
        if self.words:
            return self.value if self.value in self.words else None
        found = number_of(self.value, self.unit)
        if found is None or not self.low <= found <= self.high:
            return None
        return round(found) if self.whole else found

    def text(self, value: float | str) -> str:
        """A value as a scenario has it, in three digits."""
        if isinstance(value, str):
            return value
        written = text_of(value, self.unit, whole=self.whole)
        number = number_of(written, self.unit) or 0.0
        return (
            self.ends[0] if number < self.low else self.ends[1] if number > self.high else written
        )

    def number(self, text: str) -> float | str | None:
        """A value for tables: a number in the unit of the column, a word, or None of neither."""
        return text if self.words else number_of(text, self.unit)


def number_of(text: str, unit: str) -> float | None:
    """A text as a number of a unit; zero has any."""
    found = numbers([text])
    if found is None or (found.unit != unit and found.values[0] != 0):
        return None
    return found.values[0]


def text_of(value: float, unit: str, *, whole: bool = False, digits: int = _DIGITS) -> str:
    """A number of a unit in some digits, as a scenario has it."""
    written: Sequence[tuple[str, float]] = _WRITTEN[unit]
    name, size = next((one for one in written if value >= one[1]), written[-1])
    if whole:
        return f"{round(float(f'{value:.{digits}g}'))}{name}"
    plain = f"{Decimal(f'{value / size:.{digits}g}'):f}"
    return f"{plain.rstrip('0').rstrip('.') if '.' in plain else plain}{name}"
