"""Many environments in one: they take a step in one call, and share arrays."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incast import _core
from incast._core import ParameterError, Scenario
from incast.api import scenarios
from incast.api.scenarios import Scheme
from incast.base.machine import usable_cores
from incast.learning.domains import Domain, Domains, Value
from incast.learning.features import FEATURES


class Reward(NamedTuple):
    """The weights of the linear reward of an interval, from its features.

    It is `throughput * f[throughput] - latency * f[rtt_mean] - loss * f[loss_share]`, and 0 of a
    flow that was not active. So a full link without a queue gives 1 with the weights by default,
    and a queue that doubles the RTT takes 0.1 away.

    Example:
        ```python
        from incast.learning import CongestionEnv, Reward

        CongestionEnv("incast", interval="20us", reward=Reward(latency=0.02))
        ```
    """

    throughput: float = 1.0
    """The weight of the throughput as a part of the NIC's rate."""
    latency: float = 0.1
    """The weight of the mean RTT over the least one, less 1."""
    loss: float = 1.0
    """The weight of the part of the data that was lost."""


Measures = Mapping[str, NDArray[np.float64]]
"""The measured values of an interval in their units, by the names of the features; each of the
shape (environments, flows)."""

RewardFunction = Callable[[Measures], ArrayLike]
"""A reward of one's own: from measures to an array of the shape (environments, flows)."""


class Episode(NamedTuple):
    """The draws of an episode."""

    seed: int
    """The seed of the run: with it `incast.run` draws the same traffic."""
    settings: dict[str, Value]
    """The values that were drawn for the keys that are randomised."""
    flows: tuple[int, ...]
    """The learner's flows by their numbers in results."""
    scenario: Scenario
    """The scenario with the values that were drawn."""


class Settings(TypedDict, total=False):
    """The settings of an environment, which `Batch` explains."""

    flows: Sequence[int | str] | int | str
    """The learner's flows: numbers as in results, or names of traffic."""
    others: Scheme | None
    """The scheme of all other flows."""
    interval: str
    """The length of a monitoring interval, from 1us to 1s; `10us` by default."""
    action: str
    """`change`, `share` or `window`: the meaning of an action."""
    step: float
    """The greatest part by which a change raises the rate or the window; 0.1 by default."""
    initial: float
    """The rate at which a flow starts, as a part of the NIC's; 0.1 by default."""
    reward: Reward | RewardFunction | None
    """The weights of the linear reward, or a function of the measures."""
    randomize: Mapping[str, Domain] | None
    """Keys of the scenario and what to draw their values from, for each episode."""
    threads: int | None
    """The number of threads; as many as cores if None."""


class Batch:
    """Environments of one scenario that advance together, in threads and without the GIL.

    Arrays are indexed by environment, flow and feature. A step writes new arrays; earlier steps'
    arrays keep their values. An environment whose episode is over stays as it is until `reset`.

    Attributes:
        observations: The features, 32-bit, of the shape (environments, flows, features).
        rewards: The rewards of the last step, of the shape (environments, flows).
        ended: Whether flows have ended, of the shape (environments, flows).
        over: Whether episodes are over, because their run is, of the shape (environments,).
        episodes: The draws of the present episode of each environment.
        low: The least action.
        high: The greatest action.

    Example:
        ```python
        import numpy as np

        from incast.learning import Batch, place

        batch = Batch("incast", 2, flows=[0, 1, 2], interval="20us")
        for number in range(batch.count):
            batch.reset(number, np.random.default_rng(number))
        batch.step(np.zeros((2, 3), dtype=np.float32))
        batch.observations[:, :, place("rate")]  # of the shape (2, 3)
        batch.measures["rate"]  # in Gb/s
        ```
    """

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str],
        count: int = 1,
        *,
        flows: Sequence[int | str] | int | str = 0,
        others: Scheme | None = None,
        interval: str = "10us",
        action: str = "change",
        step: float = 0.1,
        initial: float = 0.1,
        reward: Reward | RewardFunction | None = None,
        randomize: Mapping[str, Domain] | None = None,
        threads: int | None = None,
    ) -> None:
        """Makes the environments; `reset` must be called before the first step.

        Args:
            scenario: A scenario, the path of one, or the name of one that ships with the package.
            count: The number of environments.
            flows: The learner's flows: numbers as in results, or names of traffic for all flows of
                it.
            others: The scheme of all other flows, as `incast.run` has it; the first of the scenario
                if None. All flows have its transport and signal.
            interval: The length of a monitoring interval, from 1us to 1s.
            action: `change` for a change of the rate by a factor, from -1 to 1; `share` for the
                rate itself as a part of the NIC's, from 0 to 1; `window` for a change of the window
                by a factor, from -1 to 1, without pacing.
            step: The greatest part by which a change raises the rate or the window.
            initial: The rate at which a flow starts, as a part of the NIC's. A window starts at the
                scenario's initial window.
            reward: The weights of the linear reward, or a function of the measures.
            randomize: Keys of the scenario and what to draw their values from, for each episode.
            threads: The number of threads; as many as cores if None, and never more than
                environments.

        Raises:
            ParameterError: A setting cannot be, or the scenario has no such flows.
            ScenarioError: The scenario cannot be read, or has no flows.
        """
        self.scenario = scenarios.load(scenario) if not isinstance(scenario, Scenario) else scenario
        if count < 1:
            raise ParameterError(f"count = {count}: expected at least one environment")
        if threads is not None and threads < 1:
            raise ParameterError(f"threads = {threads}: expected at least one")
        asked = (
            list(flows) if isinstance(flows, Sequence) and not isinstance(flows, str) else [flows]
        )
        for flow in asked:
            if isinstance(flow, bool) or not isinstance(flow, int | str):
                raise ParameterError(f"flows = {flow!r}: expected a number or a name of traffic")
            if isinstance(flow, int) and flow < 0:
                raise ParameterError(f"flow {flow}: expected a number from 0 on")
        if not asked:
            raise ParameterError("flows: none is the learner's; name at least one")
        self.others = scenarios.check_schemes(self.scenario, others)[0]
        self._function = reward if callable(reward) else None
        weights = reward if isinstance(reward, Reward) else Reward()
        self._domains = Domains(self.scenario, randomize)
        self._environments = _core.Environments(
            count,
            threads=threads or usable_cores(),
            flows=asked,
            others=self.others,
            interval=interval,
            action=action,
            step=step,
            initial=initial,
            reward=weights,
        )
        self.control = {"interval": interval, "action": action, "step": step, "initial": initial}
        self.low, self.high = (0.0, 1.0) if action == "share" else (-1.0, 1.0)
        self.count = count
        # The first episode says how many flows there are.
        first = tuple(self._environments.reset(0, self.scenario, self.scenario.seed))
        self.episodes = [Episode(self.scenario.seed, {}, first, self.scenario)] * count
        self.flows = len(first)
        for number in range(1, count):
            self._environments.reset(number, self.scenario, self.scenario.seed)
        self.over: NDArray[np.bool_]
        self._read()

    def reset(self, number: int, random: np.random.Generator, seed: int | None = None) -> Episode:
        """Begins an episode of an environment, and returns its draws.

        Args:
            number: The environment.
            random: The generator of what is drawn: the randomised values, then the run's seed.
            seed: The seed of the run instead.

        Raises:
            ParameterError: The values that were drawn do not fit together, or give the scenario
                other flows.
        """
        scenario, settings = self._domains.draw(random)
        drawn = int(random.integers(2**63))
        seed = drawn if seed is None else seed
        flows = tuple(self._environments.reset(number, scenario, seed))
        if len(flows) != self.flows:
            raise ParameterError(
                f"{len(flows)} flows to learn with under seed {seed} with {settings}, where there "
                f"were {self.flows}; name flows by number"
            )
        self.episodes[number] = Episode(seed, settings, flows, scenario)
        self._read()
        return self.episodes[number]

    def step(self, actions: ArrayLike, takes: Sequence[bool] | None = None) -> None:
        """Simulates an interval of each environment.

        Args:
            actions: The actions, of the shape (environments, flows); those beyond the bounds become
                the nearer one.
            takes: The environments that take the step; all if None. One whose episode is over must
                be reset first.

        Raises:
            ParameterError: The actions have another shape, or one is not a number.
        """
        given = np.asarray(actions, dtype=np.float32)
        if given.shape != (self.count, self.flows):
            raise ParameterError(
                f"actions have the shape {given.shape}; expected {(self.count, self.flows)}"
            )
        if not np.isfinite(given).all():
            environment, flow = np.argwhere(~np.isfinite(given))[0]
            raise ParameterError(
                f"the action of flow {self.episodes[environment].flows[flow]} is "
                f"{given[environment, flow]}; expected a number from {self.low} to {self.high}"
            )
        all_take = [True] * self.count if takes is None else list(takes)
        for number, take in enumerate(all_take):
            if take and self.over[number]:
                raise ParameterError(f"the episode of environment {number} is over; call reset")
        self._environments.step(given.tobytes(), all_take)
        self._read()
        if self._function is not None:
            self.rewards = self._rewards(self._function, np.asarray(all_take))

    def _rewards(self, function: RewardFunction, took: NDArray[np.bool_]) -> NDArray[np.float64]:
        rewards = np.asarray(function(self.measures), dtype=np.float64)
        if rewards.shape != (self.count, self.flows):
            raise ParameterError(
                f"the reward has the shape {rewards.shape}; expected {(self.count, self.flows)}"
            )
        return np.where(took[:, None], rewards, 0.0)

    @property
    def measures(self) -> dict[str, NDArray[np.float64]]:
        """The measured values in their units, by name; each of the shape (environments, flows)."""
        return {one.name: self._measures[..., place] for place, one in enumerate(FEATURES)}

    @property
    def seconds(self) -> list[float]:
        """The time simulated in each environment, in seconds."""
        return self._environments.simulated()

    def finish(self, number: int = 0) -> _core.Run:
        """Simulates what is left of an episode under the last actions, and reports the whole run.

        Raises:
            ParameterError: It was reported before, and no other has begun.
        """
        run = self._environments.finish(number)
        if run is None:
            raise ParameterError("the run of this episode was reported before; call reset")
        self._read()
        return run

    def _read(self) -> None:
        features, measures, rewards, ended, over = self._environments.state()
        shape = (self.count, self.flows)
        self.observations = np.frombuffer(features, np.float32).reshape(*shape, len(FEATURES))
        self._measures = np.frombuffer(measures, np.float64).reshape(*shape, len(FEATURES))
        self.rewards = np.frombuffer(rewards, np.float64).reshape(shape)
        self.ended = np.frombuffer(ended, np.bool_).reshape(shape)
        self.over = np.array(over)
