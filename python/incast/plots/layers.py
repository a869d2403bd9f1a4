"""Links by the layer of the network: how busy they are, how long they are paused."""

from collections.abc import Callable

import polars as pl
from matplotlib.figure import Figure

from incast.comparison import number
from incast.measures import window_us
from incast.plots import style
from incast.plots.drawing import Drawing, Rows
from incast.results import Case, Results

_BUSY = Rows("links", ("layer", "utilisation"), pl.col("utilisation").is_not_null())
_PAUSED = Rows("links", ("layer", "paused_us"), pl.col("paused_us").is_not_null())


def utilisation(results: Results) -> Figure:
    """Mean utilisation of the links of each layer, and that of the busiest one."""
    return _by_layer(
        results, _BUSY, lambda rows, _: rows.with_columns(pl.col("utilisation") * 100),
        "utilisation", "utilisation of the links (%)",
    )  # fmt: skip


def pauses(results: Results) -> Figure:
    """Share of the measured time in which PFC held data back, mean over the links of each layer."""
    return _by_layer(results, _PAUSED, _share, "share", "measured time paused by PFC (%)")


def _share(rows: pl.DataFrame, case: Case) -> pl.DataFrame:
    """The paused share of each link; each seed was measured as long as it ran."""
    measured = pl.DataFrame(
        {
            "seed": [result.seed for result in case.results],
            "measured_us": [_measured_us(case, index) for index in range(len(case.results))],
        },
        schema={"seed": pl.UInt64, "measured_us": pl.Float64},
    )
    share = pl.col("paused_us") / pl.col("measured_us") * 100
    return rows.join(measured, on="seed").with_columns(share.alias("share"))


def _measured_us(case: Case, index: int) -> float | None:
    """How long a run was measured; None where it was stopped within the warm-up."""
    begin, end = window_us(case.results[index].scenario)
    ended = (number(case.runs[index].summary.get("simulated_s")) or 0) * 1e6
    measured = min(ended, end) - begin
    return measured if measured > 0 else None


def _by_layer(
    results: Results, rows: Rows, prepare: Callable[[pl.DataFrame, Case], pl.DataFrame],
    value: str, y: str,
) -> Figure:  # fmt: skip
    figure, axes = style.frame(results, height=4.0)
    shown = [(index, case, prepare(own, case)) for index, case, own in rows.each(results)]
    layers = list(dict.fromkeys(layer for _, _, own in shown for layer in own["layer"]))
    width = 0.8 / len(shown)
    for place, (index, case, own) in enumerate(shown):
        found = {
            layer: (mean, highest)
            for layer, mean, highest in own.group_by("layer")
            .agg(pl.col(value).mean().alias("mean"), pl.col(value).max().alias("max"))
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
    Drawing("utilisation", "utilisation of the links of each layer", _BUSY, utilisation),
    Drawing("pauses", "share of the time that PFC held back, for each layer", _PAUSED, pauses),
)
