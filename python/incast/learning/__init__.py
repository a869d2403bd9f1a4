"""Environments for learning congestion control, of Gymnasium and of PettingZoo.

    import incast.learning

    env = incast.learning.CongestionEnv("incast", flows=0, others="timely", interval="10us")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Needs `pip install 'incast[learn]'`.
"""

from incast.base import extras

extras.need("learn")

import gymnasium  # noqa: E402 - after the sentence on what is missing

from incast.learning.batch import Batch, Episode, Reward, Settings  # noqa: E402
from incast.learning.domains import Uniform  # noqa: E402
from incast.learning.environments import CongestionEnv, CongestionVectorEnv  # noqa: E402
from incast.learning.features import FEATURES, Feature, place  # noqa: E402
from incast.learning.parallel import CongestionParallelEnv  # noqa: E402
from incast.learning.trees import Tree, distill  # noqa: E402

__all__ = [
    "FEATURES",
    "Batch",
    "CongestionEnv",
    "CongestionParallelEnv",
    "CongestionVectorEnv",
    "Episode",
    "Feature",
    "Reward",
    "Settings",
    "Tree",
    "Uniform",
    "distill",
    "place",
]

gymnasium.register(
    "incast/Congestion-v0",
    entry_point="incast.learning:CongestionEnv",
    vector_entry_point="incast.learning:CongestionVectorEnv",
)
