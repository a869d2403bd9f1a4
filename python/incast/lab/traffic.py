"""Traffic on a standing test bed: connections that stay, by iperf3; requests, by our generator."""

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl

from incast.lab.bed import Bed, kept, start
from incast.lab.commands import call
from incast.lab.plan import Client, LabError
from incast.lab.row import Carried, of_flows, of_requests

_FIRST_PORT = 5201
_INTERVAL_S = 0.1
_PATIENCE_S = 10.0
# The state of a socket in /proc/net/tcp: proc(5).
_LISTENS = "0A"


def carry(
    bed: Bed, part: Sequence[str], name: str, repeat: int, begins: Callable[[], None]
) -> Carried:
    """Carries all traffic of the plan over the congestion control of that name.

    `begins` is called when the servers listen.

    Raises:
        LabError: A connection could not be made.
    """
    with contextlib.ExitStack() as stack:
        if bed.plan.client is not None:
            return _fetch(bed, bed.plan.client, part, stack, name, repeat, begins)
        return _send(bed, stack, name, begins)


def _send(bed: Bed, stack: contextlib.ExitStack, name: str, begins: Callable[[], None]) -> Carried:
    flows_of = bed.plan.flows
    ports = {pair: _FIRST_PORT + at for at, pair in enumerate(dict.fromkeys(flows_of))}
    for (_, receiver), port in ports.items():
        server = ["iperf3", "-s", "-J", "-i", f"{_INTERVAL_S:g}", "-p", str(port)]
        stack.enter_context(kept(bed.inside(receiver, *server)))
    for receiver in bed.plan.receivers:
        _wait_for(bed, receiver, {port for (_, to), port in ports.items() if to == receiver})
    commands = [
        bed.inside(
            sender, "iperf3", "-c", bed.address(receiver), "-p", str(port), "-C", name,
            "-P", str(flows_of.count((sender, receiver))),
            "-t", str(max(1, round(bed.plan.seconds))), "-J", "--get-server-output",
        )
        for (sender, receiver), port in ports.items()
    ]  # fmt: skip
    begin_us, end_us = bed.plan.measured_us
    begins()
    with ThreadPoolExecutor(len(commands)) as pool:
        ended = list(pool.map(_run, commands))
    earliest = min(at for at, _ in ended)
    flows: list[dict[str, Any]] = []
    series: list[pl.DataFrame] = []
    for (sender, receiver), (at, said) in zip(ports, ended, strict=True):
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
    return of_flows(flows, pl.concat(series))


def _wait_for(bed: Bed, host: str, ports: set[int]) -> None:
    """Waits until servers listen, on a busy machine for a while.

    Raises:
        LabError: They do not.
    """
    deadline = time.monotonic() + _PATIENCE_S
    tables = ("/proc/net/tcp", "/proc/net/tcp6")
    while True:
        lines = call(*bed.inside(host, "cat", *tables)).splitlines()
        fields = [line.split() for line in lines if line.lstrip()[:1].isdigit()]
        listen = {int(one[1].rpartition(":")[2], 16) for one in fields if one[3] == _LISTENS}
        if not ports - listen:
            return
        if time.monotonic() > deadline:
            raise LabError(f"{host}: no server began to listen within {_PATIENCE_S:g} s")
        time.sleep(0.05)


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
    client: Client,
    part: Sequence[str],
    stack: contextlib.ExitStack,
    name: str,
    repeat: int,
    begins: Callable[[], None],
) -> Carried:
    places = {server: f"{bed.address(server)}:{_FIRST_PORT}" for server in client.servers}
    for server, place in places.items():
        serve = bed.inside(server, *part, "serve", place, "--algorithm", name)
        stack.enter_context(kept(serve))
    for server in client.servers:
        _wait_for(bed, server, {_FIRST_PORT})
    drawn = client.draw(bed.plan.receiver.rate_mbps, bed.plan.seconds, repeat)
    asked = "\n".join(
        json.dumps(
            {
                "at_us": one.at_us,
                "servers": [places[server] for server in one.servers],
                "bytes": one.bytes_each,
            }
        )
        for one in drawn
    )
    # The generator tells no numbers; two requests at one time are of different sizes, or alike.
    traffics = {(one.at_us, len(one.servers) * one.bytes_each): one.traffic for one in drawn}
    # Both ends have the algorithm: servers send, and a client of DCTCP has to echo marks.
    load = bed.inside(client.name, *part, "load", "--algorithm", name)
    begins()
    out = call(*load, told=asked)
    rows = [
        {
            "traffic": traffics[answer["at_us"], answer["bytes"]],
            "client": client.name,
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
    return of_requests(rows, alone=client.alone, asked=len(drawn), measured_us=bed.plan.measured_us)
