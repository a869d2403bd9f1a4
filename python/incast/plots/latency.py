"""What a message waits for: its host or the network."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from incast.plots import style
from incast.plots.drawing import Drawing, Rows
from incast.results import Results

_PARTS = ("host_us", "network_us")
_ROWS = Rows(
    "messages",
    (*_PARTS, "completion_us", "posted_us"),
    pl.all_horizontal(pl.col(*_PARTS, "completion_us").is_not_null()),
    measured=True,
)
# Percentiles of two parts do not add up to that of the whole. So the messages around a percentile
# of the whole are taken, so far to both sides in rank, and the parts are their means.
_AROUND = 0.005


@dataclass(frozen=True)
class Parts:
    """Mean parts of the messages around one percentile of the completion time."""

    host: float
    network: float


def parts(messages: pl.DataFrame, fraction: float) -> Parts:
    """The parts of the messages within half a percent, in rank, of a percentile."""
    ordered = messages.sort("completion_us")
    count = ordered.height
    first = int(np.floor((fraction - _AROUND) * (count - 1)))
    last = int(np.ceil((fraction + _AROUND) * (count - 1)))
    around = ordered.slice(max(first, 0), min(last, count - 1) - max(first, 0) + 1)
    host, network = (np.mean(around[part].to_numpy()) for part in _PARTS)
    return Parts(float(host), float(network))


def rpc_latency(results: Results) -> Figure:
    """Stacked bars of the parts of host and network, at the median and at the 99th percentile."""
    shown = list(_ROWS.each(results))
    figure = Figure(figsize=(style.WIDTH, 1.9 + 0.42 * len(shown)))
    style.headline(
        figure, results,
        "mean parts of the messages within half a percent, in rank, of the percentile",
    )  # fmt: skip
    panels = figure.subplots(1, 2, sharey=True)
    for axes, fraction, name in zip(panels, (0.5, 0.99), ("median", "p99"), strict=True):
        for place, (_, _, own) in enumerate(shown):
            found = parts(own, fraction)
            labels = ("host", "network") if not place else (None, None)
            axes.barh(place, found.host, height=0.6, label=labels[0], **style.bar(1))
            axes.barh(
                place, found.network, left=found.host, height=0.6, label=labels[1], **style.bar(0)
            )
        axes.set(title=name, xlabel="completion time (us)")
        axes.grid(visible=False, axis="y")
        style.few_ticks(axes)
    panels[0].set_yticks(range(len(shown)), [case.label for _, case, _ in shown])
    panels[0].invert_yaxis()
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2,
        fontsize="small",
    )  # fmt: skip
    return figure


DRAWINGS = (
    Drawing(
        "rpc-latency", "host and network part of completion times, median and 99th percentile",
        _ROWS, rpc_latency,
    ),
)  # fmt: skip
