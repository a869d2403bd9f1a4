"""Before a run: scenarios are shown, copied, explained, and checked with the facts about them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import incast
from conftest import Command
from incast import _core
from incast.api import checking, costs, keys

STAR = """
title = "Two hosts"
[run]
duration = "1ms"
schemes = ["timely"]
[network.star]
hosts = [{ name = "host", count = 2, rate = "10Gbps", delay = "1us" }]
[switch]
pfc = { enabled = true }
[transport]
mtu = "1500B"
header = "40B"
ack = "64B"
ack_turnaround = "2us"
[[traffic]]
kind = "connections"
from = "host0"
to = "host1"
"""

LEAVES = """
title = "Oversubscribed"
[run]
duration = "1ms"
schemes = ["newreno"]
[network.leaf-spine]
leaves = 2
spines = 2
hosts = { name = "host", count = 8, rate = "10Gbps", delay = "1us" }
uplink = { rate = "20Gbps", delay = "1us" }
[switch]
buffer = "1MB"
pfc = { enabled = false }
[transport]
kind = "stream"
[[traffic]]
kind = "poisson"
from = "host"
load = 0.1
sizes = { fixed = "10KB" }
"""


def test_show_prints_the_text_as_it_ships(command: Command) -> None:
    text = incast.shipped()["incast"].read_text()
    assert command("scenario", "show", "incast").out == text
    said = json.loads(command("scenario", "show", "incast", "--json").out)
    assert said["text"] == text
    assert said["schemes"] == ["timely", "line-rate"]
    summary = command("scenario", "show", "incast", "--summary").out
    assert "Ten clients" in summary
    assert "star, 11 hosts" in summary
    assert "inca: neither" in command("scenario", "show", "inca").error


def test_copies_are_the_same_scenario(command: Command, tmp_path: Path) -> None:
    done = command("scenario", "copy", "incast")
    assert done.out == "copied to incast.toml; `incast run incast.toml` runs it\n"
    assert incast.load("incast.toml") == incast.Scenario.load(incast.shipped()["incast"])
    assert "incast.toml: is there already" in command("scenario", "copy", "incast").error
    assert command("scenario", "copy", "srpt", "incast.toml", "--force").code == 0
    assert incast.load("incast.toml").toml() == incast.load("srpt").toml()
    said = json.loads(
        command("scenario", "copy", "incast", str(tmp_path / "a/b.toml"), "--json").out
    )
    assert said == {"file": str(tmp_path / "a/b.toml"), "inputs": []}
    (tmp_path / "folder").mkdir()
    assert command("scenario", "copy", "incast", "folder").code == 0
    assert incast.load("folder/incast.toml").name == "incast"
    Path("file").touch()
    assert (
        "file/x.toml: cannot be written" in command("scenario", "copy", "srpt", "file/x.toml").error
    )


def test_a_copy_takes_the_files_that_are_named(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sizes.txt").write_text("1000 0\n2000 1\n")
    text = STAR.replace(
        'kind = "connections"', 'kind = "poisson"\nload = 0.1\nsizes = { file = "sizes.txt" }'
    )
    (tmp_path / "own" / "mine.toml").write_text(text)
    out = command("scenario", "copy", "own/mine.toml", "there/mine.toml").out
    assert out.startswith("copied to there/mine.toml, with sizes.txt in there/inputs/; ")
    assert incast.load("there/mine.toml").inputs == {"sizes.txt": "1000 0\n2000 1\n"}


def test_every_key_that_a_shipped_scenario_sets_is_explained() -> None:
    found = keys.explain("transport.segment")
    assert [key.path for key in found] == ["transport.segment"]
    assert found[0].kind == "text"
    assert found[0].doc
    assert [key.path for key in keys.explain("traffic.0.poisson.load")] == ["traffic.poisson.load"]
    of_load = [key.path for key in keys.explain("load")]
    assert {"traffic.poisson.load", "traffic.incast.load"} <= {*of_load}
    assert of_load == [key.path for key in keys.explain("traffic.load")]
    high = keys.explain("cc.timely.t_high")[0]
    assert high.default == "1ms"
    words = dict(keys.explain("transport.recovery")[0].values)
    assert {"selective", "go-back-n"} <= {*words}
    assert all(words.values())
    assert "switch.pfc.headroom" in keys.explain("switch.pfc")[0].inside
    assert keys.explain("published.timely.source")[0].path == "published.<name>.source"


def test_all_parameters_and_sections_have_a_text() -> None:
    known = keys.keys()
    assert len(known) > 500
    assert [path for path, key in known.items() if not key.doc] == []
    for algorithm in incast.algorithms():
        for parameter in algorithm.parameters:
            assert f"cc.{algorithm.name}.{parameter.name}" in known


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("transport.segmnt", "did you mean transport.segment"),
        ("segmnt", "did you mean transport.segment"),
        ("qqqqqqq", "the sections are cc, class"),
        ("", "the sections are"),
    ],
)
def test_near_misses_are_suggested(command: Command, asked: str, near: str) -> None:
    assert near in command("scenario", "explain", asked).error


def test_explanations_are_printed_and_as_json(command: Command) -> None:
    out = command("scenario", "explain", "switch.pfc").out
    assert out.startswith("switch.pfc  (section)\n")
    assert "xoff " in out
    said = json.loads(command("scenario", "explain", "load", "--json").out)
    assert (said[0]["key"], said[0]["of_kind"]) == ("traffic.load", "poisson")
    assert {"doc", "type", "default", "required", "values", "keys"} <= {*said[0]}
    top = command("scenario", "explain").out
    assert all(f"\n{name} " in f"\n{top}" for name in ("run", "network", "traffic"))


def test_the_base_rtt_and_the_product_are_those_of_the_closed_form() -> None:
    path = incast.Scenario.parse(STAR, "x.toml").facts("timely")["paths"][0]
    # Two links of 1 us each way, a packet of 1,500 B and an ACK of 64 B stored by each sender of a
    # link, and the turnaround.
    rtt_us = 4 * 1.0 + 2 * (1500 + 64) * 8 / 10e3 + 2.0
    assert path["base_rtt_us"] == pytest.approx(rtt_us, abs=1e-3)
    assert path["bdp_bytes"] == pytest.approx(10e3 * rtt_us / 8, abs=2)
    assert (path["from"], path["to"], path["hops"], path["rate_gbps"]) == ("host0", "host1", 2, 10)


def test_oversubscription_is_capacity_below_over_capacity_above() -> None:
    facts = incast.Scenario.parse(LEAVES, "x.toml").facts("newreno")
    over = facts["oversubscription"]
    assert over is not None
    assert (over["below_gbps"], over["above_gbps"], over["ratio"]) == (80, 40, 2)
    assert incast.Scenario.parse(STAR, "x.toml").facts("timely")["oversubscription"] is None
    assert [path["hops"] for path in facts["paths"]] == [2, 4]


def test_headroom_is_what_arrives_after_a_pause() -> None:
    buffer = incast.Scenario.parse(STAR, "x.toml").facts("timely")["buffer"]
    assert buffer is not None
    headroom = buffer["headroom"]
    assert headroom is not None
    # A round trip of the link, three packets, and a PFC frame of 64 B.
    one = 2 * 1e-6 * 10e9 / 8 + 1 + 3 * 1500 + 64
    assert headroom["port_bytes"] == [one, one]
    assert headroom["total_bytes"] == 2 * one * headroom["classes"]
    assert buffer["shared_bytes"] == buffer["total_bytes"] - headroom["total_bytes"]
    without = incast.Scenario.parse(LEAVES, "x.toml").facts("newreno")["buffer"]
    assert without is not None
    assert (without["headroom"], without["shared_bytes"]) == (None, 1_000_000)


def test_check_tells_the_facts_and_what_a_run_will_take(command: Command) -> None:
    Path("x.toml").write_text(STAR)
    lines = command("scenario", "check", "x.toml").out.splitlines()
    assert lines[0] == "x.toml: good, 1 ms of timely"
    facts = {line.split("  ")[0]: line.split("  ", 1)[1].strip() for line in lines[1:]}
    assert facts["network"] == "star: 2 hosts, 1 switch, 4 links"
    assert facts["base RTT"].startswith("8.502 us from host0 to host1")
    assert facts["oversubscription"].startswith("none")
    assert "7.07 KB" in facts["PFC headroom"]
    assert "packet-hops" in facts["estimate"]


def test_check_as_json_has_an_estimate_of_each_scheme(command: Command) -> None:
    changes = ("--set", "run.duration=5ms", "--set", "run.warmup=1ms")
    schemes = ("--cc", "timely", "--cc", "dctcp")
    said = json.loads(command("scenario", "check", "incast", *changes, *schemes, "--json").out)
    assert said["schemes"] == [*said["paths"]] == [*said["estimate"]["schemes"]]
    assert said["schemes"] == ["timely", "dctcp"]
    assert said["duration_s"] == 0.005
    assert said["network"]["hosts"] == 11
    each = said["estimate"]["schemes"].values()
    total = sum(one["packet_hops"] for one in each)
    assert said["estimate"]["packet_hops"] == pytest.approx(total)
    assert "unknown algorithm" in command("scenario", "check", "incast", "--cc", "timly").error


def test_schemes_with_other_packets_have_rows_of_their_own() -> None:
    found = checking.check(incast.Scenario.parse(STAR, "x.toml"), ["timely", "line-rate"])
    assert "base RTT" in dict(found.rows())
    other = [{**path, "base_rtt_us": 9.0} for path in found.paths["line-rate"]]
    rows = dict(replace(found, paths={**found.paths, "line-rate": other}).rows())
    assert rows["base RTT (timely)"].startswith("8.502 us")
    assert rows["base RTT (line-rate)"].startswith("9 us")


# Each for about half a second of a core.
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("incast", ["run.duration=100ms", "run.warmup=0us"]),
        ("parking-lot", ["run.duration=20ms", "run.warmup=0us"]),
        ("rtcp-over-subscription", ["run.duration=20ms", "run.warmup=0us"]),
        ("fat-tree-web-search", ["run.duration=3ms", "run.warmup=0us", "run.cooldown=0us"]),
        ("dragonfly", ["run.duration=3ms", "run.warmup=0us", "run.cooldown=0us"]),
        ("timely-storage", ["run.duration=10ms", "run.warmup=0us"]),
        ("timely-clos-rpc", ["run.duration=5ms", "run.warmup=0us"]),
        ("rtcp-fetch", []),
    ],
)
def test_packet_hops_are_right_within_a_factor_of_two(name: str, changes: list[str]) -> None:
    scenario = incast.load(name).with_set(*changes)
    scheme = scenario.schemes[0]
    estimated = costs.estimate(scenario, [scheme]).packet_hops
    real = _core.run(scenario, scheme).summary["packet_hops"]
    assert 0.5 < estimated / real < 2, estimated / real
