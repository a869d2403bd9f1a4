"""A value that is advised, with its formula and its source."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A value with its formula and source."""

    kind: str
    """The kind that it belongs to, such as `headroom`; `given` for what values follow from."""
    name: str
    value: float
    unit: str
    """`B`, `us`, `Gb/s`, `m` or `%`; empty for pure numbers."""
    formula: str
    source: str
    link: str = ""
    """The links that it holds for, such as `100 Gb/s, 500 ns`; empty if it is for all of them."""

    @property
    def shown(self) -> str:
        """The value in four digits, with its unit."""
        value, unit = self.value, self.unit
        if unit == "B" and value >= 1e6:
            value, unit = value / 1e6, "MB"
        elif unit == "B" and value >= 1e4:
            value, unit = value / 1e3, "KB"
        return f"{value:.4g} {unit}".rstrip()

    def to_dict(self) -> dict[str, object]:
        """All of it, ready for JSON."""
        return {
            "kind": self.kind, "name": self.name, "value": self.value, "unit": self.unit,
            "formula": self.formula, "source": self.source, "link": self.link or None,
        }  # fmt: skip


def delay_text(us: float) -> str:
    """A delay in words, in nanoseconds or microseconds."""
    return f"{us * 1e3:.4g} ns" if us < 1 else f"{us:.4g} us"
