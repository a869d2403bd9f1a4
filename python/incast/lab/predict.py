"""The simulator's prediction for a test bed, in the columns of its rows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from incast import _core
from incast._core import Run, Scenario
from incast.base.schemes import parts
from incast.lab.attach import knobs_of
from incast.lab.carriers import with_knobs
from incast.lab.programs import BpfProgram, listed
from incast.lab.row import Measured, Row, by_urgency
from incast.results.measures import window_us
from incast.results.tables import frame


def of_udp(scenario: Scenario, scheme: str, knobs: Sequence[str], seed: int) -> Run:
    """A run of what nodes over UDP run under the name of a scheme, with the same values."""
    return _core.run(with_knobs(scenario, scheme, knobs), scheme, seed=seed)


def of_linux(scenario: Scenario, kernel: Path, scheme: str, knobs: Sequence[str], seed: int) -> Run:
    """A run of what `incast-kernel` attaches under the name of a scheme, with the same values."""
    program = listed(kernel).get(parts(scheme).algorithm)
    if program is None:
        return _core.run(scenario, scheme, seed=seed)
    return _core.run(*attached(scenario, program, scheme, knobs), seed=seed)


def attached(
    scenario: Scenario, program: BpfProgram, scheme: str, knobs: Sequence[str]
) -> tuple[Scenario, str]:
    """The scenario and the scheme with the values that a program has when it is attached."""
    name, preset, settings = parts(scheme)
    (algorithm,) = (one for one in _core.algorithms() if one.name == name)
    values = {"transport": "stream"}
    if preset and preset != program.preset:
        own = next((one.values for one in algorithm.presets if one.name == preset), {})
        values |= {key: value for key, value in program.host_params.items() if key not in own}
    if chosen := preset or program.preset:
        values["preset"] = chosen
    given = (one.partition("=")[::2] for one in [*settings, *knobs_of(name, knobs)])
    values |= dict([*scenario.resolved()["parameters"].get(name, ()), *given])
    # A parameter of programs alone: the simulator takes each host's own.
    values.pop("line_rate", None)
    return scenario.with_set(*(f"cc.{name}.{key}={value}" for key, value in values.items())), name


def row(scenario: Scenario, run: Run, label: str, scheme: str, repeat: int) -> Row:
    """The figures of a run that a test bed measures too."""
    said = run.summary
    tables = {table.name: table for table in run.tables}
    asked = [frame(tables[name]) for name in ("requests", "messages") if name in tables]
    rows = next((rows for rows in asked if not rows.is_empty()), None)
    found: dict[str, Any] = {"jain_index": said["jain_index"]}
    if rows is not None:
        found = by_urgency(rows.filter(pl.col("posted_us") >= scenario.warmup_s * 1e6))
        found["incomplete"] = said["messages_posted"] - said["messages"]
    return Row(
        carrier=label,
        scheme=scheme,
        repeat=repeat,
        throughput_mbps=said["throughput_gbps"] * 1e3,
        rtt_p50_us=said["rtt_p50_us"],
        rtt_p99_us=said["rtt_p99_us"],
        drops=int(said["drops"]),
        retransmissions=int(said["retransmissions"]),
        **found,
    )


def paired(scenario: Scenario, found: Measured, run: Run) -> Measured:
    """The measurement with `predicted_us`, the completion of each message in the run predicting it.

    A message that one of the two did not complete counts as slower there.
    """
    tables = found.carried.tables
    if "messages" not in tables:
        return found
    (predicted,) = (frame(table) for table in run.tables if table.name == "messages")
    messages = tables["messages"].join(
        predicted.select("flow", "message", predicted_us="completion_us"),
        on=("flow", "message"), how="left", maintain_order="left",
    )  # fmt: skip
    here, there = (pl.col(one).fill_null(math.inf) for one in ("completion_us", "predicted_us"))
    counted = messages.filter(pl.col("posted_us").is_between(*window_us(scenario), closed="left"))
    median = counted.select((here / there).drop_nans().median()).item()
    return replace(
        found,
        row=replace(found.row, over_predicted=median if 0 < (median or 0) < math.inf else None),
        carried=replace(found.carried, tables={**tables, "messages": messages}),
    )
