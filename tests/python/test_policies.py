"""Policies as decision trees, and a learner."""

import re
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incast
from incast.api import guests
from incast.base.extras import MissingExtraError
from incast.learning import Batch, CongestionEnv, Tree, distill
from learners import STAR, assert_same_tables, careful, mean_reward


@pytest.fixture(scope="module")
def star() -> incast.Scenario:
    return incast.Scenario.parse(STAR, "star")


CONTROL = {"interval": "10us", "action": "change", "step": 0.2, "initial": 0.1}
NODES: list[dict[str, Any]] = [
    {"feature": "ce_share", "threshold": 0.1, "low": 1, "high": 4},
    {"feature": "rtt_mean", "threshold": 0.25, "low": 2, "high": 3},
    {"action": 0.9},
    {"action": 0.30000001192092896},
    {"feature": "rtt_gradient", "threshold": 0.0, "low": 5, "high": 6},
    {"action": -0.2},
    {"action": -0.7},
]


def test_a_byte_order_mark_is_no_part_of_a_tree(star: incast.Scenario, tmp_path: Path) -> None:
    tree = Tree(CONTROL, NODES)
    tree.save(tmp_path / "policy.json")
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "policy.json").read_bytes())
    assert Tree.load(marked).text() == tree.text()
    assert incast.run(star, cc=f"tree:{marked}").complete


def test_a_tree_runs_natively_as_it_does_in_steps(star: incast.Scenario, tmp_path: Path) -> None:
    tree = Tree(CONTROL, NODES)
    scheme = tree.save(tmp_path / "policy.json")
    assert Tree.load(tmp_path / "policy.json").text() == tree.text()
    batch = Batch(star, flows="long", others="line-rate", **CONTROL)
    episode = batch.reset(0, np.random.default_rng(5))
    chosen = set()
    while not batch.over[0]:
        actions = np.stack([tree(one) for one in batch.observations[0]])
        chosen.update(actions[:, 0].tolist())
        batch.step(actions.reshape(1, 4))
    assert len(chosen) == 4, "each leaf is met"
    native = incast.run(star, cc=scheme, seed=episode.seed)
    assert_same_tables(batch.finish(), native.runs[scheme])
    assert native.summary["throughput_gbps"][0] > 50.0


def test_a_tree_is_a_scheme_like_any_other(star: incast.Scenario, tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    scheme = Tree(CONTROL, NODES).save(path)
    here = incast.run(star, cc=[scheme, "dctcp"], seed=1)
    others = incast.run(star, cc=[scheme, "dctcp"], seed=1, jobs=2)
    assert here.summary.equals(others.summary)
    described = guests.described(scheme)
    assert described is not None
    assert described.name == scheme
    before = guests.digest_of(scheme)
    path.write_text(path.read_text().replace("-0.7", "-0.8"))
    incast.run(star, cc=scheme, seed=1)
    assert guests.digest_of(scheme) != before


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (None, "there is no file .*; expected one that incast.learning.Tree has saved"),
        ("{", "EOF|expected"),
        (Tree(CONTROL, NODES).text().replace("ce_share", "weather"), 'no feature "weather"'),
        (Tree(CONTROL, NODES).text().replace('"low": 1', '"low": 0'), "leads to 0 and 4"),
    ],
)
def test_a_file_without_a_tree_is_told(
    written: str | None, told: str, star: incast.Scenario, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    if written is not None:
        path.write_text(written)
    with pytest.raises(incast.ParameterError, match=told):
        incast.run(star, cc=f"tree:{path}")
    with pytest.raises(incast.ParameterError, match=re.escape(str(path))):
        Tree.load(path)


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_a_policy_becomes_a_tree_that_does_about_the_same(
    star: incast.Scenario, tmp_path: Path
) -> None:
    env = CongestionEnv(star, others="line-rate[share=0.1]")
    tree = distill(careful, env, depth=5, steps=500)
    assert 8 < len(tree) < 64
    assert mean_reward(env, tree) > 0.9 * mean_reward(env, careful) > 0.0
    assert (
        len(incast.run(star, cc=tree.save(tmp_path / "careful.json"), seed=1).table("flows")) == 4
    )


def test_trees_are_not_made_without_scikit_learn(
    star: incast.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = CongestionEnv(star)
    with pytest.raises(incast.ParameterError, match="depth = 0: expected at least 1"):
        distill(careful, env, depth=0)
    monkeypatch.setattr("incast.base.extras.find_spec", lambda name: name != "sklearn" or None)
    with pytest.raises(MissingExtraError, match=r"pip install 'incast\[distill\]'"):
        distill(careful, env)


@pytest.mark.skipif(
    find_spec("stable_baselines3") is None, reason="Stable-Baselines3 is not installed"
)
@pytest.mark.filterwarnings("default")
def test_a_learner_beats_chance_within_a_minute(
    star: incast.Scenario, record_property: Callable[[str, object], None]
) -> None:
    import torch  # noqa: PLC0415
    from stable_baselines3 import PPO  # noqa: PLC0415

    torch.set_num_threads(1)  # so small a network is ten times slower in several
    settings: dict[str, Any] = {"others": "line-rate[share=0.1]", "step": 0.2}
    env = CongestionEnv(star, **settings)
    random = np.random.default_rng(1)
    chance = mean_reward(env, lambda _: random.uniform(-1, 1, 1))
    model = PPO("MlpPolicy", env, n_steps=1024, batch_size=256, gamma=0.95, seed=1, device="cpu")
    until = time.monotonic() + 50.0
    model.learn(1_000_000, callback=lambda *_: time.monotonic() < until)
    learned = mean_reward(
        CongestionEnv(star, **settings), lambda seen: model.predict(seen, deterministic=True)[0]
    )
    said = f"PPO {learned:.3f}, chance {chance:.3f}, {model.num_timesteps} intervals"
    record_property("rewards", said)
    assert learned > chance + 0.1, said
