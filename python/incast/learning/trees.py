"""Policies as decision trees, which run as algorithms at native speed."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incast import _core
from incast._core import ParameterError
from incast.base import staging
from incast.base.lazy import lazy
from incast.learning.environments import Array, CongestionEnv
from incast.learning.features import FEATURES, place

if TYPE_CHECKING:
    import sklearn.tree as sklearn_tree
else:
    sklearn_tree = lazy("sklearn.tree", "distill")

FORMAT = "incast tree 1"


class Predictor(Protocol):
    """A policy as Stable-Baselines3 has it."""

    def predict(self, observation: Any, *, deterministic: bool = ...) -> tuple[Any, Any]:  # noqa: ANN401
        """The action that answers an observation, and a state."""
        ...


Policy = Callable[[Array], ArrayLike] | Predictor
"""A function from an observation to an action, or an object with `predict`."""


class Tree:
    """A decision tree from observations to actions, with the control that it was made for.

    It computes with 32 bits, here as in the scheme `tree:FILE`.

    Example:
        ```python
        import incast
        from incast.learning import Tree

        tree = Tree(
            {"interval": "20us", "action": "change", "step": 0.2, "initial": 0.1},
            [
                {"feature": "rtt_mean", "threshold": 0.5, "low": 1, "high": 2},
                {"action": 0.5},
                {"action": -0.8},
            ],
        )
        scheme = tree.save("by-hand.json")  # tree:by-hand.json
        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        incast.run(short, [scheme, "timely"]).summary
        ```
    """

    def __init__(self, control: Mapping[str, Any], nodes: list[dict[str, Any]]) -> None:
        """Makes a tree.

        Args:
            control: `interval`, `action`, `step` and `initial`, as `Batch` has them.
            nodes: The nodes. A leaf has `action`; another has `feature`, `threshold`, `low`, the
                node to go to where the feature is at most the threshold, and `high`. Both come
                after it.

        Raises:
            ParameterError: A node or a setting cannot be.
        """
        self.control = dict(control)
        self.nodes = nodes
        _core.check_tree(self.text())
        self._places = [place(node["feature"]) if "feature" in node else -1 for node in nodes]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tree":
        """Reads a tree from a file.

        Raises:
            ParameterError: The file cannot be read, or has no tree.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(f"{path}: cannot be read: {error}") from None
        try:
            _core.check_tree(text)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None
        said = json.loads(text)
        nodes = said.pop("nodes")
        del said["format"]
        return cls(said, nodes)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the tree to a file, and returns the scheme that runs it: `tree:FILE`."""
        target = Path(path)
        with staging.file(target) as staged:
            staged.write_text(self.text(), encoding="utf-8")
        return f"tree:{target}"

    def text(self) -> str:
        """The tree in JSON."""
        head = {"format": FORMAT, **self.control}
        nodes = ",\n".join(f"  {json.dumps(node)}" for node in self.nodes)
        return f'{json.dumps(head)[:-1]}, "nodes": [\n{nodes}\n]}}\n'

    def __call__(self, observation: NDArray[np.float32]) -> Array:
        """The action that answers an observation, of the shape (1,)."""
        at = 0
        while self._places[at] >= 0:
            node = self.nodes[at]
            above = observation[self._places[at]] > np.float32(node["threshold"])
            at = node["high"] if above else node["low"]
        return np.array([self.nodes[at]["action"]], dtype=np.float32)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


def distill(
    policy: Policy,
    env: CongestionEnv,
    *,
    depth: int = 6,
    rounds: int = 3,
    steps: int = 2000,
    seed: int = 0,
) -> Tree:
    """Makes a decision tree that does what a policy does.

    In the first round the policy acts, in each further one the tree that was made so far; the
    policy says what it would have done, and a tree is fitted to all of that (DAgger: Ross, Gordon
    and Bagnell, AISTATS 2011; Bastani, Pu and Solar-Lezama, NeurIPS 2018, for trees).

    Args:
        policy: A function from an observation to an action, or an object with `predict`, such as a
            model of Stable-Baselines3.
        env: The environment; its control becomes the tree's.
        depth: The most comparisons for one action.
        rounds: The number of rounds.
        steps: The number of intervals in each.
        seed: The seed of the episodes, and of the fit.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        ParameterError: A number cannot be.

    Example:
        ```python
        from incast.learning import CongestionEnv, distill, place

        env = CongestionEnv("incast", interval="20us", step=0.2)
        tree = distill(lambda seen: 1 - 2 * seen[place("rtt_mean")], env, depth=3, steps=100)
        tree.save("policy.json")
        ```
    """
    for name, value in (("depth", depth), ("rounds", rounds), ("steps", steps)):
        if value < 1:
            raise ParameterError(f"{name} = {value}: expected at least 1")
    regressor = sklearn_tree.DecisionTreeRegressor
    asked = _asked(policy)
    observations: list[Array] = []
    answers: list[float] = []
    tree: Tree | None = None
    for number in range(rounds):
        observation, _ = env.reset(seed=seed + number)
        for _ in range(steps):
            answer = asked(observation)
            observations.append(observation)
            answers.append(float(np.clip(answer, env.batch.low, env.batch.high)))
            action = np.array([answer], dtype=np.float32) if tree is None else tree(observation)
            observation, _, ended, over, _ = env.step(action)
            if ended or over:
                observation, _ = env.reset()
        fitted = regressor(max_depth=depth, random_state=seed)
        fitted.fit(np.stack(observations), np.array(answers))
        tree = Tree(env.batch.control, _nodes(fitted.tree_))
    if tree is None:
        raise AssertionError("there is a round")
    return tree


def _asked(policy: Policy) -> Callable[[Array], float]:
    def answer(observation: Array) -> float:
        said: Any
        if hasattr(policy, "predict"):
            said = policy.predict(observation, deterministic=True)[0]
        else:
            said = policy(observation)
        number = np.asarray(said, dtype=np.float64).reshape(-1)
        if number.shape != (1,) or not np.isfinite(number[0]):
            raise ParameterError(f"the policy answers {said!r}; expected a number")
        return float(number[0])

    return answer


def _nodes(fitted: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The nodes of a tree of scikit-learn, where each comes before those that it leads to."""
    nodes: list[dict[str, Any]] = []
    for at in range(fitted.node_count):
        low, high = int(fitted.children_left[at]), int(fitted.children_right[at])
        if low < 0:
            nodes.append({"action": _short(fitted.value[at].item())})
            continue
        # The greatest number of 32 bits that is not above the threshold divides them alike.
        threshold = np.float32(fitted.threshold[at])
        if threshold > fitted.threshold[at]:
            threshold = np.nextafter(threshold, np.float32(-np.inf))
        feature = FEATURES[int(fitted.feature[at])].name
        nodes.append({"feature": feature, "threshold": _short(threshold), "low": low, "high": high})
    return nodes


def _short(value: float) -> float:
    """The number of 32 bits, as the shortest text that is read as it."""
    return float(str(np.float32(value)))
