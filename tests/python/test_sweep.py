"""Sweeps: rows, arrivals, statistics, what is kept, and what is said of bad input."""

import errno
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib import util
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import incast
from conftest import LOAD, SET, Command, children, gone
from incast import _core
from incast.api import study, sweeping
from incast.results import seeds, study_files
from incast.results.axes import axes_of
from incast.results.study_files import StudyFolder

VARY: dict[str, Any] = {"cc.timely.t_high": "100us,1ms", "traffic.0.connections": [1, 4]}


def swept(scenario: incast.Scenario, out: Path, **options: Any) -> incast.Sweep:  # noqa: ANN401
    settings: dict[str, Any] = {"cc": ["timely", "dctcp"], "vary": VARY, "seeds": 3, **options}
    return incast.sweep(scenario, out=out, **settings)


@pytest.fixture(scope="module")
def whole(short: incast.Scenario, tmp_path_factory: pytest.TempPathFactory) -> incast.Sweep:
    return swept(short, tmp_path_factory.mktemp("whole") / "sweep")


def dataset(out: Path) -> bytes:
    return (out / "runs.parquet").read_bytes()


def test_each_point_scheme_and_seed_has_a_row(short: incast.Scenario, whole: incast.Sweep) -> None:
    assert whole.complete
    runs = whole.runs
    assert runs.height == 2 * 2 * 2 * 3 == whole.planned
    keys = runs.select("point", "scheme", "seed")
    assert keys.unique().height == runs.height
    assert runs["cc.timely.t_high_us"].unique().sort().to_list() == [100.0, 1000.0]
    assert runs["traffic.0.connections"].dtype == pl.Int64
    row = runs.filter(point=3, scheme="timely", seed=2).row(0, named=True)
    assert (row["cc.timely.t_high"], row["traffic.0.connections"]) == ("1ms", 4)
    there = short.with_set("cc.timely.t_high=1ms", "traffic.0.connections=4")
    summary = incast.run(there, "timely", seed=2).runs["timely"].summary
    assert {name: row[name] for name in summary} == {
        name: None if math.isnan(value) else value for name, value in summary.items()
    }


def test_parameters_of_another_scheme_are_one_run(whole: incast.Sweep) -> None:
    dctcp = whole.runs.filter(scheme="dctcp")
    assert dctcp["run"].n_unique() == 2 * 3  # connections and seeds, whatever t_high is
    assert whole.runs.filter(scheme="timely")["run"].n_unique() == 4 * 3
    assert len(list((whole.directory / "runs").iterdir())) == 2 * 3 + 4 * 3  # type: ignore[operator]


def test_equal_seeds_have_equal_arrivals_under_all_schemes_and_parameters() -> None:
    scenario = incast.Scenario.parse(LOAD, "load.toml")
    plan = sweeping.planned(
        scenario, ["timely", "dctcp", "swift"], axes_of({"cc.timely.t_high": "100us,1ms"}), 2
    )
    arrivals: dict[int, list[pl.DataFrame]] = {}
    for run in plan.runs.values():
        result = incast.run(run.changed, run.scheme, seed=run.seed)
        own = result.table("messages").select("flow", "message", "posted_us", "bytes")
        arrivals.setdefault(run.seed, []).append(own.sort("flow", "message"))
    assert sorted(arrivals) == [1, 2]
    for found in arrivals.values():
        assert len(found) == 4
        assert found[0].height > 50
        assert all(one.equals(found[0]) for one in found)
    assert not arrivals[1][0].equals(arrivals[2][0])


def test_means_intervals_and_paired_differences(whole: incast.Sweep) -> None:
    runs = whole.runs.filter(point=1)
    values = {
        scheme: runs.filter(scheme=scheme).sort("seed")["rtt_mean_us"].to_list()
        for scheme in whole.schemes
    }
    row = whole.summary.filter(point=1, scheme="dctcp", metric="rtt_mean_us").row(0, named=True)
    known = seeds.spread(values["dctcp"], seeds.NOT_NEGATIVE)
    assert known is not None
    assert known.interval is not None
    assert (row["mean"], row["low"], row["high"]) == (known.mean, *known.interval)
    assert row["traffic.0.connections"] == 4
    row = whole.differences().filter(point=1, metric="rtt_mean_us").row(0, named=True)
    paired = seeds.spread([a - b for a, b in zip(values["dctcp"], values["timely"], strict=True)])
    assert paired is not None
    assert paired.interval is not None
    assert (row["scheme"], row["baseline"], row["seeds"]) == ("dctcp", "timely", 3)
    assert (row["mean"], row["low"], row["high"]) == (paired.mean, *paired.interval)
    assert row["relative"] == pytest.approx(paired.mean / (sum(values["timely"]) / 3))
    with pytest.raises(incast.ParameterError, match="baseline tcp: none of the schemes"):
        whole.differences("tcp")


def test_it_is_read_as_it_was_written(whole: incast.Sweep) -> None:
    again = incast.Sweep.read(whole.directory or "")
    assert again.runs.equals(whole.runs)
    assert again.to_dict() == whole.to_dict()
    assert again.summary.equals(whole.summary)


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_dataset_does_not_depend_on_jobs(
    short: incast.Scenario, whole: incast.Sweep, tmp_path: Path, jobs: int
) -> None:
    swept(short, tmp_path / "out", jobs=jobs)
    assert dataset(tmp_path / "out") == dataset(whole.directory or Path())


def test_only_what_is_missing_is_run(
    short: incast.Scenario, whole: incast.Sweep, made: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    out = tmp_path / "out"
    swept(short, out, vary={**VARY, "traffic.0.connections": [1]}, seeds=2)
    assert len(made) == (1 + 2) * 2
    made.clear()
    swept(short, out)
    assert len(made) == (2 + 4) * 3 - 6
    assert dataset(out) == dataset(whole.directory or Path())
    made.clear()
    swept(short, out)
    assert made == []
    # A damaged file is a run that is missing; another seed, text or version is another run.
    next((out / "runs").iterdir()).write_text("{")
    swept(short, out)
    assert len(made) == 1
    made.clear()
    swept(short.with_set("run.duration=6ms"), out)
    assert len(made) == 18
    made.clear()
    engine = study.engine.own()._replace(digest="another build")
    monkeypatch.setattr(study.engine, "own", lambda: engine)
    swept(short, out)
    assert len(made) == 18


def test_files_that_a_scenario_names_are_part_of_it(made: list[str], tmp_path: Path) -> None:
    text = LOAD.replace('{ fixed = "10KB" }', '{ file = "sizes.txt" }')
    (tmp_path / "load.toml").write_text(text)
    found = []
    for size in (10_000, 20_000):
        (tmp_path / "sizes.txt").write_text(f"{size} 0\n{size + 1} 1\n")
        found.append(incast.sweep(tmp_path / "load.toml", "dctcp", out=tmp_path / "out"))
    assert len(made) == 2
    assert found[0].runs["run"][0] != found[1].runs["run"][0]
    kept = incast.load(tmp_path / "out" / "scenario.toml")
    assert kept.inputs == {"sizes.txt": "20000 0\n20001 1\n"}


def test_workers_get_the_files_that_a_scenario_names(
    of_file: incast.Scenario, tmp_path: Path
) -> None:
    found = incast.sweep(of_file, vary={"traffic.0.load": "0.2,0.4"}, out=tmp_path / "out")
    assert found.complete, found.errors
    assert (found.runs["messages"] > 0).all()


def test_a_run_that_fails_is_a_row_with_its_error(
    short: incast.Scenario, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, luck = _core.run, {"bad": True}

    def run(scenario: incast.Scenario, scheme: str, **options: Any) -> _core.Run:  # noqa: ANN401
        if scheme == "dctcp" and options["seed"] == 2 and luck["bad"]:
            raise incast.ScenarioError("no such luck")
        return real(scenario, scheme, **options)

    monkeypatch.setattr(_core, "run", run)
    found = swept(short, tmp_path / "out")
    assert (found.done, found.failed, found.complete) == (20, 4, False)
    assert found.errors == {"no such luck": 4}
    failed = found.runs.filter(pl.col("error").is_not_null())
    assert failed["scheme"].unique().to_list() == ["dctcp"]
    assert failed["rtt_mean_us"].null_count() == 4
    row = found.summary.filter(point=0, scheme="dctcp", metric="rtt_mean_us").row(0, named=True)
    assert row["seeds"] == 2
    made.clear()
    luck["bad"] = False
    assert swept(short, tmp_path / "out").complete
    assert len(made) == 2  # 1 and 4 connections; t_high is not of DCTCP


@pytest.mark.usefixtures("made")
def test_a_combination_that_cannot_run_fails_alone(short: incast.Scenario, tmp_path: Path) -> None:
    # t_low is 50 us: with a t_high of 40 us it cannot be.
    found = incast.sweep(
        short, "timely", vary={"cc.timely.t_low": "10us,50us", "cc.timely.t_high": "40us,100us"},
        out=tmp_path / "out",
    )  # fmt: skip
    assert (found.done, found.failed) == (3, 1)
    assert "t_low = 50us" in next(iter(found.errors))


def ask_for_death(parent: int, ended: threading.Event, luck: random.Random) -> None:
    """Kills workers of a process at random, eight in all at most."""
    for _ in range(8):
        if ended.wait(luck.uniform(0.1, 0.6)):
            return
        commands = {
            pid: Path(f"/proc/{pid}/cmdline").read_bytes()
            for pid in children(parent)
            if Path(f"/proc/{pid}/cmdline").exists()
        }
        workers = [pid for pid, command in commands.items() if b"spawn_main" in command]
        if workers:
            os.kill(luck.choice(workers), signal.SIGKILL)


def test_workers_that_are_killed_at_random_cost_nothing_but_time(
    short: incast.Scenario, whole: incast.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incast.base.pool.TRIES", 1000)  # a short run may be hit again and again
    ended = threading.Event()
    killer = threading.Thread(
        target=ask_for_death,
        args=(os.getpid(), ended, random.Random(7)),  # noqa: S311
    )
    long = short.with_set("run.duration=200ms")
    killer.start()
    try:
        found = swept(long, tmp_path / "killed", jobs=2, seeds=2)
    finally:
        ended.set()
        killer.join()
    assert found.complete, found.errors
    swept(long, tmp_path / "calm", jobs=2, seeds=2)
    assert dataset(tmp_path / "killed") == dataset(tmp_path / "calm")
    assert dataset(tmp_path / "calm") != dataset(whole.directory or Path())


def test_a_full_disk_is_one_error_and_loses_nothing(
    short: incast.Scenario, whole: incast.Sweep, made: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    out = tmp_path / "out"
    real, room = study_files.staging.file, [5]

    def file(target: Path) -> Any:  # noqa: ANN401
        if target.parent.name == "runs" and room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= target.parent.name == "runs"
        return real(target)

    with monkeypatch.context() as patch:
        patch.setattr(study_files.staging, "file", file)
        with pytest.raises(incast.OutputError, match=r"cannot be written: No space left on device"):
            swept(short, out)
    assert len(list((out / "runs").iterdir())) == 5
    with pytest.raises(incast.ResultError, match="the sweep has no dataset yet"):
        incast.Sweep.read(out)
    made.clear()
    swept(short, out)
    assert len(made) == 18 - 5
    assert dataset(out) == dataset(whole.directory or Path())


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "incast", "sweep", "incast", "--set", "run.duration=300ms",
            "--set", "run.warmup=1ms", "--cc", "timely", "--seeds", "12", "--quiet",
            "--jobs", "2", "--out", str(tmp_path / "out")]  # fmt: skip
    process = subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(tmp_path.glob("out/runs/*.json"))) < 3:
        time.sleep(0.01)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert gone(workers)
    found = incast.Sweep.read(tmp_path / "out")
    kept = len(list((tmp_path / "out" / "runs").iterdir()))
    assert 3 <= kept == found.done < 12
    stopped, *told = err.splitlines()
    assert stopped == (
        f"stopped: {kept} of 12 rows are kept in {tmp_path}/out/, and the same command goes on "
        "from there"
    )
    assert all("has not come to rest" in line for line in told)  # of the runs that have ended
    subprocess.run([*line, "--set", "run.duration=300ms", "--no-figures"], check=True)
    again = incast.Sweep.read(tmp_path / "out")
    assert again.complete
    assert again.runs.join(found.runs, on=found.runs.columns, nulls_equal=True).height == kept


@pytest.mark.usefixtures("made")
def test_the_command_prints_tables_and_draws_figures(command: Command) -> None:
    done = command(
        "sweep", "incast", *SET, "--vary", "cc.timely.t_high=100us,200us,1ms", "--cc", "timely",
        "--cc", "dctcp", "--seeds", "3", "--out", "sweep", "--metric", "rtt_mean_us",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "t_high  scheme" in done.out
    assert "Differences to timely, seed by seed" in done.out
    assert "95 % confidence intervals by Student's t" in done.out
    assert "rtt_mean_us (each .png, in figures)" in done.out
    drawn = sorted(path.name for path in Path("sweep/figures").iterdir())
    assert drawn == ["rtt_mean_us.png"]
    quiet = command(
        "sweep", "incast", *SET, "--vary", "cc.timely.t_high=100us,200us,1ms", "--cc", "timely",
        "--cc", "dctcp", "--seeds", "1..3", "--out", "sweep", "--json",
    )  # fmt: skip
    said = json.loads(quiet.out)
    assert said["runs"] == {"planned": 18, "done": 18, "failed": 0}
    assert {row["scheme"] for row in said["differences"]} == {"dctcp"}


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("vary", "panels"),
    [
        ({}, 1),
        ({"cc.timely.t_high": "100us,1ms"}, 1),
        ({"transport.nic": ["segments", "packets"]}, 1),
        (VARY, 3),  # a map for each scheme, and their colours
        ({**VARY, "cc.timely.beta": "0.5,0.8"}, 4),
    ],
)
def test_figures_are_lines_and_maps(
    short: incast.Scenario, tmp_path: Path, vary: dict[str, Any], panels: int
) -> None:
    found = swept(short, tmp_path / "out", vary=vary, seeds=2)
    figure = found.figure("rtt_mean_us")
    assert len(figure.axes) == panels
    figure.savefig(tmp_path / "figure.png")
    with pytest.raises(incast.ParameterError, match="did you mean rtt_p99_us"):
        found.figure("rtt_p9_us")


def test_completion_times_by_size_are_kept_and_drawn_for_each_point(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = LOAD.replace('{ fixed = "10KB" }', '{ exponential = "20KB" }')
    scenario = incast.Scenario.parse(text, "load.toml")
    loads = [0.1, 0.2]
    options = {"vary": {"traffic.0.load": loads}, "out": "out", "jobs": 1}
    made = incast.sweep(scenario, ["dctcp", "timely"], **options)
    found = incast.Sweep.read("out")
    assert found.sizes.equals(made.sizes)
    for point, load in enumerate(loads):
        run = incast.run(scenario.with_set(f"traffic.0.load={load}"), "timely")
        kept = found.sizes.filter(pl.col("point") == point, pl.col("scheme") == "timely")
        rows = run.table("fct").filter(pl.col("posted") > 0)
        assert kept.drop("point", "seed").equals(rows)
    assert incast.sweep(scenario, ["dctcp", "timely"], **options).sizes.equals(made.sizes)
    figure = found.figure("slowdown-by-size", only="p99", schemes={"timely": "T", "dctcp": "D"})
    assert [part.get_suptitle() for part in figure.subfigs] == ["load=0.1", "load=0.2"]
    assert {line.get_label() for line in figure.axes[0].get_lines()} == {"T", "D"}
    done = command("plot", "out", "--figure", "slowdown-by-size", "--only", "p99")
    assert done.out == "Wrote figures/slowdown-by-size.png\n"


def test_plot_and_show_take_a_sweep(
    whole: incast.Sweep, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = str(whole.directory)
    done = command("plot", place, "--figure", "rtt_mean_us", "--format", "svg,png", "--no-title")
    assert done.out == "Wrote figures/rtt_mean_us.svg\nWrote figures/rtt_mean_us.png\n"
    assert done.err.startswith("note: for the caption of rtt_mean_us: means over 3 seeds")
    figure = whole.figure("rtt_mean_us", width="3.3in", schemes={"dctcp": "DCTCP"})
    assert figure.get_figwidth() == 3.3
    assert figure.axes[0].get_title(loc="left") == "DCTCP"
    shown = command("show", place, "--metric", "rtt_mean_us", "--baseline", "dctcp").out
    assert "Differences to dctcp, seed by seed" in shown
    assert "rtt_p99" not in shown
    said = json.loads(command("show", place, "--json").out)
    assert said["summary"] == whole.summary.to_dicts()
    assert json.loads(command("plot", place, "--list", "--json").out)[0]["name"] in whole.metrics


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["plot", "--only", "p99"], "only the figure slowdown-by-size or fct-by-size shows"),
        (["plot", "--figure", "fct-by-size"], "metric fct-by-size: no figure of these runs"),
        (["plot", "--figure", "rtt-cdf"], "metric rtt-cdf: no figure of these runs"),
        (["plot", "--cc", "swift"], "swift: none of the schemes"),
        (["plot", "--width", "9"], "width 9: expected a length"),
        (["show", "--metric", "rtt"], "metric rtt: no figure of these runs"),
        (["show", "."], "holds a sweep, which is shown by itself"),
    ],
)
def test_what_a_sweep_does_not_have_is_refused(
    whole: incast.Sweep, command: Command, arguments: list[str], why: str
) -> None:
    assert why in command(arguments[0], str(whole.directory), *arguments[1:]).error
    assert not Path("figures").exists()


@pytest.mark.usefixtures("made")
def test_too_many_panels_are_told(short: incast.Scenario, tmp_path: Path) -> None:
    many = {**VARY, "cc.timely.beta": "0.1..0.7/0.1"}
    found = swept(short, tmp_path / "out", cc="timely", vary=many, seeds=1)
    with pytest.raises(incast.FigureError, match="14 combinations of all axes but the first"):
        found.figure("rtt_mean_us")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--vary", "cc.timely.t_hig=1ms"], 'unknown parameter "t_hig"'),
        (["--vary", "cc.swift.beta=0.5"], "none of the schemes, timely, has this parameter"),
        (["--vary", "nothing.at.all=1"], 'unknown field "nothing"'),
        (["--vary", "traffic.0.connections=0,4"], "0 connections"),
        (["--zip", "run.duration=5ms,6ms; run.warmup=1ms"], "zip of unequal lengths"),
        (["--vary", "run.duration=5ms"], "run.duration: varied, and set by --set"),
        (["--seeds", "0"], "0 seeds: expected 1"),
        (["--seeds", "many"], "expected a number of seeds"),
        (["--metric", "rtt"], "metric rtt: no figure of a run"),
        (["--baseline", "dctcp"], "baseline dctcp: none of the schemes"),
        (["--cc", "timely"], "timely: named twice"),
        (["--jobs", "2", "--scheduler", "tcp://localhost:1"], "leave one of the two out"),
    ],
)
def test_bad_input_is_one_sentence(command: Command, arguments: list[str], why: str) -> None:
    assert why in command("sweep", "incast", *SET, "--cc", "timely", *arguments).error
    assert not Path("results").exists()


def test_a_parameter_that_a_scheme_sets_itself_is_no_axis(short: incast.Scenario) -> None:
    with pytest.raises(incast.ParameterError, match=r"varied, and set in timely\[t_high=1ms\]"):
        sweeping.planned(short, ["timely[t_high=1ms]"], axes_of(["cc.timely.t_high=1us,2us"]), 1)


def test_something_else_is_not_replaced(tmp_path: Path) -> None:
    for kind, name, what in (
        ("sweep", "thesis.tex", "something else than a sweep"),
        ("tuning", "sweep.json", "something else than a tuning"),
        ("saturation", "saturation.json", "a saturation of another version of incast; name anoth"),
    ):
        place = tmp_path / kind
        place.mkdir()
        (place / name).touch()
        with pytest.raises(incast.OutputError, match=f"{kind}: holds {what}"):
            StudyFolder(place, kind).claim()  # type: ignore[arg-type]
        assert [one.name for one in place.iterdir()] == [name]


@pytest.mark.usefixtures("made")
def test_failed_runs_are_exit_code_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> _core.Run:
        raise MemoryError

    monkeypatch.setattr(_core, "run", run)
    done = command("sweep", "incast", *SET, "--cc", "timely", "--out", "out")
    assert done.code == 1
    assert "1 of 1 runs failed:\n  1: MemoryError" in done.out


PAGE = Path(__file__).parents[2] / "docs" / "guide" / "sweeps.md"


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_page_run(
    short: incast.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    polars, pandas, python, slurm, kubernetes = examples("python")
    assert "SLURMCluster" in slurm
    assert "KubeCluster" in kubernetes  # test_cluster.py runs both
    # Two seeds of five milliseconds in place of ten of a second.
    program = python.replace('    "incast",', "    short,").replace("seeds=10", "seeds=2")
    assert program.count("short") == program.count("seeds=2") == 1
    swept(short, tmp_path / "earlier", cc=["timely", "swift"], seeds=2)
    exec(program, {"short": short})  # noqa: S102
    assert (tmp_path / "p99.png").stat().st_size > 1000
    exec(polars)  # noqa: S102
    (query,) = examples("sql")
    assert len(duckdb.sql(query).fetchall()) == 4
    if util.find_spec("pandas") and util.find_spec("pyarrow"):
        exec(pandas)  # noqa: S102
    rscript = shutil.which("Rscript")
    if rscript is not None:
        arrow = subprocess.run([rscript, "-e", "library(arrow)"], check=False, capture_output=True)
        if arrow.returncode == 0:
            (r,) = examples("r")
            done = subprocess.run(
                [rscript, "-e", r], check=False, capture_output=True, text=True
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert "timely" in done.stdout


def test_columns_have_units_and_meanings(whole: incast.Sweep) -> None:
    place = f"{whole.directory}/runs.parquet"
    about = json.loads(pl.read_parquet_metadata(place)["incast"])
    assert [*about["columns"]] == whole.runs.columns
    assert about["columns"]["cc.timely.t_high_us"] == {
        "unit": "us", "doc": "cc.timely.t_high as a number",
    }  # fmt: skip
    assert all(re.fullmatch(r"[^.]*[^.\s][^.]*.*", one["doc"]) for one in about["columns"].values())
