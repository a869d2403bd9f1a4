"""The command: what it prints, what it writes, how it ends."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import incast
from conftest import RUN, Command, children, gone
from incast import _core


def table_rows(out: str) -> dict[str, list[str]]:
    """The rows of the comparison by scheme, as words."""
    lines = out.splitlines()
    rule = next(index for index, line in enumerate(lines) if line.startswith("───"))
    rows = [line.split() for line in lines[rule + 1 :]]
    return {row[0]: row[1:] for row in rows if row and row[0] in ("timely", "line-rate")}


def test_run_compares_the_schemes_of_the_scenario(command: Command) -> None:
    done = command(*RUN)
    assert (done.code, done.err) == (0, "")
    assert list(table_rows(done.out)) == ["timely", "line-rate"]
    # In parentheses what was published, of figures and of their ratios.
    assert re.search(r"line-rate .* \(19\.5\) .* \(658\) .* \(1036\)", done.out)
    assert "In parentheses: published values (" in done.out
    for name, published in (("Mean RTT", "10.8"), ("p99 RTT", "8.93")):
        line = next(line for line in done.out.splitlines() if line.startswith(name))
        assert "line-rate over timely" in line
        assert f"(published {published})" in line
    # It fits a pipe, without colour.
    assert "\x1b" not in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 100
    assert Path("results/incast/run.json").is_file()


@pytest.mark.figures
def test_the_command_says_where_it_wrote_what(command: Command) -> None:
    out = command(*RUN, "--out", "here/there").out
    assert "Wrote here/there/" in out
    for name in ("run.json", "rtt-cdf", "queue", "rates", "flows"):
        assert name in out[out.index("Wrote") :]
    assert {path.suffix for path in Path("here/there").iterdir()} == {
        ".json", ".parquet", ".png", ".toml",
    }  # fmt: skip
    written = json.loads(command(*RUN, "--json", "--figures", "svg,pdf").out)["written"]
    assert {Path(name).suffix for name in written["figures"]} == {".svg", ".pdf"}
    named = [written["scenario"], written["run"], *written["figures"], *written["tables"]]
    assert sorted(map(Path, named)) == sorted(Path(written["directory"]).iterdir())


@pytest.mark.figures
@pytest.mark.parametrize("option", ["--quiet", "--json", "--no-figures"])
def test_nothing_is_drawn_that_nobody_looks_at(command: Command, option: str) -> None:
    done = command(*RUN, option, "--out", "out")
    assert done.code == 0
    assert {path.suffix for path in Path("out").iterdir()} == {".json", ".parquet", ".toml"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--figures", "gif"], "format gif: expected png, svg, pdf"),
        (["--figures", "svg", "--no-figures"], "leave one of the two out"),
    ],
)
def test_figures_that_cannot_be_drawn_are_refused_first(
    command: Command, given: list[str], why: str
) -> None:
    assert why in command(*RUN, *given).error
    assert not Path("results").exists()


def test_json_is_one_object_with_the_numbers_of_the_table(command: Command) -> None:
    table = table_rows(command(*RUN).out)
    done = command(*RUN, "--json")
    assert done.out.count("\n") == 1
    read = json.loads(done.out)
    for row in read["runs"]:
        shown = table[row["scheme"]]
        assert f"{row['measured']['throughput_gbps']:.2f}" == shown[0]
        assert f"{row['measured']['jain_index']:.3f}" == shown[-1]
        assert str(row["measured"]["drops"]) == shown[-2]
        assert str(row["measured"]["pfc_pauses"]) == shown[-3]


def test_cc_seed_and_trace_are_passed_on(command: Command) -> None:
    chosen = ("--cc", "line-rate", "--cc", "timely:zhu", "--seed", "9", "--trace", "queues")
    done = command(*RUN, *chosen, "--json")
    read = json.loads(done.out)
    assert read["schemes"] == ["line-rate", "timely:zhu"]
    assert read["seed"] == 9
    assert pl.read_parquet("results/incast/trace_queues.parquet").height > 0


def test_the_command_says_how_fast_it_was_and_what_it_took(command: Command) -> None:
    """Of the machine: it is printed and not kept, since results do not depend on the clock."""
    out = command(*RUN, "--seed", "1", "--seed", "2").out
    said = re.search(
        r"^([\d.]+) M packet-hops in ([\d.]+) s, ([\d.]+) M/s, with ([\d.]+) of (\d+) cores? and "
        r"(\d+) MB of memory\.$", out, flags=re.MULTILINE,
    )  # fmt: skip
    assert said, out
    hops, seconds, rate, busy, cores, megabytes = map(float, said.groups())
    runs = [
        run for seed in (1, 2)
        for run in json.loads(Path(f"results/incast/seed-{seed}/run.json").read_text())["runs"]
    ]  # fmt: skip
    assert hops == pytest.approx(
        sum(run["measured"]["packet_hops"] for run in runs) / 1e6, rel=0.02
    )
    assert rate == pytest.approx(hops / seconds, rel=0.1)
    assert 0 < busy <= cores + 0.5
    assert 20 < megabytes < 10_000
    assert command(*RUN, "--json").out.count("M/s") == 0


def test_quiet_prints_nothing_and_writes_what_was_set(command: Command) -> None:
    for _ in range(2):  # the second replaces the first
        done = command(*RUN, "--quiet")
        assert (done.code, done.out, done.err) == (0, "", "")
        assert [path.name for path in Path("results").iterdir()] == ["incast"]
    assert incast.load("results/incast/scenario.toml").duration_s == pytest.approx(5e-3)


def test_what_a_run_replaces_is_said_before_it_begins(command: Command) -> None:
    assert command(*RUN, "--cc", "timely", "--cc", "line-rate").err == ""
    assert command(*RUN, "--cc", "timely", "--cc", "line-rate").err == ""  # nothing is lost
    said = re.escape("note: the result of timely, line-rate (seed 1, written 20")
    end = re.escape(
        " in results/incast/ will be replaced at the end of this run; --out DIR keeps it"
    )
    form = rf"{said}\d\d-\d\d-\d\d \d\d:\d\d\){end}\n"
    for other in (("--cc", "timely"), ("--cc", "line-rate", "--seed", "7")):
        done = command(*RUN, *other, "--quiet")
        assert done.code == 0
        assert re.fullmatch(form, done.err), done.err
        said = re.escape("note: the result of timely (seed 1, written 20")
        form = rf"{said}\d\d-\d\d-\d\d \d\d:\d\d\){end}\n"
    done = command(*RUN, "--cc", "line-rate", "--seed", "7", "--set", "run.duration=4ms")
    assert "note: the result of line-rate (seed 7, " in done.err
    assert command(*RUN, "--cc", "line-rate", "--out", "elsewhere").err == ""
    assert incast.Result.read("results/incast").schemes == ("line-rate",)


def test_what_several_seeds_replace_is_one_sentence(command: Command) -> None:
    seeds = ("--seed", "1", "--seed", "2", "--seed", "3")
    assert command(*RUN, "--cc", "timely", *seeds).err == ""
    said = command(*RUN, "--cc", "line-rate", *seeds).err
    assert said.count("\n") == 1
    assert "in results/incast/seed-1/ and 2 beside it will be replaced" in said


def test_version(command: Command) -> None:
    assert command("--version").out == f"incast {_core.__version__} (release build)\n"


def test_without_arguments_the_help_is_shown(command: Command) -> None:
    done = command()
    assert done.code == 0
    assert "Commands:" in done.out


def test_algorithms_lists_every_algorithm(command: Command) -> None:
    out = command("algorithms").out
    joined = " ".join(out.split())
    for algorithm in incast.algorithms():
        (line,) = (line for line in out.splitlines() if line.startswith(f"{algorithm.name} "))
        assert algorithm.kind in line.split()
        # Long cells are wrapped: their first words stand in the line.
        for text in (algorithm.signal, algorithm.needs, algorithm.source):
            assert text.split()[0] in joined
            assert text.split()[0] in line


def test_algorithms_shows_every_parameter(command: Command) -> None:
    out = command("algorithms", "timely").out
    timely = next(item for item in incast.algorithms() if item.name == "timely")
    for parameter in timely.parameters:
        assert parameter.name in out
        assert parameter.default in out
    for preset in timely.presets:
        assert f"--cc timely:{preset.name}" in out


def test_a_name_is_suggested_only_where_it_is_near(command: Command) -> None:
    assert "did you mean timely?" in command("algorithms", "timley").error
    for name in ("powertcp", "ndp"):
        assert "there is timely, " in command("algorithms", name).error
        assert "did you mean" not in command("run", "incast", "--cc", name).error


def test_algorithms_as_json(command: Command) -> None:
    every = json.loads(command("algorithms", "--json").out)
    assert [item["name"] for item in every] == [item.name for item in incast.algorithms()]
    one = json.loads(command("algorithms", "timely", "--json").out)
    assert one == next(item for item in every if item["name"] == "timely")
    assert {"name", "doc", "unit", "default", "source", "range"} == set(one["parameters"][0])


def test_scenario_list_has_every_shipped_scenario(command: Command) -> None:
    out = command("scenario", "list").out
    for name in incast.shipped():
        assert name in out


def test_scenario_list_as_json_names_the_files(command: Command) -> None:
    items = json.loads(command("scenario", "list", "--json").out)
    assert {one["name"]: Path(one["file"]) for one in items} == incast.shipped()
    for one in items:
        scenario = incast.load(one["name"])
        assert one["schemes"] == scenario.schemes
        assert one["title"] == scenario.title
        assert one["duration_s"] == scenario.duration_s


def test_every_list_has_json(command: Command) -> None:
    """Each that prints a table of names; those of results are in test_reading.py."""
    for line in ("scenario list", "algorithms", "workloads", "plot --list", "reproduce --list"):
        items = json.loads(command(*line.split(), "--json").out)
        shown = command(*line.split()).out
        assert len(items) > 10
        assert all(one["name"] in shown for one in items), line
    assert "flows" in json.loads(command("tables", "--json").out)


def test_scenario_check_accepts_what_ships(command: Command) -> None:
    for path in incast.shipped().values():
        done = command("scenario", "check", str(path))
        assert done.code == 0
        assert "good" in done.out
    assert not Path("results").exists()


def test_scenario_schema_is_a_json_schema(command: Command) -> None:
    schema: dict[str, Any] = json.loads(command("scenario", "schema").out)
    jsonschema.validators.validator_for(schema).check_schema(schema)
    assert schema["properties"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_writes_what_there_is(
    tmp_path: Path, interpreter: list[str], short: incast.Scenario, jobs: str
) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(short.with_set("run.duration=60s").toml())
    # A terminal on stderr: the progress bar says when the simulation has begun.
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [*interpreter, "run", str(scenario), "--cc", "timely", "--cc", "line-rate", "--jobs", jobs],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, text=True,
    )  # fmt: skip
    os.close(terminal)
    began = ["timely", "line-rate"][: int(jobs)]
    shown = ""
    with contextlib.suppress(OSError):  # the other end is closed
        while not all(re.search(rf"{scheme} .*events/s", shown) for scheme in began):
            shown += os.read(control, 4096).decode(errors="replace")
    time.sleep(0.1)
    workers = children(process.pid)
    assert len(workers) >= (2 if jobs == "2" else 0)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):
        while os.read(control, 4096):
            pass
    out, _ = process.communicate(timeout=60)
    os.close(control)
    assert process.returncode == 130
    assert "timely *" in out
    assert ("incomplete: line-rate was not run" in out) == (jobs == "1")
    assert gone(workers)
    run = json.loads((tmp_path / "results" / "long" / "run.json").read_text())
    assert run["complete"] is False
    assert [row["scheme"] for row in run["runs"]] == began
    assert all(0 < row["measured"]["simulated_s"] < 60 for row in run["runs"])


def test_a_reader_that_goes_away_is_no_error(interpreter: list[str], tmp_path: Path) -> None:
    end, start = os.pipe()
    os.close(end)
    done = subprocess.run(
        [*interpreter, "algorithms"], stdout=start, stderr=subprocess.PIPE,
        cwd=tmp_path, check=False,
    )  # fmt: skip
    os.close(start)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_table_is_readable_in_ascii(
    interpreter: list[str], tmp_path: Path, result: incast.Result
) -> None:
    result.write(tmp_path / "out")
    done = subprocess.run(
        [*interpreter, "show", "out"], capture_output=True, cwd=tmp_path, check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.stdout.isascii()
    assert b"timely" in done.stdout
