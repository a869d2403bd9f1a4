"""The network of a scenario as a picture: hosts, switches by layer, links with rate and delay."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from incast._core import Scenario
from incast.figures import style
from incast.figures.canvas import on_canvas
from incast.figures.errors import FigureError
from incast.figures.look import Look, use
from incast.figures.style import Floats
from incast.results.records import Case, Records

_TIERS = ("host", "switch", "router", "leaf", "edge", "aggregation", "spine", "core")
# With more hosts, a switch has one box for all; with more boxes in a layer, they have no names.
_MOST_HOSTS = 40
_MOST_NAMES = 32
_UPRIGHT = 12  # with more boxes in a layer, names stand upright
_MOST_PANELS = 4
_MOST_KINDS = 8
# From light to dark, none of them white.
_COLOURS = LinearSegmentedColormap.from_list(
    "utilisation", mpl.colormaps["YlOrRd"](np.linspace(0.2, 1.0, 64))
)


@dataclass(frozen=True)
class _Box:
    """A node of the picture: a switch, a host, or all hosts of a switch."""

    name: str
    layer: str
    x: float
    y: float


@dataclass(frozen=True)
class _Link:
    """A cable of the picture: of one or, to hosts that are one box, of several."""

    ends: tuple[str, str]
    kind: str
    """Layers, rate and delay in words."""
    cables: tuple[tuple[str, str], ...]


def draw(scenario: Scenario, results: Records | None = None, look: Look | None = None) -> Figure:
    """Draws the network; with results, links in the colour of their utilisation.

    Each half of a link is then in the colour of what the node at that end sends, a panel for each
    scheme; of several seeds it is their mean.

    Raises:
        FigureError: The results are of another network, or of too many schemes.
    """
    cases: Sequence[Case | None] = [None] if results is None else results.cases
    if len(cases) > _MOST_PANELS:
        raise FigureError(
            f"{len(cases)} schemes: expected at most {_MOST_PANELS}, a panel each; choose by --cc"
        )
    boxes, links = _layout(scenario)
    with use(look or Look()):
        top = max(box.y for box in boxes.values())
        ways = [
            _way(boxes[one], boxes[other], boxes)[1] for one, other in (of.ends for of in links)
        ]
        arcs = max(float(y.max()) for y in ways) > top
        tall = 0.9 + 1.25 * top + (0.8 if arcs else 0.0)
        figure = style.blank(0.6 + tall * len(cases) + 0.18 * _rows(links))
        remark = "" if results is None else "\neach half of a link: what the node at that end sends"
        figure.suptitle(f"{_title(scenario)}{remark}", fontsize="medium")
        grid = figure.subplots(len(cases), 1, squeeze=False)[:, 0]
        for axes, case in zip(grid, cases, strict=True):
            used = None if case is None else _utilisation(case, links)
            _panel(axes, boxes, links, used)
            if case is not None:
                axes.set_title(case.label)
        if results is not None:
            scale = ScalarMappable(Normalize(0, 100), _COLOURS)
            figure.colorbar(scale, ax=list(grid), label="utilisation (%)", shrink=0.8)
        _legend(figure, links, plain=results is None)
        return on_canvas(figure)


def _title(scenario: Scenario) -> str:
    network = scenario.topology()
    hosts, switches = len(network["hosts"]), len(network["switches"])
    return (
        f"{scenario.name}: {hosts} host{'s' if hosts != 1 else ''}, "
        f"{switches} switch{'es' if switches != 1 else ''}"
    )


def _layout(scenario: Scenario) -> tuple[dict[str, _Box], list[_Link]]:
    """The boxes by node, and the links; hosts stand below their switch, switches by layer."""
    network = scenario.topology()
    layers = dict(network["switches"]) | dict.fromkeys(network["hosts"], "host")
    below: dict[str, list[str]] = {name: [] for name, _ in network["switches"]}
    for one, other, _, _ in network["cables"]:
        for host, switch in ((one, other), (other, one)):
            if layers[host] == "host" and switch in below:
                below[switch].append(host)
    boxed = len(network["hosts"]) > _MOST_HOSTS
    place = {layer: tier for tier, layer in enumerate(
        sorted({*layers.values()}, key=_TIERS.index)
    )}  # fmt: skip
    boxes: dict[str, _Box] = {}
    lowest = [name for name, layer in network["switches"] if place[layer] == 1]
    slots = 0
    for switch in lowest:
        hosts = below[switch]
        width = 1 if boxed else max(1, len(hosts))
        boxes[switch] = _Box(switch, layers[switch], slots + width / 2, 1.0)
        for number, host in enumerate(hosts):
            at = slots + (0.5 if boxed else number + 0.5)
            boxes[host] = _Box(_range(hosts) if boxed else host, "host", at, 0.0)
        slots += width
    for layer, tier in place.items():
        if tier > 1:
            names = [name for name, of in network["switches"] if of == layer]
            for number, name in enumerate(names):
                boxes[name] = _Box(name, layer, (number + 0.5) / len(names) * slots, float(tier))
    # Hosts of switches above the lowest layer, and hosts without a switch.
    for host in network["hosts"]:
        if host not in boxes:
            boxes[host] = _Box(host, "host", slots + 0.5, 0.0)
            slots += 1
    return boxes, list(_links(network["cables"], boxes))


def _links(
    cables: Sequence[tuple[str, str, float, float]], boxes: Mapping[str, _Box]
) -> Iterator[_Link]:
    found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    ends: dict[tuple[str, str, str], tuple[str, str]] = {}
    for one, other, rate, delay in cables:
        low, high = sorted((one, other), key=lambda node: boxes[node].y)
        kind = f"{boxes[low].layer} to {boxes[high].layer}: {rate:g} Gb/s, {delay:g} us"
        key = (boxes[low].name, boxes[high].name, kind)
        ends.setdefault(key, (low, high))
        found.setdefault(key, []).append((low, high))
    for key, own in found.items():
        yield _Link(ends[key], key[2], tuple(own))


def _range(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} ... {hosts[-1]}"


def _utilisation(case: Case, links: Sequence[_Link]) -> dict[tuple[str, str], float]:
    """The utilisation of each direction of a link; hosts in one box have the busiest one's."""
    rows = case.table("links")
    if not {"link", "utilisation"} <= set(rows.columns):
        raise FigureError("there is no table links with utilisation in the result")
    known: dict[str, float] = dict(
        rows.group_by("link").agg(pl.col("utilisation").mean()).iter_rows()
    )
    found: dict[tuple[str, str], float] = {}
    for link in links:
        low, high = link.ends
        for ends, way in (((low, high), 1), ((high, low), -1)):
            names = ["->".join(cable[::way]) for cable in link.cables]
            if missing := [name for name in names if name not in known]:
                raise FigureError(
                    f"{missing[0]}: not among the links of the result; expected one of this network"
                )
            found[ends] = max(known[name] or 0.0 for name in names)
    return found


def _panel(
    axes: Axes,
    boxes: Mapping[str, _Box],
    links: Sequence[_Link],
    used: Mapping[tuple[str, str], float] | None,
) -> None:
    kinds = list(dict.fromkeys(link.kind for link in links))
    thin = style.thin(0.7 if len(links) <= 100 else 0.4)
    for link in links:
        one, other = (boxes[end] for end in link.ends)
        x, y = _way(one, other, boxes)
        if used is None:
            colour = style.line(kinds.index(link.kind))["color"]
            axes.plot(x, y, color=colour, linewidth=thin, zorder=1)
            continue
        half = len(x) // 2
        low, high = link.ends
        for ends, part in (((low, high), slice(0, half + 1)), ((high, low), slice(half, None))):
            colour = _COLOURS(min(used[ends], 1.0))
            axes.plot(x[part], y[part], color=colour, linewidth=2.2 * thin, zorder=1)
    shown = sorted({*boxes.values()}, key=lambda box: (box.y, box.x))
    right = max(box.x for box in shown) + 0.5
    for y, level in groupby(shown, key=lambda box: box.y):
        _level(axes, list(level), right, sum(box.y == y for box in boxes.values()))
    axes.set_xlim(-0.2, right + 0.2)
    axes.margins(y=0.12)
    axes.axis("off")


def _level(axes: Axes, boxes: Sequence[_Box], right: float, nodes: int) -> None:
    """The boxes of one layer, with names while there is room, or with the number of its nodes."""
    layer, y = boxes[0].layer, boxes[0].y
    face = "white" if layer == "host" else "0.88"
    if len(boxes) > _MOST_NAMES:
        axes.plot([box.x for box in boxes], [y] * len(boxes), "s", color="0.3", markersize=3)
        axes.text(
            -0.01 * right, y, f"{nodes} x\n{layer}", ha="right", va="center",
            fontsize="x-small", color=style.MUTED,
        )  # fmt: skip
        return
    upright = len(boxes) > _UPRIGHT or any(len(box.name) > 12 for box in boxes[3:])
    for box in boxes:
        axes.text(
            box.x, y, box.name, ha="center", va="center", fontsize="x-small", zorder=3,
            rotation=90 if upright else 0,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": face, "edgecolor": "0.4",
                  "linewidth": 0.6},
        )  # fmt: skip


def _way(one: _Box, other: _Box, boxes: Mapping[str, _Box]) -> tuple[Floats, Floats]:
    """The points of a link: straight, or an arc above what is between its ends in their layer."""
    along = np.linspace(0.0, 1.0, 31)
    x = one.x + (other.x - one.x) * along
    y = one.y + (other.y - one.y) * along
    left, right = sorted((one.x, other.x))
    if one.y == other.y and any(box.y == one.y and left < box.x < right for box in boxes.values()):
        y = y + 4 * along * (1 - along) * min(0.75, 0.12 * math.sqrt(abs(other.x - one.x)))
    return x, y


def _rows(links: Sequence[_Link]) -> int:
    return min(_MOST_KINDS, len({link.kind for link in links}))


def _legend(figure: Figure, links: Sequence[_Link], *, plain: bool) -> None:
    """The kinds of links, with how many cables there are of each."""
    counts: dict[str, int] = {}
    for link in links:
        counts[link.kind] = counts.get(link.kind, 0) + len(link.cables)
    texts = [f"{kind} ({count})" for kind, count in counts.items()]
    if len(texts) > _MOST_KINDS:
        texts = [*texts[: _MOST_KINDS - 1], f"and {len(texts) - _MOST_KINDS + 1} other kinds"]
    lines = [
        Line2D([], [], color=style.line(number)["color"] if plain else "none")
        for number in range(len(texts))
    ]
    figure.legend(
        lines, texts, loc="outside lower center", fontsize="small",
        handlelength=2.0 if plain else 0.0, ncols=1 if len(texts) < 3 else 2,
    )  # fmt: skip
