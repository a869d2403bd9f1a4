"""What columns and values are called where people read them."""

from incast.reproduce.outcome import Outcome
from incast.seeds import Spread

_UNITS = {
    "gbps": "Gb/s", "mbps": "Mb/s", "us": "us", "ms": "ms", "s": "s", "kb": "KB", "bytes": "B",
    "percent": "%",
}  # fmt: skip
_WORDS = {
    "rtt": "RTT", "fct": "FCT", "rct": "RCT", "rpc": "RPC", "pfc": "PFC", "ecn": "ECN",
    "jain": "Jain",
}  # fmt: skip


def heading(of: Outcome, column: str) -> str:
    """A column's name: as the experiment gives it, or its key in words, `RTT p99 (us)`."""
    measure = of.experiment.measure.get(column)
    if measure is not None and measure.label:
        return measure.label
    *words, last = column.split("_")
    if last in _UNITS and words:
        return f"{' '.join(_WORDS.get(word, word) for word in words)} ({_UNITS[last]})"
    return " ".join(_WORDS.get(word, word) for word in (*words, last))


def case_label(of: Outcome, case: str) -> str:
    """What figures and tables call a case."""
    return of.experiment.case_of(case).label or case


def number(value: float | None) -> str:
    """As many digits as are worth reading: four, and no exponent for what people count."""
    if value is None:
        return "-"
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e6):
        return str(int(value))
    size = abs(value)
    digits = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}" if size >= 0.001 else f"{value:.2g}"


def measured(found: Spread) -> str:
    """A mean and how far it can be off: half its interval, or from where to where if it is cut."""
    if found.interval is None:
        return f"{found.side} {number(found.mean)}" if found.side else number(found.mean)
    if found.cut:
        low, high = found.interval
        return f"{number(found.mean)} ({number(low)} to {number(high)})"
    return f"{number(found.mean)} ± {number(found.half_width)}"
