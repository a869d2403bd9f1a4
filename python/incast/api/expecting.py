"""What a cluster's collectives should reach, by runs, and what would explain that they do not."""

import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from incast._core import IncastError, ParameterError, Scenario
from incast.advice import cluster as clusters
from incast.advice import nccl, suspects
from incast.advice.cluster import Cluster
from incast.advice.expected import Expectation, Explanation, Reach
from incast.advice.nccl import Log
from incast.advice.suspects import Suspect
from incast.api import running, scenarios
from incast.api.result import Result

LEAST_TOLERANCE = 0.05
"""The tolerance of a network whose seeds all give the same."""
_SIZES = "1MiB,16MiB,256MiB"
_SEEDS = (1, 2, 3)
_ROUNDS = 2
# Larger sizes take as long as the line through the times of this one and of half of it.
_LARGEST = 2**28
_MOST_EXPLAINED = 3
# A step is longer by at least twice the delay that a host's link is; a host adds at most this.
_LEAST_SLOPE, _MOST_DELAY_US = 1.0, 100.0


def expect(
    scenario: Scenario | str | os.PathLike[str] | None = None,
    *,
    nodes: int | None = None,
    gpus: int | None = None,
    nic: str | None = None,
    rails: int | None = None,
    oversubscription: float | None = None,
    delay: str | None = None,
    island: str | None = None,
    collective: str | None = None,
    algorithm: str | None = None,
    sizes: str | None = None,
    scheme: str | None = None,
    log: str | os.PathLike[str] | None = None,
    explain: bool = True,
) -> Expectation:
    """Finds what a collective should reach on a cluster, in the terms of nccl-tests.

    Each size is run with three seeds, twice in a row; the second round counts, and the median of
    the seeds is what is expected. The tolerance is 5 % and the distance to the slowest seed.

    Args:
        scenario: A scenario whose network it is, the path of one, or the name of one that ships;
            None for a cluster that the next arguments describe.
        nodes: The number of nodes.
        gpus: The GPUs of a node, each with a NIC of its own; 8 if None.
        nic: The rate of a NIC; 400Gbps if None.
        rails: The rails: one for each GPU of a node if None, or 1 if a node is at one leaf.
        oversubscription: Of leaves over spines; 1 if None.
        delay: The delay of the links of hosts, one way, with what hosts add to it; 1us if None.
        island: The rate of a GPU to others of its node, such as 3.6Tbps; no limit if None. The
            part within nodes is not simulated: it takes at least 2 (g - 1) / g of the size at this
            rate, beside what is between nodes.
        collective: The collective; that of the log, or all-reduce, if None.
        algorithm: Its algorithm, such as ring or tree; the usual one if None.
        sizes: Sizes such as `1MB,16MB`; those of the log, or three, if None.
        scheme: The congestion control; the scenario's first one, or line-rate, which is PFC alone,
            if None.
        log: A log of nccl-tests, as text or JSON, that is compared with what is expected.
        explain: Whether to run faults that would explain what falls short.

    Raises:
        ParameterError: There is no network, a value is out of its range, or the log is of another
            collective or number of ranks.
        ScenarioError: The scenario cannot be read.
        Interrupted: Ctrl-C.

    Example:
        ```python
        import incast

        found = incast.expect(nodes=4, gpus=2, nic="100Gbps", sizes="100KB,1MB")
        found.lines[-1].busbw  # GB/s, 1e9 bytes each
        found.lines[-1].tolerance  # the part of it that may be missing
        print(found.text())  # in the columns of nccl-tests
        ```
    """
    given = None if log is None else nccl.read(Path(log))
    collective = _collective(collective, given)
    algorithm = clusters.check(collective, algorithm)
    line = {"nodes": nodes, "gpus": gpus, "nic": nic, "rails": rails,
            "oversubscription": oversubscription, "delay": delay, "island": island}  # fmt: skip
    found = replace(_cluster(scenario, line), algorithm=algorithm)
    _check_ranks(found, given)
    measured = _measured(found, collective, sizes, given)
    under = scheme or found.scenario.schemes[0]
    lines = _lines(found, collective, under, measured)
    expected = Expectation(collective, algorithm, under, found.ranks, found.about, tuple(lines))
    if not (explain and expected.short):
        return expected
    return replace(expected, explanations=tuple(_explanations(found, expected)))


def _collective(asked: str | None, given: Log | None) -> str:
    of_log = given.collective if given else None
    if asked and of_log and given and asked != of_log:
        raise ParameterError(
            f"{given.place}: a log of {of_log}; expected one of {asked}, or --collective {of_log}"
        )
    return asked or of_log or "all-reduce"


def _cluster(scenario: Scenario | str | os.PathLike[str] | None, line: dict[str, Any]) -> Cluster:
    asked = [name for name, value in line.items() if value is not None]
    if scenario is not None:
        if asked:
            raise ParameterError(f"--{asked[0]} beside a scenario: leave one of the two out")
        if isinstance(scenario, (str, os.PathLike)):
            scenario = scenarios.load(scenario)
        return clusters.of_scenario(scenario)
    if line["nodes"] is None:
        raise ParameterError("no network: name a scenario, or a cluster such as --nodes 16")
    return clusters.of_line(
        nodes=line["nodes"],
        gpus=8 if line["gpus"] is None else line["gpus"],
        nic=line["nic"] or "400Gbps",
        rails=line["rails"],
        oversubscription=1.0 if line["oversubscription"] is None else line["oversubscription"],
        delay=line["delay"],
        island=line["island"],
    )


def _check_ranks(found: Cluster, given: Log | None) -> None:
    if given and given.ranks is not None and given.ranks != found.ranks:
        raise ParameterError(
            f"{given.place}: {given.ranks} ranks, and the network has {found.ranks}; name the "
            "network that the log is of"
        )


def _measured(
    found: Cluster, collective: str, sizes: str | None, given: Log | None
) -> dict[int, float | None]:
    """The sizes that are expected, each with what was measured."""
    # The printed time has more digits than the bandwidth of a small size.
    of_log = (
        {} if given is None
        else {line.size: _busbw(found, collective, line.size, line.time_us) for line in given.lines}
    )  # fmt: skip
    if sizes is None and given is not None:
        return {**of_log}
    wanted = clusters.sizes(sizes or _SIZES)
    if given is not None and (missing := [size for size in wanted if size not in of_log]):
        there = ", ".join(f"{size}B" for size in of_log)
        raise ParameterError(
            f"--sizes {missing[0]}B: not in {given.place}; expected of {there}, or leave it out"
        )
    return {size: of_log.get(size) for size in wanted}


def _lines(
    found: Cluster, collective: str, scheme: str, measured: dict[int, float | None]
) -> list[Reach]:
    times = _times(found, collective, scheme, measured)
    lines = []
    for size, busbw in measured.items():
        expected, slowest = statistics.median(times[size]), max(times[size])
        tolerance = LEAST_TOLERANCE + (slowest - expected) / slowest
        reach = _busbw(found, collective, size, expected)
        lines.append(Reach(size, expected, reach, tolerance, busbw))
    return lines


def _times(
    found: Cluster, collective: str, scheme: str, sizes: dict[int, float | None]
) -> dict[int, list[float]]:
    """The time of each size under each seed; of the largest on the line through two others."""
    times = {
        size: _run(found, collective, size, scheme, _SEEDS) for size in sizes if size <= _LARGEST
    }
    large = [size for size in sizes if size > _LARGEST]
    if large:
        ends = [_run(found, collective, size, scheme, _SEEDS) for size in (_LARGEST // 2, _LARGEST)]
        for size in large:
            more = (size - _LARGEST) / (_LARGEST // 2)
            times[size] = [last + more * (last - half) for half, last in zip(*ends, strict=True)]
    return times


def _busbw(found: Cluster, collective: str, size: int, time_us: float) -> float:
    return size / time_us / 1e3 * nccl.factor(collective, found.ranks)


def _run(
    found: Cluster, collective: str, size: int, scheme: str, seeds: Sequence[int]
) -> list[float]:
    """The time of a round under each seed, in microseconds."""
    scenario = found.run(collective, size, _ROUNDS)
    results = running.run(scenario, [scheme], seed=seeds, jobs=None, whatever_it_costs=True)
    least = found.island_us(collective, size)
    return [max(least, _took_us(one, found, size, scheme)) for one in results.members]


def _took_us(result: Result, found: Cluster, size: int, scheme: str) -> float:
    """The time from the end of the round before the last to the end of the last."""
    rows = result.table("iterations").filter(pl.col("finished") == 1)
    if rows.height != _ROUNDS * len(found.groups):
        raise IncastError(
            f"{size} B under {scheme}: the collective did not end in a thousand times its ideal; "
            "name another scheme, or a network that loses fewer packets"
        )
    ends = rows.group_by("iteration").agg(pl.col("end_us").max()).sort("iteration")["end_us"]
    return float(ends[-1] - ends[-2])


def _explanations(found: Cluster, expected: Expectation) -> list[Explanation]:
    """Runs with a fault each, of up to three of the sizes that fall short."""
    lines = [line for line in expected.lines if line.short and line.size <= _LARGEST]
    lines = lines or [line for line in expected.lines if line.short][:1]
    if len(lines) > _MOST_EXPLAINED:
        lines = [lines[0], lines[len(lines) // 2], lines[-1]]
    last = lines[-1]
    part = (last.measured or 0.0) / last.busbw
    reasons = [_explained(one, expected, lines) for one in suspects.of_rate(found, part)]
    if delayed := _delayed(found, expected, lines[0]):
        reasons.append(_explained(delayed, expected, lines))
    return sorted(reasons, key=lambda one: one.off)


def _delayed(found: Cluster, expected: Expectation, line: Reach) -> Suspect | None:
    """The delay of hosts that makes up for what is missing of a size."""
    size, collective = min(line.size, _LARGEST), expected.collective
    if (tried := suspects.of_delay(found, 1.0)) is None:
        return None
    before, after = (
        _run(of, collective, size, expected.scheme, (1,))[0] for of in (found, tried.cluster)
    )
    wanted = line.time_us * line.busbw / (line.measured or line.busbw)
    if after - before < _LEAST_SLOPE:
        return None  # something else holds it back
    more = (wanted - line.time_us) / (after - before)
    return suspects.of_delay(found, more) if 0 < more <= _MOST_DELAY_US else None


def _explained(suspect: Suspect, expected: Expectation, lines: Sequence[Reach]) -> Explanation:
    of_seeds: list[dict[int, float]] = [{} for _ in suspect.seeds]
    for line in lines:
        size = min(line.size, _LARGEST)
        times = _run(suspect.cluster, expected.collective, size, expected.scheme, suspect.seeds)
        for reached, time_us in zip(of_seeds, times, strict=True):
            reached[line.size] = _busbw(suspect.cluster, expected.collective, size, time_us)

    def off(reached: dict[int, float]) -> float:
        return max(abs(reached[one.size] / (one.measured or math.inf) - 1) for one in lines)

    nearest = min(of_seeds, key=off)
    return Explanation(suspect.name, nearest, off(nearest))
