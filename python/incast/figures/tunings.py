"""Figures of tunings: the trade-off of two figures, the course, and the effect of parameters."""

from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from incast.figures import style
from incast.figures.sweeps import far, headline, metric_name, metric_words
from incast.results.searched import Searched
from incast.results.seeds import Side
from incast.results.tunings import Trial, TuningRecord

# The most parameters with a panel; the first ones.
_MOST_PANELS = 12


def draw(tuning: TuningRecord, name: str) -> Figure:
    """The figure `pareto`, `history` or `parameters`, in the look that is in use."""
    drawn = {"pareto": _pareto, "history": _history, "parameters": _parameters}
    return drawn[name](tuning)


def _pareto(tuning: TuningRecord) -> Figure:
    """Each trial by two figures, with the front."""
    figure = style.blank(4.2)
    axes = figure.add_subplot()
    across, up = _two(tuning)
    points = {one.number: (_at(tuning, one, across), _at(tuning, one, up)) for one in tuning.every}
    _scatter(axes, tuning, points, up, across)
    if len(tuning.goals.objectives) > 1:
        front = sorted(points[one.number] for one in tuning.front)
        axes.plot(
            [x for x, _ in front], [y for _, y in front], color="0.3",
            linewidth=style.thin(0.6), drawstyle=_steps(tuning), zorder=1, label="front",
        )  # fmt: skip
    axes.set_xlabel(_name(tuning, across))
    axes.set_ylabel(_name(tuning, up))
    far(axes, "x", [x for x, _ in points.values()])
    far(axes, "y", [y for _, y in points.values()])
    _headline(figure, tuning, "each point a trial")
    _legend(figure, axes)
    return figure


def _two(tuning: TuningRecord) -> tuple[str, str]:
    """The figures across and up: both objectives, or the first constraint and the objective."""
    goals = tuning.goals
    first = goals.objectives[0].figure
    if len(goals.objectives) > 1:
        return goals.objectives[1].figure, first
    other = next((one.figure for one in goals.constraints if one.figure != first), None)
    return other or ("throughput_gbps" if first != "throughput_gbps" else "rtt_p99_us"), first


def _steps(tuning: TuningRecord) -> str:
    """The corners of the front: what is no better than a point of it lies behind them."""
    across = tuning.goals.objectives[1]
    return "steps-pre" if across.maximize else "steps-post"


def _history(tuning: TuningRecord) -> Figure:
    """The first objective by trial, and the best feasible one so far."""
    figure = style.blank(3.8)
    axes = figure.add_subplot()
    goal = tuning.goals.objectives[0]
    points = {
        one.number: (float(one.number), _at(tuning, one, goal.figure)) for one in tuning.every
    }
    _scatter(axes, tuning, points, goal.figure)
    x: list[float] = []
    best: list[float] = []
    for one in tuning.every:
        value = points[one.number][1]
        if one.feasible and (not best or goal.better(value, best[-1])):
            x.append(float(one.number))
            best.append(value)
    if best:
        axes.step(
            [*x, float(len(tuning.every))], [*best, best[-1]], where="post", color="0.3",
            linewidth=style.thin(0.6), zorder=1, label="best so far",
        )  # fmt: skip
    axes.set_xlabel("trial")
    axes.set_ylabel(_name(tuning, goal.figure))
    far(axes, "y", [y for _, y in points.values()])
    _headline(figure, tuning, "the limits are those after the last trial")
    _legend(figure, axes)
    return figure


def _parameters(tuning: TuningRecord) -> Figure:
    """The first objective by the value of each parameter."""
    space = tuning.space[:_MOST_PANELS]
    columns = min(3, len(space))
    rows = -(-len(space) // columns)
    figure = style.blank(1.6 + 2.0 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    goal = tuning.goals.objectives[0].figure
    for axes, one in zip(grid.flat, space, strict=False):
        places = {word: float(place) for place, word in enumerate(one.words)}
        points = {}
        for trial in tuning.every:
            value = one.number(trial.settings[one.name])
            x = places.get(value, np.nan) if isinstance(value, str) else value
            points[trial.number] = np.nan if x is None else x, _at(tuning, trial, goal)
        _scatter(axes, tuning, points, goal)
        axes.set_xlabel(_parameter(one))
        if one.words:
            axes.set_xticks([*places.values()], [*places])
            axes.set_xlim(-0.5, len(places) - 0.5)
        else:
            far(axes, "x", [x for x, _ in points.values()])
            if columns > 1 and axes.get_xscale() == "log":
                axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1,)))  # panels are narrow
    for axes in grid.flat:
        far(axes, "y", [_at(tuning, trial, goal) for trial in tuning.every])
    for axes in list(grid.flat)[len(space) :]:
        axes.remove()
    figure.supylabel(_name(tuning, goal), fontsize="medium")
    note = "each point a trial"
    if len(tuning.space) > len(space):
        note += f"; the first {len(space)} of {len(tuning.space)} parameters"
    _headline(figure, tuning, note)
    _legend(figure, grid.flat[0])
    return figure


def _scatter(
    axes: Axes, tuning: TuningRecord, points: dict[int, tuple[float, float]], *drawn: str
) -> None:
    """Points of trials: those that break a limit, feasible ones, the best, and the first.

    `drawn` are the figures upwards and, if it is one, across: bounds of them have arrows.
    """
    best = {one.number for one in tuning.front}
    groups: dict[str, list[Trial]] = {
        "breaks a limit": [one for one in tuning.every if one.values and not one.feasible],
        "feasible": [one for one in tuning.every if one.feasible and one.number not in best],
        "best" if len(tuning.goals.objectives) == 1 else "on the front": list(tuning.front),
        "as given": [*tuning.every[:1]],
        "a bound alone": [
            one for one in tuning.every if any(_side(tuning, one, each) for each in drawn)
        ],
    }
    looks: tuple[dict[str, Any], ...] = (
        {"marker": "x", "color": "0.6", "s": 18},
        {"marker": "o", "color": "C0", "s": 14, "alpha": 0.7},
        {"marker": "*", "color": "C1", "s": 90},
        {"marker": "D", "facecolor": "none", "edgecolor": "black", "s": 50},
        {"marker": "o", "facecolor": "none", "edgecolor": "0.5", "s": 18},
    )
    for (label, trials), how in zip(groups.items(), looks, strict=True):
        if trials:
            found = np.array([points[one.number] for one in trials])
            axes.scatter(found[:, 0], found[:, 1], label=label, zorder=3, **how)
    for one in groups["a bound alone"]:
        for figure, flat in zip(drawn, (False, True), strict=False):
            if side := _side(tuning, one, figure):
                style.arrow(axes, points[one.number], side, "0.5", flat=flat)


def _at(tuning: TuningRecord, trial: Trial, figure: str) -> float:
    """A figure of a trial, combined over scenarios, or its bound; NaN where there is none."""
    found = tuning.goals.spread(trial.ran, tuning.every[0].ran, figure)
    return float("nan") if found is None else found.mean


def _side(tuning: TuningRecord, trial: Trial, figure: str) -> Side:
    """The kind of bound that a figure of a trial is; empty where it is known, or there is none."""
    found = tuning.goals.spread(trial.ran, tuning.every[0].ran, figure)
    return "" if found is None else found.side


def _name(tuning: TuningRecord, figure: str) -> str:
    """A figure with its unit, or as a ratio where several scenarios are combined."""
    several = len(tuning.goals.scenarios) > 1
    return f"{metric_words(figure)}, ratio to as given" if several else metric_name(figure)


def _parameter(one: Searched) -> str:
    units = {"us": " (us)", "gbps": " (Gb/s)", "bytes": " (B)"}
    return f"{one.name}{units.get(one.unit, '')}"


def _headline(figure: Figure, tuning: TuningRecord, note: str) -> None:
    rules = "; ".join([note, *(one.text for one in tuning.goals.constraints)])
    title = f"{tuning.scheme} in {', '.join(tuning.goals.scenarios)}"
    headline(figure, title, rules, complete=tuning.complete)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
