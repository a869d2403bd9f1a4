"""Doubts about what was measured that show when runs have ended: a sentence for each cause.

Each run is looked at by itself (`of_run`), which gives numbers that can be kept. Then the seeds of
a scheme are judged together, and schemes and points share a sentence (`sentences`).
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any, Literal, TypeVar

import msgspec
import polars as pl

from incast._core import Scenario
from incast.results import quantities
from incast.results.measures import posted_while_measured, window_us
from incast.results.searched import text_of
from incast.results.stored import StoredScenario
from incast.results.tables import SchemeRun, frame

_TOLERATED = 0.01
"""The tolerated share: beyond it, the 99th percentile is of something that had not finished."""
_MOVED = {"rate": 0.05, "queue": 0.25}
"""The change from half to half, as a part of the greater one, up to which a run is at rest."""
_SURE = 3.0
"""The standard errors by which a change is more than chance: 98 % of Student's t with 8 degrees."""
_LEAST_KB = 10.0
"""The change of a queue that matters: some packets."""
_PARTS = 5
"""The parts of a half, whose differences say how much the figure varies by itself."""
_NAMED = 3
"""The most schemes that a sentence names."""

_UNITS = {"rate": "Gb/s", "queue": "KB"}


class Counts(msgspec.Struct, frozen=True, tag="counts"):
    """The messages or requests of one traffic that were posted while measured."""

    kind: Literal["messages", "requests"]
    traffic: str
    posted: int
    finished: int
    """The number that had finished by the end of the run."""
    left_us: float | None = None
    """The time that the others would take, by what is left of them and the rate."""
    drain_us: float = 0.0
    """The time that they had after the duration."""


class Limit(msgspec.Struct, frozen=True, tag="limit"):
    """Messages that were under way at the end of the longest drain."""

    left: int
    drain_us: float
    left_us: float | None


class Halves(msgspec.Struct, frozen=True, tag="halves"):
    """A figure of flows without end, in both halves of the measured time."""

    figure: Literal["rate", "queue"]
    """The rate of all of them together, or the queue with the longest mean."""
    first: float
    second: float
    error: float
    """The standard error of the difference, by the means of five parts of each half."""


class Overflow(msgspec.Struct, frozen=True, tag="overflow"):
    """Packets of a class that PFC protects, dropped all the same."""

    of_class: str
    drops: int
    port: str
    """The port with most of them."""
    headroom_kb: float
    needed_kb: float
    """The headroom that would do at each of the ports."""


Doubt = Counts | Limit | Halves | Overflow
Doubts = tuple[Doubt, ...]

_Kind = TypeVar("_Kind", Counts, Limit, Halves, Overflow)


def of_run(run: SchemeRun, scenario: Scenario | StoredScenario) -> Doubts:
    """The numbers of a run that doubts are judged by; none of a run that was stopped."""
    if not run.complete:
        return ()
    wanted = (
        "messages",
        "requests",
        "load",
        "flows",
        "series_flows",
        "series_queues",
        "lossless_drops",
    )
    tables = {table.name: frame(table) for table in run.tables if table.name in wanted}
    timeout_us = _first_timeout_us(scenario) if run.summary.get("drops") else 0.0
    counts = [
        one
        for kind in ("messages", "requests")
        for one in _counts(kind, tables, scenario, timeout_us)
    ]
    return (
        *counts,
        *_limit(run, counts, tables.get("messages"), scenario),
        *_halves(tables, scenario),
        *_overflows(tables.get("lossless_drops")),
    )


def _counts(
    kind: Literal["messages", "requests"],
    tables: Mapping[str, pl.DataFrame],
    scenario: Scenario | StoredScenario,
    timeout_us: float,
) -> Iterator[Counts]:
    rows = tables.get(kind, pl.DataFrame())
    if not {"traffic", "posted_us"} <= set(rows.columns):
        return
    counted = posted_while_measured(rows, scenario)
    for (traffic,), own in counted.group_by("traffic", maintain_order=True):
        finished, left = int(own["finished"].sum()), None
        if finished < own.height:
            left = _left_us(str(traffic), tables, own if kind == "requests" else None, timeout_us)
        drain_us = (scenario.drain_s or 0.0) * 1e6
        yield Counts(kind, str(traffic), own.height, finished, left, drain_us)


def _first_timeout_us(scenario: Scenario | StoredScenario) -> float:
    """The timeout of a connection before its first RTT sample."""
    transport = msgspec.toml.decode(scenario.toml()).get("transport", {})
    given = quantities.numbers([str(transport.get("rto_initial", ""))])
    if given is not None:
        return given.values[0]
    slow = transport.get("stream", {}).get("preset") in ("linux", "ns-3")
    return 1e6 if slow and transport.get("kind") == "stream" else 16e3


def _left_us(
    traffic: str,
    tables: Mapping[str, pl.DataFrame],
    requests: pl.DataFrame | None,
    timeout_us: float = 0.0,
) -> float | None:
    """The time that the messages of a traffic would take that were under way at the end.

    It is the longest of these: all that is left, at the rate at which the traffic was carried; what
    is left of each message, as much slower than the ideal as the finished ones were, byte by byte;
    the time that each has had, since it may wait for a timeout; what is left of the first timeout,
    of messages that are overdue where packets were dropped; and of requests the longest of the
    finished ones, less the time that each has had.
    """
    messages = tables.get("messages", pl.DataFrame())
    if not {"bytes", "delivered_bytes", "ideal_us", "completion_us"} <= set(messages.columns):
        return None
    own = messages.filter(pl.col("traffic") == traffic)
    late = own.filter(pl.col("finished") == 0)
    done = own.filter(pl.col("finished") == 1)
    slower = 1.0
    if done.height:
        slower = max(1.0, float(done["completion_us"].sum()) / float(done["ideal_us"].sum()))
    left = late["bytes"].cast(pl.Float64) - late["delivered_bytes"].cast(pl.Float64)
    times = [float(one) for one in (left / late["bytes"] * late["ideal_us"] * slower)]
    if "elapsed_us" in late.columns:
        times += late["elapsed_us"].drop_nulls().to_list()
        overdue = late.filter(pl.col("elapsed_us") > pl.col("ideal_us") * slower)
        times += [timeout_us - float(one) for one in overdue["elapsed_us"]]
    load = tables.get("load", pl.DataFrame())
    if {"traffic", "carried_gbps"} <= set(load.columns):
        rates = load.filter(pl.col("traffic") == traffic)["carried_gbps"]
        times += [float(left.sum()) * 8e-3 / rate for rate in rates if rate and rate > 0]
    if requests is not None and {"completion_us", "elapsed_us"} <= set(requests.columns):
        longest, waited = (requests[name].drop_nulls() for name in ("completion_us", "elapsed_us"))
        times += [float(one) for one in longest.top_k(1)[0] - waited] if longest.len() else []
    return max((one for one in times if math.isfinite(one) and one > 0), default=None)


def _limit(
    run: SchemeRun,
    counts: Sequence[Counts],
    messages: pl.DataFrame | None,
    scenario: Scenario | StoredScenario,
) -> Iterator[Limit]:
    drain_s, ended_s = scenario.drain_s, run.summary.get("simulated_s")
    if not drain_s or messages is None or "finished" not in messages.columns:
        return
    if ended_s and ended_s > (scenario.duration_s + drain_s) * (1 - 1e-9):
        left = messages.height - int(messages["finished"].sum())
        times = [one.left_us for one in counts if one.left_us is not None]
        if left:
            yield Limit(left, drain_s * 1e6, max(times, default=None))


def _halves(
    tables: Mapping[str, pl.DataFrame], scenario: Scenario | StoredScenario
) -> Iterator[Halves]:
    """The halves of rate and queue, where flows without end last from before the measured time."""
    names = ("flows", "series_flows", "series_queues")
    if any(tables.get(name, pl.DataFrame()).is_empty() for name in names):
        return
    flows, rates, queues = (tables[name] for name in names)
    if not {"start_us", "flow"} <= set(flows.columns):
        return
    messages = tables.get("messages", pl.DataFrame())
    endless = flows.filter(pl.col("start_us").is_not_null())
    if "flow" in messages.columns:
        endless = endless.join(messages, on="flow", how="anti")
    window = begin, end = window_us(scenario)
    changes = [*endless["start_us"], *_changes_us(scenario)]
    if endless.is_empty() or any(begin < change < end for change in changes):
        return
    rates = rates.filter(pl.col("flow").is_in(endless["flow"].implode()))
    yield from _of_series("rate", rates, pl.col("goodput_gbps").sum(), window)
    longest = queues.filter(pl.col("time_us") > begin, pl.col("time_us") <= end)
    means = longest.group_by("port", maintain_order=True).agg(pl.col("queue_mean_kb").mean())
    if means.height:
        port = means["port"][int(means["queue_mean_kb"].arg_max() or 0)]
        own = queues.filter(pl.col("port") == port)
        yield from _of_series("queue", own, pl.col("queue_mean_kb").sum(), window)


def _of_series(
    figure: Literal["rate", "queue"],
    rows: pl.DataFrame,
    value: pl.Expr,
    window: tuple[float, float],
) -> Iterator[Halves]:
    series = rows.group_by("time_us").agg(value.alias("value")).sort("time_us")
    if series.height < 2:
        return
    ends = series["time_us"]
    interval = ends[1] - ends[0]
    inside = (ends >= window[0] + interval - 1e-6) & (ends <= window[1] + 1e-6)
    values: list[float] = series["value"].filter(inside).to_list()
    half = len(values) // 2
    if half < _PARTS or not all(map(math.isfinite, values)):
        return
    halves = values[-2 * half : -half], values[-half:]
    cuts = [half * part // _PARTS for part in range(_PARTS + 1)]
    parts = [[fmean(one[a:b]) for a, b in itertools.pairwise(cuts)] for one in halves]
    error = math.sqrt(sum(variance(one) / _PARTS for one in parts))
    yield Halves(figure, fmean(halves[0]), fmean(halves[1]), error)


def _changes_us(scenario: Scenario | StoredScenario) -> Iterator[float]:
    """The times at which the scenario itself changes what goes on."""
    try:
        said = msgspec.toml.decode(scenario.toml())
    except (msgspec.DecodeError, RecursionError):
        return
    for name in ("event", "traffic", "receiver"):
        rows = said.get(name, [])
        for row in rows if isinstance(rows, list) else ():
            texts = (row.get(key) for key in ("at", "start", "stop") if isinstance(row, dict))
            for text in texts:
                found = quantities.numbers([text]) if isinstance(text, str) else None
                if found is not None:
                    yield found.values[0]


def _overflows(rows: pl.DataFrame | None) -> Iterator[Overflow]:
    if rows is None:
        return
    for (name,), own in rows.group_by("class", maintain_order=True):
        most = own.sort("drops", descending=True, maintain_order=True).row(0, named=True)
        drops, needed = int(own["drops"].sum()), max(own["needed_kb"].to_list())
        yield Overflow(str(name), drops, most["port"], most["headroom_kb"], needed)


@dataclass(frozen=True)
class _Found:
    """A cause of doubt, of one scheme at one point."""

    size: float
    """The extent, by which points are compared."""
    said: str
    doubt: Doubt
    at: str = ""


def of_runs(
    runs: Iterable[tuple[Mapping[str, SchemeRun], Scenario | StoredScenario]],
) -> list[str]:
    """The sentences of the runs of one scenario, by scheme, which may differ in the seed."""
    found: dict[str, list[Doubts]] = {}
    for of_schemes, scenario in runs:
        for scheme, run in of_schemes.items():
            found.setdefault(scheme, []).append(of_run(run, scenario))
    return sentences([("", found)])


def sentences(points: Iterable[tuple[str, Mapping[str, Sequence[Doubts]]]]) -> list[str]:
    """A sentence for each cause, of the doubts by point, scheme and seed.

    The numbers are of the point at which they are worst, for each scheme.
    """
    found: dict[tuple[str, str], dict[str, list[_Found]]] = {}
    for at, of_schemes in points:
        for scheme, of_seeds in of_schemes.items():
            for cause, one in _judged(of_seeds, scheme, at):
                found.setdefault(cause, {}).setdefault(scheme, []).append(one)
    return [_sentence(cause, of_schemes) for cause, of_schemes in found.items()]


def _judged(
    of_seeds: Sequence[Doubts], scheme: str, at: str
) -> Iterator[tuple[tuple[str, str], _Found]]:
    """The causes of doubt of a scheme at a point: what its seeds say together."""
    every = [doubt for doubts in of_seeds for doubt in doubts]
    for same in _like(every, Counts, lambda one: (one.kind, one.traffic)):
        posted = sum(one.posted for one in same)
        left = posted - sum(one.finished for one in same)
        if left > _TOLERATED * posted:
            said = f"{left / posted:.1%} under {scheme} ({left} of {posted})"
            longest = max(same, key=lambda one: one.left_us or 0.0)
            yield (same[0].kind, same[0].traffic), _Found(left / posted, said, longest, at)
    for limits in _like(every, Limit, lambda one: one.drain_us):
        worst = max(limits, key=lambda one: one.left)
        yield ("limit", ""), _Found(worst.left, f"{worst.left} under {scheme}", worst, at)
    for halves in _like(every, Halves, lambda one: one.figure):
        first, second = (
            math.fsum(getattr(one, half) for one in halves) / len(halves)
            for half in ("first", "second")
        )
        error = math.sqrt(math.fsum(one.error**2 for one in halves)) / len(halves)
        figure, change = halves[0].figure, abs(second - first)
        if change > max(_MOVED[figure] * max(first, second), _SURE * error) and (
            figure == "rate" or change > _LEAST_KB
        ):
            percent = f" ({second / first - 1:+.0%})" if first else ""
            unit = _UNITS[figure]
            said = f"{_number(first)} to {_number(second)} {unit} under {scheme}{percent}"
            yield (figure, ""), _Found(change / max(first, second), said, halves[0], at)
    for overflows in _like(every, Overflow, lambda one: one.of_class):
        drops = sum(one.drops for one in overflows)
        most = max(overflows, key=lambda one: one.drops)
        said = f"{drops} packets under {scheme}, most at {most.port}"
        yield ("class", most.of_class), _Found(drops, said, most, at)


def _like(every: Iterable[Doubt], kind: type[_Kind], key: Any) -> Iterable[list[_Kind]]:  # noqa: ANN401
    """The doubts of a kind that are of the same thing, in the order in which they come."""
    groups: dict[object, list[_Kind]] = {}
    for one in every:
        if isinstance(one, kind):
            groups.setdefault(key(one), []).append(one)
    return groups.values()


def _sentence(cause: tuple[str, str], of_schemes: Mapping[str, Sequence[_Found]]) -> str:
    kind, name = cause
    worst = [max(points, key=lambda one: one.size) for points in of_schemes.values()]
    texts = []
    for one, points in zip(worst, of_schemes.values(), strict=True):
        several = f", the worst of {len(points)} points" if len(points) > 1 else ""
        texts.append(f"{one.said} at {one.at}{several}" if one.at else one.said)
    if len(texts) > _NAMED:
        texts = [*texts[:_NAMED], f"and under {len(texts) - _NAMED} more schemes"]
    schemes, doubt = ", ".join(texts), max(worst, key=lambda one: one.size).doubt
    if isinstance(doubt, Counts):
        return (
            f"traffic {name}: of the {kind} posted while measured had not finished by the end of "
            f"the run: {schemes}; percentiles count them as the slowest, means leave them out; "
            f"{_remedy(doubt)}"
        )
    if isinstance(doubt, Limit):
        return (
            f"run.drain: at its end after {_time(doubt.drain_us)} messages were still under way: "
            f"{schemes}; {_remedy(doubt)}"
        )
    if isinstance(doubt, Halves):
        what = {"rate": "flows: their rate together", "queue": "queues: the longest"}[kind]
        return (
            f"{what} has not come to rest: its mean went, from the first half of the measured time "
            f"to the second, from {schemes}; measure later with run.warmup, and longer with "
            "run.duration"
        )
    headroom = f"its headroom there is {_number(doubt.headroom_kb)} KB"
    if doubt.needed_kb <= doubt.headroom_kb:
        return (
            f"class {name}: PFC protects it, and yet switches dropped of it {schemes}; {headroom}, "
            "which should hold what comes after a pause; the table lossless_drops has all ports"
        )
    needed = math.ceil(doubt.needed_kb * 10) / 10
    return (
        f"class {name}: PFC protects it, and yet switches dropped of it {schemes}; {headroom}, and "
        f"{needed:g} KB come after a pause: leave out switch.pfc.headroom, or raise it to "
        f'"{needed:g}KB"'
    )


def _remedy(doubt: Counts | Limit) -> str:
    """The time that would do: twice the estimate, since a drain ends as soon as it may."""
    if doubt.left_us is None:
        return "give them time with run.drain, or with run.cooldown and a longer run.duration"
    digits = 1 - math.floor(math.log10(doubt.left_us))
    estimate = math.ceil(doubt.left_us * 10.0**digits) / 10.0**digits
    needs = f"by what is left and the rate they need some {_time(estimate)} more"
    if doubt.drain_us:
        return f'{needs}: raise run.drain to "{_time(doubt.drain_us + 2 * estimate)}"'
    twice = _time(2 * estimate)
    return f'{needs}: set run.drain to "{twice}", or add that to run.cooldown and run.duration'


def _time(us: float) -> str:
    """A time as scenarios have it."""
    return text_of(us, "us", digits=4)


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def once(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences said before runs, once for each cause: sentences that differ in numbers are of one.

    Each comes with the point that it is of. Where it does not hold at all points alike, the first
    of them is named.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    points: set[str] = set()
    for at, text in texts:
        points.add(at)
        if text:
            found.setdefault(re.sub(r"\d[\d.,]*", "#", text), []).append((at, text))
    said = []
    for same in found.values():
        at, text = same[0]
        everywhere = len({at for at, _ in same}) == len(points)
        alike = everywhere and all(other == text for _, other in same)
        more = len({at for at, _ in same}) - 1
        several = f", and at {more} more point{'s' if more > 1 else ''}" if more else ""
        said.append(text if alike or not at else f"{text} (at {at}{several})")
    return said
