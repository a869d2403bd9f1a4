"""A learner: an environment, a policy, and a tree that runs as a scheme."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from steps import incast, measured

import incast as incast_api
from incast.learning import CongestionEnv, CongestionVectorEnv, Tree, place

SHORT = ("run.duration=12ms", "run.warmup=2ms")
SCENARIO = incast_api.load("incast").with_set(*SHORT)


def episode(policy: Callable[[NDArray[np.float32]], float]) -> tuple[float, float]:
    """The mean reward and throughput (Gb/s) of an interval, over eight milliseconds."""
    env = CongestionEnv(SCENARIO, flows=0, others="dctcp", interval="20us")
    observation, _ = env.reset(seed=3)
    seen = []
    for _ in range(400):
        action = np.array([policy(observation)], dtype=np.float32)
        observation, reward, _, _, info = env.step(action)
        seen.append((reward, info["throughput"]))
    reward, throughput = np.mean(seen, axis=0)
    return float(reward), float(throughput)


def careful(observation: NDArray[np.float32]) -> float:
    """Less by the RTT above its least, in units of it."""
    return float(np.clip(1 - 2 * observation[RTT], -1, 1))


RTT = place("rtt_mean")
once = episode(careful)
assert once == episode(careful), "one seed, one result"
greedy = episode(lambda _: 1.0)
assert greedy[1] > 1.5 * once[1], (greedy, once)
assert greedy[0] != once[0]

many = CongestionVectorEnv(4, SCENARIO, interval="20us", threads=2)
observations, _ = many.reset(seed=1)
observations, rewards, *_ = many.step(many.action_space.sample())
assert observations.shape[0] == 4 == len(rewards)
assert np.isfinite(observations).all()

# The policy in two leaves, as a scheme beside TIMELY.
tree = Tree(
    {"interval": "20us", "action": "change", "step": 0.2, "initial": 0.1},
    [
        {"feature": "rtt_mean", "threshold": 0.5, "low": 1, "high": 2},
        {"action": 0.5},
        {"action": -0.8},
    ],
)
tree.save("mine.json")
settings = [part for one in SHORT for part in ("--set", one)]
table = incast("run", "incast", "--cc", "tree:mine.json", "--cc", "timely", *settings)
assert "tree:mine.json" in table
rows = measured("results/incast")
assert all(1 < row["throughput_gbps"] < 20 for row in rows.values()), rows
