"""Fluid models of TIMELY and of Patched TIMELY, and the stability of the latter and of DCQCN.

Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY",
CoNEXT 2016. The sending rates R_i of N flows, the averages g_i of their gradients and the queue q
of one link are functions of time, bound by delay differential equations. What a sender knows at
time t is the queue as it was tau'(t) earlier, and one sample before:

    tau'   = q / C + MTU / C + D_prop
    tau*_i = max(Seg / R_i, D_minRTT)

    dq/dt   = sum R_i - C
    dg_i/dt = alpha / tau*_i (-g_i + (q(t - tau') - q(t - tau' - tau*_i)) / (C D_minRTT))
    dR_i/dt = F_i / tau*_i

F_i is what one completion adds to the rate, with Q = q(t - tau'):

    Q < C T_low              delta
    Q > C T_high             -beta (1 - C T_high / Q) R_i
    else, of TIMELY          delta if g_i <= 0, else -beta g_i R_i
    else, of Patched TIMELY  (1 - w) delta - w beta R_i (Q - q') / q'
                             w = 2 g_i + 1/2 within 0 and 1, q' = C T_low

The last row is the patch as it is printed, per completion, put in the place of TIMELY's. The
2 of the weight is `weight_slope`: the authors' script of the stability has 1/2. There is no
hyperactive increase. The queue has no propagation in it, unlike an RTT, so the thresholds are a
queue of C T. Three things are added, as in a simulation. The queue is never below zero:
dq/dt >= -q / eps. No rate is above the line's: dR_i/dt <= (line - R_i) / eps; nor below a
least one, likewise. eps is two steps of integration. A flow that has not started sends nothing.

The equations have jumps on their right side, wherever a threshold is crossed, and delays that
depend on the state. jitcdde's integrator (Bogacki-Shampine, the past as cubic Hermite splines)
takes fixed steps here, as in its `integrate_blindly`. With the equations as symbols its Python form
was measured at 1.3 ms for a step of two flows, and its C form needs a compiler. With the equations
as a Python function a step takes 0.1 ms, and rates equal the C form to 14 digits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from incast._core import IncastError
from incast.base.lazy import lazy
from incast.base.words import nearest
from incast.reproduce import margins

if TYPE_CHECKING:
    import jitcdde._python_core as jitcdde_core
    import jitcdde.past as jitcdde_past
else:
    jitcdde_core = lazy("jitcdde._python_core", "fluid")
    jitcdde_past = lazy("jitcdde.past", "fluid")

MODELS = ("timely", "patched-timely", "patched-timely-margin", "dcqcn-margin")

NONE: dict[str, pl.DataFrame] = {
    "fluid": pl.DataFrame(
        schema={"time_us": pl.Float64, "flow": pl.Int64, "rate_gbps": pl.Float64}
    ),
    "fluid_queue": pl.DataFrame(
        schema={"time_us": pl.Float64, "queue_kb": pl.Float64, "queue_us": pl.Float64}
    ),
    "margin": pl.DataFrame(schema={"flows": pl.Int64, "phase_margin_degrees": pl.Float64}),
}
"""The tables, as a run has them that is not of a fluid model."""


class _Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of all models, with the letters of the equations."""

    flows: int = 2
    capacity_gbps: float = 10.0
    """C."""
    segment_kb: float = 0.0
    """Seg: 64 of TIMELY, 16 of Patched TIMELY."""
    mtu_kb: float = 1.0
    propagation_us: float = 4.0
    """D_prop."""
    t_low_us: float = 50.0
    t_high_us: float = 500.0
    min_rtt_us: float = 20.0
    """D_minRTT."""
    alpha: float = 0.875
    beta: float = 0.0
    """0.8 of TIMELY, 0.008 of Patched TIMELY."""
    delta_mbps: float = 10.0
    weight_slope: float = 2.0
    """The slope of Patched TIMELY's weight over the gradient."""

    # Within the equations rates have the unit C, and queues C us, which is their delay.

    @property
    def segment(self) -> float:
        return self.segment_kb * 8.0 / self.capacity_gbps

    @property
    def delta(self) -> float:
        return self.delta_mbps / 1e3 / self.capacity_gbps

    @property
    def least_delay(self) -> float:
        """The tau' of an empty queue."""
        return self.mtu_kb * 8.0 / self.capacity_gbps + self.propagation_us


class _Course(_Link, frozen=True, kw_only=True):
    """A model that is solved in time."""

    initial_gbps: float | str | Sequence[float] = "share"
    """Rates at the start: one for all flows, one each ("7, 3"), or C / N."""
    start_us: float | str | Sequence[float] = 0.0
    """The start of the flows: one time for all, or one each ("0, 10000")."""
    line_gbps: float = 0.0
    """Line rate of the senders; C if absent."""
    min_gbps: float = 0.01
    duration_us: float = 100_000.0
    sample_us: float = 100.0
    """The time between two rows of the tables."""
    step_us: float = 4.0
    """The longest step of integration; below the least delay."""


def solve(parameters: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """Solves a fluid model: `model`, and any parameters of it that are not as in the paper.

    Of `timely` and `patched-timely` the tables `fluid` (time_us, flow, rate_gbps) and
    `fluid_queue` (time_us, queue_kb, queue_us) have a row for each sample. They are there a second
    time under the names of the simulator's series and with its columns, `series_flows` and
    `series_queues`, so that one query fits both; the port leads from a star's switch to a host
    `receiver`. Of `patched-timely-margin` and `dcqcn-margin` the table `margin` (flows,
    phase_margin_degrees) has one row; the margin is null where there is none, as where the queue of
    Patched TIMELY's fixed point is above T_high.

    Raises:
        IncastError: A parameter is unknown or makes no sense, or jitcdde is not installed.
    """
    given = dict(parameters)
    model = given.pop("model", None)
    if model not in MODELS:
        raise IncastError(f"fluid model {model}: no such model; {nearest(str(model), MODELS)}")
    patched = model != "timely"
    defaults = {"segment_kb": 16.0 if patched else 64.0, "beta": 0.008 if patched else 0.8}
    kind: type[_Link | margins.Dcqcn] = _Link if model == "patched-timely-margin" else _Course
    if model == "dcqcn-margin":
        defaults, kind = {}, margins.Dcqcn
    known = kind.__struct_fields__
    for name in given:
        if name not in known:
            raise IncastError(
                f"fluid model {model}: no such parameter as {name}; {nearest(name, known)}"
            )
    try:
        link = msgspec.convert({**defaults, **given}, kind)
    except msgspec.ValidationError as error:
        raise IncastError(f"fluid model {model}: {error}") from None
    _check(model, link)
    if not isinstance(link, _Course):
        degrees = (
            margins.dcqcn(link) if isinstance(link, margins.Dcqcn) else _patched_timely_margin(link)
        )
        row = {"flows": [link.flows], "phase_margin_degrees": [degrees]}
        margin = pl.DataFrame(row, schema=NONE["margin"].schema)
        return {**NONE, **_as_series(NONE["fluid"], NONE["fluid_queue"]), "margin": margin}
    flows, queue = _tables(link, patched=patched)
    return {**NONE, **_as_series(flows, queue), "fluid": flows, "fluid_queue": queue}


def phase_margin(flows: int, **parameters: float) -> float | None:
    """The phase margin of Patched TIMELY with so many flows, in degrees; below zero it is unstable.

    None where the queue of the fixed point is above T_high, where another law holds.
    `margins.patched_timely` has the derivation.

    Raises:
        IncastError: A parameter is unknown or makes no sense.
    """
    found = solve({"model": "patched-timely-margin", "flows": flows, **parameters})
    margin: float | None = found["margin"]["phase_margin_degrees"].item()
    return margin


def _patched_timely_margin(link: _Link) -> float | None:
    queue = link.t_low_us * (1.0 + link.flows * link.delta / link.beta)
    if queue > link.t_high_us:
        return None
    return margins.patched_timely(
        flows=link.flows, queue=queue, delay=link.least_delay,
        spacing=max(link.segment * link.flows, link.min_rtt_us), t_low=link.t_low_us,
        min_rtt=link.min_rtt_us, alpha=link.alpha, beta=link.beta, delta=link.delta,
        weight_slope=link.weight_slope,
    )  # fmt: skip


def _check(model: str, link: _Link | margins.Dcqcn) -> None:
    def refuse(what: str) -> None:
        raise IncastError(f"fluid model {model}: {what}")

    if link.flows < 1:
        refuse("flows must be at least 1")
    if isinstance(link, margins.Dcqcn):
        if not link.kmin_kb < link.kmax_kb:
            refuse("kmin_kb must be below kmax_kb")
    elif link.t_low_us > link.t_high_us:
        refuse("t_low_us must not be above t_high_us")
    for name in link.__struct_fields__:
        value = getattr(link, name)
        if name in ("initial_gbps", "start_us", "linearised"):
            continue
        zero = name in ("propagation_us", "delay_us", "line_gbps")
        if not (0 < value < float("inf") or (zero and value == 0)):
            refuse(f"{name} must {'not be below' if zero else 'be above'} 0")
    if isinstance(link, _Course):
        if link.step_us >= link.least_delay:
            refuse(f"step_us must be below the least delay, {link.least_delay:g} us")
        if any(rate <= 0 for rate in _of_each(link, "initial_gbps")):
            refuse("initial_gbps must be above 0")
        if any(time < 0 for time in _of_each(link, "start_us")):
            refuse("start_us must not be below 0")


def _of_each(link: _Course, name: str) -> list[float]:
    """A parameter that each flow has."""
    given = getattr(link, name)
    if given == "share":
        given = link.capacity_gbps / link.flows
    try:
        parts = given.split(",") if isinstance(given, str) else np.atleast_1d(given)
        values = [float(part) for part in parts]
    except ValueError:
        raise IncastError(
            f'{name}: "{given}": expected a number, or one for each flow, such as "7, 3"'
        ) from None
    if len(values) not in (1, link.flows):
        raise IncastError(f"{name}: {len(values)} values for {link.flows} flows")
    return values * link.flows if len(values) == 1 else values


def _as_series(flows: pl.DataFrame, queue: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {
        "series_flows": flows,
        "series_queues": queue.select(
            "time_us",
            pl.lit("switch->receiver").alias("port"),
            pl.col("queue_kb").alias("queue_mean_kb"),
            pl.col("queue_kb").alias("queue_max_kb"),
        ),
    }


def _tables(link: _Course, *, patched: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    starts, rates = _of_each(link, "start_us"), _of_each(link, "initial_gbps")
    # Flows with equal starts stay equal: one of each kind is solved.
    kinds = list(dict.fromkeys(zip(starts, rates, strict=True)))
    kind_of = [kinds.index(one) for one in zip(starts, rates, strict=True)]
    counts = [kind_of.count(index) for index in range(len(kinds))]
    times, states = zip(*_course(link, kinds, counts, patched=patched), strict=True)
    time, state = np.array(times), np.array(states)
    # An empty queue decays for ever, down to numbers without meaning.
    queue_us = np.where(state[:, 0] < 1e-9, 0.0, state[:, 0])
    flows = [
        pl.DataFrame(
            {
                "time_us": time,
                "flow": flow,
                "rate_gbps": np.where(time >= starts[flow], state[:, 1 + 2 * kind], 0.0)
                * link.capacity_gbps,
            },
            schema=NONE["fluid"].schema,
        )
        for flow, kind in enumerate(kind_of)
    ]
    queue_kb = queue_us * link.capacity_gbps / 8.0
    queue = pl.DataFrame({"time_us": time, "queue_kb": queue_kb, "queue_us": queue_us})
    return pl.concat(flows).sort("time_us", "flow"), queue


Past = Callable[[float], float]
"""The queue at a time."""


def _course(
    link: _Course, kinds: Sequence[tuple[float, float]], counts: Sequence[int], *, patched: bool
) -> Iterator[tuple[float, Sequence[float]]]:
    """Time and state at each sample: the queue, then rate and gradient of each kind."""
    equations = _equations(link, [start for start, _ in kinds], counts, patched=patched)
    initial = [0.0]
    for _, rate in kinds:
        initial += [rate / link.capacity_gbps, 0.0]
    integrator = _integrator()(equations, initial, lookups=1 + len(kinds))
    steps = -int(-link.sample_us // link.step_us)
    yield 0.0, initial
    for sample in range(1, int(link.duration_us / link.sample_us) + 1):
        for _ in range(steps):
            integrator.get_next_step(link.sample_us / steps)
            integrator.accept_step()
        yield sample * link.sample_us, integrator.y.copy()


def _equations(
    link: _Course, starts: Sequence[float], counts: Sequence[int], *, patched: bool
) -> Callable[[float, Sequence[float], Past], list[float]]:
    """The derivatives; the module says where they are from."""
    segment, delta, least_delay = link.segment, link.delta, link.least_delay
    t_low, t_high, min_rtt = link.t_low_us, link.t_high_us, link.min_rtt_us
    alpha, beta, slope = link.alpha, link.beta, link.weight_slope
    least = link.min_gbps / link.capacity_gbps
    most = (link.line_gbps or link.capacity_gbps) / link.capacity_gbps
    eps = 2.0 * link.step_us

    def in_band(rate: float, gradient: float, queue: float) -> float:
        if patched:
            weight = min(max(slope * gradient + 0.5, 0.0), 1.0)
            return (1.0 - weight) * delta - weight * beta * rate * (queue - t_low) / t_low
        return delta if gradient <= 0.0 else -beta * gradient * rate

    def derivatives(time: float, state: Sequence[float], past: Past) -> list[float]:
        seen = time - state[0] - least_delay
        queue = past(seen)
        inflow = 0.0
        found = [0.0]
        for index, (start, count) in enumerate(zip(starts, counts, strict=True)):
            rate, gradient = state[1 + 2 * index], state[2 + 2 * index]
            spacing = max(segment / rate, min_rtt)
            before = past(seen - spacing)
            if time < start:
                found += [0.0, 0.0]
                continue
            inflow += count * rate
            if queue < t_low:
                change = delta
            elif queue > t_high:
                change = -beta * (1.0 - t_high / queue) * rate
            else:
                change = in_band(rate, gradient, queue)
            growth = max(min(change / spacing, (most - rate) / eps), (least - rate) / eps)
            found += [growth, alpha / spacing * (-gradient + (queue - before) / min_rtt)]
        found[0] = max(inflow - 1.0, -state[0] / eps)
        return found

    return derivatives


@cache
def _integrator() -> type[Any]:
    """The integrator of jitcdde, with its derivatives by a Python function.

    Raises:
        MissingExtraError: It is not installed.
    """
    anchors = jitcdde_past.Past

    class Integrator(jitcdde_core.dde_integrator):  # type: ignore[misc]
        """Looks into the past through the cursors of jitcdde, one for each look."""

        def __init__(
            self,
            derivatives: Callable[[float, Sequence[float], Past], list[float]],
            initial: Sequence[float],
            lookups: int,
        ) -> None:
            past = anchors(n=len(initial), n_basic=len(initial))
            past.constant(initial)
            # The method of dde_integrator is skipped: it only makes a function of symbols.
            anchors.__init__(self, anchors=past)
            self.t, self.y, self.diff = self[-1]
            self.old_new_y = None
            self.derivatives = derivatives
            self.anchor_mem = [len(self) - 1] * lookups

        def eval_f(self, t: float, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            self.anchor_mem_index = 0
            return np.array(self.derivatives(t, y.tolist(), self.queue_at))

        def queue_at(self, time: float) -> float:
            """The first of the states, by the Hermite cubic that jitcdde interpolates by."""
            low, high = self.get_anchors_with_mem(time)
            width = high.time - low.time
            x = (time - low.time) / width
            left, right = low.state[0], high.state[0]
            rise = (1.0 - x) * (low.diff[0] * width * x + (left - right) * (2.0 * x + 1.0))
            return float((1.0 - x) * (rise - high.diff[0] * width * x * x) + right)

    return Integrator
