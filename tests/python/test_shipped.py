"""The scenarios that ship: each can be read, and run."""

import itertools
import re
import shlex
from pathlib import Path

import pytest

import incast
from incast.api import scenarios

SHIPPED = sorted(incast.shipped())
# Of the duration of each; the longest has 12 s at 1 Gb/s, the shortest 12 ms at 100 Gb/s.
SHARE = 1 / 60
# Where messages start over 2 ms of the 60 ms.
LONGER = {"srpt": 1 / 20}


def shortened(name: str) -> incast.Scenario:
    """The beginning of a shipped scenario, all of it measured."""
    scenario = incast.load(name)
    microseconds = round(scenario.duration_s * LONGER.get(name, SHARE) * 1e6)
    return scenario.with_set(
        f"run.duration={microseconds}us", "run.warmup=0s", "run.cooldown=0s", "measure.series=false"
    )


def test_there_is_one_for_each_experiment_of_the_papers() -> None:
    assert {
        "incast", "tcp-incast", "fat-tree-web-search", "all-reduce", "parking-lot",
        "rtcp-over-subscription", "rtcp-random-sending", "rtcp-fetch", "rtcp-incast-fan-out",
        "rtcp-incast-95-to-1", "rtcp-preemption",
        "timely-clos-rpc", "timely-network-imbalance", "timely-storage", "dragonfly",
    } <= set(SHIPPED)  # fmt: skip


# What a scenario is there to show: 95 flows whose least windows the queue does not hold, TIMELY
# beside schemes that need no PFC, on the network that they have, BBR where shares are short of
# its window, NICs that are exactly as fast as ports, as the papers and ns-3 have them, a port that
# drops instead of pausing hosts that send at line rate, as pFabric's does, TIMELY's own thresholds
# at 100 Gb/s, and HPCC with an increase for 125 flows where ten packets are under way: the long
# flow has a quarter of its share.
MEANT = {
    "tcp-incast": ("exactly as fast as",),
    "rtcp-random-sending": ("bbr:bbr-prime: a window is", "exactly as fast as"),
    "rtcp-over-subscription": ("bbr:bbr-prime: a window is", "exactly as fast as"),
    "rtcp-incast-95-to-1": ("so flows wait for timeouts", "timely needs PFC"),
    "fat-tree-web-search": ("timely needs PFC", "was chosen for slower links"),
    "fat-tree-1024": ("was chosen for slower links",),
    "parking-lot": ("timely needs PFC", "so some may keep several times the rate"),
    "srpt": ("line-rate needs PFC",),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_it_says_in_a_line_what_it_is_and_needs_nothing_that_it_lacks(name: str) -> None:
    scenario = incast.load(name)
    assert len(scenario.title) <= 100, scenario.title
    assert "\n" not in scenario.title
    for scheme in scenarios.check_schemes(scenario):
        meant = MEANT.get(name, ())
        said = scenario.warnings(scheme)
        assert [text for text in said if not any(part in text for part in meant)] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_its_beginning_runs_under_every_scheme_that_it_names(name: str) -> None:
    result = incast.run(shortened(name))
    assert result.complete
    schemes = scenarios.check_schemes(incast.load(name))
    assert tuple(result.summary["scheme"]) == tuple(schemes)
    # Something was sent by every traffic of it, and something arrived.
    assert (result.summary["throughput_gbps"] > 0).all()
    load = result.table("load")
    assert (load["carried_gbps"] > 0).all(), load


@pytest.mark.parametrize("name", SHIPPED)
def test_the_settings_that_its_description_names_can_be_set(name: str) -> None:
    text = incast.load(name).description
    for command in re.findall(r"`[^`]*--set [^`]*`", text):
        words = shlex.split(command.strip("`"))
        given = [after for word, after in itertools.pairwise(words) if word == "--set"]
        shortened(name).with_set(*given)


def test_the_incast_of_regulated_tcp_can_be_a_closed_loop() -> None:
    name = "rtcp-incast-fan-out"
    (setting,) = re.findall(r"--set '(.*?)'", incast.load(name).description, re.DOTALL)
    closed = shortened(name).with_set(setting, "run.duration=1s")
    assert closed.open_loops() == []
    assert len(shortened(name).open_loops()) == 1
    # Four are under way, always: so many more were begun than completed, and have rows.
    result = incast.run(closed, "cubic")
    begun = result.table("load")["requests"].item()
    assert begun > 20
    requests = result.table("requests")
    assert requests.height == begun
    assert begun - requests["finished"].sum() == 4


def test_a_result_is_no_scenario(tmp_path: Path) -> None:
    incast.run(shortened("incast"), "timely").write(tmp_path / "there")
    with pytest.raises(
        incast.ScenarioError, match=r"there: a result, not a scenario; read it with"
    ):
        incast.load(tmp_path / "there")
