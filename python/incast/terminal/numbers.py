"""Numbers and spreads in as many digits as are worth reading."""

import math

from incast.results.seeds import SIGNS, Spread

# A mean has no more significant digits than these, however small its uncertainty is.
_MOST = 8
# A smaller uncertainty, as a part of the mean, comes from adding doubles up.
_ROUNDING = 1e-12


def number(value: float | None) -> str:
    """A number in four digits, and without an exponent for what people count."""
    if value is None:
        return "-"
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e6):
        return str(int(value))
    size = abs(value)
    digits = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}" if size >= 0.001 else f"{value:.2g}"


def stated(value: float) -> str:
    """A number of a publication, in its own digits."""
    return f"{value:.15g}"


def told(value: float) -> str:
    """A number in a sentence: three digits, all of those before the point."""
    if not math.isfinite(value):
        return "endless" if value > 0 else "-endless" if value < 0 else "-"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def measured(found: Spread, *, signed: bool = False) -> str:
    """A mean and how far it can be off: half its interval, or from where to where if it is cut.

    The uncertainty decides the digits: two significant ones of its own, and the mean as many
    decimals. A bound has its sign, "≥ 10.9", and with `signed` a mean above zero has a plus.
    """
    half, plus = found.half_width, "+" if signed and found.mean > 0 else ""
    if math.isinf(found.mean):
        return "endless" if found.mean > 0 else "-endless"
    if found.interval is None or half is None:
        return f"{SIGNS[found.side]}{plus}{number(found.mean)}"
    if half <= _ROUNDING * abs(found.mean):
        return f"{plus}{number(found.mean)} ± 0"
    decimals = _decimals(found.mean, half)
    mean = f"{plus}{_to(found.mean, decimals)}"
    if found.cut:
        low, high = (_to(end, decimals) for end in found.interval)
        return f"{mean} ({low} to {high})"
    last = 10.0**-decimals
    return f"{mean} ± {_to(half, decimals) if half >= last / 2 else f'<{_to(last, decimals)}'}"


def _decimals(mean: float, half: float) -> int:
    """The decimals of a mean; below zero where the last digits before the point are not known."""
    # Rounded first: 0.0996 has its first digit where 0.10 has.
    two = 1 - _place(float(f"{half:.1e}"))
    return min(two, _MOST - 1 - _place(max(abs(mean), half)))


def _place(value: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(value)))


def _to(value: float, decimals: int) -> str:
    """A number with so many decimals, and zeros for digits before the point that are not known."""
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return text if any(digit in text for digit in "123456789") else text.removeprefix("-")
