"""State over time: rate, window, RTT, and the gauges of an algorithm, of one flow or several."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from incast.figures import style
from incast.figures.drawing import Drawing, Rows
from incast.results.records import Case, Records

# More samples than these are thinned: the last one of each bin stays, as the state then is.
_POINTS = 2000
_FLOWS = Rows("trace_flows", ("time_us", "flow", "rtt_us", "rate_gbps"))
_GAUGES = Rows("trace_gauges", ("time_us", "flow", "gauge", "value"))
# The columns of `trace_flows`, and the panel of each; the first of a panel is its main quantity.
_COLUMNS = {
    "rate_gbps": ("rate (Gb/s)", "rate"),
    "window_kb": ("window (KB)", "window"),
    "in_flight_kb": ("window (KB)", "in flight"),
    "rtt_us": ("RTT (us)", "RTT"),
}
# Gauges in these units stand in the panel of the column in the same unit; those in others have a
# panel for the unit, and those without a unit one each.
_UNITS = {
    "gbps": "rate (Gb/s)",
    "kb": "window (KB)",
    "us": "RTT (us)",
    "packets": "packets",
    "segments": "segments",
}
# Gauges that repeat a column.
_REPEATED = ("rate_gbps", "cwnd_kb", "window_kb")
_DASHES: tuple[Literal["--", ":", "-."] | tuple[float, tuple[float, ...]], ...] = (
    "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)),
)  # fmt: skip


# The part of the width that keys beside them leave to panels.
_BESIDE_KEYS = 0.7


@dataclass(frozen=True)
class _Curve:
    """A quantity of one flow in one case."""

    flow: int
    case: Case
    panel: str
    quantity: str
    series: pl.DataFrame
    """The columns `time_us` and `value`."""


def state(results: Records) -> Figure:
    """Rate, window and bytes in flight, RTT and gauges at each RTT sample, in panels of one axis.

    Of several seeds the first one is drawn: flows of another do other things.
    """
    curves = list(_curves(results))
    order = [*_COLUMNS.values(), *((one.panel, one.quantity) for one in curves)]
    there = {(one.panel, one.quantity) for one in curves}
    panels: dict[str, list[str]] = {}
    for panel, quantity in dict.fromkeys(one for one in order if one in there):
        panels.setdefault(panel, []).append(quantity)
    figure = style.blank(1.4 + 1.35 * len(panels))
    style.headline(figure, results, _note(curves))
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    shown = list(dict.fromkeys((curve.case.label, curve.flow) for curve in curves))
    for axes, (panel, quantities) in zip(grid, panels.items(), strict=True):
        alone = panel in _UNITS.values() and len(quantities) == 1
        axes.set_ylabel(f"{quantities[0]} {panel[panel.find('(') :]}" if alone else panel)
        for curve in curves:
            if curve.panel == panel:
                number = shown.index((curve.case.label, curve.flow))
                place = quantities.index(curve.quantity)
                label = _label(curve, shown) if axes is grid[0] and place == 0 else None
                _draw(axes, curve, number, place, label)
        axes.margins(x=0.01)
        if axes is grid[0]:  # room for the words above the lines
            axes.set_ylim(top=axes.get_ylim()[1] * style.headroom())
        keys = any(len(one) > 1 for one in panels.values())
        style.shade_unmeasured(
            axes, results, words=axes is grid[0], room=_BESIDE_KEYS if keys else 1.0
        )
        if len(quantities) > 1:
            _key(axes, quantities)
    grid[-1].set_xlabel("time (ms)")
    style.legend(figure, results)
    return figure


def _draw(axes: Axes, curve: _Curve, number: int, place: int, label: str | None) -> None:
    series = curve.series
    if len(series) > _POINTS:
        series = style.binned(series, pl.col("value").last(), points=_POINTS)
    else:
        series = series.with_columns((pl.col("time_us") / 1e3).alias("time_ms"))
    # Dashes tell quantities apart here, so cases have their colours alone.
    look = {**style.line(number), "linestyle": "-"}
    if place > 0:
        look = {**look, "linestyle": _DASHES[(place - 1) % len(_DASHES)], "alpha": 0.8}
    axes.plot(
        series["time_ms"].to_numpy(), series["value"].to_numpy(), label=label,
        drawstyle="default" if curve.quantity == "RTT" else "steps-post",
        **{**look, "linewidth": style.thin(0.7 if place == 0 else 0.5)},
    )  # fmt: skip


def _key(axes: Axes, quantities: list[str]) -> None:
    """The quantities of a panel by their lines, beside it, where nothing is covered."""
    lines = [
        Line2D(
            [], [], color=style.MUTED, linewidth=style.thin(0.7 if place == 0 else 0.5),
            linestyle="-" if place == 0 else _DASHES[(place - 1) % len(_DASHES)],
        )
        for place in range(len(quantities))
    ]  # fmt: skip
    axes.legend(
        lines, quantities, loc="upper left", bbox_to_anchor=(1.0, 1.03), fontsize="x-small",
        frameon=False, handlelength=1.6, borderaxespad=0.2,
    )  # fmt: skip


def _label(curve: _Curve, shown: list[tuple[str, int]]) -> str:
    if len({flow for _, flow in shown}) == 1:
        return curve.case.label
    return f"{curve.case.label}: flow {curve.flow}"


def _note(curves: list[_Curve]) -> str:
    """The flows and the seed that are shown, of more."""
    flows = sorted({curve.flow for curve in curves})
    said = f"flow{'s' if len(flows) > 1 else ''} {', '.join(map(str, flows))}"
    several = any(len(curve.case.results) > 1 for curve in curves)
    seeds = sorted({curve.case.results[0].seed for curve in curves})
    return f"{said}, seed {', '.join(map(str, seeds))}" if several else said


def _curves(results: Records) -> Iterator[_Curve]:
    for _, case, every in _FLOWS.each(results):
        first = pl.col("seed") == case.results[0].seed
        rows = every.filter(first)
        gauges = _GAUGES.of(case)
        for flow in _chosen(rows, results):
            own = rows.filter(pl.col("flow") == flow)
            for column, (panel, quantity) in _COLUMNS.items():
                if column in own.columns:
                    yield from _curve(flow, case, panel, quantity, own, column)
            if gauges is None:
                continue
            shown = gauges.filter(first, pl.col("flow") == flow)
            for one in shown.partition_by("gauge", maintain_order=True):
                gauge = str(one["gauge"][0])
                if gauge not in _REPEATED:
                    yield from _curve(flow, case, *_place(gauge), one, "value")


def _curve(
    flow: int, case: Case, panel: str, quantity: str, rows: pl.DataFrame, column: str
) -> Iterator[_Curve]:
    series = rows.select("time_us", pl.col(column).alias("value")).drop_nulls()
    if not series.is_empty():
        yield _Curve(flow, case, panel, quantity, series)


def _place(gauge: str) -> tuple[str, str]:
    """The panel of a gauge, and its name there."""
    name, _, unit = gauge.rpartition("_")
    if name and unit in _UNITS:
        return _UNITS[unit], _words(name)
    return _words(gauge), _words(gauge)


def _words(name: str) -> str:
    return " ".join("RTT" if word == "rtt" else word for word in name.split("_"))


def _chosen(rows: pl.DataFrame, results: Records) -> list[int]:
    """The flows to draw: those that were asked for, or the first one."""
    there = rows["flow"].unique().sort().to_list()
    return [flow for flow in results.flows if flow in there] if results.flows else there[:1]


def _no_flow(results: Records) -> str | None:
    """Says so where a flow that was asked for has no samples."""
    there = sorted({flow for _, _, rows in _FLOWS.each(results) for flow in rows["flow"].unique()})
    for flow in results.flows:
        if flow not in there:
            known = ", ".join(map(str, there[:6])) + (", ..." if len(there) > 6 else "")
            return f"flow {flow} has no RTT samples; of the flows that were traced there is {known}"
    return None


DRAWINGS = (Drawing("state", _FLOWS, state, _no_flow),)
