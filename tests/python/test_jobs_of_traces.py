"""Jobs from traces: imports, runs, kept copies, and the command `incast-goal`."""

import csv
import io
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import incast
from incast.api import imports

DATA = Path(__file__).parents[1] / "data" / "jobs"
PAIR = "num_ranks 2\nrank 0 {\nsend 1000b to 1 tag 7\n}\nrank 1 {\nrecv 1000b from 0 tag 7\n}\n"


def packed_pair() -> bytes:
    """The same job as bytes: a node of 39 B for each rank, which is a root."""

    def rank(kind: int, peer: int) -> bytes:
        node = struct.pack("<IBIQIBBIIII", 0, kind, peer, 1000, 7, 0, 0, 0, 0, 0, 0)
        return struct.pack("<III", 1, 1, 0) + node

    ranks = [rank(1, 1), rank(2, 0)]
    head = struct.pack("<IBB", 2, 0, 0)
    first = len(head) + 16 * len(ranks)
    places = struct.pack("<QQQQ", first, first + 51, first + 51, first + 102)
    return struct.pack("<Q", 4223) + head + places + b"".join(ranks)


def goal(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs `incast-goal`."""
    program = Path(sys.executable).parent / "incast-goal"
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def test_text_and_bytes_of_a_schedule_are_one_job(tmp_path: Path) -> None:
    text, binary = tmp_path / "pair.goal", tmp_path / "pair.bin"
    text.write_text(PAIR)
    binary.write_bytes(packed_pair())
    tables = [incast.run_job(file, "line-rate") for file in (text, binary)]
    assert tables[0].equals(tables[1])
    (row,) = tables[0].rows(named=True)
    # 1,040 B at 400 Gb/s and 1 us, over two links.
    assert (row["source"], row["destination"], row["tag"]) == (0, 1, 7)
    assert row["start_time_ps"] == 0
    assert row["completion_time_ps"] == row["fct_ps"] == 2 * (1040 * 20 + 1_000_000)


def test_a_chakra_trace_becomes_a_scenario_that_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "job.toml"
    written, notes = imports.import_files([DATA / "all_reduce.{rank}.et"], [], out)
    assert written == [out]
    assert any("no network is in a trace" in note for note in notes)
    result = incast.run(out, "line-rate")
    assert result.table("iterations")["end_us"].null_count() == 0
    # 6 messages of a quarter of 1 MiB at each of 4 ranks.
    messages = result.table("messages")
    assert messages.height == 24
    assert set(messages["bytes"]) == {262_144}
    kept = result.write(tmp_path / "kept", figures=False).directory
    assert (kept / "inputs" / "all_reduce.3.et").is_file()
    # The copies alone are enough, in another folder.
    moved = tmp_path / "elsewhere" / "run"
    moved.parent.mkdir()
    kept.rename(moved)
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = incast.run(incast.load(moved / "scenario.toml"), "line-rate")
    assert again.table("messages").equals(messages)


def test_a_packed_trace_is_restored_byte_by_byte(tmp_path: Path) -> None:
    (tmp_path / "pair.bin").write_bytes(packed_pair())
    imports.import_files([tmp_path / "pair.bin"], [], tmp_path / "job.toml")
    scenario = incast.load(tmp_path / "job.toml")
    assert scenario.inputs["pair.bin"].startswith("incast: the bytes of a file in base64\n")
    (tmp_path / "pair.bin").unlink()
    changed = scenario.with_set("traffic.0.rounds=2")
    assert incast.run(changed, "line-rate").table("messages").height == 2


@pytest.mark.parametrize("profile", ["dcqcn", "timely", "rnic-nn"])
def test_incast_goal_answers_with_a_manifest_and_a_table(tmp_path: Path, profile: str) -> None:
    schedule, table = tmp_path / "pair.bin", tmp_path / "pair.csv"
    schedule.write_bytes(packed_pair())
    words = ["-goal", str(schedule), "-linkspeed_bps", "100000000000", "-rnic_profile", profile]
    done = goal(*words, "-completion_csv", str(table))
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith("[RNIC manifest] ")
    assert "physical_quiescence=verified" in line
    assert f"profile={profile} " in line
    (row,) = csv.DictReader(io.StringIO(table.read_text()))
    assert (row["profile"], row["flow_id"], row["payload_bytes"]) == (profile, "0", "1000")
    assert int(row["completion_time_ps"]) - int(row["start_time_ps"]) == int(row["fct_ps"])
    first = table.read_bytes()
    assert goal(*words, "-completion_csv", str(table)).returncode == 0
    assert table.read_bytes() == first


def test_incast_goal_takes_a_topology(tmp_path: Path) -> None:
    schedule = tmp_path / "pair.goal"
    schedule.write_text(PAIR)
    words = ["-goal", str(schedule), "-linkspeed_bps", "400000000000", "-rnic_profile", "dcqcn"]
    done = goal(*words, "-topo", str(DATA / "clos_64_400g.topo"))
    assert (done.returncode, done.stderr) == (0, "")
    # Ranks 0 and 1 are at one leaf: two links of 1 us.
    assert f"end_time_ps={2 * (1040 * 20 + 1_000_000)} " in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-goal"], "-goal has no value; expected -goal FILE"),
        (["-goal", "x"], "no -linkspeed_bps; expected -linkspeed_bps N"),
        (["-gaol", "x"], "unknown option '-gaol'; expected one of -goal, -linkspeed_bps"),
        (["-goal", "x", "-goal", "y"], "-goal is there twice; take one out"),
        (
            ["-goal", "x", "-linkspeed_bps", "fast", "-rnic_profile", "dcqcn"],
            "-linkspeed_bps is 'fast'; expected a whole number above 0",
        ),
        (
            ["-goal", "x", "-linkspeed_bps", "1", "-rnic_profile", "rnic-nn-fluid"],
            "unknown -rnic_profile 'rnic-nn-fluid'; expected one of rnic-nn, rnic-cn, ",
        ),
        (
            ["-goal", "nowhere.goal", "-linkspeed_bps", "1000000000", "-rnic_profile", "dcqcn"],
            "cannot read nowhere.goal: ",
        ),
    ],
)
def test_incast_goal_refuses_in_one_sentence(words: list[str], said: str) -> None:
    done = goal(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1


def test_a_large_trace_that_changed_is_not_the_one_that_was_run(tmp_path: Path) -> None:
    trace = tmp_path / "large.goal"
    trace.write_text(PAIR + ("//" + "x" * 997 + "\n") * 65_000)
    imports.import_files([trace], [], tmp_path / "job.toml")
    scenario = incast.load(tmp_path / "job.toml")
    assert len(scenario.inputs["large.goal"]) < 200
    incast.run(scenario.with_set("traffic.0.rounds=2"), "line-rate")
    with trace.open("a") as opened:
        opened.write("// more\n")
    with pytest.raises(incast.IncastError, match="is not the file that the run has read"):
        scenario.with_set("traffic.0.rounds=3")
