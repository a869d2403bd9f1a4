"""The public names in a user's project: a strict type checker is content, and knows the types."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = """
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import incast
from incast.learning import CongestionEnv, CongestionVectorEnv

scenario: incast.Scenario = incast.load("incast").with_set({"run.duration": "5ms"})
result = incast.run(scenario, cc=["timely", "line-rate"])
reveal_type(result)
frame: pl.DataFrame = result.summary
several = incast.run(scenario, cc={"100 us": "timely[t_high=100us]"}, seed=[1, 2], jobs=2)
reveal_type(several)
throughput = result.runs["timely"].summary["throughput_gbps"]
reveal_type(throughput)


class Mine(incast.CongestionControl):
    target = incast.parameter("60us", doc="The RTT to aim at.")
    steps = incast.parameter(3, doc="Steps at once.", least=1)
    mode = incast.parameter("slow", doc="A word.", words=("slow", "fast"))

    def on_start(self, flow: incast.Flow) -> None:
        self.rate = flow.line_rate / (flow.active_flows + 1)
        reveal_type(self.target)
        reveal_type(self.steps)
        reveal_type(self.mode)

    def on_ack(self, ack: incast.Ack) -> None:
        if ack.rtt is not None and ack.rtt.network > self.target and self.rate is not None:
            self.rate = max(self.rate * 0.9, 1e6)

    def limits(self) -> incast.Limits:
        return incast.Limits(rate=self.rate)


incast.run(scenario, cc=[Mine, Mine(target=40e-6), "timely"])
swept = incast.sweep(
    scenario, cc=[Mine, "timely"], vary={"traffic.0.connections": [1, 4]}, seeds=3, out="sweep"
)
reveal_type(swept.summary)
reveal_type(swept.differences("timely"))
found = incast.tune(scenario, "timely", minimize="rtt_p99_us", over={"t_high": None}, out="tuning")
reveal_type(found)
reveal_type(found.best)


class Compiled(incast.CompiledControl):
    target = incast.parameter("60us", doc="The RTT to aim at.")
    state = [("bps", "f8")]

    # Numba finds the types of the records: for a checker they are anything.
    @staticmethod
    def on_start(flow: Any, p: Any, s: Any, out: Any) -> None:
        out.rate = flow.line_rate / 2

    @staticmethod
    def on_ack(ack: Any, p: Any, s: Any, out: Any) -> None:
        if ack.rtt.network > p.target:
            out.rate *= 0.9


reveal_type(Compiled(target="40us").settings)
incast.run(scenario, cc=[Compiled, Compiled(target=40e-6)])

env = CongestionEnv(scenario, flows=0, interval="20us", action="window")
observation, info = env.reset(seed=1)
seen: NDArray[np.float32] = observation
observation, reward, terminated, truncated, info = env.step(np.array([0.5], dtype=np.float32))
reveal_type(reward)
many = CongestionVectorEnv(4, scenario, threads=2)
observations, _ = many.reset(seed=1)
observations, rewards, ended, over, told = many.step(np.zeros((4, 1), dtype=np.float32))
earned: NDArray[np.float64] = rewards
incast.compare("one", "two")
mistake: int = incast.run(scenario)
CongestionEnv(scenario, intervall="20us")
"""

REVEALED = [
    "incast.api.result.Result",
    "incast.api.result.Results",
    "float | int | None",
    "float",
    "int",
    "str",
    "polars.dataframe.frame.DataFrame",
    "polars.dataframe.frame.DataFrame",
    "incast.api.tuned.Tuning",
    "incast.results.tunings.Trial | None",
    "dict[str, str]",
    "float",
]


def test_a_strict_checker_passes_a_users_project_and_finds_its_mistake(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROJECT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "mine.py"],
        check=False, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    notes = [line for line in done.stdout.splitlines() if "Revealed type is" in line]
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split('"')[1].replace("builtins.", "") for line in notes] == REVEALED, done.stdout
    assert 'expression has type "Result", variable has type "int"' in errors.pop(0)
    names = [re.search(r'Unexpected keyword argument "(\w+)"', error) for error in errors]
    assert [found and found[1] for found in names] == ["intervall"], errors


@pytest.mark.skipif(sys.platform != "linux", reason="UDP sockets need Linux")
def test_a_strict_checker_finds_wrong_settings_of_hosts(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import incast\n\n"
        "incast.udp.Host(secret='secret', mtu=9000)\n"
        "incast.udp.Host(secrets='secret')\n"
        "incast.udp.connect('10.0.0.2:7000', plaintext='yes')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "mine.py"],
        check=False, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in errors] == ["4", "5"], done.stdout
    assert 'Unexpected keyword argument "secrets"' in errors[0]
    assert 'Argument "plaintext" to "connect" has incompatible type "str"' in errors[1]
