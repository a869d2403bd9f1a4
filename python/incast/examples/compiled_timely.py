"""TIMELY in Python, compiled: as `incast.examples.timely`, at the speed of Rust.

Numba compiles the static methods of the class. The rate equals the Rust `timely`'s to the last
bit. Run it beside that one, with the two values that the scenario sets for `timely`:

    MINE='incast.examples.compiled_timely:CompiledTimely[t_high=100us,burst_rate=700Mbps]'
    incast run incast --cc timely --cc "$MINE"
"""

from typing import Any

import numba
import numpy as np

import incast

ONE = 1 << 20


class CompiledTimely(incast.CompiledControl):
    """The rate follows the gradient of the RTT."""

    needs = ("lossless",)
    signal = "RTT of each segment"
    source = "Mittal et al., SIGCOMM 2015, Algorithm 1"

    alpha = incast.parameter(0.02, doc="Weight of the newest RTT difference.", least=0.0, most=1.0)
    beta = incast.parameter(0.8, doc="Multiplicative decrease factor.", least=0.0, most=1.0)
    delta = incast.parameter("10Mbps", doc="Additive step of a NIC of 10 Gb/s.")
    t_low = incast.parameter("50us", doc="Below this RTT the rate rises.")
    t_high = incast.parameter("1ms", doc="Above this RTT the rate falls.")
    min_rtt = incast.parameter("20us", doc="The RTT that makes the gradient dimensionless.")
    hai_threshold = incast.parameter(5, doc="Falls in a row before hyperactive increase.", least=1)
    burst_rate = incast.parameter("0bps", doc="Rate in a segment; the line rate at 0.")
    hai_n = incast.parameter(5, doc="Steps at once in hyperactive increase.", least=1)

    state = np.dtype([
        ("line", "i8"), ("step", "i8"), ("bps", "i8"),
        ("previous", "i8"),
        ("difference", "i8"),  # the smoothed difference of two RTTs, in 1/256 ns
        ("falls", "i8"), ("updated", "i8"),
    ])  # fmt: skip
    gauge_names = ("rate_gbps", "gradient")

    @staticmethod
    def on_start(flow: Any, p: Any, s: Any, out: Any) -> None:  # noqa: ANN401
        """The flow gets a share of the line among those that its host has."""
        s.line = int(flow.line_rate)
        s.step = int(p.delta) * s.line // 10_000_000_000
        s.bps = max(s.line // (flow.active_flows + 1), s.step)
        s.previous = -1
        s.updated = nanoseconds(flow.now)
        out.rate = s.bps
        out.burst_rate = p.burst_rate if p.burst_rate > 0 else s.line

    @staticmethod
    def on_ack(ack: Any, p: Any, s: Any, out: Any) -> None:  # noqa: ANN401
        """A completion: the rate rises, or falls, by the RTT and its gradient."""
        if np.isnan(ack.rtt.network):
            return
        rtt = nanoseconds(ack.rtt.network)
        # The moving average of the differences of successive RTTs.
        newest = rtt - s.previous if s.previous >= 0 else 0
        s.previous = rtt
        s.difference += (newest * 256 - s.difference) * fraction(p.alpha) // ONE
        s.falls = s.falls + 1 if newest < 0 else 0
        # Changes are scaled down where completions come faster than one per `min_rtt`.
        min_rtt = nanoseconds(p.min_rtt)
        now = nanoseconds(ack.now)
        scale = min(now - s.updated, min_rtt) * ONE // min_rtt
        s.updated = now

        t_high = nanoseconds(p.t_high)
        if rtt < nanoseconds(p.t_low):
            rise(s, 1, scale)
        elif rtt > t_high:
            fall(s, fraction(p.beta) * ((rtt - t_high) * ONE // rtt) // ONE, scale)
        elif s.difference <= 0:
            rise(s, p.hai_n if s.falls >= p.hai_threshold else 1, scale)
        else:
            fall(s, min(fraction(p.beta) * s.difference // min_rtt // 256, ONE), ONE)
        out.rate = s.bps

    @staticmethod
    def gauges(p: Any, s: Any, out: Any) -> None:  # noqa: ANN401
        """The rate and the gradient, for `--trace flows`."""
        out.rate_gbps = s.bps / 1e9
        out.gradient = s.difference / 256 / nanoseconds(p.min_rtt)


@numba.njit
def rise(s: Any, steps: int, scale: int) -> None:  # noqa: ANN401
    """Additive increase, up to line rate."""
    s.bps = min(s.bps + steps * s.step * scale // ONE, s.line)


@numba.njit
def fall(s: Any, cut: int, scale: int) -> None:  # noqa: ANN401
    """Multiplicative decrease by half at most, down to the least rate."""
    cut = min(cut * scale // ONE, ONE // 2)
    s.bps = max(s.bps - s.bps * cut // ONE, s.step)


@numba.njit
def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, as the simulator's clock of picoseconds has them."""
    return round(seconds * 1e12) // 1000


@numba.njit
def fraction(part: float) -> int:
    """A part of one in units of 2^-20."""
    return round(part * ONE)
