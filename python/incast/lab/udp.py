"""Messages over UDP as a carrier: the nodes of all hosts, driven by a thread for each CPU."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from incast import _core
from incast._core import Scenario
from incast.lab import cpu
from incast.lab.bed import Bed
from incast.lab.carriers import UDP, with_knobs
from incast.lab.ping import Prober
from incast.lab.plan import LabError, Work
from incast.lab.row import Carried, Measured, beside, measured, of_flows, of_messages

_PORT = 7000
_INTERVAL_S = 0.1


def run(
    bed: Bed,
    scenario: Scenario,
    scheme: str,
    knobs: Sequence[str],
    repeat: int,
    kernel: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Measured:
    """Runs all traffic for the scenario's time, with a prober beside it if there is incast-kernel.

    Raises:
        LabError: No RTT was measured.
        IncastError: A connection could not be opened, or broke.
    """
    plan, work = bed.plan, bed.plan.work[repeat]
    number = {host.name: at for at, host in enumerate(plan.hosts)}
    hosts = [
        (
            host.name, f"/run/netns/{bed.netns(host.name)}", f"{bed.address(host.name)}:{_PORT}",
            bed.cpu(host.name), f"{host.rate_mbps:g}Mbps",
        )
        for host in plan.hosts
    ]  # fmt: skip
    others = cpu.busy(0.3)
    begin_us, end_us = plan.measured_us
    interval_s = min(_INTERVAL_S, plan.seconds / 10)
    with ExitStack() as stack:
        prober = None
        if kernel is not None:
            prober = stack.enter_context(Prober(bed, kernel).standing())
        before, dropped = cpu.jiffies(), bed.drops()
        found = _core.udp_lab(
            with_knobs(scenario, scheme, knobs),
            scheme,
            hosts,
            [(number[a], number[b]) for a, b in work.flows],
            # The host that a message goes to asks for it.
            [
                (posted_us / 1e6, number[to], [number[sender]], size)
                for posted_us, to, sender, size in work.messages.select(
                    "posted_us", "receiver", "sender", "bytes"
                ).iter_rows()
            ],
            duration_s=plan.seconds,
            measured_s=(begin_us / 1e6, end_us / 1e6),
            interval_s=interval_s,
            progress=_telling(prober, progress),
        )
        dropped = bed.drops() - dropped
        pings = None if prober is None else prober.answers()
    pinged = () if pings is None else pings.within(begin_us, end_us)
    samples = pl.DataFrame(
        {key: found[key] for key in ("sample_at_us", "rtt_us", "sample_flow")},
        schema={"sample_at_us": pl.Float64, "rtt_us": pl.Float64, "sample_flow": pl.Int64},
    ).filter(pl.col("sample_at_us").is_between(begin_us, end_us, closed="left"))
    rtts = tuple(samples["rtt_us"].to_list())
    if not rtts:
        raise LabError(
            f"{plan.name}: no RTT was measured on UDP: run longer, or look whether the kernel "
            "stamps datagrams (`incast udp serve` says so)"
        )
    parts = []
    if work.flows:
        parts.append(_flows(work, found, samples, interval_s, end_us - begin_us))
    if not work.messages.is_empty():
        answered = pl.DataFrame(found["answered"], schema=["at", "completed_us"], orient="row")
        parts.append(of_messages(plan, work, answered))
    carried = beside(parts)
    return measured(
        UDP,
        scheme,
        repeat,
        carried,
        rtts,
        pinged,
        rtt_idle_us=None if prober is None else prober.idle_us,
        probes_lost=None if pings is None else pings.lost,
        drops=dropped,
        retransmissions=found["retransmissions"],
        others_percent=others,
        stolen_percent=cpu.jiffies().percent(since=before).stolen,
    )


def _telling(
    prober: Prober | None, progress: Callable[[float], None] | None
) -> Callable[[float], None]:
    """Begins the probe with the traffic: connections open before."""

    def tell(passed_s: float) -> None:
        if prober is not None and passed_s > 0:
            prober.begin()
        if progress is not None:
            progress(passed_s)

    return tell


def _flows(
    work: Work,
    found: dict[str, Any],
    samples: pl.DataFrame,
    interval_s: float,
    measured_us: float,
) -> Carried:
    means = dict(samples.group_by("sample_flow").agg(pl.col("rtt_us").mean()).rows())
    flows, series = [], []
    for number, (source, destination) in enumerate(work.flows):
        bits = 8 * found["measured_bytes"][number]
        flows.append(
            {
                "flow": number,
                "source": source,
                "destination": destination,
                "goodput_gbps": bits / measured_us / 1e3,
                "rtt_mean_us": means.get(number),
                "retransmissions": found["flow_retransmissions"][number],
            }
        )
        for at, arrived in enumerate(found["series_bytes"][number]):
            time_us = (at + 1) * interval_s * 1e6
            goodput = 8e-9 * arrived / interval_s
            series.append({"time_us": time_us, "flow": number, "goodput_gbps": goodput})
    columns = {"time_us": pl.Float64, "flow": pl.Int64, "goodput_gbps": pl.Float64}
    return of_flows(flows, pl.DataFrame(series, schema=columns))
