"""What collectives should reach: tables of nccl-tests, closed forms, and faults that explain."""

import json
from pathlib import Path

import pytest

import incast
from conftest import Command
from incast.advice import cluster, nccl
from incast.api import expecting

HEAD = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 1 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid     11 on      node0 device  0 [0000:18:00] EXAMPLE
#  Rank  1 Group  0 Pid     12 on      node1 device  0 [0000:18:00] EXAMPLE
#
#                                                            out-of-place                in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   \
algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  \
(GB/s)  (GB/s)
"""
ROWS = (
    "1048576  262144  float  sum  -1  90.00  11.65  11.65  0  91.00  11.52  11.53  0",
    "2097152  524288  float  sum  -1  174.00  12.05  12.05  0  175.00  11.98  11.99  N/A",
)
TEXT = HEAD + "\n".join(ROWS) + "\n# Avg bus bandwidth    : 11.8\n"
# 4 hosts around a switch, 100 Gb/s and 1 us a link, packets of 1,460 B of payload in 1,500 B.
STAR = """
title = "Four hosts"
run = { duration = "1ms", schemes = ["line-rate"] }
switch = { buffer = "4MB", pfc = { enabled = true } }
traffic = [{ kind = "collective", from = "host", collective = "all-reduce", size = "1MB" }]

[network.star]
hosts = [{ name = "host", count = 4, rate = "100Gbps", delay = "1us" }]
"""


def lines(text: str) -> list[tuple[int, float, float]]:
    found = nccl.of_text(text, "run.log")
    return [(one.size, one.time_us, one.busbw) for one in found.lines]


MEANS = [(1048576, 90.5, pytest.approx(11.59)), (2097152, 174.5, pytest.approx(12.02))]


def test_a_log_is_read_with_the_prefixes_of_launchers() -> None:
    found = nccl.of_text(TEXT, "run.log")
    assert (found.collective, found.ranks, lines(TEXT)) == ("all-reduce", 2, MEANS)
    for prefix in ("[1,0]<stdout>:", "[1,12]<stdout>: ", "0: ", " 3: "):
        assert lines("".join(f"{prefix}{line}\n" for line in TEXT.splitlines())) == MEANS


def test_columns_are_those_of_the_header() -> None:
    # With -I there are four more of each half, and a time may end the line.
    iterations = "  i_min  i_max  i_p99  i_cv%"
    wide = TEXT.replace("#wrong ", f"#wrong {iterations} ", 1)
    wide = wide.replace("algbw   busbw  #wrong\n", f"algbw   busbw  #wrong {iterations}\n", 1)
    for row in ROWS:
        values = row.split()
        longer = [*values[:9], "1", "2", "3", "4", *values[9:], "1", "2", "3", "4"]
        wide = wide.replace(row, " ".join(longer))
    assert lines(wide) == MEANS
    stamped = TEXT.replace("busbw  #wrong\n", "busbw  #wrong  timestamp\n")
    for row in ROWS:
        stamped = stamped.replace(row, f"{row} 2026-11-03 10:00:00")
    assert lines(stamped) == MEANS
    # Where out of place was not measured, its columns are blank.
    half = TEXT
    for row in ROWS:
        half = half.replace(row, " ".join(row.split()[:5] + row.split()[9:]))
    assert lines(half) == [(1048576, 91.0, 11.53), (2097152, 175.0, 11.99)]


def test_json_of_nccl_tests_is_read(tmp_path: Path) -> None:
    def half(time: float, bus: float) -> dict[str, float]:
        return {"time": time, "alg_bw": bus, "bus_bw": bus, "nwrong": 0.0}

    whole = {
        "version": 1,
        "args": ["./build/all_reduce_perf", "-b", "1M", "-J", "run.json"],
        "devices": [{"rank": 0, "hostname": "node0"}, {"rank": 1, "hostname": "node1"}],
        "results": [
            {"size": 1048576, "out_of_place": half(90, 11.65), "in_place": half(91, 11.53)},
            {"size": 2097152, "out_of_place": None, "in_place": half(175, 11.99)},
        ],
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps(whole))
    found = nccl.read(path)
    assert (found.collective, found.ranks) == ("all-reduce", 2)
    assert [(one.size, one.time_us) for one in found.lines] == [(1048576, 90.5), (2097152, 175)]
    assert [one.busbw for one in found.lines] == [pytest.approx(11.59), 11.99]


@pytest.mark.parametrize(
    ("collective", "factor"),
    [("all-reduce", 1.75), ("all-gather", 0.875), ("all-to-all", 0.875), ("broadcast", 1.0)],
)
def test_bus_bandwidth_is_counted_as_nccl_tests_does(collective: str, factor: float) -> None:
    assert nccl.factor(collective, 8) == factor


def test_what_is_printed_can_be_read_again() -> None:
    found = [nccl.Line(2**20, 64.7612, 27.0213), nccl.Line(2**30, 123456.7, 46.4512)]
    text = nccl.text("all-reduce", 8, found, ("eight hosts",), (0.05, 0.1))
    again = nccl.of_text(text, "again")
    assert [(one.size, one.time_us, one.busbw) for one in again.lines] == [
        (2**20, 64.76, 27.02), (2**30, 123457, 46.45),
    ]  # fmt: skip
    assert "# Tolerance of busbw   : 1073741824 B: 10.0 %" in text
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert rows[0] == (
        "     1048576        262144     float     sum      -1    64.76   16.19   27.02     N/A"
        "    64.76   16.19   27.02     N/A"
    )


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("star") / "star.toml"
    path.write_text(STAR)
    return path


def test_an_idle_star_reaches_the_closed_form(star: Path) -> None:
    found = incast.expect(star, sizes="4KB,1MB")
    small, large = found.lines
    # 2 (N - 1) steps of a chunk over two links: bytes with headers, and the last packet once more.
    assert small.time_us == pytest.approx(6 * 2 * (1_040 * 8 / 1e5 + 1), rel=1e-6)
    wire = (250_000 + 40 * (3 * 44 + 37)) * 8 / 1e5
    step = wire + 1_500 * 8 / 1e5 + 2
    assert large.time_us == pytest.approx(6 * step, rel=0.01)
    assert large.busbw == pytest.approx(1e6 / large.time_us / 1e3 * 1.5)
    assert [one.tolerance for one in found.lines] == [expecting.LEAST_TOLERANCE] * 2


def test_rails_of_a_cluster_work_side_by_side() -> None:
    one = incast.expect(nodes=4, gpus=1, nic="100Gbps", sizes="1MB").lines[0]
    two = incast.expect(nodes=4, gpus=2, nic="100Gbps", sizes="2MB").lines[0]
    # Each rail has half of twice the size, so as long a time.
    assert two.time_us == pytest.approx(one.time_us, rel=1e-3)
    assert two.busbw == pytest.approx(2 * one.busbw * (7 / 8) / (3 / 4), rel=1e-3)


@pytest.mark.parametrize(
    ("collective", "part"),
    [
        ("all-gather", 3 / 4),
        ("reduce-scatter", 3 / 4),
        ("all-to-all", 3 / 4),
        ("all-reduce", 3 / 2),
    ],
)
def test_each_collective_reaches_nearly_what_its_bytes_take(collective: str, part: float) -> None:
    (line,) = incast.expect(
        nodes=4, gpus=1, nic="100Gbps", collective=collective, sizes="4MB"
    ).lines
    # Each rank sends this part of the size; the bus bandwidth is that of its link.
    least_us = part * 4e6 * 8 / 1e5
    assert least_us < line.time_us < 1.15 * least_us
    assert 0.85 * 12.5 < line.busbw < 12.5


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_trees_of_several_messages_are_slower_than_a_link(collective: str) -> None:
    (line,) = incast.expect(
        nodes=4, gpus=1, nic="100Gbps", collective=collective, sizes="1MB"
    ).lines
    # From rank to rank in a row: twice the time of a link at least.
    assert line.time_us > 2 * 1e6 * 8 / 1e5
    assert line.busbw == pytest.approx(1e6 / line.time_us / 1e3)


def test_sizes_beyond_the_largest_lie_on_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = incast.expect(nodes=3, gpus=1, nic="100Gbps", sizes="1MB,4MB")
    monkeypatch.setattr(expecting, "_LARGEST", 2_000_000)
    found = incast.expect(nodes=3, gpus=1, nic="100Gbps", sizes="1MB,4MB")
    assert found.lines[0] == whole.lines[0]
    assert found.lines[1].time_us == pytest.approx(whole.lines[1].time_us, rel=0.01)


def log(of: incast.Expectation, path: Path) -> Path:
    """What nccl-tests would print of a cluster that reaches this."""
    devices = "".join(f"#  Rank {rank:2} Group  0 Pid 1 on n\n" for rank in range(of.ranks))
    path.write_text(devices + of.text())
    return path


def test_a_slow_link_is_found(star: Path, tmp_path: Path, command: Command) -> None:
    slow = '[[link]]\nfrom = "host2"\nto = "switch"\nrate = "50Gbps"\n'
    Path("slow.toml").write_text(STAR + slow)
    there = log(incast.expect("slow.toml", sizes="100KB,1MB"), tmp_path / "slow.log")
    found = command("expect", str(star), "--log", str(there))
    assert (found.code, found.err) == (1, "")
    assert "2 of 2 sizes fall short." in found.out
    fits = [line for line in found.out.splitlines() if "explains it" in line]
    assert any(line.startswith("one slow rail: host0 at 50Gbps") for line in fits)
    assert not any(line.startswith(("ECMP", "latency")) for line in fits)
    told = json.loads(command("expect", str(star), "--log", str(there), "--json").out)
    assert [row["short"] for row in told["results"]] == [True, True]
    assert told["explanations"][0]["fits"]


def test_latency_of_hosts_is_found(star: Path, tmp_path: Path) -> None:
    slow = incast.Scenario.parse(STAR.replace("1us", "4us"), "slow")
    there = log(incast.expect(slow, sizes="4KB,40KB"), tmp_path / "slow.log")
    best = incast.expect(star, log=there).explanations[0]
    assert best.fits
    assert best.name == "latency per step: 6 us more"


def test_a_log_that_reaches_it_is_good(star: Path, tmp_path: Path, command: Command) -> None:
    there = log(incast.expect(star, sizes="100KB"), tmp_path / "good.log")
    found = command("expect", str(star), "--log", str(there))
    assert (found.code, found.err) == (0, "")
    assert "All 1 sizes reach what is expected." in found.out
    assert command("expect", str(star), "--log", str(there), "--table", "markdown").code == 0


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        ((), TEXT.replace("  11.99  N/A", ""), "run.log:13: 11 columns; expected 13"),
        ((), TEXT.replace("11.65  11.65", "fast  fast"), "run.log:12: 1048576 262144 float"),
        ((), "nothing\n", "run.log: no line of a size; expected the table that nccl-tests prints"),
        ((), '{"results": [', "run.log:1: no JSON:"),
        ((), '{"results": [{"size": 1}]}', "run.log: no line of a size"),
        ((), '{"result": []}', "run.log: not the JSON of nccl-tests ('results')"),
        ((), TEXT.replace("all_reduce", "sendrecv"), "run.log: a log of sendrecv_perf; expected"),
        (
            ("--collective", "all-reduce"),
            TEXT.replace("all_reduce", "all_gather"),
            "run.log: a log of all-gather; expected one of all-reduce, or --collective all-gather",
        ),
        ((), TEXT, "run.log: 2 ranks, and the network has 4; name the network that the log is of"),
        (
            ("--sizes", "3MB"),
            TEXT.replace("#  Rank", "#  Place"),
            "--sizes 3000000B: not in run.log; expected of 1048576B, 2097152B",
        ),
    ],
)
def test_bad_logs_get_a_sentence(
    arguments: tuple[str, ...], text: str, said: str, star: Path, command: Command
) -> None:
    Path("run.log").write_text(text)
    assert said in command("expect", str(star), "--log", "run.log", *arguments).error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no network: name a scenario, or a cluster such as --nodes 16"),
        (("--nodes", "1"), "--nodes 1: expected at least 2"),
        (("--nodes", "4", "--gpus", "8", "--rails", "3"), "--rails 3: expected 8, a rail for each"),
        (("--nodes", "4", "--nic", "fast"), "--nic fast: expected a rate such as 400Gbps"),
        (("--nodes", "4", "--oversubscription", "0.5"), "--oversubscription 0.5: expected at"),
        (("--nodes", "4", "--sizes", "1MB,big"), "--sizes big: expected sizes from 1B to 64GB"),
        (("--nodes", "4", "--collective", "gather"), "--collective gather: expected all-reduce"),
        (("--nodes", "4", "--algorithm", "star"), "--algorithm star: expected ring, tree"),
        (("--nodes", "4", "--log", "no.log"), "--log: cannot read no.log: No such file"),
        (("all-reduce", "--nodes", "4"), "--nodes beside a scenario: leave one of the two out"),
        (("incast",), "incast: hosts of the groups client, server, and no collective"),
        (("--nodes", "4", "--scheme", "fast-lane"), "fast-lane"),
        (("--nodes", "4", "--table", "csv"), "--table csv: only with --log; leave it out"),
    ],
)
def test_bad_input_gets_a_sentence(arguments: tuple[str, ...], said: str, command: Command) -> None:
    assert said in command("expect", *arguments).error


def test_a_cluster_has_the_leaves_that_its_line_says() -> None:
    def layers(**line: object) -> tuple[int, list[str]]:
        usual = {"gpus": 8, "nic": "400Gbps", "rails": None, "oversubscription": 1.0, "delay": None}
        network = cluster.of_line(**{**usual, **line}).scenario.topology()  # type: ignore[arg-type]
        return len(network["hosts"]), [layer for _, layer in network["switches"]]

    hosts, switches = layers(nodes=16)
    assert (hosts, switches.count("leaf"), switches.count("spine")) == (128, 8, 16)
    hosts, switches = layers(nodes=64, oversubscription=2.0)
    assert (hosts, switches.count("leaf"), switches.count("spine")) == (512, 16, 16)
    hosts, switches = layers(nodes=16, rails=1)
    assert (hosts, switches.count("leaf"), switches.count("spine")) == (128, 4, 32)
