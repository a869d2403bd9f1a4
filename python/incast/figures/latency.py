"""The parts of a message's latency: waiting in its host, and in the network."""

import textwrap
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from incast.figures import ideals, style
from incast.figures.drawing import Drawing, Rows
from incast.results.records import Records

_PARTS = ("host_us", "network_us")
_ROWS = Rows(
    "messages",
    (*_PARTS, "completion_us", "posted_us"),
    measured=True,
    some=pl.all_horizontal(pl.col(*_PARTS, "completion_us").is_not_null()),
)
# Percentiles of two parts do not add up to the whole's. So the messages around a percentile
# of the whole are taken, this far to both sides in rank, and the parts are their means.
_AROUND = 0.005


@dataclass(frozen=True)
class Parts:
    """Mean parts of the messages around one percentile of the completion time."""

    host: float
    network: float


def parts(messages: pl.DataFrame, fraction: float) -> Parts | None:
    """The parts of the messages within half a percent, in rank, of a percentile.

    Messages that had not finished are the slowest; None if some of them are among these.
    """
    ordered = messages.sort("completion_us", nulls_last=True)
    count = ordered.height
    first = int(np.floor((fraction - _AROUND) * (count - 1)))
    last = int(np.ceil((fraction + _AROUND) * (count - 1)))
    around = ordered.slice(max(first, 0), min(last, count - 1) - max(first, 0) + 1)
    if around["completion_us"].has_nulls():
        return None
    host, network = (np.mean(around[part].to_numpy()) for part in _PARTS)
    return Parts(float(host), float(network))


def _of_seeds(messages: pl.DataFrame, fraction: float) -> list[float]:
    """The sum of the parts for each seed alone, where it is known."""
    found = [parts(own, fraction) for own in messages.partition_by("seed")]
    return [one.host + one.network for one in found if one is not None]


def rpc_latency(results: Records) -> Figure:
    """Stacked bars of the parts of host and network, at the median and at the 99th percentile."""
    traffics = _ROWS.by_traffic(results)
    bars = sum(map(len, traffics.values()))
    figure = style.blank(1.2 + 0.7 * len(traffics) + 0.42 * bars)
    note = "mean parts of the messages within half a percent, in rank, of the percentile"
    several = any(len(case.results) > 1 for case in results.cases)
    notes = [note, *([style.WHISKERS] if several else []), ideals.note(results)]
    style.headline(figure, results, "; ".join(filter(None, notes)))
    heights = [len(cases) + 0.5 for cases in traffics.values()]
    grid = figure.subplots(len(traffics), 2, squeeze=False, height_ratios=heights)
    for panels, (traffic, cases) in zip(grid, traffics.items(), strict=True):
        named = f"traffic {traffic}: " if len(traffics) > 1 else ""
        ideal = ideals.rows(results, traffic)
        for axes, fraction, name in zip(panels, (0.5, 0.99), ("median", "p99"), strict=True):
            for place, (_, _, own) in enumerate(cases):
                found = parts(own, fraction)
                if found is None:
                    axes.annotate(
                        "had not finished", (0, place), (3, 0), textcoords="offset points",
                        va="center", color=style.MUTED, fontsize="small",
                    )  # fmt: skip
                    axes.barh(place, 0.0)
                    continue
                axes.barh(place, found.host, height=0.6, label="host", **style.bar(1))
                axes.barh(
                    place, found.network, left=found.host, height=0.6, label="network",
                    **style.bar(0),
                )  # fmt: skip
                whole = found.host + found.network
                style.whisker(axes, place, whole, _of_seeds(own, fraction), flat=True)
            ideals.at_rank(axes, ideal, fraction)
            axes.set_title(f"{named}{name}", fontsize="small")
            axes.set_yticks(range(len(cases)), [style.beside(case.label) for _, case, _ in cases])
            axes.tick_params(axis="y", labelleft=axes is panels[0])
            axes.invert_yaxis()
            axes.set_xlim(left=0)
            axes.grid(visible=False, axis="y")
            style.few_ticks(axes)
            if not any(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)):
                axes.set_xticks([])
    for axes in grid[-1]:
        axes.set_xlabel(textwrap.fill("completion time (us)", style.letters(32)))
    said: dict[str, Artist] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            said.setdefault(label, handle)
    figure.legend(
        list(said.values()), list(said), loc="outside lower center", ncols=2, fontsize="small"
    )
    return figure


DRAWINGS = (Drawing("rpc-latency", _ROWS, rpc_latency),)
