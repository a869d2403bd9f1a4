"""The figures of results: their names, and what each shows, without what draws them."""

from collections.abc import Iterable

from incast.figures.errors import FigureError

ABOUT = {
    "rtt-cdf": "distribution of RTT samples, with published mean and 99th percentile",
    "rtt-ccdf": "tail of the RTT samples, log-log",
    "delay-pdf": "density of the one-way delay of data packets",
    "delay-cdf": "distribution of the one-way delay of data packets",
    "delay-ccdf": "tail of the one-way delay of data packets, log-log",
    "fct-cdf": "distribution of the completion times of messages",
    "fct-ccdf": "tail of the completion times of messages, log-log",
    "request-cdf": "distribution of the completion times of requests",
    "lateness": "distribution of the completion times of messages less their deadlines",
    "request-lateness": "distribution of the completion times of requests less their deadlines",
    "slowdown-by-size": "slowdown against message size: median and 99th percentile",
    "fct-by-size": "completion time against message size: median and 99th percentile",
    "rpc-latency": "host and network part of completion times, median and 99th percentile",
    "queue": "the busiest queue over time, mean and maximum",
    "rates": "goodput of every flow over time, a panel for each scheme",
    "jain": "Jain's fairness index over time",
    "state": "rate, window, bytes in flight, RTT and the gauges of an algorithm over time, of the "
    "first flow, or of those that --flow names; needs --trace flows",
    "utilisation": "utilisation of the links of each layer",
    "pauses": "share of the time that PFC held back, for each layer",
    "timeline": "what each host of a job computes and sends in its longest iteration, and the "
    "critical path",
    "bars": "throughput, queue, RTT, slowdown, missed deadlines: mean over the seeds, 95 % "
    "confidence interval; with --baseline the differences to it",
}
"""A line for each figure, in the order of a list of them."""

PERCENTILES = ("p99", "median")
"""The percentiles of figures by size."""

BY_SIZE = ("slowdown-by-size", "fct-by-size")
"""The figures that have them."""

FORMATS = ("png", "svg", "pdf")
"""The kinds of file that figures are written to."""

USUAL_FORMATS = ("png",)
"""The formats of figures for which nobody has asked for others."""


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats, each once.

    Raises:
        FigureError: There is no such format.
    """
    asked = tuple(dict.fromkeys(formats))
    for one in asked:
        if one not in FORMATS:
            raise FigureError(f"format {one}: expected {', '.join(FORMATS)}, or several of them")
    return asked
