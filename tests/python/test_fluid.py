import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from incast import IncastError
from incast.reproduce import fluid, margins

PATCHED = {"model": "patched-timely"}


def at(tables: Mapping[str, pl.DataFrame], time_us: float) -> tuple[list[float], float]:
    """The rates of all flows, in Gb/s, and the queue, in us."""
    here = pl.col("time_us") == time_us
    rates = tables["fluid"].filter(here).sort("flow")["rate_gbps"].to_list()
    return rates, tables["fluid_queue"].filter(here)["queue_us"].item()


def test_patched_timely_comes_to_its_fixed_point() -> None:
    # R = C / N, q* = q' (1 + N delta / (beta C)).
    tables = fluid.solve({**PATCHED, "flows": 10, "duration_us": 30_000})
    rates, queue = at(tables, 30_000)
    assert rates == pytest.approx([1.0] * 10, rel=1e-3)
    assert queue == pytest.approx(50 * (1 + 10 * 10e6 / (0.008 * 10e9)), rel=1e-3)


def test_patched_timely_forgets_how_it_began() -> None:
    # Apart from each other, |R1 - R2| falls as exp(-delta t / (2 Seg)): 20 ms are 0.78125 of these.
    tables = fluid.solve({**PATCHED, "initial_gbps": "7, 3", "duration_us": 60_000})
    (high, low), _ = at(tables, 40_000)
    (later_high, later_low), _ = at(tables, 60_000)
    fall = math.log((high - low) / (later_high - later_low))
    assert fall == pytest.approx(20e-3 * 10e6 / (2 * 16e3 * 8), rel=0.03)


def test_timely_does_not() -> None:
    ratios = []
    for rates in ("5, 5", "6, 4", "7, 3"):
        found = fluid.solve({"model": "timely", "initial_gbps": rates, "duration_us": 20_000})
        late = found["fluid"].filter(pl.col("time_us") > 10_000)
        mean = late.group_by("flow").agg(pl.col("rate_gbps").mean()).sort("flow")["rate_gbps"]
        ratios.append(mean[0] / mean[1])
    assert ratios[0] == 1
    assert 1.2 < ratios[1] < ratios[2] - 0.3


@pytest.mark.parametrize("model", ["timely", "patched-timely"])
def test_flows_that_begin_alike_stay_alike(model: str) -> None:
    tables = fluid.solve(
        {"model": model, "flows": 3, "initial_gbps": [5, 2, 5], "duration_us": 10_000}
    )
    rates = tables["fluid"].pivot("flow", index="time_us", values="rate_gbps")
    assert rates["0"].equals(rates["2"])
    assert not rates["0"].equals(rates["1"])


@pytest.mark.parametrize("model", ["timely", "patched-timely"])
@pytest.mark.parametrize("rates", ["0.5, 0.5", "9, 9", "7, 3"])
def test_the_queue_is_never_negative_and_no_rate_out_of_bounds(model: str, rates: str) -> None:
    tables = fluid.solve({"model": model, "initial_gbps": rates, "duration_us": 20_000})
    assert tables["fluid_queue"]["queue_kb"].min() == 0
    assert tables["fluid"]["rate_gbps"].is_between(0.01, 10).all()


def test_a_flow_that_is_late_is_not_there_before() -> None:
    tables = fluid.solve(
        {"model": "timely", "initial_gbps": 5, "start_us": "0, 4000", "duration_us": 6_000}
    )
    (first, second), queue = at(tables, 3_900)
    # Alone, below T_low: delta per Seg / R makes R = R0 exp(delta t / Seg).
    assert first == pytest.approx(5 * math.exp(3.9e-3 * 10e6 / (64e3 * 8)), rel=1e-3)
    assert (second, queue) == (0, 0)
    assert at(tables, 4_000)[0][1] == 5


def euler(model: str, rates: tuple[float, float], end_us: float) -> tuple[list[float], float]:
    """The equations once more, by Euler's method in steps of 0.2 us: Gb/s, us."""
    step, segment = 0.2, {"timely": 51.2, "patched-timely": 12.8}[model]
    beta, delta = {"timely": 0.8, "patched-timely": 0.008}[model], 1e-3
    steps = round(end_us / step)
    queue = np.zeros(steps + 1)
    rate, gradient = np.array(rates) / 10, np.zeros(2)

    def past(time: float) -> float:
        return float(np.interp(time / step, [0, steps], [0, 0])) if time <= 0 else between(time)

    def between(time: float) -> float:
        place = time / step
        low = int(place)
        return float(queue[low] + (place - low) * (queue[low + 1] - queue[low]))

    for now in range(steps):
        seen = now * step - queue[now] - 4.8
        known = past(seen)
        change = np.zeros(2)
        slope = np.zeros(2)
        for i in range(2):
            spacing = max(segment / rate[i], 20.0)
            slope[i] = 0.875 / spacing * ((known - past(seen - spacing)) / 20 - gradient[i])
            if known < 50:
                change[i] = delta / spacing
            elif known > 500:
                change[i] = -beta * (1 - 500 / known) * rate[i] / spacing
            elif model == "timely":
                down = beta * gradient[i] * rate[i]
                change[i] = (-down if gradient[i] > 0 else delta) / spacing
            else:
                weight = np.clip(2 * gradient[i] + 0.5, 0, 1)
                error = (known - 50) / 50
                change[i] = ((1 - weight) * delta - weight * beta * error * rate[i]) / spacing
        queue[now + 1] = max(queue[now] + step * (rate.sum() - 1), 0.0)
        rate = np.clip(rate + step * change, 1e-3, 1.0)
        gradient += step * slope
    return list(rate * 10), float(queue[steps])


@pytest.mark.parametrize("model", ["timely", "patched-timely"])
def test_it_agrees_with_an_integration_of_its_own(model: str) -> None:
    # Through a whole swing: the queue rises, the rates fall, and TIMELY's queue is empty again.
    end = 4_000.0
    rates, queue = euler(model, (7.0, 3.0), end)
    found, found_queue = at(
        fluid.solve({"model": model, "initial_gbps": "7, 3", "duration_us": end}), end
    )
    assert found == pytest.approx(rates, rel=0.005)
    assert found_queue == pytest.approx(queue, rel=0.02, abs=0.1)


def test_half_the_step_gives_the_same() -> None:
    one, other = (
        at(
            fluid.solve(
                {**PATCHED, "initial_gbps": "7, 3", "step_us": step, "duration_us": 10_000}
            ),
            10_000,
        )
        for step in (4.0, 2.0)
    )
    assert one[0] == pytest.approx(other[0], rel=1e-3)
    assert one[1] == pytest.approx(other[1], rel=1e-3)


def test_the_phase_margin_falls_below_zero_where_the_solution_begins_to_swing() -> None:
    swings = {}
    for flows in (10, 40):
        late = fluid.solve({**PATCHED, "flows": flows, "duration_us": 30_000})["fluid_queue"]
        queue = late.filter(pl.col("time_us") > 20_000)["queue_us"].to_numpy()
        swings[flows] = queue.std() / queue.mean()
    assert swings[10] < 1e-3
    assert swings[40] > 0.05
    margins = [fluid.phase_margin(flows) for flows in range(8, 73)]
    known = [margin for margin in margins if margin is not None]
    assert len(known) == len(margins)
    assert known[2] > 0 > known[20]
    assert known == sorted(known, reverse=True)
    # The fixed point of 73 flows is above T_high.
    assert fluid.phase_margin(73) is None


def test_the_phase_margin_without_delay_is_that_of_the_text_book() -> None:
    # Without gradient, delay and samples, L = a / (s (s + b)), which is one at w with
    # w^2 (w^2 + b^2) = a^2, and its phase margin is 90 degrees - atan(w / b). In units of us:
    # R = 1 / N, tau* = D_minRTT where segments are short, q' = T_low; a large T_low has no delay to
    # speak of if T_low times w is small, which a small beta makes it.
    flows, t_low, spacing, delta, beta = 2, 1.0, 1e-3, 1e-9, 1e-9
    a = flows * beta * (1 / flows) / (2 * t_low * spacing)
    b = delta / (2 * (1 / flows) * spacing)
    w = math.sqrt((math.sqrt(b**4 + 4 * a**2) - b**2) / 2)
    found = fluid.phase_margin(
        flows, t_low_us=t_low, min_rtt_us=spacing, segment_kb=1e-9, delta_mbps=delta * 1e4,
        beta=beta, mtu_kb=1e-6, propagation_us=0.0, alpha=1e-12,
    )  # fmt: skip
    delay = t_low * (1 + flows * delta / beta) + 8e-7
    assert found == pytest.approx(90 - math.degrees(math.atan(w / b) + w * delay), abs=0.1)


def margin(**parameters: Any) -> float:  # noqa: ANN401
    degrees: float = fluid.solve(parameters)["margin"]["phase_margin_degrees"].item()
    return degrees


def test_the_published_margin_of_patched_timely_has_half_the_slope() -> None:
    # The curve of the paper's figure, from the authors' file of it.
    for flows, published in ((2, -1.9535), (10, 28.529), (20, 41.58), (38, 3.2215), (50, -22.263)):
        script = {"weight_slope": 0.5, "propagation_us": 0.0}
        assert fluid.phase_margin(flows, **script) == pytest.approx(published, abs=0.05)
    printed = [fluid.phase_margin(flows) for flows in (16, 20, 30)]
    assert printed == pytest.approx([15.342, -4.788, -45.844], abs=0.01)


@pytest.mark.parametrize(
    ("given", "published"),
    [
        ({"delay_us": 50}, {2: 8.2626, 10: -6.5844, 40: 15.73, 100: 39.811}),
        ({"delay_us": 100}, {2: -10.099, 10: -17.925, 40: 4.0933, 100: 23.142}),
        ({"delay_us": 100, "rate_ai_mbps": 10}, {2: 19.902, 10: 4.2463, 40: 1.6185, 100: 20.181}),
        (
            {"delay_us": 100, "rate_ai_mbps": 10, "kmax_kb": 1000},
            {2: 44.183, 10: 43.849, 40: 27.171, 100: 31.946},
        ),
    ],
)
def test_the_published_margins_of_dcqcn(
    given: dict[str, float], published: dict[int, float]
) -> None:
    for flows, degrees in published.items():
        found = margin(model="dcqcn-margin", linearised="script", flows=flows, **given)
        assert found == pytest.approx(degrees, abs=0.05)


def test_nothing_changes_at_the_fixed_point_of_dcqcn() -> None:
    for flows in (2, 10, 64, 100):
        link = margins.Dcqcn(flows=flows)
        mark, target, alpha = margins._fixed_point(link)
        rate = link.capacity / flows
        found = margins._derivatives(link, mark, rate, rate, target, alpha)
        assert np.abs(found) == pytest.approx([0, 0, 0], abs=1e-9)
        # The paper's approximation, for small probabilities.
        both = 1 / link.bytes_step + 1 / (link.rate_timer_us * rate)
        about = (link.increase / (link.alpha_us * rate**2) * both**2) ** (1 / 3)
        assert about / 2 < mark < about


def test_dcqcn_oscillates_for_good_where_its_margin_is_zero() -> None:
    # With queue, alpha, R_T and R_C as one system: det(s - A - B exp(-tau s)) is zero on the axis.
    flows = 10
    low, high = 4.0, 100.0
    for _ in range(60):
        delay = (low + high) / 2
        stable = margin(model="dcqcn-margin", flows=flows, delay_us=delay) > 0
        low, high = (delay, high) if stable else (low, delay)
    link = margins.Dcqcn(flows=flows, delay_us=low)
    mark, target, alpha = margins._fixed_point(link)
    rate = link.capacity / flows
    point = [mark, rate, rate, target, alpha]
    by = []
    for index, value in enumerate(point):
        up, down = list(point), list(point)
        up[index], down[index] = value * (1 + 1e-6), value * (1 - 1e-6)
        change = margins._derivatives(link, *up) - margins._derivatives(link, *down)
        by.append(change.real / (2e-6 * value))
    by_mark, by_rate, by_past, by_target, by_alpha = by
    zero = np.zeros(3)
    now = np.zeros((4, 4))
    now[:3] = np.array([by_alpha, by_target, by_rate, zero]).T
    now[3, 2] = flows
    past = np.zeros((4, 4))
    past[:3] = np.array([zero, zero, by_past, by_mark * link.slope]).T
    sizes = []
    for frequency in np.geomspace(1e-4, 1.0, 20_001):
        system = 1j * frequency * np.eye(4) - now - past * np.exp(-1j * frequency * low)
        sizes.append(abs(np.linalg.det(system)) / frequency**4)
    least = int(np.argmin(sizes))
    assert sizes[least] < 1e-3
    assert min(sizes[:least][-200], sizes[least:][200]) > 20 * sizes[least]


def test_tables_are_those_of_the_simulator_too() -> None:
    tables = fluid.solve({**PATCHED, "duration_us": 1_000})
    assert tables["series_flows"].equals(tables["fluid"])
    assert tables["series_queues"]["queue_mean_kb"].equals(tables["fluid_queue"]["queue_kb"])
    assert tables["fluid_queue"]["queue_kb"].to_list() == pytest.approx(
        (tables["fluid_queue"]["queue_us"] * 1.25).to_list()
    )
    assert tables["margin"].is_empty()
    margin = fluid.solve({"model": "patched-timely-margin", "flows": 10})
    assert margin["margin"].rows() == [(10, fluid.phase_margin(10))]
    assert margin["series_flows"].is_empty()
    assert tables.keys() == margin.keys() > fluid.NONE.keys()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "timley"}, "fluid model timley: no such model; did you mean timely"),
        ({}, "fluid model None: no such model; there is timely"),
        ({**PATCHED, "flow": 3}, "no such parameter as flow; did you mean flows?"),
        ({"model": "patched-timely-margin", "step_us": 1}, "no such parameter as step_us"),
        ({**PATCHED, "flows": "many"}, "Expected `int`"),
        ({**PATCHED, "flows": 0}, "flows must be at least 1"),
        ({**PATCHED, "capacity_gbps": 0}, "capacity_gbps must be above 0"),
        ({**PATCHED, "duration_us": math.inf}, "duration_us must be above 0"),
        ({**PATCHED, "propagation_us": -1}, "propagation_us must not be below 0"),
        ({**PATCHED, "t_low_us": 600}, "t_low_us must not be above t_high_us"),
        ({"model": "dcqcn-margin", "delay_us": -1}, "delay_us must not be below 0"),
        ({"model": "dcqcn-margin", "kmax_kb": 5}, "kmin_kb must be below kmax_kb"),
        ({"model": "dcqcn-margin", "linearised": "half"}, "Invalid enum value 'half'"),
        ({**PATCHED, "step_us": 5}, "step_us must be below the least delay, 4.8 us"),
        ({**PATCHED, "initial_gbps": "7, 3, 1"}, "initial_gbps: 3 values for 2 flows"),
        ({**PATCHED, "initial_gbps": "7; 3"}, 'initial_gbps: "7; 3": expected a number'),
        ({**PATCHED, "initial_gbps": 0}, "initial_gbps must be above 0"),
        ({**PATCHED, "start_us": "0, -1"}, "start_us must not be below 0"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(IncastError) as refused:
        fluid.solve(wrong)
    assert message in str(refused.value)


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    fluid._integrator.cache_clear()
    monkeypatch.setitem(sys.modules, "jitcdde", None)
    with pytest.raises(IncastError, match=r"pip install 'incast\[fluid\]'"):
        fluid.solve(PATCHED)
