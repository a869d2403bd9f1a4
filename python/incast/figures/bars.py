"""The figures of the summary side by side, with what the seeds say of their certainty."""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import ideals, style
from incast.figures.drawing import Drawing
from incast.results.differences import differences
from incast.results.records import Records
from incast.results.seeds import Spread
from incast.terminal.cells import leaves_out

_PANELS = (
    ("throughput (Gb/s)", "throughput_gbps"),
    ("p99 queue (KB)", "queue_p99_kb"),
    ("mean RTT (us)", "rtt_mean_us"),
    ("p99 RTT (us)", "rtt_p99_us"),
    ("mean slowdown", "slowdown_mean"),
    ("p99 slowdown", "slowdown_p99"),
    ("deadlines missed (%)", "deadlines_missed_percent"),
    ("mean delay of the late (us)", "late_mean_us"),
)


def bars(results: Records) -> Figure:
    """Means over the seeds, with 95 % confidence intervals by Student's t."""
    cases = results.cases
    panels = [
        (_name(results, name, key), found)
        for name, key in _PANELS
        if any(found := [case.spread(key) for case in cases])
    ]
    counts = sorted({len(case.results) for case in cases})
    places = list(enumerate(case.label for case in cases))
    note = "; ".join(filter(None, (_note("means", counts), ideals.note(results))))
    figure = _figure(results, note, places, panels)
    shown = [key for _, key in _PANELS if any(case.spread(key) for case in cases)]
    for axes, key in zip(figure.axes, shown, strict=False):
        ideals.of_summary(axes, results, key)
    ideals.legend(figure)
    return figure


def of_differences(results: Records, baseline: str) -> Figure:
    """Mean differences to a baseline, seed by seed, with the intervals of these differences.

    Raises:
        ParameterError: There is no such scheme, or nothing to compare with it.
    """
    found = differences(results, baseline)
    panels = [
        (_name(results, name, key), spreads)
        for name, key in _PANELS
        if any(spreads := [one.values.get(key) for one in found])
    ]
    numbers = {case.label: number for number, case in enumerate(results.cases)}
    places = [(numbers[one.case], one.case) for one in found]
    counts = sorted({len(one.seeds) for one in found})
    note = _note(f"mean differences to {baseline}, seed by seed,", counts)
    figure = _figure(results, note, places, panels)
    for axes in figure.axes:
        axes.axvline(0, color="black", linewidth=1.0)
    return figure


def _name(results: Records, name: str, key: str) -> str:
    """The title of a panel; it says where a mean leaves out what had not finished."""
    summaries = [run.summary for case in results.cases for run in case.runs]
    return f"{name}, of finished messages" if leaves_out(key, summaries) else name


def _figure(
    results: Records,
    note: str,
    places: Sequence[tuple[int, str]],
    panels: Sequence[tuple[str, Sequence[Spread | None]]],
) -> Figure:
    """A panel for each quantity; in each a bar for each case, with its number and label."""
    rows = max(1, -(-len(panels) // 2))
    labels = [style.beside(label) for _, label in places]
    lines = max(label.count("\n") for label in labels)
    figure = style.blank(1.0 + rows * (0.7 + (0.34 + 0.12 * lines) * len(places)))
    style.headline(figure, results, note)
    grid = figure.subplots(rows, 2, squeeze=False, sharey=True)
    for axes, (name, found) in zip(grid.flat, panels, strict=False):
        for place, ((index, _), value) in enumerate(zip(places, found, strict=True)):
            _bar(axes, place, index, value)
        axes.set_xlabel(textwrap.fill(name, style.letters(28)))
        if all(value is None or (value.mean >= 0 and value.within[0] >= 0) for value in found):
            axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        style.few_ticks(axes)
    for axes in list(grid.flat)[max(1, len(panels)) :]:
        axes.remove()
    grid[0, 0].set_yticks(range(len(places)), labels)
    grid[0, 0].invert_yaxis()
    return figure


def _bar(axes: Axes, place: int, index: int, value: Spread | None) -> None:
    if value is None:
        axes.annotate(
            "none", (0, place), (3, 0), textcoords="offset points", va="center", color=style.MUTED
        )
        return
    axes.barh(place, value.mean, height=0.6, **style.bar(index))
    if value.side:
        style.arrow(axes, (value.mean, place), value.side, style.MUTED, flat=True)
    if value.interval is not None:
        low, high = value.interval
        axes.errorbar(
            value.mean, place, xerr=[[value.mean - low], [high - value.mean]], color="black",
            capsize=3 * style.scale(), linewidth=style.thin(0.7),
        )  # fmt: skip


def _note(what: str, counts: list[int]) -> str:
    if counts == [1]:
        return (
            "one seed each: no confidence intervals"
            if what == "means"
            else f"{what} one seed: no confidence intervals"
        )
    return (
        f"{what} over {' or '.join(map(str, counts))} seeds, "
        "95 % confidence intervals by Student's t"
    )


def _empty(results: Records) -> str | None:
    keys = [key for _, key in _PANELS]
    found = any(case.spread(key) for case in results.cases for key in keys)
    return None if found else "nothing was measured"


DRAWINGS = (Drawing("bars", None, bars, _empty),)
