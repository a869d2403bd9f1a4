"""TIMELY's thresholds on the RTT."""

from incast.advice.given import Given
from incast.advice.row import Row

NAME = "timely"
SEGMENT = 16_000


def _segment_us(given: Given) -> float:
    return SEGMENT / given.bottleneck.bytes_per_us


def _low_us(given: Given) -> float:
    """The RTT behind half of the segments of other senders: more is a queue, less is chance."""
    return given.rtt_us + given.senders / 2 * _segment_us(given)


def _high_us(given: Given) -> float:
    """The RTT behind one more segment of each sender."""
    return _low_us(given) + given.senders * _segment_us(given)


def rows(given: Given) -> list[Row]:
    """Thresholds for segments of 16 KB."""
    paper = "TIMELY"

    def row(name: str, value: float, unit: str, formula: str, source: str) -> Row:
        return Row(NAME, name, value, unit, formula, source)

    count = given.senders
    low, high = f"RTT + {count / 2:g} segments", f"T_low + {count} segments"
    return [
        row("segment", SEGMENT, "B", "16 or 64 KB", f"{paper}, T_low sweep"),
        row("D_minRTT", given.rtt_us, "us", "RTT", f"{paper}, algorithm"),
        row("T_low", _low_us(given), "us", low, "incast"),
        row("T_high", _high_us(given), "us", high, "incast"),
    ]


def keys(given: Given) -> dict[str, object]:
    """The thresholds as keys of a scenario."""
    return {
        "cc.timely.t_low": f"{_low_us(given):.3f}us",
        "cc.timely.t_high": f"{_high_us(given):.3f}us",
        "cc.timely.min_rtt": f"{given.rtt_us:.3f}us",
    }
