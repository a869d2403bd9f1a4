"""The fixed points of Regulated TCP's law on two links, for each way to count rates.

Huang, Li and Walrand, IFIP 2020, section II and figure 1: flow 0 crosses two links, flows 1 and 2
one each. The numbers are those of docs/algorithms/rtcp.md; what runs have is in
papers/rtcp/figure-1.toml.
"""

from collections.abc import Callable

import pytest

CAPACITY = 10.0 * 1460 / 1500
"""C: the payload that a link of 10 Gb/s carries, in Gb/s."""
WEIGHT, ALPHA, DELTA = 12_000.0, 500.0, 1e4
RTT = (88e-6, 44e-6, 44e-6)
"""The RTTs without queues, in seconds, of links of 20 us."""


def solved(rises: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a rising function, by bisection; an end if there is none between."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return (low + high) / 2


def shares(marginal: Callable[[float, int], float]) -> tuple[float, float]:
    """The rates of flow 0 and flow 1 at which U0'(x0) is the price of two links and U1'(x1) of one.

    `marginal` gives U' at a rate in Gb/s, for the flow of that number.
    """
    long = solved(lambda x: 2 * marginal(CAPACITY - x, 1) - marginal(x, 0), 0.0, CAPACITY)
    return long, CAPACITY - long


def counted_in(gbps: float) -> Callable[[float, int], float]:
    """U' of w log(1 + x) where a rate counts in units of that many Gb/s: w / (1 + x), (1), (6)."""
    return lambda rate, _: WEIGHT / (1 + rate / gbps)


def per_round(rate: float, flow: int) -> float:
    """U' where x counts the packets of a round trip: the RTT of the flow is in its utility."""
    return WEIGHT / (1 + rate * 1e9 * RTT[flow] / (1460 * 8))


def borne_us(marginal: float, unit: float) -> float:
    """D at the fixed point of (7), alpha delta D = U', in us."""
    return marginal / (ALPHA * DELTA) * unit * 1e6


@pytest.mark.parametrize(
    ("reading", "long", "others", "borne"),
    [
        (counted_in(1e-3), 3.24, 6.49, 0.0004),
        (counted_in(1.0), 2.91, 6.82, 0.31),
        (counted_in(CAPACITY), 0.0, 9.73, 1.2),
        (per_round, 1.89, 7.84, 0.078),
    ],
    ids=["Mb/s", "Gb/s", "shares of the line", "packets of a round"],
)
def test_the_unit_of_rates_decides_the_shares(
    reading: Callable[[float, int], float], long: float, others: float, borne: float
) -> None:
    """Proportional fairness, 3.24 and 6.49, wants rates in numbers far above one.

    The delay that a link then has is no longer than a packet takes, 1.2 us, with the unit of 1 ms.
    """
    assert shares(reading) == pytest.approx((long, others), abs=0.01)
    assert borne_us(reading(others, 1), 1e-3) == pytest.approx(borne, rel=0.1)


@pytest.mark.parametrize("window_kb", [131.4, 200.0])
def test_a_constant_window_that_fills_the_links_is_proportionally_fair(window_kb: float) -> None:
    """A window W has x (d + q) = W, so its U' is W / x - d: the sum of its queues."""
    bits = window_kb * 8e-6
    found = shares(lambda rate, flow: bits / max(rate, 1e-9) - RTT[flow])
    assert found == pytest.approx((CAPACITY / 3, CAPACITY * 2 / 3), rel=0.01)


def relay(unit: float, *, steps: int = 60_000, step: float = 4e-6) -> tuple[list[float], float]:
    """Mean rates in Gb/s, and the mean queue of a link in us, of the law in continuous time.

    Equations (1), (6) and (7) with rates in Gb/s: a flow sends at the line's rate while its counter
    is at least the price of the delay, which it learns an RTT later, and else not at all. Counters
    start at their fixed point; their time counts in us.
    """
    long, other = shares(counted_in(1.0))
    counters = [WEIGHT / (1 + x) for x in (long, other, other)]
    lags = [round(rtt / step) for rtt in RTT]
    past = [(0.0, 0.0)] * (max(lags) + 1)
    sent, waited = [0.0] * 3, 0.0
    queues = (0.0, 0.0)
    for now in range(steps):
        rates = []
        for flow, lag in enumerate(lags):
            first, second = past[(now - lag) % len(past)]
            delay = (first + second, first, second)[flow]
            rate = CAPACITY if counters[flow] >= ALPHA * DELTA * delay / unit else 0.0
            counters[flow] += (max(0.0, WEIGHT / counters[flow] - 1) - rate) * step / 1e-6
            rates.append(rate)
            sent[flow] += rate if now >= steps // 2 else 0.0
        grow = [(rates[0] + rates[1 + link]) / CAPACITY - 1 for link in (0, 1)]
        queues = (
            max(0.0, queues[0] + grow[0] * step),
            max(0.0, queues[1] + grow[1] * step),
        )
        past[now % len(past)] = queues
        waited += queues[0] if now >= steps // 2 else 0.0
    counted = steps - steps // 2
    return [total / counted for total in sent], waited / counted * 1e6


def test_the_law_keeps_its_theorem_where_a_flow_bears_more_than_its_rtt() -> None:
    """With a unit of 1 s a link may hold 307 us, with 1 ms 0.3: a quarter of a packet."""
    (long, first, second), queue = relay(1.0)
    assert (long, first, second) == pytest.approx((2.91, 6.82, 6.82), rel=0.02)
    assert queue == pytest.approx(307, rel=0.02)


def test_the_law_shares_alike_and_leaves_links_idle_where_it_bears_less() -> None:
    """Feedback that is an RTT old switches all flows at once: 3.9 of 9.73 Gb/s each."""
    (long, first, second), _ = relay(1e-3)
    assert (long, first, second) == pytest.approx((3.93, 3.93, 3.93), rel=0.05)


def test_with_rates_in_gbps_table_ii_has_its_alphas_and_not_its_deltas() -> None:
    """A unit of 50 ms and 7.6 us without queues give the rows of alpha; delta would do the same."""
    rows = {(300, 10_000): 3.180, (600, 10_000): 3.209, (1000, 10_000): 2.787, (1000, 3000): 3.073}
    delays = {
        (alpha, delta): 7.6 + WEIGHT / (1 + gbps) / (alpha * delta) * 50e-3 * 1e6
        for (alpha, delta), gbps in rows.items()
    }
    assert delays[300, 10_000] == pytest.approx(55.6, rel=0.05)
    assert delays[600, 10_000] == pytest.approx(30.2, rel=0.05)
    assert delays[1000, 10_000] == pytest.approx(23.4, rel=0.05)
    assert delays[1000, 3000] > 1.8 * 29.9
