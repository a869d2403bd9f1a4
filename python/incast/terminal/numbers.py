"""Numbers and spreads in as many digits as are worth reading."""

from incast.results.seeds import Spread


def number(value: float | None) -> str:
    """A number in four digits, and without an exponent for what people count."""
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
