"""The plan of a test bed: what a scenario asks of it, and what it cannot have."""

import dataclasses

import pytest

import incast
from beds import DUMBBELL, FETCH, LEAF_SPINE, STAR, planned
from incast.lab import plan


def test_a_scenario_becomes_hosts_ports_and_flows() -> None:
    found = planned()
    assert [(host.name, host.rate_mbps) for host in found.hosts] == [
        ("sender0", 10_000.0),
        ("sender1", 10_000.0),
        ("receiver", 200.0),
    ]
    assert found.flows == (("sender0", "receiver"), ("sender1", "receiver"))
    assert found.receiver.name == "receiver"
    assert (found.queue_bytes, found.mark_bytes) == (500_000, None)
    assert (found.seconds, found.warmup_s) == (3.0, 1.0)


@pytest.mark.parametrize("rate", ["200Mb/s", "0.2Gbps", "200000kbps"])
def test_rates_are_read_as_the_simulator_reads_them(rate: str) -> None:
    assert planned(STAR.replace("200Mbps", rate)).receiver.rate_mbps == 200.0


def test_some_hosts_of_a_group_are_named_as_in_the_simulator() -> None:
    text = STAR.replace("count = 2", "count = 4").replace('from = "sender"', 'from = "sender[1-2]"')
    assert planned(text).flows == (("sender1", "receiver"), ("sender2", "receiver"))


def test_a_queue_without_a_limit_is_the_simulators() -> None:
    text = STAR.replace('queue_limit = "500KB"', "")
    # A switch has 9 MB; alpha = 1 gives one queue as much as it leaves free.
    assert planned(text).queue_bytes == 4_500_000
    assert planned(text.replace("[switch]", '[switch]\nbuffer = "1MB"')).queue_bytes == 500_000
    assert planned(text.replace("[switch]", "[switch]\nalpha = 3")).queue_bytes == 6_750_000
    assert planned(STAR.replace("[switch]", '[switch]\nport_limit = "64KB"')).queue_bytes == 64_000


def test_ports_are_token_buckets_of_70_kb_and_half_a_millisecond() -> None:
    found = planned()
    bursts = [found.burst_at(rate) for rate in (200.0, 1_000.0, 10_000.0)]
    assert bursts == [70_000, 70_000, 625_000]
    assert "passes 70 KB or 500 us of its rate at once, whichever is more" in found.bucket


@pytest.mark.parametrize(
    ("own", "bursts", "said"),
    [
        ('burst = "20KB"', [20_000, 20_000], "passes 20 KB at once,"),
        ('burst_time = "1ms"', [25_000, 125_000], "passes 1000 us of its rate at once,"),
        ('burst = "50KB"\nburst_time = "1ms"', [50_000, 125_000], "whichever is more"),
    ],
)
def test_a_scenario_has_its_own_token_bucket(own: str, bursts: list[int], said: str) -> None:
    text = STAR.replace("[switch]", f"[switch]\n{own}")
    found = planned(text)
    assert [found.burst_at(rate) for rate in (200.0, 1_000.0)] == bursts
    assert said in found.bucket
    scenario = incast.Scenario.parse(text, "mine")
    assert plan.shaped(scenario) == scenario


def test_a_class_has_its_own_limit_and_threshold() -> None:
    text = STAR.replace('to = "receiver"', 'to = "receiver"\nclass = "high"')
    text += '[[class]]\nname = "low"\n[[class]]\nname = "high"\n'
    text += 'queue_limit = "90KB"\necn_threshold = "30KB"\n'
    found = planned(text)
    assert (found.queue_bytes, found.mark_bytes) == (90_000, 30_000)
    both = text + '[[traffic]]\nkind = "connections"\nfrom = "sender"\n'
    both += 'to = "receiver"\nclass = "low"\n'
    with pytest.raises(plan.LabError, match="one traffic class alone"):
        planned(both)


def test_a_read_is_sent_by_the_other_end() -> None:
    text = STAR.replace('from = "sender"\nto = "receiver"', 'from = "receiver"\nto = "sender"')
    assert text != STAR
    assert planned(text + 'operation = "read"\n').flows == planned().flows


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'to = "receiver"',
            'to = "receiver"\nmessage = "1MB"',
            "connections that stay, or requests",
        ),
        ("[[traffic]]", "[[traffic]]\nfan_out = 1", "that stay, or requests"),
        ("[switch]", '[switch]\naqm = { kind = "codel" }', "aqm codel: the queue of a test bed"),
        ("[switch]", '[switch]\ndiscipline = "srpt"', "discipline srpt: the queue of a test bed"),
        ("[[traffic]]", '[[traffic]]\nscheme = "cubic"', "has scheme cubic of its own"),
        (
            "[switch]",
            '[[link]]\nfrom = "switch"\nto = "receiver"\nloss = 0.1\n[switch]',
            r"take \[\[link\]\] out",
        ),
        (
            "[switch]",
            '[[receiver]]\nhosts = "receiver"\nrate = "1Mbps"\n[switch]',
            r"take \[\[receiver\]\] out",
        ),
    ],
)
def test_what_a_test_bed_cannot_have_is_said(old: str, new: str, said: str) -> None:
    assert old in STAR
    with pytest.raises(plan.LabError, match=said):
        planned(STAR.replace(old, new, 1))


def test_a_leaf_spine_has_a_way_over_each_spine() -> None:
    found = planned(LEAF_SPINE)
    assert (found.switches, len(found.trunks)) == (5, 6)
    there, back = found.ways[0][1], found.ways[1][0]
    assert len(there) == len(back) == 3
    assert {sum(found.trunks[one].ends) for one in there} == {2, 3, 4}
    assert {sum(found.trunks[one].ends) - 1 for one in back} == {2, 3, 4}
    for spine in (2, 3, 4):
        ((way,), nowhere) = (found.ways[spine][1], found.ways[spine][spine])
        assert (sorted(found.trunks[way].ends), nowhere) == ([1, spine], ())
    assert planned(DUMBBELL).ways == ()


def test_networks_whose_ways_a_test_bed_cannot_choose_are_refused() -> None:
    said = {
        '[routing]\nkind = "spray"\n': "routing spray: switches of a test bed choose",
        '[[routing.path]]\nfrom = "host0"\nto = "host3"\nvia = ["leaf0", "spine2", "leaf1"]\n': (
            r"routing\.path: a test bed has no explicit paths"
        ),
    }
    for text, match in said.items():
        with pytest.raises(plan.LabError, match=match):
            planned(LEAF_SPINE + text)
    tree = 'k = 4\nhosts = { name = "host", rate = "100Mbps", delay = "1us" }\n'
    tree = "[network.fat-tree]\n" + tree + 'link = { rate = "100Mbps", delay = "1us" }\n'
    text = LEAF_SPINE.replace(
        LEAF_SPINE[LEAF_SPINE.index("[network") : LEAF_SPINE.index("[switch]")], tree
    )
    with pytest.raises(plan.LabError, match=r"several switches of a way choose .*leaf-spine"):
        planned(text)
    with pytest.raises(plan.LabError, match="1024 hosts: a test bed has 100 at most"):
        plan.read(incast.load("fat-tree-1024"))
    # Lossless queues have no room for the bursts of its many ports.
    bursts = r"ports of a test bed are token buckets: .*headroom"
    with pytest.raises(plan.LabError, match=bursts):
        plan.shaped(incast.load("fat-tree-1024"))


def test_a_dumbbell_has_two_switches_and_several_receivers() -> None:
    found = planned(DUMBBELL)
    assert [(host.name, host.switch) for host in found.hosts] == [
        ("sender0", 0),
        ("sender1", 0),
        ("receiver0", 1),
        ("receiver1", 1),
    ]
    assert [(one.ends, one.rate_mbps, one.delay_us) for one in found.trunks] == [((0, 1), 200.0, 5)]
    assert found.receivers == {"receiver0", "receiver1"}
    assert len(found.flows) == 4
    # A probe crosses the bottleneck.
    assert (found.prober_switch, found.receiver.switch) == (0, 1)


def test_a_parking_lot_is_a_chain_of_switches_and_a_graph_is_as_listed() -> None:
    star = STAR[STAR.index("[[network") : STAR.index("[switch]")]
    ends = 'from = "sender"\nto = "receiver"'
    lot = """\
[network.parking-lot]
switches = 3
hosts = { name = "host", count = 2, rate = "1Gbps", delay = "1us" }
link = { rate = "200Mbps", delay = "30us" }
"""
    text = STAR.replace(star, lot).replace(ends, 'from = "host0"\nto = "host4"')
    found = planned(text)
    assert [host.switch for host in found.hosts] == [0, 0, 1, 1, 2, 2]
    assert [(one.ends, one.rate_mbps, one.delay_us) for one in found.trunks] == [
        ((0, 1), 200.0, 30),
        ((1, 2), 200.0, 30),
    ]
    assert (found.flows, found.ways) == ((("host0", "host4"),), ())

    graph = """\
[network.graph]
hosts = [{ name = "a" }, { name = "b" }]
switches = [{ name = "s", count = 2 }]
links = [
    { ends = ["a", "s1"], rate = "1Gbps", delay = "1us" },
    { ends = ["b", "s0"], rate = "500Mbps", delay = "2us" },
    { ends = ["s0", "s1"], rate = "300Mbps", delay = "3us" },
]
"""
    found = planned(STAR.replace(star, graph).replace(ends, 'from = "a"\nto = "b"'))
    assert [(host.name, host.switch, host.rate_mbps) for host in found.hosts] == [
        ("a", 1, 1_000.0),
        ("b", 0, 500.0),
    ]
    (trunk,) = found.trunks
    assert (sorted(trunk.ends), trunk.rate_mbps, trunk.delay_us) == ([0, 1], 300.0, 3)
    assert (found.prober_switch, found.receiver.name) == (1, "b")


def test_a_queue_that_pfc_protects_drops_on_a_test_bed() -> None:
    assert plan.read(incast.load("incast")).protected
    assert not planned().protected


def test_requests_are_drawn_at_their_load() -> None:
    client = planned(FETCH).client
    assert client is not None
    assert (client.name, client.servers) == ("receiver", ("sender0", "sender1"))
    drawn = client.draw(200.0, 2_000.0, 0)
    assert [one.at_us for one in drawn] == sorted(one.at_us for one in drawn)
    bits = sum(len(one.servers) * one.bytes_each * 8 for one in drawn)
    # Some 15,000 requests of sizes with a long tail: the load is theirs within a few per cent.
    assert bits / 2_000.0 / 200e6 == pytest.approx(0.5, rel=0.05)
    double = sum(len(one.servers) == 2 for one in drawn) / len(drawn)
    assert double == pytest.approx(0.5, abs=0.03)
    assert drawn == client.draw(200.0, 2_000.0, 0)
    assert drawn != client.draw(200.0, 2_000.0, 1)


def test_requests_of_several_traffics_are_drawn_beside_each_other() -> None:
    of = plan.read(incast.load("calls-beside-calls"))
    client = of.client
    assert client is not None
    assert (client.name, len(client.servers), of.receiver.name) == ("server", 8, "server")
    drawn = client.draw(1_000.0, 100.0, 0)
    assert [one.at_us for one in drawn] == sorted(one.at_us for one in drawn)
    sizes = {"long": 64_000, "short": 1_000}
    assert all(one.bytes_each == sizes[one.traffic] for one in drawn)
    for traffic, load in (("long", 0.8), ("short", 0.0125)):
        own = [one for one in drawn if one.traffic == traffic]
        # 156,250 of each: a Poisson process is within a per cent of its mean.
        bits = sum(one.bytes_each * 8 for one in own)
        assert bits / 100.0 / 1e9 == pytest.approx(load, rel=0.01)
    # What one traffic draws does not depend on another beside it.
    alone = dataclasses.replace(client, requests=client.requests[:1])
    assert alone.draw(1_000.0, 100.0, 0) == [one for one in drawn if one.traffic == "long"]


BESIDE = """
[[traffic]]
kind = "poisson"
from = "receiver"
to = "sender0"
operation = "read"
load = 0.1
sizes = { fixed = "1KB" }
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'sizes = "web-search"',
            'sizes = { uniform = ["1KB", "2KB"] }',
            "are a table, or fixed",
        ),
        ("load = 0.5", "outstanding = 1", "have a load"),
        (
            "[[traffic]]",
            BESIDE + "[[traffic]]",
            "all of one client to the same servers",
        ),
    ],
)
def test_requests_that_a_test_bed_cannot_have(old: str, new: str, said: str) -> None:
    assert old in FETCH
    with pytest.raises(plan.LabError, match=said):
        planned(FETCH.replace(old, new, 1))


def test_only_parameters_of_the_algorithm_reach_the_kernel() -> None:
    found = planned(STAR + '[cc.timely]\npreset = "zhu"\ntransport = "stream"\nt_low = "20us"\n')
    assert found.parameters == {"timely": ("t_low=20us",)}
