"""An environment of PettingZoo: several learning flows in one run, all acting at once."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv
from typing_extensions import Unpack

from incast import _core
from incast._core import ParameterError
from incast.learning.batch import Batch, Settings
from incast.learning.environments import Array, action_space, observation_space, run_seed


class CongestionParallelEnv(ParallelEnv):  # type: ignore[misc] # PettingZoo has no types
    """The rates of several flows of one run, an action of each per monitoring interval.

    Agents are `flow_0`, `flow_1` and so on, in the order in which `flows` names the flows.
    Observations and actions are as in `CongestionEnv`. All agents are truncated at the end of
    the scenario's duration; an agent whose flow ends is terminated and takes no more part.

    Example:
        ```python
        from incast.learning import CongestionParallelEnv

        env = CongestionParallelEnv("incast", flows=[0, 1], others="timely", interval="20us")
        observations, infos = env.reset(seed=1)
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, terminations, truncations, infos = env.step(actions)
        rewards["flow_0"]
        ```
    """

    metadata = {"name": "incast_congestion", "render_modes": []}  # noqa: RUF012 - as PettingZoo has it
    """The name, and the modes of rendering, of which there are none."""

    def __init__(
        self,
        scenario: Any = "incast",  # noqa: ANN401
        *,
        render_mode: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Makes the environment, with the settings of `Batch` as keyword arguments.

        The learner's flows are 0 and 1 where `flows` names no others.

        Raises:
            ParameterError: A setting cannot be, or the scenario has no such flows.
            ScenarioError: The scenario cannot be read, or has no flows.
        """
        if render_mode is not None:
            raise ParameterError(f"render_mode = {render_mode!r}: there is nothing to render")
        self.render_mode = None
        settings.setdefault("threads", 1)
        settings.setdefault("flows", (0, 1))
        self.batch = Batch(scenario, **settings)
        self.possible_agents = [f"flow_{number}" for number in range(self.batch.flows)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self.batch) for agent in self.possible_agents}
        self._random = seeding.np_random(None)[0]

    def observation_space(self, agent: str) -> gymnasium.Space[Array]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Array]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begins an episode.

        Args:
            seed: The seed of all that is drawn from now on; None goes on with what there is.
            options: `run_seed`, the seed of the run in place of a drawn one.

        Raises:
            ParameterError: `run_seed` is no seed, or the values drawn do not fit together.
        """
        if seed is not None:
            self._random = seeding.np_random(seed)[0]
        episode = self.batch.reset(0, self._random, run_seed(options))
        self.agents = list(self.possible_agents)
        drawn = {"run_seed": episode.seed, "settings": episode.settings}
        infos = {
            agent: {**drawn, "flow": flow}
            for agent, flow in zip(self.agents, episode.flows, strict=True)
        }
        return self._observed(), infos

    def step(
        self, actions: dict[str, Array]
    ) -> tuple[
        dict[str, Array],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Sends at the rates of the actions for an interval.

        Returns observations, rewards, terminations, truncations and the measured values in their
        units, each by agent.

        Raises:
            ParameterError: An agent has no action, or one that is no number, or the episode is
                over.
        """
        if not self.agents:
            raise ParameterError("the episode is over; call reset")
        given = np.zeros((1, self.batch.flows), dtype=np.float32)
        for agent in self.agents:
            if agent not in actions:
                raise ParameterError(
                    f"{agent} has no action; expected one of each of {self.agents}"
                )
            action = np.asarray(actions[agent], dtype=np.float32)
            if action.shape != (1,):
                raise ParameterError(
                    f"the action of {agent} has the shape {action.shape}; expected (1,)"
                )
            given[0, self._place(agent)] = action[0]
        self.batch.step(given)
        places = {agent: self._place(agent) for agent in self.agents}
        measures = self.batch.measures
        rewards = {agent: float(self.batch.rewards[0, place]) for agent, place in places.items()}
        ended = {agent: bool(self.batch.ended[0, place]) for agent, place in places.items()}
        over = bool(self.batch.over[0])
        time_s = self.batch.seconds[0]
        infos: dict[str, dict[str, Any]] = {
            agent: {
                "time_s": time_s,
                **{name: float(of[0, place]) for name, of in measures.items()},
            }
            for agent, place in places.items()
        }
        observed = self._observed()
        truncated = dict.fromkeys(self.agents, over)
        self.agents = [] if over else [agent for agent in self.agents if not ended[agent]]
        return observed, rewards, ended, truncated, infos

    def report(self) -> _core.Run:
        """Simulates what is left of the episode under the last actions, and reports the run."""
        self.agents = []
        return self.batch.finish()

    def _place(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _observed(self) -> dict[str, Array]:
        observations = self.batch.observations[0]
        return {agent: observations[self._place(agent)] for agent in self.agents}
