"""Links by the layer of the network: how busy they are, how long they are paused."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import style
from incast.figures.drawing import Drawing, Rows
from incast.results.records import Records

_BUSY = Rows("links", ("layer", "utilisation"), pl.col("utilisation").is_not_null())
_PAUSED = Rows("links", ("layer", "paused_share"), pl.col("paused_share").is_not_null())


def utilisation(results: Records) -> Figure:
    """Mean utilisation of the links of each layer, and of the busiest link."""
    return _by_layer(results, _BUSY, "utilisation", "utilisation of the links (%)")


def pauses(results: Records) -> Figure:
    """Share of the measured time in which PFC held data back, mean over the links of each layer."""
    return _by_layer(results, _PAUSED, "paused_share", "measured time paused by PFC (%)")


def _by_layer(results: Records, rows: Rows, share: str, y: str) -> Figure:
    several = any(len(case.results) > 1 for case in results.cases)
    note = "bars: mean over the links; dashes: the highest link"
    note = f"{note}; {style.WHISKERS}" if several else note
    figure, axes = style.frame(results, note, height=4.0)
    shown = list(rows.each(results))
    value = pl.col(share) * 100
    layers = list(dict.fromkeys(layer for _, _, own in shown for layer in own["layer"]))
    width = 0.8 / len(shown)
    for place, (index, case, own) in enumerate(shown):
        found = {
            layer: (mean, highest)
            for layer, mean, highest in own.group_by("layer")
            .agg(value.mean().alias("mean"), value.max().alias("max"))
            .iter_rows()
            if mean is not None
        }
        here = [layer for layer in layers if layer in found]
        at = [layers.index(layer) + width * (place - (len(shown) - 1) / 2) for layer in here]
        means = [found[layer][0] for layer in here]
        highest = [found[layer][1] for layer in here]
        axes.bar(at, means, width * 0.92, label=case.label, **style.bar(index))
        room = style.letters(160) * style.scale()  # as wide as a bar
        axes.plot(at, highest, "_", color="black", markersize=min(24, room * width / len(layers)))
        for seeds, place_of, mean in zip(_seeds(own, value, here), at, means, strict=True):
            style.whisker(axes, place_of, mean, seeds)
    _name_layers(axes, layers)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    style.absent(axes, rows.without(results), "none")
    style.legend(figure, results)
    return figure


def _name_layers(axes: Axes, layers: Sequence[str]) -> None:
    """Names the layers below the bars: smaller, or at a slant, where they would meet."""
    below = [layer.replace("->", "\nto ") for layer in layers]
    longest = max(len(line) for text in below for line in text.split("\n"))
    if longest * len(layers) <= style.letters(66):
        axes.set_xticks(range(len(layers)), below)
    elif longest * len(layers) <= style.letters(85):
        axes.set_xticks(range(len(layers)), below, fontsize="small")
    else:
        beside = [layer.replace("->", " to ") for layer in layers]
        slant: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(layers)), beside, fontsize="small", **slant)


def _seeds(own: pl.DataFrame, value: pl.Expr, layers: Iterable[str]) -> list[list[float]]:
    """The means of each seed over the links of each layer."""
    each = own.group_by("layer", "seed").agg(value.mean().alias("mean")).drop_nulls("mean")
    return [each.filter(pl.col("layer") == layer)["mean"].to_list() for layer in layers]


def _no_pauses(results: Records) -> str | None:
    paused = any((own["paused_share"] > 0).any() for _, _, own in _PAUSED.each(results))
    return None if paused else "PFC paused no link"


DRAWINGS = (
    Drawing("utilisation", _BUSY, utilisation),
    Drawing("pauses", _PAUSED, pauses, _no_pauses),
)
