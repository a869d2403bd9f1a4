"""Traffic on a standing test bed: connections that stay, by iperf3; requests, by our generator."""

import contextlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from incast.lab.bed import Bed, call, kept, start
from incast.lab.plan import LabError, Requests

_FIRST_PORT = 5201
_INTERVAL_S = 0.1
URGENT_BELOW = 30_000
"""Requests of fewer bytes are told apart, as the paper on Regulated TCP does."""


@dataclass(frozen=True)
class Carried:
    """The outcome of the traffic; None where it is of the other kind."""

    tables: dict[str, pl.DataFrame]
    """`flows` and `series_flows`, or `requests`, or `messages`: the simulator's columns."""
    throughput_mbps: float
    jain_index: float | None = None
    urgent_p99_us: float | None = None
    others_p99_us: float | None = None
    incomplete: int | None = None


def carry(bed: Bed, part: Sequence[str], name: str, repeat: int) -> Carried:
    """Carries all traffic of the plan over the congestion control of that name.

    Raises:
        LabError: A connection could not be made.
    """
    with contextlib.ExitStack() as stack:
        if bed.plan.requests is not None:
            return _fetch(bed, bed.plan.requests, part, stack, name, repeat)
        return _send(bed, stack, name)


def _send(bed: Bed, stack: contextlib.ExitStack, name: str) -> Carried:
    receiver = bed.plan.receiver.name
    senders = [sender for sender, _ in bed.plan.flows]
    ports = {sender: _FIRST_PORT + at for at, sender in enumerate(dict.fromkeys(senders))}
    for port in ports.values():
        server = ["iperf3", "-s", "-J", "-i", f"{_INTERVAL_S:g}", "-p", str(port)]
        stack.enter_context(kept(bed.inside(receiver, *server)))
    time.sleep(0.2)
    commands = [
        bed.inside(
            sender, "iperf3", "-c", bed.address(receiver), "-p", str(port), "-C", name,
            "-P", str(senders.count(sender)), "-t", str(max(1, round(bed.plan.seconds))), "-J",
            "--get-server-output",
        )
        for sender, port in ports.items()
    ]  # fmt: skip
    begin_us, end_us = bed.plan.measured_us
    with ThreadPoolExecutor(len(commands)) as pool:
        ended = list(pool.map(_run, commands))
    earliest = min(at for at, _ in ended)
    flows: list[dict[str, Any]] = []
    series: list[pl.DataFrame] = []
    for sender, (at, said) in zip(ports, ended, strict=True):
        # A connection whose SYN was lost begins and ends a second late: all have one clock.
        late_us = (at - earliest) * 1e6
        for number, stream in enumerate(said["end"]["streams"]):
            rates = pl.DataFrame(
                {
                    "time_us": interval["streams"][number]["end"] * 1e6 + late_us,
                    "flow": len(flows),
                    "goodput_gbps": interval["streams"][number]["bytes"] * 8e-9 / _INTERVAL_S,
                }
                for interval in said["server_output_json"]["intervals"]
            )
            in_time = rates.filter(pl.col("time_us").is_between(begin_us, end_us, closed="right"))
            series.append(rates.filter(pl.col("time_us") <= bed.plan.seconds * 1e6))
            expected = (end_us - begin_us) / 1e6 / _INTERVAL_S
            flows.append(
                {
                    "flow": len(flows),
                    "source": sender,
                    "destination": receiver,
                    "goodput_gbps": float(in_time["goodput_gbps"].sum()) / expected,
                    "rtt_mean_us": float(stream["sender"]["mean_rtt"]),
                    "retransmissions": stream["sender"]["retransmits"],
                }
            )
    goodputs = np.array([flow["goodput_gbps"] for flow in flows])
    return Carried(
        tables={"flows": pl.DataFrame(flows), "series_flows": pl.concat(series)},
        throughput_mbps=float(goodputs.sum()) * 1e3,
        jain_index=float(goodputs.sum() ** 2 / (goodputs.size * (goodputs**2).sum())),
    )


def _run(command: Sequence[str]) -> tuple[float, dict[str, Any]]:
    """Runs a client of iperf3; returns the time at which it ended, and its report."""
    out, _ = start(command).communicate()
    at = time.monotonic()
    return at, _said(out)


def _said(out: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(out or "{}")
    if "error" in said or "end" not in said:
        raise LabError(f"iperf3: {said.get('error', 'failed')}")
    return said


def _fetch(
    bed: Bed,
    requests: Requests,
    part: Sequence[str],
    stack: contextlib.ExitStack,
    name: str,
    repeat: int,
) -> Carried:
    places = {server: f"{bed.address(server)}:{_FIRST_PORT}" for server in requests.servers}
    for server, place in places.items():
        serve = bed.inside(server, *part, "serve", place, "--algorithm", name)
        stack.enter_context(kept(serve))
    time.sleep(0.2)
    drawn = requests.draw(bed.plan.receiver.rate_mbps, bed.plan.seconds, seed=repeat + 1)
    asked = "\n".join(
        json.dumps({"at_us": at, "servers": [places[one] for one in servers], "bytes": each})
        for at, servers, each in drawn
    )
    # Both ends have the algorithm: servers send, and a client of DCTCP has to echo marks.
    load = bed.inside(requests.client, *part, "load", "--algorithm", name)
    out = call(*load, told=asked)
    rows = [
        {
            "traffic": requests.traffic,
            "client": requests.client,
            "fan_out": answer["fan_out"],
            "bytes": answer["bytes"],
            "posted_us": float(answer["at_us"]),
            "completed_us": answer["at_us"] + answer["completion_us"],
            "completion_us": answer["completion_us"],
        }
        for answer in map(json.loads, out.splitlines())
    ]
    if not rows:
        raise LabError(f"{bed.plan.name}: no request was answered; run longer")
    answers = pl.DataFrame(rows)
    return Carried(
        tables={"messages": answers.drop("client", "fan_out")}
        if requests.alone
        else {"requests": answers},
        incomplete=len(drawn) - len(rows),
        **_of_requests(answers, *bed.plan.measured_us),
    )


def _of_requests(answers: pl.DataFrame, begin_us: float, end_us: float) -> dict[str, Any]:
    measured = answers.filter(pl.col("posted_us").is_between(begin_us, end_us, closed="left"))
    arrived = answers.filter(pl.col("completed_us").is_between(begin_us, end_us, closed="left"))
    return {
        "throughput_mbps": 8 * float(sum(arrived["bytes"].to_list())) / (end_us - begin_us),
        **by_urgency(measured),
    }


def by_urgency(answers: pl.DataFrame) -> dict[str, float | None]:
    """The 99th percentiles of the completion times of small requests and of others."""
    urgent = pl.col("bytes") < URGENT_BELOW
    p99 = pl.col("completion_us").quantile(0.99, "linear")
    return {
        "urgent_p99_us": answers.filter(urgent).select(p99).item(),
        "others_p99_us": answers.filter(~urgent).select(p99).item(),
    }
