"""Thresholds of PFC: how much a class may hold at a port before it pauses its sender."""

from incast._core import ParameterError
from incast.advice import headroom
from incast.advice.given import DCQCN, Given
from incast.advice.row import Row

ALPHA = 1.0


def shared(given: Given) -> float:
    """The part of the buffer that is left for queues.

    Raises:
        ParameterError: Nothing is left.
    """
    reserved = headroom.reserved(given)
    if given.buffer <= reserved:
        raise ParameterError(
            f"buffer {given.buffer / 1e6:.3g} MB: headroom and pipelines of {given.count} ports "
            f"take {reserved / 1e6:.3g} MB; expected a larger buffer, shorter cables or fewer hosts"
        )
    return given.buffer - reserved


def xoff(given: Given, paused: int) -> float:
    """The XOFF threshold of each port while so many ports are at theirs."""
    return ALPHA * shared(given) / (1 + ALPHA * paused)


def offset(given: Given) -> int:
    """The bytes below XOFF at which a sender goes on."""
    return 2 * given.mtu


def rows(given: Given) -> list[Row]:
    """The thresholds while one port pauses, and while all but one do."""
    most, least = xoff(given, 1), xoff(given, given.senders)
    many = f"alpha x shared / (1 + {given.senders} alpha)"
    alpha = "8 / 8 classes; dynamic_th 0"

    def row(name: str, value: float, unit: str, formula: str, source: str = DCQCN) -> Row:
        return Row("pfc", name, value, unit, formula, source)

    return [
        row("shared buffer", shared(given), "B", "less headroom and pipelines"),
        row("alpha", ALPHA, "", alpha, DCQCN),
        row("xoff, one port", most, "B", "alpha x shared / (1 + alpha)"),
        row(f"xoff, {given.senders} ports", least, "B", many),
        row("xon offset", offset(given), "B", "2 MTU below xoff"),
        row(f"xon, {given.senders} ports", least - offset(given), "B", "xoff - offset"),
    ]
