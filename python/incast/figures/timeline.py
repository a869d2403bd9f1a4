"""The timeline of an iteration: what each host of a job computes and sends, and what was last."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from incast.figures import style
from incast.figures.drawing import Drawing, Rows
from incast.results.records import Case, Records

_STEPS = Rows(
    "steps",
    ("traffic", "group", "iteration", "rank", "host", "kind", "ready_us", "end_us", "arrived_us"),
)
_MOST_HOSTS = 64
_MOST_NAMES = 32
_WAITS, _SENDS, _COMPUTES, _CRITICAL = "0.88", "#7fb3d5", "#e59866", "black"


def timeline(results: Records) -> Figure:
    """A row for each host, in the order of ranks, with bars over time, a panel for each scheme.

    The iteration is the longest of the first traffic that has a critical path, else of those with
    steps; of several seeds it is one of the first.
    """
    shown = [(case, *_longest(case, rows)) for _, case, rows in _STEPS.each(results)]
    hosts = max(min(_MOST_HOSTS, rows["rank"].n_unique()) for _, rows, _ in shown)
    figure = style.blank(1.3 + len(shown) * (0.9 + max(1.4, 0.16 * hosts)))
    style.headline(figure, results, _note(shown))
    grid = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, (case, rows, path) in zip(grid, shown, strict=True):
        _panel(axes, rows, path)
        if len(shown) > 1:
            axes.set_title(case.label, fontsize="small")
    grid[-1].set_xlabel("time since the first host began (us)")
    keys: list[Any] = [
        Patch(facecolor=_COMPUTES, label="computes"),
        Patch(facecolor=_SENDS, label="its message is on the way"),
        Patch(facecolor=_WAITS, label="neither"),
        Line2D([], [], color=_CRITICAL, linewidth=style.thin(0.7), label="critical path"),
    ]
    columns = style.legend_columns([key.get_label() for key in keys])
    figure.legend(handles=keys, loc="outside lower center", ncols=columns, fontsize="small")
    figure.supylabel("host", fontsize="medium")
    return figure


def _longest(case: Case, every: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The steps of the longest iteration of a case, and its critical path."""
    first = pl.col("seed") == case.results[0].seed
    rows = every.filter(first, pl.col("traffic") == every["traffic"][0])
    path = case.table("critical_path")
    if not path.is_empty():
        path = path.filter(first, pl.col("traffic") == every["traffic"][0])
        known = path.select("group", "iteration").unique()
        whole = rows.join(known, on=["group", "iteration"], how="semi")
        rows = rows if whole.is_empty() else whole
    took = rows.group_by("group", "iteration").agg(
        (pl.col("end_us").max() - pl.col("ready_us").min()).alias("took")
    )
    order = took.sort("took", "group", "iteration", descending=[True, False, False])
    of = (pl.col("group") == order["group"][0]) & (pl.col("iteration") == order["iteration"][0])
    return rows.filter(of), path if path.is_empty() else path.filter(of)


def _note(shown: list[tuple[Case, pl.DataFrame, pl.DataFrame]]) -> str:
    rows = shown[0][1]
    numbers = sorted({int(own["iteration"][0]) for _, own, _ in shown})
    group = f", group {rows['group'][0]}" if rows["group"][0] else ""
    said = f"{rows['traffic'][0]}{group}, iteration {' and '.join(map(str, numbers))}"
    left = rows["rank"].n_unique() - _MOST_HOSTS
    return f"{said}; the first {_MOST_HOSTS} hosts, {left} more are left out" if left > 0 else said


def _panel(axes: Axes, rows: pl.DataFrame, path: pl.DataFrame) -> None:
    start = float(rows["ready_us"].min())  # type: ignore[arg-type]
    hosts = rows.select("rank", "host").unique().sort("rank").head(_MOST_HOSTS)
    places = {host: place for place, host in enumerate(hosts["host"])}
    for host, place in places.items():
        own = rows.filter(pl.col("host") == host)
        whole = (float(own["ready_us"].min()) - start, float(own["end_us"].max()) - start)  # type: ignore[arg-type]
        _bars(axes, place, [whole], 0.8, _WAITS)
        sent = own.filter(pl.col("kind") == "send", pl.col("arrived_us").is_not_null())
        _bars(axes, place, _joined(sent, "end_us", "arrived_us", start), 0.44, _SENDS)
        computed = own.filter(pl.col("kind") == "compute")
        _bars(axes, place, _joined(computed, "ready_us", "end_us", start), 0.8, _COMPUTES)
    for kind, host, peer, begin, end in _critical(path):
        if host in places and (not peer or peer in places):
            to = places[peer] if kind == "message" else places[host]
            axes.plot(
                [begin - start, end - start], [places[host], to], color=_CRITICAL,
                linewidth=style.thin(0.7), solid_capstyle="butt",
            )  # fmt: skip
    names = list(places)
    step = -(-len(names) // _MOST_NAMES)
    axes.set_yticks(range(0, len(names), step), names[::step], fontsize="x-small")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=0.01)
    axes.grid(visible=False)


def _critical(path: pl.DataFrame) -> list[tuple[str, str, str, float, float]]:
    if path.is_empty():
        return []
    return path.select("kind", "host", "peer", "start_us", "end_us").rows()


def _joined(rows: pl.DataFrame, begin: str, end: str, start: float) -> list[tuple[float, float]]:
    """The times of rows, those that meet as one."""
    found: list[tuple[float, float]] = []
    for from_, to in rows.select(begin, end).sort(begin).iter_rows():
        if found and from_ <= found[-1][1] + start:
            found[-1] = found[-1][0], max(found[-1][1], to - start)
        else:
            found.append((from_ - start, to - start))
    return found


def _bars(
    axes: Axes, place: int, times: list[tuple[float, float]], height: float, colour: str
) -> None:
    bars = [(begin, end - begin) for begin, end in times]
    axes.broken_barh(bars, (place - height / 2, height), facecolors=colour, linewidth=0)


DRAWINGS = (Drawing("timeline", _STEPS, timeline),)
