"""The tunings behind the presets `tuned-10g` to `tuned-400g`, and of what became none.

    python bench/tuned_presets.py OUT [--cc timely] [--rate 100] [--trials 100] [--jobs 2]

Each algorithm is tuned at each rate by `incast.tune` in three networks, then run beside the
published presets in two others with other seeds. A call that was stopped goes on where it was. What
became a preset and what did not is in docs/how-to/tune-an-algorithm.md.
"""

import argparse
import json
from pathlib import Path

import incast

RATES = (10, 25, 100, 400)

OVER = {
    "timely": [
        "alpha=0.01..1", "beta=0.01..1", "delta=1Mbps..1Gbps", "t_low=2us..100us",
        "t_high=10us..500us", "min_rtt=2us..100us", "hai_n=1..20",
    ],
    "swift": [
        "ai=0.1..10", "beta=0.05..1", "max_mdf=0.05..0.9", "base_target=5us..100us",
        "fs_range=5us..500us", "fs_max_cwnd=10..1000", "hop_scale=100ns..5us",
    ],
    "dcqcn": [
        "g=0.001..0.5", "alpha_timer=51us..500us", "rate_timer=10us..1ms",
        "byte_counter=100000B..100000000B", "fast_recovery=1..10", "rate_ai=1Mbps..1Gbps",
        "rate_hai=10Mbps..10Gbps",
    ],
    "rtcp": [
        "alpha=10..100000", "delta=100..1000000", "g=0.01..0.99", "w_high_volume=100..1000000",
        "w_urgent=100..1000000", "floor=2..20",
    ],
}  # fmt: skip
"""The parameters that are searched."""

# Marking as in HPCC's simulator, in proportion to the rate: 100 KB to 400 KB at 25 Gb/s.
_SWITCH = """
[switch]
buffer = "{buffer}KB"
[switch.pfc]
enabled = {lossless}
[switch.aqm]
kind = "red"
min = "{red_min}KB"
max = "{red_max}KB"
max_probability = 0.2
gentle = false
weight = 1
drop = false
[transport]
{transport}
"""

_MESSAGES = 'segment = "16KB"'
# An ACK that waits for another one would be the p99 of the RTT.
_STREAM = 'kind = "stream"\nstream = { delayed_ack = 1 }'

_STAR = """
[[network.star.hosts]]
name = "host"
count = {count}
rate = "{rate}Gbps"
delay = "1us"
[[network.star.hosts]]
name = "server"
rate = "{rate}Gbps"
delay = "1us"
"""

_FAN_IN = """
title = "{count} hosts into one, {connections} connections each, at {rate} Gb/s"
run = {{ duration = "{duration}ms", warmup = "{warmup}ms", schemes = ["{cc}"] }}
[[traffic]]
kind = "connections"
from = "host"
to = "server"
connections = {connections}
start_spread = "100us"
"""

_RANDOM = """
title = "Hadoop's flows among 16 hosts at a load of 0.5, at {rate} Gb/s"
run = {{ duration = "{duration}ms", warmup = "{warmup}ms", schemes = ["{cc}"] }}
[[traffic]]
kind = "poisson"
from = "host"
load = 0.5
sizes = "facebook-hadoop"
"""

_LEAF_SPINE = """
title = "Storage flows in a leaf-spine network, beside bursts of an incast, at {rate} Gb/s"
run = {{ duration = "{duration}ms", warmup = "{warmup}ms", schemes = ["{cc}"] }}
[network.leaf-spine]
leaves = 4
spines = 2
hosts = {{ name = "host", count = 8, rate = "{rate}Gbps", delay = "1us" }}
uplink = {{ oversubscription = 2, delay = "1us" }}
[[traffic]]
kind = "poisson"
name = "random"
from = "host"
load = 0.4
sizes = "alibaba-storage"
[[traffic]]
kind = "incast"
name = "bursts"
from = "host"
to = "host2"
load = 0.3
senders = 16
size = "{burst}KB"
"""


def scenario(name: str, cc: str, rate: int) -> incast.Scenario:
    """The network of that name: `few`, `many`, `random`; `middle`, `bursts` of the validation."""
    count, connections = {"few": (8, 1), "many": (16, 4), "middle": (12, 3)}.get(name, (15, 1))
    body = {"random": _STAR + _RANDOM, "bursts": _LEAF_SPINE}.get(name, _STAR + _FAN_IN)
    # In ms; shorter where more happens.
    duration = {10: 80, 25: 40, 100: 15, 400: 6}[rate]
    messages = cc in ("timely", "dcqcn")
    top, tables = _split(body)
    text = (top + _SWITCH + tables).format(
        cc=cc,
        rate=rate,
        count=count,
        connections=connections,
        duration=duration,
        warmup=round(duration * 0.4, 3),
        lossless=str(messages).lower(),
        transport=_MESSAGES if messages else _STREAM,
        burst=64,
        buffer=200 * rate,
        red_min=4 * rate,
        red_max=16 * rate,
    )
    return incast.Scenario.parse(text, f"{name}-{rate}g.toml")


def _split(body: str) -> tuple[str, str]:
    """The lines that come before all tables, and the tables."""
    lines = body.splitlines(keepends=True)
    top = [line for line in lines if line.startswith(("title", "run "))]
    return "".join(top), "".join(line for line in lines if line not in top)


def main() -> None:
    """Tunes and validates what is asked for, and writes a summary beside the tunings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cc", choices=OVER, action="append")
    parser.add_argument("--rate", type=int, choices=RATES, action="append")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=None)
    asked = parser.parse_args()
    for cc in asked.cc or OVER:
        for rate in asked.rate or RATES:
            out = asked.out / f"{cc}-{rate}g"
            found = incast.tune(
                [scenario(name, cc, rate) for name in ("few", "many", "random")],
                cc,
                minimize="rtt_p99_us",
                subject_to="throughput_gbps >= 0.9 * best",
                over=OVER[cc],
                trials=asked.trials,
                seeds=[1, 2],
                validate=[scenario(name, cc, rate) for name in ("middle", "bursts")],
                validate_seeds=[11, 12, 13],
                jobs=asked.jobs,
                whatever_it_costs=True,
                out=out,
            )
            print(found, found.best, flush=True)
            for sweep in found.validation.values():
                figures = ["throughput_gbps", "rtt_mean_us", "rtt_p99_us", "slowdown_p99", "drops"]
                print(json.dumps(sweep.name))
                for scheme in sweep.schemes:
                    means = {
                        one: None if (value := sweep.spread(0, scheme, one)) is None
                        else round(value.mean, 4)
                        for one in figures
                    }  # fmt: skip
                    print(" ", scheme, json.dumps(means), flush=True)


if __name__ == "__main__":
    main()
