"""The plan of a test bed: what a scenario asks of it, and what it cannot have."""

import math
import statistics

import polars as pl
import pytest

import incast
from beds import DUMBBELL, FETCH, LEAF_SPINE, STAR, planned
from incast import _core
from incast.cli import lab
from incast.lab import carriers, plan, predict, row
from incast.results.tables import frame


def test_a_scenario_becomes_hosts_ports_and_flows() -> None:
    found = planned()
    assert [(host.name, host.rate_mbps) for host in found.hosts] == [
        ("sender0", 10_000.0),
        ("sender1", 10_000.0),
        ("receiver", 200.0),
    ]
    assert found.work[0].flows == (("sender0", "receiver"), ("sender1", "receiver"))
    assert found.receiver.name == "receiver"
    assert (found.queue_bytes, found.mark_bytes) == (500_000, None)
    assert (found.seconds, found.warmup_s) == (3.0, 1.0)


@pytest.mark.parametrize("rate", ["200Mb/s", "0.2Gbps", "200000kbps"])
def test_rates_are_read_as_the_simulator_reads_them(rate: str) -> None:
    assert planned(STAR.replace("200Mbps", rate)).receiver.rate_mbps == 200.0


def test_some_hosts_of_a_group_are_named_as_in_the_simulator() -> None:
    text = STAR.replace("count = 2", "count = 4").replace('from = "sender"', 'from = "sender[1-2]"')
    assert planned(text).work[0].flows == (("sender1", "receiver"), ("sender2", "receiver"))


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
    assert planned(text + 'operation = "read"\n').work[0].flows == planned().work[0].flows


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
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


def test_a_drain_is_refused() -> None:
    text = STAR.replace("[run]", '[run]\ndrain = "1ms"') + 'message = "10KB"\n'
    with pytest.raises(plan.LabError, match=r"run\.drain: a test bed ends"):
        planned(text)


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
        plan.read(incast.load("fat-tree-1024"), "timely")
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
    assert len(found.work[0].flows) == 4
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
    assert (found.work[0].flows, found.ways) == ((("host0", "host4"),), ())

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
    assert plan.read(incast.load("incast"), "timely").protected
    assert not planned().protected


def _of(*traffic: str) -> str:
    """The star with other traffic."""
    return STAR[: STAR.index("[[traffic]]")] + "".join(f"[[traffic]]\n{one}\n" for one in traffic)


POISSON = 'kind = "poisson"\nfrom = "sender"\nto = "receiver"\nload = 0.02\n'
POISSON += 'sizes = { uniform = ["1KB", "20KB"] }'
INCAST = """
kind = "incast"
from = "sender"
to = "receiver"
load = 0.2
senders = 2
size = "20KB"
"""
LISTED = """
kind = "flows"
list = [
    { from = "sender1", to = "receiver", start = "20ms", size = "30KB" },
    { from = "receiver", to = "sender0", start = "10ms", size = "1KB" },
]
"""
CALLS = FETCH[FETCH.index("[[traffic]]") :].removeprefix("[[traffic]]\n")
SEVERAL = 'kind = "connections"\nfrom = "sender"\nto = "receiver"\n'
SEVERAL += 'message = "10KB"\ncount = 20\nevery = "5ms"\nfan_out = 1'


def _simulated(scenario: incast.Scenario, seed: int) -> dict[str, pl.DataFrame]:
    run = _core.run(scenario, "cubic", seed=seed)
    return {table.name: frame(table) for table in run.tables}


@pytest.mark.parametrize(
    "traffic",
    [[POISSON], [POISSON + '\noperation = "read"'], [INCAST], [LISTED], [CALLS], [SEVERAL],
     [POISSON, INCAST, LISTED, CALLS]],
)  # fmt: skip
@pytest.mark.parametrize("carrier", [carriers.LINUX, carriers.UDP])
def test_a_test_bed_carries_the_messages_that_its_prediction_posts(
    traffic: list[str], carrier: str
) -> None:
    scenario = incast.Scenario.parse(_of(*traffic), "mine").with_set("run.duration=1500ms")
    found = plan.read(scenario, "cubic", repeat=2)
    (predicted,) = (one for one in carriers.targets([carrier, "simulator"]) if one.predicts)
    own = plan.shaped(scenario.with_set(*predicted.assignments([])))
    for turn, work in enumerate(found.work):
        tables = _simulated(own, turn + 1)
        posted = ("traffic", "flow", "message", "source", "destination", "bytes", "posted_us")
        messages = tables["messages"].select(posted)
        assert messages.height >= 2
        assert work.messages.select(posted).sort("flow", "message").equals(messages)
        asked = ("traffic", "client", "kind", "fan_out", "bytes", "posted_us")
        requests = tables["requests"].select(asked).sort("posted_us")
        assert work.requests.select(asked).sort("posted_us").equals(requests)
    if traffic not in ([LISTED], [SEVERAL]):
        assert not found.work[0].messages.equals(found.work[1].messages)


def test_payload_of_a_read_comes_from_the_other_end() -> None:
    found = planned(_of(LISTED, POISSON + '\noperation = "read"'))
    ends = found.work[0].messages.group_by("traffic", "sender", "receiver").len().sort(pl.all())
    assert ends.select("traffic", "sender", "receiver").rows() == [
        ("flows", "receiver", "sender0"),
        ("flows", "sender1", "receiver"),
        ("poisson", "receiver", "sender0"),
        ("poisson", "receiver", "sender1"),
    ]
    assert found.work[0].messages["posted_us"].is_sorted()


def test_connections_stay_beside_messages() -> None:
    stays = 'kind = "connections"\nfrom = "sender"\nto = "receiver"\nconnections = 2'
    found = planned(_of(stays, POISSON, LISTED))
    sender0, sender1 = ("sender0", "receiver"), ("sender1", "receiver")
    assert found.work[0].flows == (sender0, sender0, sender1, sender1)
    assert found.receivers == {"receiver", "sender0"}
    assert found.receiver.name == "receiver"
    late = LISTED.replace('start = "20ms", size = "30KB"', 'start = "1001ms"')
    with pytest.raises(plan.LabError, match=r"sender1 to receiver: .* 1\.001 s.*run\.warmup"):
        planned(_of(late))


def test_a_message_stands_beside_its_prediction() -> None:
    scenario = incast.Scenario.parse(_of(INCAST), "mine")
    found = plan.read(scenario, "cubic")
    (work,) = found.work
    # All but the last, a millisecond after their posting.
    posted = work.messages.with_row_index("at")[:-1]
    completed = posted.select("at", completed_us=pl.col("posted_us") + 1_000)
    carried = row.of_messages(found, work, completed)
    requests = carried.tables["requests"]
    assert requests["messages_finished"].to_list() == [2] * (requests.height - 1) + [1]
    assert requests["finished"].to_list() == [1] * (requests.height - 1) + [0]
    assert (carried.incomplete, carried.urgent_p99_us) == (1, None)
    assert carried.others_p99_us == pytest.approx(1_000)

    of = row.Measured(row.Row("udp", "cubic", 0, carried.throughput_mbps, 1, 1), (), carried)
    run = _core.run(scenario, "cubic", seed=1)
    paired = predict.paired(scenario, of, run)
    messages = paired.carried.tables["messages"]
    (predicted,) = (frame(table) for table in run.tables if table.name == "messages")
    assert messages["predicted_us"].equals(predicted["completion_us"])
    counted = messages.filter(pl.col("posted_us") >= found.warmup_s * 1e6)["predicted_us"]
    ratios = [*(1_000 / counted[:-1]), math.inf]
    assert paired.row.over_predicted == pytest.approx(statistics.median(ratios))


AFTER = LISTED.replace(
    'size = "30KB" }', 'size = "30KB", id = 1 }, { from = "sender1", to = "receiver", '
    'size = "1KB", after = { all = [1], event = "sent" } }',
)  # fmt: skip


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (CALLS.replace("load = 0.5", "outstanding = 1"), r"requests \(requests\) posts .* a load"),
        ('kind = "ping-pong"\nfrom = "sender0"\nto = "receiver"\nsize = "1KB"\nrounds = 2',
         "posts messages when others have ended"),
        ('kind = "collective"\nfrom = "sender"\ncollective = "all-reduce"\nsize = "1KB"',
         "posts messages when others have ended"),
        (AFTER, "flows without after"),
    ],
)  # fmt: skip
def test_messages_that_wait_for_others_are_refused(traffic: str, said: str) -> None:
    with pytest.raises(plan.LabError, match=said):
        planned(_of(traffic))


def test_only_parameters_of_the_algorithm_reach_the_kernel() -> None:
    found = planned(STAR + '[cc.timely]\npreset = "zhu"\ntransport = "stream"\nt_low = "20us"\n')
    assert found.parameters == {"timely": ("t_low=20us",)}


def test_the_title_of_the_table_counts_the_hosts() -> None:
    session = lab._Session(
        "incast", ["simulator"], ["timely"], ["network.star.hosts.0.count=3"], [], 1
    )
    assert session.title.startswith("Ten clients send into one server")
    assert session.title.endswith(" (4 hosts)")
