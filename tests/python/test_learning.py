"""Environments for learning: the checkers of others, seeds, bounds, errors."""

import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray
from pettingzoo.test import parallel_api_test, parallel_seed_test

import incast
from incast import _core
from incast.learning import (
    FEATURES,
    Batch,
    CongestionEnv,
    CongestionParallelEnv,
    CongestionVectorEnv,
    Reward,
    Tree,
    Uniform,
)
from learners import STAR, assert_same_tables, value

PAGE = Path(__file__).parents[2] / "docs/guide/learning.md"


@pytest.fixture(scope="module")
def star() -> incast.Scenario:
    return incast.Scenario.parse(STAR, "star")


def walk(env: CongestionEnv, seed: int, steps: int = 30) -> list[bytes]:
    """Observations and rewards of random actions."""
    random = np.random.default_rng(7)
    observation, info = env.reset(seed=seed)
    seen = [observation.tobytes(), str(info).encode()]
    for _ in range(steps):
        observation, reward, _, over, _ = env.step(random.uniform(-1, 1, 1).astype(np.float32))
        seen += [observation.tobytes(), np.float64(reward).tobytes()]
        if over:
            seen.append(env.reset()[0].tobytes())
    return seen


def test_gymnasium_finds_nothing_wrong(star: incast.Scenario) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("incast/Congestion-v0", scenario=star).unwrapped)
        check_env(CongestionEnv(star, action="share"), skip_render_check=True)


def test_pettingzoo_finds_nothing_wrong(star: incast.Scenario) -> None:
    env = CongestionParallelEnv(star, flows="long")
    assert env.possible_agents == ["flow_0", "flow_1", "flow_2", "flow_3"]
    parallel_api_test(env, num_cycles=120)
    parallel_seed_test(lambda: CongestionParallelEnv(star, flows=[2, 0]), num_cycles=60)


def test_equal_seeds_and_actions_give_equal_bytes(star: incast.Scenario) -> None:
    one, other = CongestionEnv(star), CongestionEnv(star)
    assert walk(one, 5, 70) == walk(other, 5, 70)
    assert walk(one, 5) != walk(one, 6)
    one.reset(seed=1)
    other.reset(seed=1)
    for env in (one, other):
        for _ in range(10):
            env.step(np.float32([0.5]))
    assert_same_tables(one.report(), other.report())


@pytest.mark.parametrize("threads", [1, 3])
def test_many_at_once_are_each_as_alone(star: incast.Scenario, threads: int) -> None:
    randomize = {"switch.ecn_threshold": ("30KB", "90KB")}
    many = CongestionVectorEnv(3, star, randomize=randomize, threads=threads)
    alone = [CongestionEnv(star, randomize=randomize) for _ in range(3)]
    observed, _ = many.reset(seed=11)
    assert observed.shape == (3, len(FEATURES))
    assert observed.dtype == np.float32
    assert observed in many.observation_space
    firsts = [env.reset(seed=11 + number)[0] for number, env in enumerate(alone)]
    assert np.array_equal(observed, firsts)
    random, done = np.random.default_rng(3), [False] * 3
    resets = 0
    for _ in range(110):
        actions = random.uniform(-1, 1, (3, 1)).astype(np.float32)
        observed, rewards, _, over, info = many.step(actions)
        for number, env in enumerate(alone):
            if done[number]:
                expected, reward, now_over = env.reset()[0], 0.0, False
                resets += 1
            else:
                expected, reward, _, now_over, said = env.step(actions[number])
                assert said["rtt_mean"] == info["rtt_mean"][number]
            assert np.array_equal(observed[number], expected)
            assert (rewards[number], over[number]) == (reward, now_over)
            done[number] = now_over
    assert resets == 6


def test_all_flows_at_line_rate_give_the_tables_of_line_rate(star: incast.Scenario) -> None:
    batch = Batch(star, flows="long", others="line-rate", action="share", initial=1.0)
    episode = batch.reset(0, np.random.default_rng(0))
    while not batch.over[0]:
        batch.step(np.ones((1, 4)))
    assert_same_tables(batch.finish(), _core.run(star, "line-rate", seed=episode.seed))


def test_flows_that_are_not_the_learners_run_the_other_scheme(star: incast.Scenario) -> None:
    env = CongestionEnv(star, flows=2, others="line-rate", action="share", initial=0.001)
    _, info = env.reset(seed=1)
    assert info["flow"] == 2
    for _ in range(49):
        env.step(np.float32([0.0]))
    goodput = pl.DataFrame(next(t for t in env.report().tables if t.name == "flows"))
    rates = goodput.sort("flow")["goodput_gbps"].to_list()
    assert rates[2] < 0.2
    assert min(rates[0], rates[1], rates[3]) > 15.0


def test_an_observation_tells_what_the_flow_does(star: incast.Scenario) -> None:
    env = CongestionEnv(star, action="share", initial=0.1, others="line-rate[share=0.05]")
    observation, _ = env.reset(seed=1)
    assert not observation.any(), "nothing has been sent"
    for _ in range(20):
        observation, reward, _, _, info = env.step(np.float32([0.5]))
    assert info["rate"] == 50.0
    assert value(observation, "rate") == 0.5
    assert abs(info["throughput"] - 50.0) < 5.0
    assert 0.0 < info["rtt_min"] <= info["rtt_mean"] <= info["rtt_max"] < 20.0
    assert value(observation, "ce_share") == value(observation, "loss_share") == 0.0
    assert info["active"] == 1.0
    assert info["time_s"] == pytest.approx(200e-6)
    expected = value(observation, "throughput") - 0.1 * value(observation, "rtt_mean")
    assert reward == pytest.approx(expected, abs=1e-6)
    for _ in range(20):
        observation, _, _, over, info = env.step(np.float32([1.0]))
    assert not over
    assert value(observation, "ce_share") > 0.5, "1.15 of the port's rate are marked"
    assert value(observation, "rtt_mean") > 1.0


def test_a_change_and_its_bounds(star: incast.Scenario) -> None:
    env = CongestionEnv(star, step=0.25, initial=0.4, others="line-rate[share=0.05]")
    env.reset(seed=1)
    actions = (0.0, 0.0, 0.0, 1.0, -1.0, 7.0, -0.5)
    rates = [env.step(np.float32([action]))[4]["rate"] for action in actions]
    assert rates[2:] == pytest.approx([40, 50, 40, 50, 50 / 1.125], rel=1e-6)


def test_a_window_and_its_bounds(star: incast.Scenario) -> None:
    alone = star.with_set({"traffic.0.connections": 1, "transport.kind": "stream"})
    env = CongestionEnv(alone, action="window", step=0.25, others="dctcp", interval="20us")
    env.reset(seed=1)
    assert (env.action_space.low, env.action_space.high) == (-1.0, 1.0)
    told = [env.step(np.float32([action]))[4] for action in (0.0, 0.0, 0.0, 1.0, -1.0, 7.0, -0.5)]
    rates = [one["rate"] for one in told]
    # The least RTT is known by the fourth; before, the window was that of ten packets.
    assert rates[4:] == pytest.approx([rates[3] * k for k in (1 / 1.25, 1, 1 / 1.125)], rel=1e-6)
    assert max(one["in_flight"] for one in told) <= 1.25 * 10 * 1460
    # A window of less than a packet is one.
    for _ in range(14):
        *_, info = env.step(np.float32([-1.0]))
    assert info["in_flight"] == 1460
    assert info["rate"] == pytest.approx(1500 * 8e-3 / 7.48, rel=0.05)


def test_a_window_that_is_kept_is_that_of_a_tree(star: incast.Scenario, tmp_path: Path) -> None:
    tree = Tree(
        {"interval": "20us", "action": "window", "step": 0.2, "initial": 0.1},
        [
            {"feature": "rtt_mean", "threshold": 0.25, "low": 1, "high": 2},
            {"action": 1.0},
            {"action": -1.0},
        ],
    )
    result = incast.run(star, tree.save(tmp_path / "window.json"), seed=1)
    assert result.summary["throughput_gbps"][0] > 50
    assert result.summary["drops"][0] == 0


def test_an_episode_ends_with_the_run_or_with_the_flow(star: incast.Scenario) -> None:
    env = CongestionEnv(star, interval="30us")
    env.reset(seed=1)
    ends = [env.step(np.float32([0.0]))[2:4] for _ in range(16)]
    assert ends == [(False, False)] * 15 + [(False, True)], "480 of 500 us are whole intervals"
    with pytest.raises(incast.ParameterError, match="is over; call reset"):
        env.step(np.float32([0.0]))
    short = star.with_set(
        'traffic.0={ kind = "flows", list = [{ from = "sender0", to = "receiver", size = "100KB" }'
        ', { from = "sender1", to = "receiver", size = "9MB" }] }'
    )
    env = CongestionEnv(short, action="share")
    env.reset(seed=1)
    steps = 1
    while not env.step(np.float32([0.5]))[2]:
        steps += 1
    assert 2 <= steps <= 5, "100 KB take 16 us"
    both = CongestionParallelEnv(short, flows=[0, 1], action="share")
    both.reset(seed=1)
    for _ in range(10):
        both.step(dict.fromkeys(both.agents, np.float32([0.5])))
    assert both.agents == ["flow_1"]


def test_a_reward_of_ones_own_reads_measures(star: incast.Scenario) -> None:
    def power(measures: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        return measures["throughput"] / np.maximum(measures["rtt_mean"], 1.0)

    env = CongestionEnv(star, reward=power)
    env.reset(seed=1)
    for _ in range(10):
        _, reward, _, _, info = env.step(np.float32([1.0]))
    assert reward == info["throughput"] / info["rtt_mean"] > 0.0
    weighed = CongestionEnv(star, reward=Reward(throughput=2.0, latency=0.0, loss=0.0))
    weighed.reset(seed=1)
    for _ in range(10):
        observation, reward, _, _, _ = weighed.step(np.float32([1.0]))
    assert reward == 2.0 * value(observation, "throughput")
    wrong = CongestionEnv(star, reward=lambda _: 1.0)
    wrong.reset()
    with pytest.raises(incast.ParameterError, match=r"shape \(\); expected \(1, 1\)"):
        wrong.step(np.float32([0.0]))


def test_domains_are_drawn_for_each_episode(star: incast.Scenario) -> None:
    env = CongestionEnv(
        star,
        randomize={
            "switch.ecn_threshold": ("30KB", "90KB"),
            "traffic.0.start_spread": Uniform("1us", "100us", log=True),
            "traffic.0.connections": (1, 3),
            "transport.segment": ["4KB", "8KB"],
        },
    )
    drawn = [env.reset(seed=3)[1]] + [env.reset()[1] for _ in range(9)]
    again = [env.reset(seed=3)[1]] + [env.reset()[1] for _ in range(9)]
    assert drawn == again
    settings = [info["settings"] for info in drawn]
    assert len({info["run_seed"] for info in drawn}) == 10
    assert {one["transport.segment"] for one in settings} == {"4KB", "8KB"}
    assert {one["traffic.0.connections"] for one in settings} == {1, 2, 3}
    thresholds = [float(one["switch.ecn_threshold"].removesuffix("KB")) for one in settings]
    assert 30 <= min(thresholds) < max(thresholds) <= 90
    assert len(set(thresholds)) == 10
    spread = [float(one["traffic.0.start_spread"].removesuffix("us")) for one in settings]
    assert 1 <= min(spread) < 10 < max(spread) <= 100
    assert env.reset(options={"run_seed": 12})[1]["run_seed"] == 12


class Broken(incast.CongestionControl):
    """An algorithm that raises an exception at the tenth ACK."""

    def on_start(self, flow: incast.Flow) -> None:
        self.left, self.rate = 10, flow.line_rate / 10

    def on_ack(self, ack: incast.Ack) -> None:
        self.left -= ack.bytes > 0
        if not self.left:
            raise ZeroDivisionError("as is meant")


def test_an_exception_in_the_others_algorithm_is_raised(star: incast.Scenario) -> None:
    env = CongestionEnv(star, others=Broken)
    env.reset(seed=1)
    actions = [np.float32([0.0])] * 20
    with pytest.raises(incast.AlgorithmError, match=r"flow [123] at .*on_ack.*as is meant"):
        list(map(env.step, actions))
    with pytest.raises(incast.AlgorithmError, match="as is meant"):
        incast.run(star, cc=Broken, seed=1)


def make(**settings: object) -> Callable[[incast.Scenario], object]:
    return lambda star: CongestionEnv(star, **settings)  # type: ignore[arg-type]


def stepped(action: object) -> Callable[[incast.Scenario], object]:
    def step(star: incast.Scenario) -> object:
        env = CongestionEnv(star)
        env.reset()
        return env.step(action)  # type: ignore[arg-type]

    return step


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (make(flows=12), "flow 12: no flow to learn with; star has flows 0 to 3"),
        (make(flows=-1), "flow -1: expected a number from 0 on"),
        (make(flows="short"), 'flows = "short": no traffic of star .* expected long'),
        (make(flows=[]), "name at least one"),
        (make(flows=[0, 1]), "2 flows are the learner's; .* CongestionParallelEnv"),
        (make(flows=1.5), "expected a number or a name of traffic"),
        (make(others="tcp"), 'unknown algorithm "tcp"'),
        (make(interval="10"), 'interval = "10"'),
        (make(interval="10ns"), "from 1us to 1s"),
        (make(interval="1ms"), "run.duration is shorter than an interval of 1000 us"),
        (make(action="leap"), 'action = "leap": expected "change", "share" or "window"'),
        (make(step=0), "step = 0"),
        (make(initial=2), "initial = 2"),
        (make(threads=0), "threads = 0"),
        (make(render_mode="human"), "nothing to render"),
        (make(randomize={"switch.ecn_thresh": (1, 2)}), "switch.ecn_thresh = 1: .*ecn_threshold"),
        (make(randomize={"switch.ecn_threshold": ("1KB", "2MB")}), "write both in one"),
        (make(randomize={"switch.ecn_threshold": ("2KB", "1KB")}), "the lesser end first"),
        (make(randomize={"switch.ecn_threshold": Uniform("0KB", "1KB", log=True)}), "above 0"),
        (make(randomize={"switch.ecn_threshold": ("low", "high")}), "no end of a range"),
        (make(randomize={"switch.ecn_threshold": []}), "or a list of values"),
        (make(randomize={"switch.ecn_threshold": ["1KB", "soon"]}), "soon"),
        (stepped(np.float32([np.nan])), "action of flow 0 is nan; expected a number from -1"),
        (stepped(np.float32([0, 0])), r"shape \(1, 2\); expected \(1, 1\)"),
        (stepped(np.float32(0)), r"shape \(1,\); expected \(1, 1\)"),
        (lambda star: CongestionVectorEnv(0, star), "count = 0"),
        (lambda star: CongestionVectorEnv(2, star).reset(seed=[1]), "1 seeds for 2"),
        (lambda star: CongestionEnv(star).reset(options={"run_seed": -1}), "run_seed = -1"),
        (lambda star: CongestionParallelEnv(star, flows=[1, 1]), "flow 1 is named twice"),
        (lambda star: CongestionParallelEnv(star).step({}), "is over; call reset"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    make: Callable[[incast.Scenario], object], told: str, star: incast.Scenario
) -> None:
    with pytest.raises(incast.ParameterError, match=told) as raised:
        make(star)
    assert "\n" not in str(raised.value)


def test_traffic_whose_number_of_flows_is_drawn_is_told(star: incast.Scenario) -> None:
    drawn = star.with_set(
        'traffic.0={ kind = "poisson", from = "sender", load = 0.5, sizes = { fixed = "40KB" } }'
    )
    env = CongestionParallelEnv(drawn, flows="poisson")
    assert len(env.possible_agents) > 100
    with pytest.raises(incast.ParameterError, match=r"flows to learn with under seed \d+"):
        env.reset(seed=1)


def test_a_scenario_without_flows_is_told(star: incast.Scenario) -> None:
    quiet = star.with_set(
        'traffic.0={ kind = "poisson", from = "sender", load = 1e-9, sizes = { fixed = "1KB" } }'
    )
    with pytest.raises(incast.ScenarioError, match="has no flows; give it a"):
        CongestionEnv(quiet)


def test_an_agent_without_an_action_is_told(star: incast.Scenario) -> None:
    env = CongestionParallelEnv(star)
    env.reset()
    with pytest.raises(incast.ParameterError, match="flow_1 has no action"):
        env.step({"flow_0": np.float32([0.0])})
    with pytest.raises(incast.ParameterError, match=r"flow_1 has the shape \(2,\)"):
        env.step({"flow_0": np.float32([0.0]), "flow_1": np.float32([0.0, 1.0])})


def test_the_page_has_the_features() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", page, re.MULTILINE
    )
    assert rows == [
        (one.name, one.unit, one.doc, one.scale, f"{one.low:g} to {one.high:g}") for one in FEATURES
    ]


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(examples) > 3
    names: dict[str, Any] = {}
    for example in examples:
        if "stable_baselines3" not in example and "distill(" not in example:
            exec(compile(example, str(PAGE), "exec"), names)  # noqa: S102 - it is our page
