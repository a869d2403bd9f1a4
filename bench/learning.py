"""Monitoring intervals per second of environments for learning: one flow of ten at 100 Gb/s.

Run `.venv/bin/python bench/learning.py` on an idle machine. Each line is the median of five turns,
in which all kinds take theirs one after the other; the first 5 ms of each run are not timed.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import incast
from incast.learning import Batch, CongestionEnv, CongestionVectorEnv

SCENARIO = incast.load(Path(__file__).with_name("learning.toml"))
STREAM = SCENARIO.with_set("transport.kind=stream")
TURNS, WARM_UP, STEPS = 5, 500, 8000
SHARE = 0.1
"""The learner's flow sends at a tenth of line rate."""


def batch(scenario: incast.Scenario, count: int, threads: int) -> Callable[[], None]:
    """Steps of `Batch`."""
    made = Batch(scenario, count, action="share", threads=threads)
    for number in range(count):
        made.reset(number, np.random.default_rng(number))
    actions = np.full((count, 1), SHARE, np.float32)
    return lambda: made.step(actions)


def gymnasium_env(scenario: incast.Scenario) -> Callable[[], None]:
    """Steps of `CongestionEnv`."""
    env = CongestionEnv(scenario, action="share")
    env.reset(seed=1)
    action = np.array([SHARE], np.float32)

    def step() -> None:
        env.step(action)

    return step


def vector_env(scenario: incast.Scenario, count: int, threads: int) -> Callable[[], None]:
    """Steps of `CongestionVectorEnv`."""
    env = CongestionVectorEnv(count, scenario, action="share", threads=threads)
    env.reset(seed=1)
    actions = np.full((count, 1), SHARE, np.float32)

    def step() -> None:
        env.step(actions)

    return step


KINDS: dict[str, tuple[int, Callable[[], Callable[[], None]]]] = {
    "Batch of 1": (1, lambda: batch(SCENARIO, 1, 1)),
    "Batch of 16, a thread": (16, lambda: batch(SCENARIO, 16, 1)),
    "Batch of 16, two threads": (16, lambda: batch(SCENARIO, 16, 2)),
    "CongestionEnv": (1, lambda: gymnasium_env(SCENARIO)),
    "CongestionVectorEnv of 16, a thread": (16, lambda: vector_env(SCENARIO, 16, 1)),
    "Batch of 16, a thread, streams": (16, lambda: batch(STREAM, 16, 1)),
}


def measured(count: int, start: Callable[[], Callable[[], None]]) -> tuple[float, float]:
    """Intervals per second of the clock, and per second of the processor."""
    step = start()
    for _ in range(WARM_UP):
        step()
    clock, processor = time.perf_counter(), time.process_time()
    steps = STEPS // count + 1
    for _ in range(steps):
        step()
    done = steps * count
    return done / (time.perf_counter() - clock), done / (time.process_time() - processor)


def main() -> None:
    """Prints a line for each kind."""
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(TURNS):
        for kind, (count, start) in KINDS.items():
            found[kind].append(measured(count, start))
    print("intervals per second: of the clock, of a core (least to greatest)")
    for kind, rates in found.items():
        clock, core = (statistics.median(of) for of in zip(*rates, strict=True))
        cores = [core for _, core in rates]
        print(f"{kind:36} {clock:8,.0f} {core:8,.0f} ({min(cores):,.0f} to {max(cores):,.0f})")


if __name__ == "__main__":
    main()
