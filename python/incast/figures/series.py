"""Time series: queues, rates, fairness."""

import numpy as np
import polars as pl
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from incast.figures import style
from incast.figures.drawing import Drawing, Rows
from incast.figures.style import Floats
from incast.results.comparison import number
from incast.results.measures import window_us
from incast.results.record import Record
from incast.results.records import Case, Records

# Time series are averaged to about this many points: more than a figure this wide can show.
_POINTS = 250
# A flow sends whole segments, so its goodput over a short time is mostly noise.
_RATE_POINTS = 50

_QUEUES = Rows("series_queues", ("time_us", "port", "queue_mean_kb", "queue_max_kb"))
_FLOWS = Rows("series_flows", ("time_us", "flow", "goodput_gbps"))
_JAIN = Rows("series_jain", ("time_us", "jain_index"), pl.col("jain_index").is_not_null())


def queue(results: Records) -> Figure:
    """The busiest queue over time: the mean as a line, up to the maximum as a band.

    Of several seeds their mean as a line, from the least to the greatest of them as a band, and the
    maximum of all as a thin line.
    """
    few = len(results.cases) <= style.FEW
    note = "" if few else "lines: mean, bands: up to maximum"
    if _several(results):
        note = style.notes(results, "thin lines: maximum of all")
    figure, axes = style.frame(results, note, height=3.8)
    shown = list(_QUEUES.each(results))
    ports = _busiest_ports(shown)
    named = f"queue at {next(iter(ports.values()))}"
    axes.set(
        xlabel="time (ms)",
        ylabel=f"{named if len(set(ports.values())) == 1 else 'busiest queue'} (KB)",
    )
    for index, case, series in shown:
        own = series.filter(pl.col("port") == ports[_network(case)])
        mean = pl.col("queue_mean_kb").mean()
        binned = style.binned(own, mean, pl.col("queue_max_kb").max(), points=_POINTS)
        time_ms = binned["time_ms"].to_numpy()
        line, highest = binned["queue_mean_kb"].to_numpy(), binned["queue_max_kb"].to_numpy()
        look = style.line(index)
        axes.plot(time_ms, line, label=f"{case.label}: mean" if few else case.label, **look)
        if len(case.results) > 1:
            style.band(axes, *_between(own, mean, "queue_mean_kb"), index)
            axes.plot(time_ms, highest, **{**look, "linewidth": style.thin(0.4)})
            continue
        axes.fill_between(
            time_ms, line, highest, color=look["color"], alpha=0.18, linewidth=0,
            label=f"{case.label}: up to maximum" if few else None,
        )  # fmt: skip
    axes.set_ylim(0, axes.get_ylim()[1] * style.headroom())  # room for the words above the lines
    axes.margins(x=0.01)
    style.shade_unmeasured(axes, results)
    style.absent(axes, _QUEUES.without(results), "none")
    style.legend(figure, results)
    return figure


def _no_queue(results: Records) -> str | None:
    """Says so where every port was free for each packet that came."""
    there = any((own["queue_max_kb"] > 0).any() for _, _, own in _QUEUES.each(results))
    return None if there else "no packet waited at any port"


def _several(results: Records) -> bool:
    return any(len(case.results) > 1 for case in results.cases)


def _between(series: pl.DataFrame, value: pl.Expr, name: str) -> tuple[Floats, Floats, Floats]:
    """The times, and the least and the greatest of the seeds at each."""
    return _ends(style.binned(series, value, by="seed", points=_POINTS), name)


def _ends(each: pl.DataFrame, name: str) -> tuple[Floats, Floats, Floats]:
    """The times, and the least and the greatest of several series at each."""
    ends = (
        each.group_by("bin")
        .agg(
            pl.col("time_ms").mean(),
            pl.col(name).min().alias("least"),
            pl.col(name).max().alias("greatest"),
        )
        .sort("bin")
    )
    time, least, greatest = (ends[one].to_numpy() for one in ("time_ms", "least", "greatest"))
    return time, least, greatest


def _busiest_ports(shown: list[tuple[int, Case, pl.DataFrame]]) -> dict[str, str]:
    """The port with the longest mean queue in each scenario, the same for all its schemes."""
    totals: dict[str, list[pl.DataFrame]] = {}
    for _, case, series in shown:
        totals.setdefault(_network(case), []).append(series.select("port", "queue_mean_kb"))
    return {
        network: str(
            pl.concat(parts)
            .group_by("port")
            .agg(pl.col("queue_mean_kb").mean())
            .sort("queue_mean_kb", "port", descending=[True, False], nulls_last=True)["port"][0]
        )
        for network, parts in totals.items()
    }


def _network(case: Case) -> str:
    return case.results[0].scenario.toml()


def rates(results: Records) -> Figure:
    """The goodput of every flow over time, a panel for each case, the equal share dashed.

    Of several seeds the lines are the flows of the first, since flows of another seed start at
    other times; a band reaches from the slowest to the fastest flow of all seeds.
    """
    panels = list(_FLOWS.each(results))
    figure = style.blank(1.2 + 2.0 * len(panels))
    note = "bands: from the slowest to the fastest flow of all seeds" if _several(results) else ""
    style.headline(figure, results, note)
    grid = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    top = 0.0
    for axes, (index, case, rows) in zip(grid, panels, strict=True):
        seed = case.results[0].seed
        series = rows.filter(pl.col("seed") == seed)
        binned = style.binned(series, pl.col("goodput_gbps").mean(), by="flow", points=_RATE_POINTS)
        flows = binned.partition_by("flow", maintain_order=True)
        # One artist: matplotlib takes as long for each line of its own as for a hundred of these.
        lines = [flow.select("time_ms", "goodput_gbps").to_numpy() for flow in flows]
        colour = style.line(index)["color"]
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=style.thin(0.4), alpha=0.55)
        )
        axes.autoscale_view()
        if len(case.results) > 1:
            style.band(axes, *_all_flows(rows), index)
        style.shade_unmeasured(axes, results)
        top = max(top, float(np.quantile(binned["goodput_gbps"].fill_null(0).to_numpy(), 0.999)))
        of_seed = f", seed {seed}" if len(case.results) > 1 else ""
        axes.set_title(f"{case.label}: {len(flows)} flows{of_seed}")
        share = _equal_share(series, case.results[0])
        if share:
            top = max(top, share)
            axes.axhline(share, color="black", linewidth=style.thin(0.7), linestyle="--", zorder=3)
            axes.annotate(
                f"equal share\n{share:.3g} Gb/s", xy=(1, share), xytext=(4, 0), fontsize="small",
                xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
            )  # fmt: skip
    grid[0].set_ylim(0, top * (style.headroom() + 0.02) or 1.0)
    grid[0].margins(x=0.01)
    grid[-1].set_xlabel("time (ms)")
    figure.supylabel("goodput of each flow (Gb/s)", fontsize="medium")
    return figure


def _all_flows(rows: pl.DataFrame) -> tuple[Floats, Floats, Floats]:
    """The times, and the goodput of the slowest and of the fastest flow of all seeds."""
    each = rows.with_columns(pl.format("{} of {}", "flow", "seed").alias("each"))
    value = pl.col("goodput_gbps").mean()
    return _ends(style.binned(each, value, by="each", points=_RATE_POINTS), "goodput_gbps")


def _equal_share(series: pl.DataFrame, result: Record) -> float | None:
    """The fair share of a flow: the total goodput while measured, over the number of flows."""
    begin, end = window_us(result.scenario)
    measured = series.filter(pl.col("time_us") > begin, pl.col("time_us") <= end)
    goodput = measured["goodput_gbps"].drop_nulls().to_numpy()
    return number(float(goodput.mean())) if goodput.size else None


def jain(results: Records) -> Figure:
    """Jain's fairness index over time; of several seeds, their mean, with a band between them."""
    note = style.notes(results, "lines: mean over the seeds") if _several(results) else ""
    figure, axes = style.frame(results, note, height=3.8)
    axes.set(xlabel="time (ms)", ylabel="Jain's fairness index", ylim=(0, style.headroom()))
    axes.set_yticks(np.linspace(0, 1, 6))
    for index, case, series in _JAIN.each(results):
        mean = pl.col("jain_index").mean()
        binned = style.binned(series, mean, points=_POINTS)
        axes.plot(
            binned["time_ms"].to_numpy(), binned["jain_index"].to_numpy(), label=case.label,
            **style.line(index),
        )  # fmt: skip
        if len(case.results) > 1:
            style.band(axes, *_between(series, mean, "jain_index"), index)
    axes.margins(x=0.01)
    style.shade_unmeasured(axes, results)
    style.absent(axes, _JAIN.without(results), "none")
    style.legend(figure, results)
    return figure


DRAWINGS = (
    Drawing("queue", _QUEUES, queue, _no_queue),
    Drawing("rates", _FLOWS, rates),
    Drawing("jain", _JAIN, jain),
)
