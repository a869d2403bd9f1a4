"""The figures of the summary side by side, with what the seeds say of their certainty."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.plots import style
from incast.plots.drawing import Drawing
from incast.results import Results
from incast.seeds import Spread, spread

_PANELS = (
    ("throughput (Gb/s)", "throughput_gbps"),
    ("p99 queue (KB)", "queue_p99_kb"),
    ("mean RTT (us)", "rtt_mean_us"),
    ("p99 RTT (us)", "rtt_p99_us"),
    ("mean slowdown", "slowdown_mean"),
    ("p99 slowdown", "slowdown_p99"),
)


def bars(results: Results) -> Figure:
    """Means over the seeds, with 95 % confidence intervals by Student's t."""
    panels = [
        (name, found)
        for name, key in _PANELS
        if any(found := [spread(case.values(key)) for case in results.cases])
    ]
    cases = results.cases
    rows = max(1, -(-len(panels) // 2))
    figure = Figure(figsize=(style.WIDTH, 1.0 + rows * (0.7 + 0.34 * len(cases))))
    counts = sorted({len(case.results) for case in cases})
    style.headline(figure, results, _note(counts))
    grid = figure.subplots(rows, 2, squeeze=False, sharey=True)
    for axes, (name, found) in zip(grid.flat, panels, strict=False):
        for place, value in enumerate(found):
            _bar(axes, place, value)
        axes.set_xlabel(name)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        style.few_ticks(axes)
    for axes in list(grid.flat)[max(1, len(panels)) :]:
        axes.remove()
    if not panels:
        return style.nothing(figure, grid[0, 0], "nothing was measured")
    grid[0, 0].set_yticks(range(len(cases)), [case.label for case in cases])
    grid[0, 0].invert_yaxis()
    return figure


def _bar(axes: Axes, place: int, value: Spread | None) -> None:
    if value is None:
        axes.annotate(
            "none", (0, place), (3, 0), textcoords="offset points", va="center", color=style.MUTED
        )
        return
    axes.barh(place, value.mean, height=0.6, **style.bar(place))
    if value.half_width is not None:
        axes.errorbar(
            value.mean, place, xerr=value.half_width, color="black", capsize=3, linewidth=1.2
        )


def _note(counts: list[int]) -> str:
    if counts == [1]:
        return "one seed each: no confidence intervals"
    return (
        f"means over {' or '.join(map(str, counts))} seeds, "
        "95 % confidence intervals by Student's t"
    )


DRAWINGS = (
    Drawing(
        "bars", "throughput, queue, RTT, slowdown: mean over the seeds, 95 % confidence interval",
        None, bars,
    ),
)  # fmt: skip
