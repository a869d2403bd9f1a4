"""A scenario to learn in, policies by hand, and their rewards."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from incast import _core
from incast.learning import CongestionEnv, place

STAR = """
title = "four flows into one port"
[run]
duration = "500us"
schemes = ["dctcp"]
[[network.star.hosts]]
name = "sender"
count = 4
rate = "100Gbps"
delay = "1us"
[[network.star.hosts]]
name = "receiver"
rate = "100Gbps"
delay = "1us"
[switch]
ecn_threshold = "60KB"
queue_limit = "1MB"
[transport]
segment = "4KB"
[[traffic]]
name = "long"
kind = "connections"
from = "sender"
to = "receiver"
start_spread = "23us"
"""


def value(observation: NDArray[np.float32], name: str) -> float:
    return float(observation[place(name)])


def tables(run: _core.Run) -> dict[str, pl.DataFrame]:
    return {table.name: pl.DataFrame(table).drop("scheme", strict=False) for table in run.tables}


def assert_same_tables(one: _core.Run, other: _core.Run) -> None:
    first, second = tables(one), tables(other)
    assert first.keys() == second.keys()
    assert len(first["flows"]) == 4
    for name, frame in first.items():
        assert frame.equals(second[name]), name


def careful(observation: NDArray[np.float32]) -> float:
    """A policy that lets the RTT be half as long again as the least."""
    return float(np.clip(1.0 - 2.0 * value(observation, "rtt_mean"), -1.0, 1.0))


def mean_reward(env: CongestionEnv, policy: Callable[[NDArray[np.float32]], Any]) -> float:
    """The mean reward of an interval, over four episodes of seeds of their own."""
    rewards = []
    for seed in range(1000, 1004):
        observation, _ = env.reset(seed=seed)
        done = False
        while not done:
            action = np.asarray(policy(observation), dtype=np.float32).reshape(1)
            observation, reward, ended, over, _ = env.step(action)
            rewards.append(reward)
            done = ended or over
    return float(np.mean(rewards))
