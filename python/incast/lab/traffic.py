"""Traffic on a standing test bed: connections that stay, by iperf3; messages, by our generator."""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl

from incast.lab.bed import Bed, kept, start
from incast.lab.commands import call
from incast.lab.plan import LabError, Work
from incast.lab.row import Carried, beside, of_flows, of_messages

_PORT = 5200
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
    work = bed.plan.work[repeat]
    with contextlib.ExitStack() as stack:
        ready = []
        if work.flows:
            ready.append(_send(bed, work, stack, name))
        if not work.messages.is_empty():
            ready.append(_fetch(bed, work, part, stack, name))
        begins()
        with ThreadPoolExecutor(len(ready)) as pool:
            return beside(list(pool.map(lambda carries: carries(), ready)))


def _send(bed: Bed, work: Work, stack: contextlib.ExitStack, name: str) -> Callable[[], Carried]:
    """Has servers listen; returns what carries the connections that stay."""
    ports = {pair: _FIRST_PORT + at for at, pair in enumerate(dict.fromkeys(work.flows))}
    for (_, receiver), port in ports.items():
        server = ["iperf3", "-s", "-J", "-i", f"{_INTERVAL_S:g}", "-p", str(port)]
        stack.enter_context(kept(bed.inside(receiver, *server)))
    for receiver in {to for _, to in ports}:
        _wait_for(bed, receiver, {port for (_, to), port in ports.items() if to == receiver})
    commands = [
        bed.inside(
            sender, "iperf3", "-c", bed.address(receiver), "-p", str(port), "-C", name,
            "-P", str(work.flows.count((sender, receiver))),
            "-t", str(max(1, round(bed.plan.seconds))), "-J", "--get-server-output",
        )
        for (sender, receiver), port in ports.items()
    ]  # fmt: skip
    return lambda: _sent(bed, ports, commands)


def _sent(bed: Bed, pairs: Iterable[tuple[str, str]], commands: Sequence[Sequence[str]]) -> Carried:
    begin_us, end_us = bed.plan.measured_us
    with ThreadPoolExecutor(len(commands)) as pool:
        ended = list(pool.map(_run, commands))
    earliest = min(at for at, _ in ended)
    flows: list[dict[str, Any]] = []
    series: list[pl.DataFrame] = []
    for (sender, receiver), (at, said) in zip(pairs, ended, strict=True):
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
    bed: Bed, work: Work, part: Sequence[str], stack: contextlib.ExitStack, name: str
) -> Callable[[], Carried]:
    """Has senders listen; returns what carries the messages: receivers ask for them."""
    messages = work.messages.with_row_index("at")
    senders = messages["sender"].unique().to_list()
    places = {sender: f"{bed.address(sender)}:{_PORT}" for sender in senders}
    for sender, place in places.items():
        serve = bed.inside(sender, *part, "serve", place, "--algorithm", name)
        stack.enter_context(kept(serve))
    for sender in senders:
        _wait_for(bed, sender, {_PORT})

    def fetched(own: pl.DataFrame) -> pl.DataFrame:
        """The messages of a receiver that were complete."""
        # Both ends have the algorithm: senders send, and a receiver of DCTCP has to echo marks.
        load = bed.inside(own["receiver"][0], *part, "load", "--algorithm", name)
        rows = own.select("posted_us", "sender", "bytes").iter_rows()
        asked = "\n".join(
            json.dumps({"at_us": int(posted_us), "servers": [places[sender]], "bytes": size})
            for posted_us, sender, size in rows
        )
        answers = pl.DataFrame(
            [json.loads(line) for line in call(*load, told=asked).splitlines()],
            schema={"request": pl.UInt32, "completion_us": pl.Float64},
        )
        done = own.with_row_index("request").join(answers, on="request")
        return done.select("at", completed_us=pl.col("posted_us") + pl.col("completion_us"))

    def carries() -> Carried:
        own = messages.partition_by("receiver")
        with ThreadPoolExecutor(len(own)) as pool:
            return of_messages(bed.plan, work, pl.concat(pool.map(fetched, own)))

    return carries
