"""Rates and RTTs of connections on Linux TCP over time."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from incast.figures import look, style
from incast.figures.canvas import on_canvas, save_as
from incast.results import observations, store
from incast.results.observations import Observed

# Nobody tells more lines than this apart: they look alike, and are counted.
_TOLD_APART = 10
_POINTS = 250


def write(directory: Path, observed: Observed, formats: Iterable[str]) -> None:
    """Draws what the table in the directory says, and puts the figures there.

    Raises:
        OutputError: They cannot be written.
    """
    rows = pl.read_parquet(directory / observations.TABLE, glob=False)
    try:
        for name, figure in draw(observed.title, rows).items():
            save_as(figure, directory / name, formats)
    except OSError as error:
        raise store.unwritable(directory, error) from None


def draw(title: str, rows: pl.DataFrame) -> dict[str, Figure]:
    """Draws the rate and the RTT of connections on Linux TCP over time."""
    with look.use(look.Look()):
        return {
            name: on_canvas(over_time(title, rows, column, label))
            for name, column, label in (
                ("rate", "rate_mbps", "rate (Mb/s)"),
                ("rtt", "rtt_us", "RTT (us)"),
            )
        }


def over_time(title: str, rows: pl.DataFrame, column: str, label: str) -> Figure:
    """A column over time, a line for each connection."""
    figure = style.blank(4.2)
    figure.suptitle(title, fontsize="medium")
    axes = figure.subplots()
    known = rows.drop_nulls(column)
    series = known.select(
        pl.format("{} → {}", "local_port", "remote").alias("connection"),
        ((pl.col("time_s") - rows["time_s"].min()) * 1e6).alias("time_us"),
        column,
    )
    if series.is_empty():
        return style.nothing(figure, axes, "no connection told of it")
    binned = style.binned(series, pl.col(column).mean(), by="connection", points=_POINTS)
    connections = binned.partition_by("connection", maintain_order=True)
    few = len(connections) <= _TOLD_APART
    for index, one in enumerate(connections):
        look = style.line(index) if few else {"color": style.line(0)["color"], "alpha": 0.55}
        axes.plot(
            one["time_ms"].to_numpy() / 1e3, one[column].to_numpy(),
            linewidth=1.2 if few else 0.7, label=one["connection"][0] if few else None, **look,
        )  # fmt: skip
    if few:
        figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    else:
        axes.set_title(f"{len(connections)} connections", fontsize="small")
    axes.set(xlabel="time since the first report (s)", ylabel=label)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    return figure
