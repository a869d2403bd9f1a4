"""TIMELY in Python: Algorithm 1 of Mittal et al., SIGCOMM 2015, with the snippet's constants.

The rate equals the Rust `timely`'s to the last bit, since both compute with the same integers:
nanoseconds, bits per second, and fractions of 2^20. Run it beside that one, with the two values
that the scenario sets for `timely`:

    MINE='incast.examples.timely:PythonTimely[t_high=100us,burst_rate=700Mbps]'
    incast run incast --cc timely --cc "$MINE"
"""

import incast

ONE = 1 << 20


class PythonTimely(incast.CongestionControl):
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

    def on_start(self, flow: incast.Flow) -> None:
        """The flow gets a share of the line among those that its host has."""
        self.line = int(flow.line_rate)
        self.step = int(self.delta) * self.line // 10_000_000_000
        self.bps = max(self.line // (flow.active_flows + 1), self.step)
        self.previous = -1
        self.difference = 0  # the smoothed difference of two RTTs, in 1/256 ns
        self.falls = 0
        self.updated = nanoseconds(flow.now)

    def on_ack(self, ack: incast.Ack) -> None:
        """A completion: the rate rises, or falls, by the RTT and its gradient."""
        if ack.rtt is None:
            return
        rtt = nanoseconds(ack.rtt.network)
        self.smooth(rtt)
        # Changes are scaled down where completions come faster than one per `min_rtt`.
        min_rtt = nanoseconds(self.min_rtt)
        now = nanoseconds(ack.now)
        scale = min(now - self.updated, min_rtt) * ONE // min_rtt
        self.updated = now

        if rtt < nanoseconds(self.t_low):
            self.rise(1, scale)
        elif rtt > (t_high := nanoseconds(self.t_high)):
            self.fall(fraction(self.beta) * ((rtt - t_high) * ONE // rtt) // ONE, scale)
        elif self.difference <= 0:
            self.rise(self.hai_n if self.falls >= self.hai_threshold else 1, scale)
        else:
            cut = fraction(self.beta) * self.difference // min_rtt // 256
            self.fall(min(cut, ONE), ONE)

    def smooth(self, rtt: int) -> None:
        """The moving average of the differences of successive RTTs."""
        newest = rtt - self.previous if self.previous >= 0 else 0
        self.previous = rtt
        self.difference += (newest * 256 - self.difference) * fraction(self.alpha) // ONE
        self.falls = self.falls + 1 if newest < 0 else 0

    def rise(self, steps: int, scale: int) -> None:
        """Additive increase, up to line rate."""
        self.bps = min(self.bps + steps * self.step * scale // ONE, self.line)

    def fall(self, cut: int, scale: int) -> None:
        """Multiplicative decrease by half at most, down to the least rate."""
        cut = min(cut * scale // ONE, ONE // 2)
        self.bps = max(self.bps - self.bps * cut // ONE, self.step)

    def limits(self) -> incast.Limits:
        """The rate, at which segments follow each other, and the rate inside of one."""
        return incast.Limits(rate=self.bps, burst_rate=self.burst_rate or self.line)

    def gauges(self) -> dict[str, float]:
        """The rate and the gradient, for `--trace flows`."""
        gradient = self.difference / 256 / nanoseconds(self.min_rtt)
        return {"rate_gbps": self.bps / 1e9, "gradient": gradient}


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, as the simulator's clock of picoseconds has them."""
    return round(seconds * 1e12) // 1000


def fraction(part: float) -> int:
    """A part of one in units of 2^-20."""
    return round(part * ONE)
