"""`incast export`: the traces of a result, read back by other programs."""

import json
import shutil
import subprocess
from collections import Counter
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import polars as pl
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader

import incast
from conftest import Command
from incast.results.stored import StoredTable
from incast.traces import exporting

WARMUP_US = 1000.0


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> incast.Result:
    """An incast of messages in 3 ms, of which PFC pauses senders."""
    scenario = incast.load("incast").with_set("run.duration=3ms", "run.warmup=1ms")
    return _stored(scenario, ["timely", "line-rate"], tmp_path_factory)


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> incast.Result:
    """An incast of streams in 8 ms, marked for DCTCP, with drops of NewReno."""
    settings = ("run.duration=8ms", "run.warmup=0s", "switch.ecn_threshold=96850B")
    scenario = incast.load("tcp-incast").with_set(*settings)
    return _stored(scenario, ["newreno", "dctcp"], tmp_path_factory)


def _stored(
    scenario: incast.Scenario, schemes: list[str], directories: pytest.TempPathFactory
) -> incast.Result:
    directory = directories.mktemp("result") / "it"
    incast.run(scenario, cc=schemes, traces=["packets", "flows"]).write(directory, figures=False)
    return incast.open_result(directory).members[0]


def _table(result: incast.Result, name: str, scheme: str) -> pl.DataFrame:
    return result.table(name).filter(pl.col("scheme") == scheme)


def _capture(result: incast.Result, scheme: str, out: Path, *ports: str) -> Path:
    exporting.export(result, "pcapng", [scheme], out, ports)
    return out


def _read(path: Path) -> list[tuple[bytes, RawPcapNgReader.PacketMetadata]]:
    with RawPcapNgReader(str(path)) as reader:
        return list(reader)


def _time_ns(of: RawPcapNgReader.PacketMetadata) -> int:
    assert of.tsresol == 1_000_000_000
    return int((of.tshigh << 32) + of.tslow)


def test_marks_queues_and_sources_of_packets_are_those_of_the_run(streams: incast.Result) -> None:
    packets = _table(streams, "trace_packets", "dctcp")
    left = packets.filter(pl.col("event") == "sent", pl.col("place") == "switch->receiver")
    marked = left.filter(pl.col("ecn") == "ce").height
    # A packet is marked when it comes; those that still wait at the end have not left.
    waiting = left["queue_bytes"].tail(1).item() / 1490
    marks = streams.runs["dctcp"].summary["ecn_marks"]
    assert isinstance(marks, int)
    assert 1000 < marked <= marks <= marked + waiting
    assert 97e3 < left["queue_bytes"].max() < streams.summary["queue_max_kb"].max() * 1e3 + 1
    assert set(packets.filter(pl.col("kind") == "ack")["ecn"]) == {"not-ect"}
    hosts = packets.filter(~pl.col("place").str.contains("->"))
    assert (hosts["place"] == hosts["source"]).all()
    assert hosts["queue_bytes"].null_count() == hosts.height > 0
    ends = _table(streams, "flows", "dctcp").select("flow", "source", "destination")
    there = packets.filter(pl.col("kind") == "data").select("flow", "source", "destination")
    assert there.join(ends, on=there.columns).height == there.height
    headers = packets.filter(pl.col("kind") == "data").select(
        pl.col("bytes") - pl.col("payload_bytes")
    )
    assert set(headers.to_series()) == {42}


def test_pauses_are_those_of_the_run(messages: incast.Result) -> None:
    pauses = _table(messages, "trace_pauses", "line-rate")
    begun = pauses.filter(pl.col("event") == "pause", pl.col("time_us") >= WARMUP_US)
    assert begun.height == messages.runs["line-rate"].summary["pfc_pauses"] > 0


@pytest.mark.parametrize("scheme", ["newreno", "dctcp"])
def test_another_reader_finds_every_packet_of_streams(
    streams: incast.Result, tmp_path: Path, scheme: str
) -> None:
    rows = _table(streams, "trace_packets", scheme)
    found = _read(_capture(streams, scheme, tmp_path / "it.pcapng"))
    assert len(found) == rows.height > 10_000
    ecn = {"not-ect": 0, "ect": 2, "ce": 3}
    every = zip(found, rows.iter_rows(named=True), strict=True)
    for (data, of), row in list(every)[::7]:  # Scapy takes half a millisecond for each
        frame = Ether(data)
        assert len(data) == 54
        assert _time_ns(of) == round(row["time_us"] * 1e3)
        assert of.ifname.decode() == row["place"]
        assert of.wirelen == max(row["bytes"], 54 + row["payload_bytes"])
        assert frame[IP].tos & 3 == ecn[row["ecn"]]
        assert frame[IP].len == 40 + row["payload_bytes"]
        sent = frame[TCP].seq if row["kind"] == "data" else frame[TCP].ack
        assert sent == row["sequence"] + 1
        assert of.comments == ([b"dropped here"] if row["event"] == "dropped" else None)
    checked = Ether(found[0][0])
    claimed = checked[IP].chksum
    del checked[IP].chksum
    assert Ether(bytes(checked))[IP].chksum == claimed
    connections = {(data[26:34], data[34:38]) for data, _ in found}  # addresses and ports
    assert len(connections) == 2 * 10  # there and back


def test_another_reader_finds_messages_and_pauses(messages: incast.Result, tmp_path: Path) -> None:
    path = _capture(messages, "line-rate", tmp_path / "it.pcapng")
    found = _read(path)
    pauses = [one for one in found if one[0][12:14] == b"\x88\x08"]
    assert {Ether(data).dst for data, _ in pauses} == {"01:80:c2:00:00:01"}
    rows = _table(messages, "trace_pauses", "line-rate")
    assert [of.ifname.decode() for _, of in pauses] == rows["port"].to_list()
    assert [data[18:20] != b"\0\0" for data, _ in pauses] == (rows["event"] == "pause").to_list()
    packets = _table(messages, "trace_packets", "line-rate")
    rest = [one for one in found if one[0][12:14] == b"\x08\x00"]
    for (data, of), row in list(zip(rest, packets.iter_rows(named=True), strict=True))[::7]:
        assert Ether(data)[UDP].len == 8 + row["payload_bytes"]
        assert Ether(data)[IP].id == row["sequence"] % 65536
        assert of.wirelen == max(row["bytes"], 42 + row["payload_bytes"])
    times = [_time_ns(of) for _, of in found]
    assert times == sorted(times)
    assert b"No network carried these packets" in path.read_bytes()[:2048]


def test_tshark_reads_the_file(streams: incast.Result, tmp_path: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    ports = ("sender3", "switch->sender3")
    path = _capture(streams, "newreno", tmp_path / "it.pcapng", *ports)
    fields = (
        "frame.interface_name",
        "ip.src",
        "ip.src_host",
        "ip.dsfield.ecn",
        "_ws.expert.message",
    )
    options = [part for field in fields for part in ("-e", field)]
    command = [tshark, "-N", "n", "-r", str(path), "-T", "fields", *options]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    table = [line.split("\t") for line in lines]
    rows = _table(streams, "trace_packets", "newreno").filter(pl.col("place").is_in(ports))
    assert [row[0] for row in table] == rows["place"].to_list()
    assert [row[2] for row in table] == rows["source"].to_list()
    assert all(IPv4Address(row[1]) in IPv4Network("10.0.0.0/8") for row in table)
    # At one host, what looks sent again was sent again.
    said = Counter("out-of-order" in row[4] or "retransmission" in row[4] for row in table)
    own = _table(streams, "flows", "newreno").filter(pl.col("source") == "sender3")
    assert said[True] == own["retransmissions"].sum() > 0


def test_a_timeline_has_queues_flows_pauses_and_lives(
    messages: incast.Result, tmp_path: Path
) -> None:
    out = tmp_path / "it.json"
    exporting.export(messages, "perfetto", ["line-rate"], out)
    document = json.loads(out.read_text())
    assert document["otherData"]["scheme"] == "line-rate"
    events = document["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "C", "X"}
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    numbers = {name: number for number, name in names.items()}
    assert len(numbers) == len(names)
    packets = _table(messages, "trace_packets", "line-rate")
    waiting = packets.filter(pl.col("place") == "switch->server")
    port = numbers["port switch->server"]
    counters = [e for e in events if e["ph"] == "C" and e["pid"] == port]
    assert [e["ts"] for e in counters] == waiting["time_us"].to_list()
    assert [e["args"]["value"] * 1e3 for e in counters] == pytest.approx(waiting["queue_bytes"])
    slices = [e for e in events if e["ph"] == "X"]
    assert all(0 <= e["ts"] <= e["ts"] + e["dur"] <= 3000.0 + 1e-6 for e in slices)
    pauses = _table(messages, "trace_pauses", "line-rate")
    paused = [e for e in slices if e["name"] == "paused"]
    assert len(paused) == pauses.filter(pl.col("event") == "pause").height
    assert {names[e["pid"]] for e in paused} <= {f"port client{i}->switch" for i in range(10)}
    flows = [e for e in slices if e["name"] == "flow"]
    assert len(flows) == 40
    assert "flow 0: client0 -> server" in numbers
    samples = _table(messages, "trace_flows", "line-rate")
    rtts = [e for e in events if e["name"] == "RTT, us"]
    assert len(rtts) == samples.height > 0


def test_messages_and_drops_are_in_a_timeline(tmp_path: Path) -> None:
    scenario = incast.load("fat-tree-web-search").with_set(
        "run.duration=300us", "run.warmup=0s", "run.cooldown=0s", "switch.buffer=60KB",
        "switch.pfc.enabled=false",
    )  # fmt: skip
    incast.run(scenario, cc=["line-rate"], traces=["packets"]).write(tmp_path / "r", figures=False)
    result = incast.open_result(tmp_path / "r").members[0]
    exporting.export(result, "perfetto", out=tmp_path / "it.json")
    events = json.loads((tmp_path / "it.json").read_text())["traceEvents"]
    begun = {e["id"] for e in events if e["ph"] == "b"}
    assert begun == {e["id"] for e in events if e["ph"] == "e"}
    assert len(begun) == result.table("messages").height > 10
    dropped = result.table("trace_packets").filter(pl.col("event") == "dropped").height
    assert len([e for e in events if e["ph"] == "i"]) == dropped > 0


def test_batches_are_the_table(streams: incast.Result) -> None:
    for scheme in ("newreno", "dctcp"):
        table = next(one for one in streams.runs[scheme].tables if one.name == "trace_packets")
        assert isinstance(table, StoredTable)
        parts = list(table.batches(1000))
        assert max(part.height for part in parts) == 1000
        assert pl.concat(parts).equals(table.frame())


def test_the_command_writes_a_file_for_each_scheme(
    command: Command, messages: incast.Result
) -> None:
    directory = str(messages.directory)
    done = command("export", directory, "--to", "pcapng")
    assert "Wrote incast-timely.pcapng: " in done.out
    assert sorted(one.name for one in Path().iterdir()) == [
        "incast-line-rate.pcapng", "incast-timely.pcapng",
    ]  # fmt: skip
    done = command("export", directory, "--to", "perfetto", "--cc", "timely", "--json")
    assert json.loads(done.out) == [{"path": "incast-timely.perfetto.json", "scheme": "timely"}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "pcap"), "--to pcap: expected pcapng or perfetto"),
        (("--to", "pcapng", "--cc", "timly"), "timly: none of the schemes; did you mean timely?"),
        (("--to", "pcapng", "--out", "x"), "--out x: is one file, and there are 2 schemes"),
        (
            ("--to", "pcapng", "--port", "cliet1"),
            "cliet1: no port that sent a packet; did you mean",
        ),
        (("--to", "perfetto", "--port", "client1"), "--port client1: only pcapng files"),
    ],
)
def test_what_cannot_be_exported_is_said(
    command: Command, messages: incast.Result, arguments: tuple[str, ...], said: str
) -> None:
    assert said in command("export", str(messages.directory), *arguments).error
    assert not list(Path().iterdir())


def test_a_result_without_traces_says_how_to_get_them(
    command: Command, result: incast.Result, tmp_path: Path
) -> None:
    result.write(tmp_path / "r", figures=False)
    said = command("export", "r", "--to", "pcapng").error
    assert "no packets of timely were recorded; run it again with --trace packets" in said
    assert "run it again with --trace queues" in command("export", "r", "--to", "perfetto").error
