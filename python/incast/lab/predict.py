"""The simulator's prediction for a test bed, in the columns of its rows."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from incast import _core
from incast._core import Run, Scenario
from incast.lab.attach import knobs_of
from incast.lab.programs import BpfProgram, listed
from incast.lab.traffic import by_urgency
from incast.results.tables import frame


def simulate(scenario: Scenario, kernel: Path, scheme: str, knobs: Sequence[str], seed: int) -> Run:
    """A run of what `incast-kernel` attaches under the name of a scheme, with the same values."""
    program = listed(kernel).get(scheme.partition(":")[0])
    if program is None:
        return _core.run(scenario, scheme, seed=seed)
    return _core.run(*attached(scenario, program, scheme, knobs), seed=seed)


def attached(
    scenario: Scenario, program: BpfProgram, scheme: str, knobs: Sequence[str]
) -> tuple[Scenario, str]:
    """The scenario and the scheme with the values that a program has when it is attached."""
    name, _, preset = scheme.partition(":")
    (algorithm,) = (one for one in _core.algorithms() if one.name == name)
    values = {"transport": "stream"}
    if preset and preset != program.preset:
        own = next((one.values for one in algorithm.presets if one.name == preset), {})
        values |= {key: value for key, value in program.of_hosts.items() if key not in own}
    if chosen := preset or program.preset:
        values["preset"] = chosen
    of_knobs = (knob.partition("=")[::2] for knob in knobs_of(name, knobs))
    values |= dict([*scenario.resolved()["parameters"].get(name, ()), *of_knobs])
    # A parameter of programs alone: the simulator takes each host's own.
    values.pop("line_rate", None)
    return scenario.with_set(*(f"cc.{name}.{key}={value}" for key, value in values.items())), name


def figures(scenario: Scenario, run: Run) -> dict[str, float]:
    """The figures of a run that a test bed measures too."""
    said = run.summary
    found = {
        "throughput_mbps": said["throughput_gbps"] * 1e3,
        "rtt_p50_us": said["rtt_p50_us"],
        "rtt_p99_us": said["rtt_p99_us"],
        "retransmissions": said["retransmissions"],
    }
    tables = {table.name: table for table in run.tables}
    asked = [frame(tables[name]) for name in ("requests", "messages") if name in tables]
    rows = next((rows for rows in asked if not rows.is_empty()), None)
    if rows is None:
        found["jain_index"] = said["jain_index"]
        return found
    counted = rows.filter(pl.col("posted_us") >= scenario.warmup_s * 1e6)
    known = {key: value for key, value in by_urgency(counted).items() if value is not None}
    return found | known
