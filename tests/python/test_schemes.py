"""Schemes on networks that lack what they need, and on either transport."""

import json

import pytest

import incast
from conftest import Command
from incast.api import scenarios
from incast.base import words

SHORT = ("--set", "run.duration=2ms", "--set", "run.warmup=1ms")


@pytest.mark.parametrize(
    ("scheme", "setting"),
    [
        ("dctcp", "switch.ecn_threshold"),
        ("dcqcn", "switch.ecn_threshold"),
        ("hpcc", "switch.telemetry"),
        ("line-rate", "switch.pfc.enabled"),
    ],
)
def test_what_the_network_lacks_is_a_warning_that_names_the_setting(
    command: Command, scheme: str, setting: str
) -> None:
    ran = command("run", "tcp-incast", "--cc", scheme, *SHORT, "--json")
    assert ran.code == 0
    assert all(line.startswith(f"warning: {scheme} needs ") for line in ran.err.splitlines())
    assert setting in ran.err
    warnings = json.loads(ran.out)["warnings"]
    assert [f"warning: {text}" for text in warnings] == ran.err.splitlines()


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        ("dctcp", ["switch.ecn_threshold=96850B"]),
        ("dcqcn", ["switch.ecn_threshold=96850B", "switch.pfc.enabled=true"]),
        ("hpcc", ["switch.telemetry=true"]),
        ("newreno", ["network.star.hosts.0.rate=10.2Gbps"]),
    ],
)
def test_nothing_is_said_where_the_network_has_it(
    command: Command, scheme: str, settings: list[str]
) -> None:
    assignments = [part for setting in settings for part in ("--set", setting)]
    ran = command("run", "tcp-incast", "--cc", scheme, *SHORT, *assignments, "--quiet")
    # A run as short as this one may not have come to rest.
    said = [line for line in ran.err.splitlines() if "come to rest" not in line]
    assert (ran.code, said) == (0, [])


def test_an_echo_that_is_not_exact_is_a_warning() -> None:
    scenario = incast.load("tcp-incast").with_set(
        "switch.ecn_threshold=96850B", "transport.stream.ecn=classic"
    )
    (warning,) = scenario.warnings("dctcp")
    assert "transport.stream.ecn" in warning


@pytest.mark.parametrize("transport", ["message", "stream"])
@pytest.mark.parametrize("scheme", ["timely", "newreno"])
def test_rates_and_windows_run_on_either_transport(scheme: str, transport: str) -> None:
    scenario = incast.load("tcp-incast").with_set(
        "run.duration=4ms", "run.warmup=1ms", f"transport.kind={transport}"
    )
    measured = incast.run(scenario, scheme).summary
    assert measured["throughput_gbps"].item() > 1


def test_schemes_of_one_run_may_have_different_transports_and_signals() -> None:
    scenario = incast.load("tcp-incast").with_set(
        "run.duration=4ms",
        "run.warmup=1ms",
        "cc.rdma.algorithm=timely",
        "cc.rdma.transport=message",
        "cc.noisy.algorithm=vegas",
        "cc.noisy.signal=rtt+noise",
        "cc.noisy.noise=50us",
    )
    summary = incast.run(scenario, ["rdma", "vegas", "noisy"]).summary
    queue = dict(zip(summary["scheme"], summary["queue_mean_kb"], strict=True))
    assert queue["noisy"] != queue["vegas"]
    samples = dict(zip(summary["scheme"], summary["rtt_samples"], strict=True))
    # A sample for each segment of 64 KB, against one for each two packets.
    assert samples["rdma"] * 5 < samples["vegas"]


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("cc.vegas.transport=tcp", "expected one of message, stream"),
        ("cc.vegas.signal=orcale", 'did you mean "oracle"?'),
        ("cc.vegas.signal=rtt+noise", "noise"),
        ("cc.vegas.noise=10", "noise"),
        ("signal.kind=rtt+noise", "noise"),
        ("cc.vegas.tick=0us", 'such as "1ms"'),
        ("cc.vegas.stack=ns-3.28", 'mean "ns-3.27"'),
        ("cc.vegas.alpha=-1", "alpha"),
        ("cc.vegas.alpha=5000", "alpha"),
        ("cc.vegas.alpha=5", "beta"),
        ("transport.kind=tcp", "message"),
        ("transport.stream.preset=bsd", "linux"),
        ("transport.stream.delayed_ack=0", "1 to 64"),
        ("transport.stream.mss=9000B", "MTU"),
        ("transport.stream.send_buffer=1B", "buffer"),
        ("transport.stream.ecn=yes", "classic"),
        ("switch.telemetry=1", "true or false"),
    ],
)
def test_bad_values_are_refused_with_the_remedy(
    command: Command, assignment: str, said: str
) -> None:
    assert said in command("run", "tcp-incast", "--set", assignment, "--cc", "vegas").error


@pytest.mark.parametrize("key", ["signal.kind", "cc.vegas.signal"])
def test_messages_have_no_tcp_timestamps(command: Command, key: str) -> None:
    sets = ("--set", "transport.kind=message", "--set", f"{key}=tcp-timestamps")
    assert (
        'set the transport to "stream"'
        in command("run", "tcp-incast", *sets, "--cc", "vegas").error
    )


def test_a_need_of_several_schemes_is_one_warning() -> None:
    scenario = incast.load("incast").with_set("switch.pfc.enabled=false")
    said = scenarios.warnings(scenario, ["timely", "timely:zhu", "dctcp"])
    assert sum(" PFC, " in text for text in said) == 1
    assert said[0].startswith("timely and timely:zhu need PFC, but switches drop what does not fit")
    assert said[-1].startswith("dctcp needs ECN marks, but ")


def test_names_without_a_colon_come_first_among_near_ones() -> None:
    assert words.near("timely:z", ["timely:zhu", "timely"]) == ["timely", "timely:zhu"]
