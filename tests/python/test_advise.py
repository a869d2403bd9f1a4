"""Advice on thresholds: the values hold in runs, smaller ones do not, and every form has them."""

import json
import math
from pathlib import Path

import pytest

import incast
from conftest import Command
from incast.advice import headroom, pfc, trial
from incast.advice.given import Given, given
from incast.api import advising, scenarios

NETWORKS = [
    (rate, cable) for rate in ("25Gbps", "100Gbps", "400Gbps") for cable in ("5m", "100m", "2km")
]
CLUSTER = """
title = "Two racks"
run = { duration = "1ms", schemes = ["dcqcn"] }
switch = { buffer = "9MB", pfc = { enabled = true } }
transport = { mtu = "1000B", ack_priority = true }
traffic = [{ kind = "poisson", from = "host", load = 0.1, sizes = "alibaba-storage" }]

[network.leaf-spine]
leaves = 2
spines = 2
hosts = { name = "host", count = 4, rate = "100Gbps", delay = "600ns" }
uplink = { rate = "400Gbps", delay = "800ns" }
"""


def network(**asked: str) -> Given:
    return given(asked, None)


def drops(of: Given, part: float) -> int:
    """The drops of PFC alone with a part of the headroom that is advised."""
    size = headroom.on_the_wire(of, of.ports[0][0]) * part
    (one,) = trial.trials(of, (), [f"switch.pfc.headroom={size:.0f}B"])
    (outcome,) = advising._run(one)
    assert outcome.pauses > 20
    return outcome.drops


@pytest.mark.parametrize(("rate", "cable"), NETWORKS)
def test_headroom_suffices_and_two_thirds_of_it_do_not(rate: str, cable: str) -> None:
    of = network(rate=rate, cable=cable, hosts="8")
    assert drops(of, 1) == 0
    assert drops(of, 0.5) > 0
    # Where the simulator counts all that there is, no headroom is for show.
    of = network(rate=rate, cable=cable, hosts="8", cell="1B", mac_phy_delay="0B")
    assert headroom.in_cells(of, of.ports[0][0]) == headroom.on_the_wire(of, of.ports[0][0])
    assert drops(of, 2 / 3) > 0


def test_headroom_is_the_sum_of_its_parts() -> None:
    rows = headroom.rows(network(rate="100Gbps", cable="100m"))
    parts = {row.name: row.value for row in rows}
    assert parts["on the cable"] == pytest.approx(2 * 500e-9 * 100e9 / 8)
    assert parts["peer's response"] == 394 * 64
    # Three packets, a pause frame, and a byte for rounding up.
    assert parts["packets"] == pytest.approx(3 * 1500 + 64 + 1, abs=1)
    assert parts["headroom"] % 144 == 0
    # SONiC's model, with the packet of 1,024 B that it takes for lossless traffic.
    sonic = 1024 + (1500 + 2 * 100 * 100e9 / 198e6 / 8 + 0.8 * 1024 + 394 * 64) * 144 / 64
    assert parts["headroom"] == pytest.approx(sonic, rel=0.1)


def test_cells_take_what_small_packets_waste() -> None:
    def times(**asked: str) -> float:
        return headroom.occupancy(network(rate="100Gbps", **asked))

    assert times() == 144 / 64
    assert times(small_packets="0") == times(cell="1B") == 1
    assert times(small_packets="50") == pytest.approx((1 + 144 / 64) / 2)
    assert times(cell="96B") == pytest.approx(2 * 96 / 97)


def test_delays_are_times_or_bytes() -> None:
    as_time = network(rate="100Gbps", response="1us", mac_phy_delay="80ns")
    as_size = network(rate="100Gbps", response="12.5KB", mac_phy_delay="1KB")
    link = as_time.ports[0][0]
    assert headroom.on_the_wire(as_time, link) == headroom.on_the_wire(as_size, link)
    # 60 Gb/s have the quanta of 100 Gb/s, and what is faster than 800 Gb/s those of 800.
    for rate, quanta in (("60Gbps", 394), ("1600Gbps", 905)):
        of = network(rate=rate)
        assert of.response_bytes(of.ports[0][0]) == quanta * 64


@pytest.mark.parametrize("hosts", [3, 8, 32])
def test_the_advice_holds_for_each_algorithm(hosts: int) -> None:
    advice = incast.advise(rate="100Gbps", hosts=hosts)
    assert [one.scheme for one in advice.outcomes] == [
        "line-rate", "dcqcn", "timely", "swift", "dctcp",
    ]  # fmt: skip
    assert advice.faults == []
    assert all(one.drops == 0 for one in advice.outcomes if one.lossless)
    marked = {one.scheme for one in advice.outcomes if one.marks}
    assert {"dcqcn", "dctcp"} <= marked


@pytest.mark.parametrize(("rate", "cable"), NETWORKS)
def test_thresholds_on_delays_and_marks_suit_the_path(rate: str, cable: str) -> None:
    """The simulator, which knows the RTT and the segments of each flow, has nothing to warn of."""
    for hosts in ("3", "32"):
        for one in trial.trials(network(rate=rate, cable=cable, hosts=hosts), advising.KINDS, ()):
            for scheme in {*one.schemes} & {"timely", "swift", "dctcp"}:
                assert scenarios.warnings(one.scenario, [scheme]) == []


def test_thresholds_follow_their_formulas() -> None:
    advice = incast.advise(rate="100Gbps", cable="100m", hosts=32, check=False)
    rtt = advice.value("given", "RTT")
    assert advice.value("dcqcn", "Kmin") == 5_000 * 100 / 40
    assert advice.value("dcqcn", "Kmax") == 200_000 * 100 / 40
    assert advice.value("dctcp", "K at least") == pytest.approx(12_500 * rtt / 7)
    assert advice.value("timely", "T_low") == pytest.approx(rtt + 15.5 * 16_000 / 12_500)
    assert advice.value("swift", "base target") + 2 * advice.value("swift", "a link") == 2 * rtt
    shared = advice.value("pfc", "shared buffer")
    assert advice.value("pfc", "xoff, 31 ports") == shared / 32
    reserved = advice.value("headroom", "headroom of all ports") + 32 * 19 * 1024
    assert shared == advice.value("given", "buffer") - reserved
    with pytest.raises(incast.ParameterError, match="not advised"):
        advice.value("headroom", "Kmin")


def test_marks_come_before_pauses_where_the_buffer_is_short() -> None:
    advice = incast.advise(rate="100Gbps", hosts=32, buffer="4MB", check=False)
    bound = advice.value("pfc", "shared buffer") / 2 / 32
    assert advice.value("dcqcn", "Kmin") == advice.value("dcqcn", "Kmin at most") == bound < 12_500


def test_a_scenario_gives_links_and_rtt(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    scenario = incast.load(tmp_path / "cluster.toml")
    facts = scenario.facts("dcqcn")
    advice = incast.advise(scenario, response="0B", cc="timely")
    assert advice.value("given", "RTT") == facts["paths"][-1]["base_rtt_us"]
    assert advice.value("given", "MTU") == 1000
    assert advice.value("given", "buffer") == 9e6
    assert facts["buffer"] is not None
    assert facts["buffer"]["headroom"] is not None
    # The same headroom as `incast scenario check` has, without the peer's response.
    sizes = [row.value for row in advice.rows if row.name == "headroom on the wire"]
    assert sizes == facts["buffer"]["headroom"]["port_bytes"]
    # The run has the RTT of the path.
    path = advice.scenario.facts("timely")["paths"][0]
    assert path["base_rtt_us"] == pytest.approx(advice.value("given", "RTT"), abs=1e-3)
    assert [(one.name, one.faults) for one in advice.outcomes] == [
        ("PFC alone at 100 Gb/s, 600 ns", ()),
        ("PFC alone at 400 Gb/s, 800 ns", ()),
        ("timely", ()),
    ]


def test_options_take_the_place_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    advice = incast.advise(
        tmp_path / "cluster.toml", rate="25Gbps", cable="20m", mtu="1500B", check=False
    )
    (links,) = [row for row in advice.rows if row.name == "links"]
    assert (links.value, links.formula) == (6, "25 Gb/s, 100 ns")
    assert advice.value("given", "MTU") == 1500
    plain = incast.advise(rate="25Gbps", cable="20m", check=False)
    assert advice.value("given", "RTT") == plain.value("given", "RTT")


def test_the_usual_mtu_is_the_simulators() -> None:
    shipped = incast.load("incast")
    usual = shipped.facts("timely")["buffer"]
    other = shipped.with_set("transport.mtu=1500B").facts("timely")["buffer"]
    assert usual == other
    assert incast.advise("incast", check=False).value("given", "MTU") == 1500


ADVISE = ("advise", "--rate", "100Gbps", "--hosts", "8", "--cc", "dcqcn")


def test_the_command_prints_values_and_the_check(command: Command) -> None:
    done = command(*ADVISE)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 100
    for text in ("headroom on the wire", "IEEE 802.3, 31B.3.7", "Kmin", "PFC alone at 100 Gb/s"):
        assert text in done.out
    assert "checked: the advice holds; 0 drops in the lossless class, 2 runs" in done.out
    assert "timely" not in done.out
    assert "checked" not in command(*ADVISE, "--no-check").out
    table = command(*ADVISE, "--table", "csv").out
    assert "Gb/s,Kmin,12500,B,= 5 KB x rate / 40 Gb/s,Zhu et al. 2016" in table


def test_a_check_that_fails_says_why_and_ends_with_one(command: Command) -> None:
    done = command(*ADVISE, "--set", "switch.pfc.headroom=21KB")
    assert done.code == 1
    assert "checked: the advice does not hold; " in done.out
    assert done.err.startswith("warning: PFC alone at 100 Gb/s, 500 ns: ")
    assert done.err.endswith("dropped: headroom is 21 KB, needed is 43.1 KB\n")
    # Marks that come too early starve the receiver.
    early = ("--set", "switch.aqm.min=1B", "--set", "switch.aqm.max=2B")
    done = command("advise", "--rate", "100Gbps", "--cable", "2km", *early, "--json")
    told = json.loads(done.out)
    (starved,) = [one["faults"] for one in told["checks"] if one["scheme"] == "dcqcn"]
    assert (done.code, told["good"]) == (1, False)
    assert starved[0].startswith("the receiver's link is used at ")
    # Where 31 flows at 1 Gb/s have less than a packet in each interval of CNPs, pauses hold them.
    done = command("advise", "--rate", "1Gbps", "--cc", "dcqcn")
    assert done.err.endswith(" pauses: PFC holds the queue, not the algorithm\n")
    # A run in which nobody paused has tried no headroom.
    done = command(*ADVISE, "--set", "run.duration=40us", "--set", "run.warmup=10us")
    assert "no pause came" in done.err


def test_the_scenario_has_the_values_and_runs(command: Command) -> None:
    done = command(*ADVISE, "--scenario", "--no-check")
    scenario = incast.Scenario.parse(done.out, "advised")
    assert scenario.schemes == ["dcqcn"]
    assert 'headroom = "43100B"' in done.out
    assert 'min = "12500B"' in done.out
    Path("advised.toml").write_text(done.out)
    ran = command(
        "run", "advised.toml", "--set", "run.duration=2ms", "--set", "run.warmup=1ms", "--json"
    )
    assert ran.code == 0
    every = incast.advise(rate="100Gbps", check=False).scenario
    assert every.schemes == ["dcqcn", "timely", "swift"]
    assert incast.advise(rate="100Gbps", cc="dctcp", check=False).scenario.schemes == ["dctcp"]


def test_sonic_has_tables_that_fit_each_other(command: Command) -> None:
    done = command("advise", "--rate", "100Gbps", "--sonic", "--port", "Ethernet0", "--no-check")
    found = json.loads(done.out)
    (profile,) = found["BUFFER_PROFILE"].items()
    assert profile[0] == "pg_lossless_100000_100m_profile"
    size, xon, xoff = (int(profile[1][key]) for key in ("size", "xon", "xoff"))
    assert size == xon + xoff == 19 * 1024 + 97_056
    assert profile[1]["pool"] in found["BUFFER_POOL"]
    ports = 32
    assert int(found["BUFFER_POOL"]["ingress_lossless_pool"]["size"]) == 30e6 - ports * size
    assert found["BUFFER_PG"] == {"Ethernet0|3": {"profile": profile[0]}}
    assert found["PORT_QOS_MAP"] == {"Ethernet0": {"pfc_enable": "3"}}
    queues = {name: one["wred_profile"] for name, one in found["QUEUE"].items()}
    assert queues == {"Ethernet0|3": "dcqcn_100000", "Ethernet0|0": "dctcp_100000"}
    marks = found["WRED_PROFILE"]
    assert set(queues.values()) == set(marks)
    assert marks["dcqcn_100000"]["green_min_threshold"] == "12500"
    assert marks["dcqcn_100000"]["green_drop_probability"] == "1"
    assert marks["dctcp_100000"]["green_drop_probability"] == "100"
    values = (one for table in (found["BUFFER_PROFILE"], marks) for one in table.values())
    assert all(isinstance(text, str) for one in values for text in one.values())
    assert math.log2(pfc.ALPHA) == int(profile[1]["dynamic_th"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no network: name a scenario, or a rate such as --rate 100Gbps"),
        (("--rate", "100"), "rate 100: expected 0.1Gbps to 10000Gbps"),
        (("--rate", "100Gbps", "--cable", "5"), "cable 5: expected 1m to 100km"),
        (("--rate", "100Gbps", "--hosts", "2"), "hosts 2: expected 3 to 1024"),
        (("--rate", "100Gbps", "--response", "soon"), "response soon: expected a time or a size"),
        (
            (
                "--rate",
                "100Gbps",
                "--pipeline=-1us",
            ),
            "pipeline -1us: expected a time or a size",
        ),
        (("--rate", "100Gbps", "--small-packets", "120"), "small packets 120: expected percent"),
        (("--rate", "100Gbps", "--buffer", "2MB"), "of 32 ports take 3.73 MB; expected a larger"),
        (("--rate", "100Gbps", "--cc", "timly"), "timly: no thresholds are known for it; did you"),
        (("--rate", "100Gbps", "--json", "--sonic"), "--sonic with --json: ask for one of them"),
        (("--rate", "100Gbps", "--port", "Ethernet0"), "--port Ethernet0: only --sonic names"),
        (("--rate", "100Gbps", "--set", "switch.pfc.head=1"), "head"),
        (
            ("--rate", "100Gbps", "--cc", "dctcp", "--cc", "dcqcn", "--scenario"),
            "dctcp beside dcqcn: one scenario has one kind of marks",
        ),
        (("nowhere.toml",), "nowhere.toml"),
    ],
)
def test_bad_input_gets_a_sentence(command: Command, arguments: tuple[str, ...], said: str) -> None:
    assert said in command("advise", *arguments).error
