"""`incast import`: files of other simulators become a scenario, or a table."""

from pathlib import Path

import polars as pl
import pytest

import incast
from conftest import Command

SAMPLES = Path(__file__).parents[2] / "crates" / "simulator" / "foreign" / "tests" / "it"
HPCC = [str(SAMPLES / "hpcc" / name) for name in ("config.txt", "topology.txt", "flow.txt")]
FCT, PFC = (str(SAMPLES / "hpcc" / name) for name in ("fct.txt", "pfc.txt"))


def test_the_scenario_is_written_and_notes_are_shown(command: Command) -> None:
    done = command("import", *HPCC, "--out", "mine.toml")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "wrote mine.toml"
    written = Path("mine.toml").read_text()
    assert 'schemes = ["hpcc:hpcc-simulator"]' in written
    notes = [line.removeprefix("note: ") for line in done.out.splitlines()[:-1]]
    assert any("HAS_WIN" in note for note in notes)
    assert all(f"# {note}\n" in written for note in notes)


@pytest.mark.parametrize("folder", ["experiments", "topologies"])
def test_a_configuration_alone_finds_the_files_that_it_names(command: Command, folder: str) -> None:
    """From the folder where the simulator was started, and from one beside the configuration."""
    for place in ("sim/config", f"sim/{folder}"):
        Path(place).mkdir(parents=True)
    text = Path(HPCC[0]).read_text()
    text = text.replace("TRACE_FILE experiments/", "TRACE_FILE missing/")
    Path("sim/config/config.txt").write_text(text)
    for path in HPCC[1:]:
        Path("sim", folder, Path(path).name).write_text(Path(path).read_text())
    done = command("import", "sim/config/config.txt")
    assert done.code == 0, done.err
    file = f"sim/{folder}/flow.txt"
    assert f"FLOW_FILE experiments/flow.txt: read {file}\n" in done.out
    assert "TRACE_FILE missing/trace.txt: not found; no node is traced" in done.out
    alone, together = Path("scenario.toml").read_text(), "together.toml"
    files = ["sim/config/config.txt", f"sim/{folder}/topology.txt", file]
    assert command("import", *files, "--out", together).code == 0
    assert Path(together).read_text() == alone
    Path(file).unlink()
    done = command("import", "sim/config/config.txt", "--force")
    assert "FLOW_FILE in the configuration is experiments/flow.txt; give it as well" in done.error


def test_nothing_is_overwritten_without_force(command: Command) -> None:
    Path("scenario.toml").write_text("mine")
    done = command("import", *HPCC)
    assert "scenario.toml is there already" in done.error
    assert Path("scenario.toml").read_text() == "mine"
    assert command("import", *HPCC, "--force").code == 0
    assert Path("scenario.toml").read_text() != "mine"


def test_files_that_are_read_are_never_overwritten(command: Command) -> None:
    topology = Path("topology.txt")
    topology.write_text((SAMPLES / "hpcc" / "topology.txt").read_text())
    before = topology.read_text()
    done = command("import", "topology.txt", HPCC[2], "--out", "topology.txt", "--force")
    assert "topology.txt is one of the files that are read" in done.error
    assert topology.read_text() == before


def test_many_flows_are_stored_beside_the_scenario(command: Command) -> None:
    flows = "10001\n" + "0 2 3 100 1000 2\n" * 10_001
    Path("flow.txt").write_text(flows)
    Path("out").mkdir()
    done = command("import", HPCC[1], "flow.txt", "--out", "out/mine.toml")
    assert done.code == 0, done.err
    assert Path("out/flow.txt").read_text() == flows
    assert 'file = "flow.txt"' in Path("out/mine.toml").read_text()
    # They are there already.
    assert command("import", HPCC[1], "flow.txt", "--out", "mine.toml").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        (["no-such.txt"], "cannot read no-such.txt"),
        (["."], "cannot read ."),
        (["broken.txt"], "broken.txt:3:"),
        (["binary.txt"], "not a text in UTF-8"),
        ([*HPCC, "--format", "hpcc-flow"], "hpcc-flows"),
        ([*HPCC, "--format", "hpcc-flows"], "1 kinds for 3 files"),
        ([*HPCC, "--out", "no/such/folder/x.toml"], "cannot write"),
        (["fct.txt"], "fct.txt:2:5: "),
        (["fct.txt", "--format", "hpcc-pfc"], "fct.txt:1: "),
        (["fct.txt", "--format", "hpcc-fcts"], "hpcc-fct, hpcc-pfc"),
        (["fct.txt", *HPCC], "import them alone"),
        ([FCT, "--out", "scenario.toml"], "expected an --out that ends in .parquet"),
        ([FCT, "--out", "no/such/folder/x.parquet"], "cannot write"),
        (["empty.txt"], "empty.txt: "),
    ],
)
def test_bad_input_is_one_line(command: Command, arguments: list[str], said: str) -> None:
    Path("broken.txt").write_text("2 1 1\n1\n0 1 fast 1us 0\n")
    Path("broken.flow").write_text("1\n0 1 3 100 1 0\n")
    Path("fct.txt").write_text("1 2 10000 100 500 0 9000 4500\n1 2 x 100 500 0 9000 4500\n")
    Path("empty.txt").touch()
    Path("binary.txt").write_bytes(b"\xff\xfe\x00")
    if arguments == ["broken.txt"]:
        arguments = ["broken.txt", "broken.flow"]
    assert said in command("import", *arguments).error
    assert not Path("scenario.toml").exists()


def test_flows_of_two_readings_are_asked_about(command: Command) -> None:
    Path("topology.txt").write_text("3 1 2\n2\n0 2 40Gbps 1us 0\n1 2 40Gbps 1us 0\n")
    Path("flow.txt").write_text("1\n0 1 3 100 2 9\n")
    files = ("import", "topology.txt", "flow.txt")
    assert "say which with --as hpcc or --as ns3-rdma" in command(*files).error
    assert not Path("scenario.toml").exists()
    for simulator, size in (("hpcc", "2B"), ("ns3-rdma", "100KB")):
        assert command(*files, "--as", simulator, "--force").code == 0
        assert f'size = "{size}"' in Path("scenario.toml").read_text()
    assert "expected hpcc, ns3-rdma, htsim" in command(*files, "--as", "ns2").error
    # Packets, a start and an end: nothing else is possible.
    Path("flow.txt").write_text("1\n0 1 3 10000000 2.0 9.5\n")
    assert command(*files, "--force").code == 0
    assert 'size = "10GB"' in Path("scenario.toml").read_text()


def test_a_byte_order_mark_is_no_part_of_a_text(command: Command) -> None:
    mark = b"\xef\xbb\xbf"
    for path in HPCC:
        Path(Path(path).name).write_bytes(mark + Path(path).read_bytes())
    assert command("import", *(Path(path).name for path in HPCC)).code == 0
    expected = Path("scenario.toml").read_text()
    assert command("import", *HPCC, "--force").code == 0
    made = Path("scenario.toml").read_text()
    here = made.replace(f"{SAMPLES / 'hpcc'}/", "")
    assert here.partition("[run]")[2] == expected.partition("[run]")[2]
    Path("scenario.toml").write_bytes(mark + made.encode())
    assert incast.Scenario.load("scenario.toml").toml() == made
    reads = """title = "reads"
[run]
duration = "3ms"
schemes = ["timely"]
[network.file]
format = "hpcc"
path = "topology.txt"
[[traffic]]
kind = "connections"
from = "host0"
to = "host2"
"""
    Path("reads.toml").write_bytes(mark + reads.encode())
    assert incast.Scenario.load("reads.toml").toml() == reads
    Path("sizes.txt").write_bytes(mark + b"1000 0.5\n2000 1\n")
    assert command("workloads", "./sizes.txt").code == 0


def test_results_become_a_table(command: Command) -> None:
    flows = incast.read_foreign(FCT)
    # 11.0.0.1 is node 0, 11.0.2.1 node 2 and 11.1.0.1 node 256; the third line has ids.
    assert flows.to_dict(as_series=False) == {
        "source": ["host0", "host256", "host1"], "destination": ["host2"] * 3,
        "source_port": [10000] * 3, "destination_port": [100] * 3, "bytes": [1_500_000, 500, 500],
        "posted_us": [2e6, 2000000.001, 2000000.001],
        "completed_us": [2001002.0, 2000004.501, 2000009.001],
        "completion_us": [1002.0, 4.5, 9.0], "ideal_us": [501.0, 4.5, 4.5],
        "slowdown": [2.0, 1.0, 2.0],
    }  # fmt: skip
    done = command("import", FCT, "--out", "mine.parquet")
    assert (done.code, done.out) == (0, "wrote mine.parquet\n"), done.err
    assert pl.read_parquet("mine.parquet").equals(flows)
    assert "the flow completion time" in pl.read_parquet_metadata("mine.parquet")["incast"]
    assert "is there already" in command("import", FCT, "--out", "mine.parquet").error
    assert command("import", FCT, "--out", "mine.parquet", "--force").code == 0


def test_pauses_become_a_table(command: Command) -> None:
    pauses = incast.read_foreign(PFC)
    assert pauses.rows() == [
        (2000010.5, "switch4", 2, "pause"), (2000012.0, "host0", 1, "resume"),
    ]  # fmt: skip
    assert command("import", PFC).out == "wrote pfc.parquet\n"
    assert pl.read_parquet("pfc.parquet").equals(pauses)
    # A run without pauses: only its name says what the file is.
    Path("none.txt").touch()
    with pytest.raises(incast.ScenarioError, match=r"none\.txt: no results.*hpcc-pfc"):
        incast.read_foreign("none.txt")
    assert incast.read_foreign("none.txt", "hpcc-pfc").schema == pauses.schema
    with pytest.raises(incast.ScenarioError, match=r"flow\.txt: no results"):
        incast.read_foreign(HPCC[2])
