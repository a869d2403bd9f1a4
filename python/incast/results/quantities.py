"""Values of a scenario as numbers, so that they can be drawn and calculated with."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# The unit that numbers are given in, and how much of it each unit is.
_UNITS = {
    "us": {"ps": 1e-6, "ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6},
    "gbps": {
        f"{prefix}{unit}": size
        for prefix, size in (("", 1e-9), ("k", 1e-6), ("M", 1e-3), ("G", 1.0), ("T", 1e3))
        for unit in ("bps", "b/s")
    },
    "bytes": {
        "B": 1.0, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9,
        "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*)?")
_SHOWN = {"": "", "us": "us", "gbps": "Gb/s", "bytes": "B"}


@dataclass(frozen=True)
class Numbers:
    """Texts as numbers of one unit."""

    values: tuple[float, ...]
    unit: str
    """`us`, `gbps` or `bytes`; empty for pure numbers."""

    @property
    def shown(self) -> str:
        """The unit as people write it."""
        return _SHOWN[self.unit]


def numbers(texts: Sequence[str]) -> Numbers | None:
    """Texts such as `100us` and `1ms` as numbers; None if they are not all of one dimension."""
    found: list[float] = []
    units: set[str] = set()
    for text in texts:
        match = _QUANTITY.fullmatch(text.strip())
        if match is None:
            return None
        written = (match[2] or "").strip()
        unit = next((name for name, known in _UNITS.items() if written in known), None)
        if written and unit is None:
            return None
        units.add(unit or "")
        size = _UNITS[unit][written] if unit else 1.0
        # By division where that is exact: 1e-3 is no binary fraction, 1e3 is.
        found.append(float(match[1]) / round(1 / size) if size < 1 else float(match[1]) * size)
    return Numbers(tuple(found), units.pop()) if len(units) == 1 else None
