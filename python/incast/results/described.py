"""Every table that a run can have, with units and meanings: for a reader who has no result yet."""

from functools import cache

import polars as pl

from incast import _core
from incast._core import Run, Scenario
from incast._core import run as simulate
from incast.results.columns import TableInfo
from incast.results.tables import describe, frame


def _info(doc: str, **columns: tuple[str, str]) -> TableInfo:
    return {
        "doc": doc,
        "columns": {name: {"unit": unit, "doc": doc} for name, (unit, doc) in columns.items()},
    }


# A small scenario with rows for each table: connections that stay, requests, a collective, a slow
# receiver, an island, a class that trims, too little headroom, and a link that fails while packets
# are on it.
_SCENARIO = """
title = "A run that has every table"

[run]
duration = "200us"
schemes = ["timely"]

[switch]
pfc = { enabled = true, xoff = "5KB", headroom = "2KB" }

[[class]]
name = "data"

[[class]]
name = "cut"
pfc = false
discipline = "trim"

[measure]
ideal = true

[network.leaf-spine]
leaves = 2
spines = 1
hosts = { name = "host", count = 2, rate = "10Gbps", delay = "1us" }
uplink = { rate = "2Gbps", delay = "1us" }

[[receiver]]
hosts = "host3"
rate = "1Gbps"

[[island]]
hosts = "host[0-1]"
size = 2
rate = "800Gbps"
latency = "500ns"

[[event]]
at = "100us"
link = ["leaf0", "spine0"]
state = "down"

[[traffic]]
kind = "connections"
from = "host0"
to = "host2"
scheme = "patched-timely"

[[traffic]]
kind = "requests"
from = "host1"
to = "host3"
sizes = { fixed = "10KB" }
deadline = "100us"

[[traffic]]
kind = "collective"
from = "host"
collective = "all-reduce"
size = "10KB"
"""

_SUMMARY = (
    "the figures that schemes are compared by: `measured` in run.json, and Result.summary, which "
    "has `scheme`, `complete` and published values, too; measured is from the end of the warm-up "
    "to the beginning of the cool-down"
)
_TRAFFIC = _info(
    "messages and requests of one traffic that were posted while measured: `traffic` in run.json, "
    "and Result.traffic; percentiles are of nearest rank, and count what had not finished by the "
    "end of the run as the slowest",
    scheme=("", "scheme that was run"),
    traffic=("", "the traffic's name"),
    messages=("", "number of messages that were delivered by the end of the run"),
    messages_posted=("", "number of messages, delivered or not"),
    slowdown_mean=("", "completion over ideal completion: mean of the delivered"),
    slowdown_p99=("", "its 99th percentile; null where that message was not delivered"),
    slowdown_p99_bound=("", "the 99th percentile is at least this where it is null"),
    completion_mean_us=("us", "completion time: mean of the delivered"),
    completion_p99_us=("us", "the 99th percentile; null where that message was not delivered"),
    completion_p99_bound_us=("us", "the 99th percentile is at least this where it is null"),
    deadlines_met=(
        "",
        "share of the messages with a deadline that met it; one that never came has missed it",
    ),
    requests=("", "number of requests, incasts or rounds of a collective that were complete"),
    requests_posted=("", "number of these, complete or not"),
    request_mean_us=("us", "completion time: mean of the complete ones"),
    request_p99_us=("us", "the 99th percentile; null where that one was not complete"),
    request_p99_bound_us=("us", "the 99th percentile is at least this where it is null"),
)
# No small scenario has such a job.
_STALLED = _info(
    "one step of a job that waits for what will not come: every message has arrived and was "
    "acknowledged, and no host has anything to do; the table is there where there are such steps",
    scheme=("", "scheme that was run"),
    traffic=("", "the traffic's name"),
    group=(
        "",
        "number of the job among those of the traffic, from 0: its groups work side by side",
    ),
    host=("", "host that waits"),
    step=("", "number of the step in its round, from 0"),
    kind=("", "receive, or acknowledged, as in the table steps"),
    peer=("", "host whose message or acknowledgement it waits for; empty if nobody sends it"),
)
_SATURATION = _info(
    "one scheme at one load: saturation.parquet, which `incast saturate` writes",
    scheme=("", "scheme that was run"),
    load=("", "load that was asked for, in the terms of the scenario"),
    offered_gbps=("Gb/s", "payload posted, measured"),
    carried_gbps=("Gb/s", "payload that arrived, measured"),
    ratio=("", "carried over offered"),
    slowdown_p99=(
        "",
        "99th percentile of the slowdown of messages posted while measured; null if not delivered",
    ),
    slowdown_p99_bound=("", "the 99th percentile is at least this where it is null"),
    messages=("", "number of these messages, delivered or not"),
    equal_messages=("", "messages of one size that would say as much: (sum bytes)^2 / sum bytes^2"),
)


@cache
def _every_table() -> Run:
    """A run that has every table."""
    scenario = Scenario.parse(_SCENARIO, "described.toml")
    return simulate(scenario, "timely", traces=["queues", "flows", "packets"])


@cache
def column_kinds(table: str) -> dict[str, str]:
    """Whether each column of a run's table has `text` or `numbers`; nothing of a table unknown."""
    kinds = {
        column: "text" if kind == pl.String else "numbers"
        for one in _every_table().tables
        if one.name == table
        for column, kind in frame(one).schema.items()
    }
    return {"scheme": "text", **kinds}


def all_tables() -> dict[str, TableInfo]:
    """Every table that there can be: of Python, of a run's Parquet files, of imports."""
    run = _every_table()
    figures = {name: (unit, doc) for name, unit, doc in _core.summary_figures()}
    return {
        "summary": _info(_SUMMARY, **figures),
        "traffic": _TRAFFIC,
        "saturation": _SATURATION,
        **{table.name: describe(table) for table in run.tables},
        "stalled": _STALLED,
        **{
            table.name: table.info
            for kind in ("hpcc-fct", "hpcc-pfc")
            if (table := _core.read_results("", "", kind))
        },
    }


def markdown(tables: dict[str, TableInfo]) -> str:
    """The tables as Markdown: a section for each."""
    return "\n\n".join(_section(name, table) for name, table in tables.items()) + "\n"


def _section(name: str, table: TableInfo) -> str:
    rows = ["| column | unit | meaning |", "|---|---|---|"]
    for column, about in table["columns"].items():
        cells = (f"`{column}`", about["unit"], about["doc"].replace("|", "\\|"))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(
        [f"## {name}", "", f"{table['doc'][:1].upper()}{table['doc'][1:]}.", "", *rows]
    )
