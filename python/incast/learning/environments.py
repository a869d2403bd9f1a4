"""Environments of Gymnasium: one learning flow, alone or many at once."""

from collections.abc import Sequence
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from typing_extensions import Unpack

from incast import _core
from incast._core import ParameterError
from incast.learning.batch import Batch, Episode, Settings
from incast.learning.features import FEATURES

Array = NDArray[np.float32]


def observation_space() -> gymnasium.Space[Array]:
    """The space of an observation: the features, each within its bounds."""
    low, high = ([getattr(one, end) for one in FEATURES] for end in ("low", "high"))
    box = gymnasium.spaces.Box(
        np.array(low, dtype=np.float32), np.array(high, dtype=np.float32), dtype=np.float32
    )
    return cast("gymnasium.Space[Array]", box)


def action_space(batch: Batch) -> gymnasium.Space[Array]:
    """The space of an action: one number."""
    box = gymnasium.spaces.Box(batch.low, batch.high, shape=(1,), dtype=np.float32)
    return cast("gymnasium.Space[Array]", box)


def run_seed(options: dict[str, Any] | None) -> int | None:
    """The seed of the run that options of `reset` ask for; None if they do not.

    Other options are left alone: wrappers and checkers pass some of their own.

    Raises:
        ParameterError: It is no seed.
    """
    value = (options or {}).get("run_seed")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise ParameterError(f"run_seed = {value!r}: expected a number from 0 to {2**64 - 1}")
    return value


def one_flow(batch: Batch) -> Batch:
    """The batch, if its environments have a single learning flow each.

    Raises:
        ParameterError: They have several.
    """
    if batch.flows != 1:
        raise ParameterError(
            f"{batch.flows} flows are the learner's; name one, or take CongestionParallelEnv"
        )
    return batch


def described(episode: Episode) -> dict[str, Any]:
    """The draws of an episode, as `reset` tells them."""
    return {"run_seed": episode.seed, "settings": episode.settings, "flow": episode.flows[0]}


class CongestionEnv(gymnasium.Env[Array, Array]):
    """The rate of one flow among others, an action per monitoring interval.

    An observation has the features of `FEATURES`, an action is one number. An episode is truncated
    at the end of the scenario's duration, and terminated where the flow ends.

    Observations are 32-bit arrays of the shape (12,), actions of the shape (1,).

    Example:
        ```python
        import numpy as np

        from incast.learning import CongestionEnv, place

        env = CongestionEnv("incast", flows=0, others="timely", interval="20us")
        observation, info = env.reset(seed=1)
        action = np.array([0.5], dtype=np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        observation[place("throughput")]  # as a part of the NIC's rate
        info["throughput"], info["rtt_mean"]  # in Gb/s and us
        ```
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it
    """The modes of rendering, of which there are none."""

    def __init__(
        self,
        scenario: Any = "incast",  # noqa: ANN401
        *,
        render_mode: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Makes the environment, with the settings of `Batch` as keyword arguments.

        Raises:
            ParameterError: A setting cannot be, or the scenario has no such flow.
            ScenarioError: The scenario cannot be read, or has no flows.
        """
        if render_mode is not None:
            raise ParameterError(f"render_mode = {render_mode!r}: there is nothing to render")
        self.render_mode = None
        settings.setdefault("threads", 1)
        self.batch = one_flow(Batch(scenario, **settings))
        self.observation_space = observation_space()
        self.action_space = action_space(self.batch)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: The seed of all that is drawn from now on; None goes on with what there is.
            options: `run_seed`, the seed of the run in place of a drawn one.

        Raises:
            ParameterError: `run_seed` is no seed, or the values drawn do not fit together.
        """
        super().reset(seed=seed)
        episode = self.batch.reset(0, self.np_random, run_seed(options))
        return self.batch.observations[0, 0], described(episode)

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Sends at the rate of the action for an interval.

        Returns observation, reward, whether the flow has ended, whether the run is over, and the
        measured values in their units with the time `time_s` in seconds.

        Raises:
            ParameterError: The action is no number, or of another shape, or the episode is over.
        """
        batch = self.batch
        batch.step(np.asarray(action, dtype=np.float32)[None, ...])
        info: dict[str, Any] = {name: float(of[0, 0]) for name, of in batch.measures.items()}
        info["time_s"] = batch.seconds[0]
        ended, over = bool(batch.ended[0, 0]), bool(batch.over[0])
        return batch.observations[0, 0], float(batch.rewards[0, 0]), ended, over, info

    def report(self) -> _core.Run:
        """Simulates what is left of the episode under the last action, and reports the run."""
        return self.batch.finish()


class CongestionVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Any]):
    """Environments as `CongestionEnv` that take their steps in one call, in threads of Rust.

    An environment whose episode was over is reset by the next step, which gives it the first
    observation, a reward of 0, and ignores its action.

    Observations are 32-bit arrays of the shape (environments, 12), actions of the shape
    (environments, 1).

    Example:
        ```python
        from incast.learning import CongestionVectorEnv

        many = CongestionVectorEnv(4, "incast", interval="20us", threads=2)
        observations, _ = many.reset(seed=1)  # seeds 1 to 4
        observations, rewards, terminated, truncated, info = many.step(many.action_space.sample())
        observations.shape  # (4, 12)
        ```
    """

    metadata = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    """The modes of rendering, of which there are none, and the way in which episodes are reset."""

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Any = "incast",  # noqa: ANN401
        *,
        render_mode: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Makes the environments, with the settings of `Batch` as keyword arguments.

        Raises:
            ParameterError: A setting cannot be, or the scenario has no such flow.
            ScenarioError: The scenario cannot be read, or has no flows.
        """
        if render_mode is not None:
            raise ParameterError(f"render_mode = {render_mode!r}: there is nothing to render")
        self.render_mode = None
        self.batch = one_flow(Batch(scenario, num_envs, **settings))
        self.num_envs = num_envs
        self.single_observation_space = observation_space()
        self.single_action_space = action_space(self.batch)
        batched = gymnasium.vector.utils.batch_space
        self.observation_space = batched(self.single_observation_space, num_envs)
        self.action_space = batched(self.single_action_space, num_envs)
        self._randoms = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self._done = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in each environment.

        Args:
            seed: The seed of the first environment; the second has one more and so on; or a seed
                for each. None goes on with what there is.
            options: `run_seed`, the seed of all runs in place of drawn ones.

        Raises:
            ParameterError: There are not as many seeds as environments, `run_seed` is no seed,
                or the values drawn do not fit together.
        """
        if isinstance(seed, int):
            seed = [seed + number for number in range(self.num_envs)]
        seeds = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise ParameterError(f"{len(seeds)} seeds for {self.num_envs} environments")
        wanted = run_seed(options)
        for number, one in enumerate(seeds):
            if one is not None:
                self._randoms[number] = seeding.np_random(one)[0]
            self.batch.reset(number, self._randoms[number], wanted)
        self._done[:] = False
        episodes = [described(episode) for episode in self.batch.episodes]
        return self.batch.observations[:, 0], {
            "run_seed": np.array([one["run_seed"] for one in episodes], dtype=np.uint64),
            "settings": np.array([one["settings"] for one in episodes], dtype=object),
            "flow": np.array([one["flow"] for one in episodes]),
        }

    def step(
        self, actions: Array
    ) -> tuple[Array, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Sends at the rates of the actions, of the shape (environments, 1), for an interval.

        Returns observations, rewards, whether flows have ended, whether runs are over, and the
        measured values in their units, each with an entry for each environment.

        Raises:
            ParameterError: An action is no number, or their shape is another.
        """
        batch, resets = self.batch, self._done
        batch.step(actions, list(~resets))
        rewards, ended, over = batch.rewards[:, 0].copy(), batch.ended[:, 0].copy(), batch.over
        for number in np.flatnonzero(resets):
            batch.reset(int(number), self._randoms[number])
            rewards[number], ended[number], over[number] = 0.0, False, False
        self._done = ended | over
        info: dict[str, Any] = {name: of[:, 0] for name, of in batch.measures.items()}
        info["time_s"] = np.array(batch.seconds)
        return batch.observations[:, 0], rewards, ended, over, info
