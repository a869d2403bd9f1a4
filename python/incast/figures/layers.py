"""Links by the layer of the network: how busy they are, how long they are paused."""

import polars as pl
from matplotlib.figure import Figure

from incast.figures import style
from incast.figures.drawing import Drawing, Rows
from incast.results.records import Records

_BUSY = Rows("links", ("layer", "utilisation"), pl.col("utilisation").is_not_null())
_PAUSED = Rows("links", ("layer", "paused_share"), pl.col("paused_share").is_not_null())


def utilisation(results: Records) -> Figure:
    """Mean utilisation of the links of each layer, and that of the busiest one."""
    return _by_layer(results, _BUSY, "utilisation", "utilisation of the links (%)")


def pauses(results: Records) -> Figure:
    """Share of the measured time in which PFC held data back, mean over the links of each layer."""
    return _by_layer(results, _PAUSED, "paused_share", "measured time paused by PFC (%)")


def _by_layer(results: Records, rows: Rows, share: str, y: str) -> Figure:
    figure, axes = style.frame(results, height=4.0)
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
        at = [
            n + width * (place - (len(shown) - 1) / 2) for n, la in enumerate(layers) if la in found
        ]
        means = [found[layer][0] for layer in layers if layer in found]
        highest = [found[layer][1] for layer in layers if layer in found]
        axes.bar(at, means, width * 0.92, label=case.label, **style.bar(index))
        axes.plot(at, highest, "_", color="black", markersize=min(24, 160 * width / len(layers)))
    axes.set_xticks(range(len(layers)), [str(layer).replace("->", "\nto ") for layer in layers])
    if len(layers) > 5:
        axes.tick_params(axis="x", labelsize="small")
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    axes.set_title("bars: mean over the links, dashes: the highest link", fontsize="small")
    style.absent(axes, rows.without(results), "none")
    style.legend(figure, results)
    return figure


DRAWINGS = (
    Drawing("utilisation", _BUSY, utilisation),
    Drawing("pauses", _PAUSED, pauses),
)
