"""The carried share of the offered load, against the load."""

from matplotlib.figure import Figure

from incast.figures import look, style
from incast.figures.canvas import on_canvas
from incast.results.saturation import Point, Saturation


def draw(found: Saturation) -> Figure:
    """Draws what is carried of what is offered, against the load."""
    with look.use(look.Look()):
        return on_canvas(saturation(found))


def saturation(found: Saturation) -> Figure:
    """Carried over offered, with the threshold; below it the slowdown, where it was measured."""
    slow = any(_slowdown(point) is not None for point in found.points)
    figure = style.blank(6.0 if slow else 3.8)
    ended = "" if found.complete else " (incomplete)"
    bounded = any(point.slowdown_p99_bound is not None for point in found.points)
    note = f"\n{style.ARROWS}" if bounded else ""
    figure.suptitle(f"{found.title}{ended}{note}", fontsize="medium")
    panels = figure.subplots(2 if slow else 1, 1, sharex=True, squeeze=False)[:, 0]
    heights: list[float] = []
    for index, scheme in enumerate(found.schemes):
        points = found.of(scheme)
        if not points:
            continue
        look = {**style.line(index), "marker": style.marker(index), "markersize": 5}
        loads = [point.load for point in points]
        carried, _ = found.saturated(scheme)
        label = f"{scheme}: {_words(found, scheme)}"
        panels[0].plot(loads, [point.ratio for point in points], label=label, **look)
        if carried is not None:
            panels[0].axvline(carried, color=look["color"], linewidth=0.8, linestyle=":")
        if slow:
            slowdowns = [_slowdown(point) for point in points]
            heights += [value for value in slowdowns if value]
            known = [at for at, point in enumerate(points) if point.slowdown_p99 is not None]
            panels[1].plot(
                loads, [value or float("nan") for value in slowdowns], markevery=known, **look
            )
            style.bounds(
                panels[1],
                (
                    (point.load, point.slowdown_p99_bound, "at least")
                    for point in points
                    if point.slowdown_p99 is None and point.slowdown_p99_bound is not None
                ),
                **look,
            )
    panels[0].axhline(found.threshold, color="black", linewidth=1.0, linestyle="--", zorder=1)
    panels[0].annotate(
        f"threshold {found.threshold:g}", xy=(0, found.threshold), xytext=(3, -3), va="top",
        xycoords=("axes fraction", "data"), textcoords="offset points", fontsize="x-small",
        color=style.MUTED,
    )  # fmt: skip
    panels[0].set_ylabel("carried over offered")
    panels[0].set_ylim(0, max(1.05, panels[0].get_ylim()[1]))
    if slow:
        panels[1].set_ylabel("p99 slowdown")
        style.logarithmic(panels[1], "y", min(heights), max(heights))
    panels[-1].set_xlabel("offered load (fraction of the capacity)")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _slowdown(point: Point) -> float | None:
    """The p99 slowdown, or what it is at least."""
    return point.slowdown_p99_bound if point.slowdown_p99 is None else point.slowdown_p99


def _words(found: Saturation, scheme: str) -> str:
    carried, above = found.saturated(scheme)
    if carried is None:
        return f"saturated below {found.of(scheme)[0].load:g}"
    return f"saturated load {carried:g}" if above else f"not saturated at {carried:g}"
