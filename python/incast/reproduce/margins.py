"""Phase margins of Patched TIMELY and of DCQCN: how far their loops are from oscillating.

Zhu, Ghobadi, Misra and Padhye, CoNEXT 2016, sections 3.2 and 4.3: the fluid equations, linearised
at the fixed point. `incast.reproduce.fluid` solves them in time, and calls this module for the
margins.
Rates are in units of the link's, times in us, and queues in us of the link, unless a class says
otherwise.
"""

import math
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

Complexes = npt.NDArray[np.complexfloating[Any, Any]]
Floats = npt.NDArray[np.float64]

_POINTS = 20_001


class Dcqcn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The loop of DCQCN, with the constants of its paper and RED at the switch."""

    flows: int = 2
    capacity_gbps: float = 40.0
    """C."""
    packet_kb: float = 1.0
    """The unit of the equations."""
    delay_us: float = 4.0
    """tau*, of the control loop: marks do not wait in the queue, so it does not grow with it."""
    kmin_kb: float = 5.0
    kmax_kb: float = 200.0
    pmax: float = 0.01
    g: float = 1 / 256
    cnp_us: float = 50.0
    """tau, from one notification to the next."""
    alpha_us: float = 55.0
    """tau', of the decay of alpha."""
    rate_timer_us: float = 55.0
    """T."""
    byte_counter_mb: float = 10.0
    """B."""
    fast_recovery: float = 5.0
    """F."""
    rate_ai_mbps: float = 40.0
    """R_AI."""
    linearised: Literal["equations", "script"] = "equations"
    """The equations as they are, or the authors' script: series in the marking probability."""

    @property
    def capacity(self) -> float:
        """Packets in a us."""
        return self.capacity_gbps / (8.0 * self.packet_kb)

    @property
    def increase(self) -> float:
        """R_AI: packets in a us."""
        return self.rate_ai_mbps / (8e3 * self.packet_kb)

    @property
    def bytes_step(self) -> float:
        """B: packets."""
        return self.byte_counter_mb * 1e3 / self.packet_kb

    @property
    def slope(self) -> float:
        """The slope of the marking probability over the queue: for each packet."""
        return self.pmax * self.packet_kb / (self.kmax_kb - self.kmin_kb)


def patched_timely(
    *,
    flows: int,
    queue: float,
    delay: float,
    spacing: float,
    t_low: float,
    min_rtt: float,
    alpha: float,
    beta: float,
    delta: float,
    weight_slope: float,
) -> float | None:
    """The margin of Patched TIMELY in degrees, at the queue of the fixed point.

    All flows have R = C / N, g = 0, w = 1/2 and the queue q* = q' + N delta q' / (beta C): then F =
    (1 - w) delta - w beta R (Q - q') / q' is zero, since beta R (q* - q') / q' = delta. What moves
    F there is, with the weight's slope w',

        dF/dR = -beta (q* - q') / (2 q')             = -delta / (2 R)
        dF/dg = -w' (delta + beta R (q* - q') / q')  = -2 w' delta
        dF/dQ = -beta R / (2 q')

    tau* multiplies a zero, and the queue of the past is the same at whatever delay, so neither tau*
    nor tau' need be varied; tau* = max(Seg / R, D_minRTT), tau' = q* / C + MTU / C + D_prop. For
    flows that deviate alike, cut open where senders see the queue, the transforms are

        g = alpha / (alpha + tau* s) (1 - exp(-tau* s)) / (C D_minRTT) Q,    Q = exp(-tau' s) q
        (tau* s + delta / (2 R)) R_i = -2 w' delta g - beta R / (2 q') Q
        s q = N R_i

    and the loop closes as 1 + L(s) = 0 with

                   N exp(-tau' s)         (    beta R               alpha  (1 - exp(-tau* s)) )
        L(s) = -------------------------  (  ---------  + 2 w' delta ------------------------ )
               s (tau* s + delta / (2 R)) (    2 q'               (alpha + tau* s) C D_minRTT )

    For flows that deviate from one another only, s = -delta / (2 R tau*), which is always stable:
    their rates converge as exp(-delta t / (2 Seg)), if Seg / R is above D_minRTT.
    """
    rate = 1.0 / flows
    # The gain falls with the frequency from infinity on, so it is one somewhere; below 1e-7 per us,
    # 0.016 Hz, only for steps of the rate that are next to nothing.
    frequency = np.geomspace(1e-7, 10.0, _POINTS)
    s = 1j * frequency
    level = beta * rate / (2.0 * t_low)
    gradient = alpha * (1.0 - np.exp(-spacing * s)) / (alpha + spacing * s)
    sensed = level + 2.0 * weight_slope * delta * gradient / min_rtt
    loop = flows * sensed / (s * (spacing * s + delta / (2.0 * rate)))
    return _least_margin(loop, frequency, queue + delay)


def dcqcn(link: Dcqcn) -> float | None:
    """The margin of DCQCN in degrees; None where marks would have to be more than certain.

    With p the marking probability, every term of the paper's equations for alpha, R_T and R_C
    depends on the present values of these three, and on p and R_C as they were tau* earlier. Flows
    that deviate alike have s q = N R_C and p = slope q. Alpha and R_T are eliminated; what is left
    is s R_C = O(s) R_C + Z(s) exp(-tau* s) R_C, and L(s) = -Z exp(-tau* s) / (s - O).

    "equations" takes the derivatives of the equations as they are printed, at their own fixed
    point. "script" is what the authors' published curves are from: marking probability by the
    paper's approximation, and powers of 1 - p as series, up to the second term.
    """
    frequency = np.geomspace(1e-7, 10.0, _POINTS)
    s = 1j * frequency
    to_marks = link.slope * link.flows / s
    if link.linearised == "script":
        mark, delayed, present = _by_series(link, s, to_marks)
    else:
        mark, delayed, present = _by_derivatives(link, s, to_marks)
    if mark >= 1.0:
        return None
    return _least_margin(-delayed / (s - present), frequency, link.delay_us)


def _by_derivatives(
    link: Dcqcn, s: Complexes, to_marks: Complexes
) -> tuple[float, Complexes, Complexes]:
    """The marking probability, Z(s) and O(s), of the equations as they are."""
    mark, target, alpha = _fixed_point(link)
    rate = link.capacity / link.flows
    # Derivatives by a complex step, exact to the last digits; a row for each argument.
    point = [mark, rate, rate, target, alpha]
    step = 1e-30
    by = []
    for index, value in enumerate(point):
        moved = [complex(one) for one in point]
        moved[index] += 1j * step * value
        by.append(_derivatives(link, *moved).imag / (step * value))
    by_mark, by_rate, by_past_rate, by_target, by_alpha = by
    # The response of alpha (0) and R_T (1) to the present rate and to the delayed state.
    own = (by_alpha[0], by_target[1])
    past = [(by_mark[i] * to_marks + by_past_rate[i]) / (s - own[i]) for i in (0, 1)]
    now = [by_rate[i] / (s - own[i]) for i in (0, 1)]
    delayed = by_mark[2] * to_marks + by_past_rate[2]
    delayed = delayed + by_alpha[2] * past[0] + by_target[2] * past[1]
    present = by_rate[2] + by_alpha[2] * now[0] + by_target[2] * now[1]
    return mark, delayed, present


def _derivatives(
    link: Dcqcn, mark: complex, rate: complex, past_rate: complex, target: complex, alpha: complex
) -> Complexes:
    """The time derivatives of alpha, R_T and R_C."""
    log = np.log(1.0 - mark)

    def none_in(packets: complex) -> complex:
        """The probability that so many packets come without a mark."""
        return complex(np.exp(log * packets))

    timer = link.rate_timer_us * past_rate
    by_bytes = mark * none_in(link.bytes_step) / (1.0 - none_in(link.bytes_step))
    by_timer = mark * none_in(timer) / (1.0 - none_in(timer))
    notified = 1.0 - none_in(link.cnp_us * past_rate)
    recovered = none_in(link.fast_recovery * link.bytes_step) * by_bytes
    recovered += none_in(link.fast_recovery * timer) * by_timer
    above = target - rate
    return np.array(
        [
            link.g / link.alpha_us * (1.0 - none_in(link.alpha_us * past_rate) - alpha),
            -above / link.cnp_us * notified + link.increase * past_rate * recovered,
            -rate * alpha / (2.0 * link.cnp_us) * notified
            + above / 2.0 * past_rate * (by_bytes + by_timer),
        ]
    )


def _fixed_point(link: Dcqcn) -> tuple[float, float, float]:
    """Marking probability, target rate and alpha where nothing changes; by halving intervals."""
    rate = link.capacity / link.flows

    def at(mark: float) -> tuple[float, float, float]:
        """The target of R_C by its own equation, that by the equation of R_T, and alpha."""
        none = [
            math.exp(math.log1p(-mark) * packets)
            for packets in (link.alpha_us * rate, link.cnp_us * rate)
        ]
        alpha, notified = 1.0 - none[0], 1.0 - none[1]
        log, timer = math.log1p(-mark), link.rate_timer_us * rate
        parts = []
        for packets in (link.bytes_step, timer):
            power = math.exp(log * packets)
            parts.append((mark * power / (1.0 - power), power**link.fast_recovery))
        raised = sum(part for part, _ in parts)
        recovered = sum(part * later for part, later in parts)
        own = rate + notified * alpha / (raised * link.cnp_us)
        return own, rate + link.increase * rate * recovered * link.cnp_us / notified, alpha

    low, high = math.log(1e-12), math.log(0.9)
    for _ in range(200):
        middle = (low + high) / 2.0
        own, other, _ = at(math.exp(middle))
        low, high = (middle, high) if own < other else (low, middle)
    mark = math.exp((low + high) / 2.0)
    target, _, alpha = at(mark)
    return mark, target, alpha


def _by_series(
    link: Dcqcn, s: Complexes, to_marks: Complexes
) -> tuple[float, Complexes, Complexes]:
    """The marking probability, Z(s) and O(s), of the authors' script."""
    rate, step, five = link.capacity / link.flows, link.bytes_step, link.fast_recovery
    timer = link.rate_timer_us * rate
    both = 1.0 / step + 1.0 / timer
    mark = (link.increase / (link.alpha_us * rate**2) * both**2) ** (1.0 / 3.0)
    if mark >= 1.0:
        return mark, s * math.nan, s * math.nan
    log = math.log1p(-mark)
    notified = -math.expm1(log * link.cnp_us * rate)
    alpha = -math.expm1(log * link.alpha_us * rate)
    later = sum(
        mark * math.exp(log * (five + 1.0) * packets) / -math.expm1(log * packets)
        for packets in (step, timer)
    )
    target = rate * (1.0 + later * link.cnp_us * link.increase / notified)
    half = 0.5 + both / 4.0
    marks = mark * rate
    # R_C, by marks, by itself tau* ago and now, by alpha and by R_T.
    by_mark = -0.5 * rate**2 * alpha - half * rate * (target - rate)
    by_past = -0.5 * marks * alpha - both / 2.0 * rate + half * marks
    by_now = -0.5 * marks * alpha + (both / 2.0 - half * mark) * (target - rate)
    by_alpha = -0.5 * marks * rate
    by_target = both / 2.0 * rate - half * marks
    # Alpha and R_T: the first answers to marks alone, as the script has it.
    alpha_past = link.g * rate * to_marks / (s + link.g * rate)
    fewer = (1.0 + 2.0 * five + both / 2.0) * link.increase
    gained = both * link.increase
    target_past = (
        -mark * (target - rate) + gained - fewer * mark - rate * (target - rate + fewer) * to_marks
    ) / (s + marks)
    target_now = (marks + gained) / (s + marks)
    delayed = by_mark * to_marks + by_past + by_alpha * alpha_past + by_target * target_past
    return mark, delayed, by_now + by_target * target_now


def _least_margin(loop: Complexes, frequency: Floats, delay: float) -> float | None:
    """The least distance of the phase of a loop from -180 degrees wherever its gain is one.

    None where it never is. The delay turns the phase as often as it likes; the phase of the rest
    is unwound without it.
    """
    phase = np.unwrap(np.angle(loop))
    # At the lowest frequency it is near -90 or -180 degrees, by whole turns.
    phase = phase - 2.0 * np.pi * math.floor(phase[0] / (2.0 * np.pi) + 0.75) - delay * frequency
    gain = np.log(np.abs(loop))
    before = np.flatnonzero(np.diff(np.sign(gain)))
    if not before.size:
        return None
    share = gain[before] / (gain[before] - gain[before + 1])
    crossing = phase[before] + share * (phase[before + 1] - phase[before])
    return float(180.0 + np.degrees(crossing.min()))
