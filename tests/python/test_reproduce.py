"""Experiments: reading their files, judging, keeping runs, and what bad input gets."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Command
from incast.reproduce import driver, figures
from incast.reproduce.claims import judge
from incast.reproduce.experiment import Claim, SpecError
from incast.reproduce.expressions import View
from incast.reproduce.outcome import Outcome
from incast.reproduce.sources import source
from incast.reproduce.spec import known, load

EXPERIMENT = """
title = "Two schemes in five milliseconds"
place = "nowhere"
about = "What the tests run."
assumed = ["everything"]
differs = "It has nothing to differ from."
scenario = "incast"
set = ["run.duration=5ms", "run.warmup=1ms", "traffic.0.connections=1"]
seeds = 2
columns = ["throughput_gbps", "flows_with_rtt"]

[quick]
seeds = 1

[[case]]
name = "timely"
label = "TIMELY"
scheme = "timely"

[[case]]
name = "pfc"
scheme = "line-rate"
axis = false

[axis]
name = "delay"
label = "delay of the clients' links (us)"
values = [2, 5]
set = ["network.star.hosts.0.delay={}us"]

[measure.flows_with_rtt]
sql = "SELECT count(*) FROM flows WHERE rtt_samples > 0"

[curve.rtt]
sql = "SELECT high_us AS x, count AS y FROM rtt_histogram"

[curve.queue]
sql = "SELECT time_us AS x, queue_mean_kb AS y FROM series_queues WHERE port LIKE '%server%'"

[[published]]
case = "timely"
column = "throughput_gbps"
at = 5
value = 19.4

[[claim]]
says = "All flows have RTTs"
source = "nowhere"
value = "least(timely.flows_with_rtt, pfc.flows_with_rtt)"
at_least = 10
at_most = 10

[[claim]]
says = "Further away, longer RTTs"
source = "nowhere"
value = "at(delay, 5, timely.rtt_mean_us) - at(delay, 2, timely.rtt_mean_us)"
at_least = 0

[[claim]]
says = "PFC carries ten times as much"
source = "nowhere"
value = "pfc.throughput_gbps / first(timely.throughput_gbps)"
at_least = 10

[[claim]]
says = "It is warm"
source = "nowhere"
not_comparable = "a simulation has no temperature"

[[figure]]
name = "bars"
kind = "bars"
columns = ["throughput_gbps"]

[[figure]]
name = "lines"
kind = "lines"
columns = ["rtt_mean_us"]

[[figure]]
name = "rtt"
kind = "cdf"
curve = "rtt"

[[figure]]
name = "queue"
kind = "curves"
curve = "queue"
at = [5]
"""


# Figures take longer than the runs.
UNDRAWN = "figure = []\n" + EXPERIMENT.partition("[[figure]]")[0]


def _outcome(file: Path, out: Path, *, quick: bool = False) -> Outcome:
    (found,) = driver.reproduce([load(file)], out, quick=quick, jobs=1)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """The outcome of the experiment, and the directory that it is written to."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "mine.toml").write_text(EXPERIMENT)
    return _outcome(folder / "mine.toml", folder / "out"), folder / "out"


@pytest.fixture
def undrawn(file: Path) -> Path:
    """The file of the experiment without its figures."""
    file.write_text(UNDRAWN)
    return file


def test_an_experiment_gives_rows_verdicts_and_figures(whole: tuple[Outcome, Path]) -> None:
    found, out = whole
    # TIMELY at two delays, PFC once, two seeds each.
    assert found.rows.select("case", "delay", "seed").rows() == [
        ("timely", 2, 1), ("timely", 2, 2), ("timely", 5, 1), ("timely", 5, 2),
        ("pfc", None, 1), ("pfc", None, 2),
    ]  # fmt: skip
    words = [verdict.word for verdict in found.verdicts]
    assert words == ["holds", "holds", "falls short", "not comparable"]
    assert "by a factor of" in found.verdicts[2].why
    folder = out / "".join(found.experiment.name)
    for name in ("bars", "lines", "rtt", "queue"):
        assert (folder / f"{name}.svg").stat().st_size > 1000
        assert len(pl.read_csv(folder / f"{name}.csv")) > 1
    said = json.loads((folder / "result.json").read_text())
    assert [claim["verdict"] for claim in said["claims"]] == words
    assert len(said["rows"]) == 6
    page = (folder / "index.html").read_text()
    for text in ("All flows have RTTs", "falls short", "(19.4)", "a simulation has no temperature"):
        assert text in page, text
    assert "http" not in page.replace("http://www.w3.org", "")  # needs nothing from elsewhere
    assert "It is warm" in (out / "summary.md").read_text()


def test_a_level_line_has_the_band_of_its_interval(whole: tuple[Outcome, Path]) -> None:
    found, _ = whole
    (drawn,) = [one for one in figures.draw(found) if one.name == "lines"]
    (band,) = drawn.figure.axes[0].patches
    spread = found.spread("pfc", None, "rtt_mean_us")
    assert spread is not None
    assert spread.interval is not None
    box = band.get_path().get_extents(band.get_patch_transform())
    assert (box.y0, box.y1) == pytest.approx(spread.interval)


def test_curves_of_distributions_are_pooled_and_others_are_of_one_seed(
    whole: tuple[Outcome, Path],
) -> None:
    found, _ = whole
    with_curve = {
        name: {seed for (_, _, seed), done in found.runs.items() if name in done.curves}
        for name in ("rtt", "queue")
    }
    assert with_curve == {"rtt": {1, 2}, "queue": {1}}


def test_runs_are_kept_and_not_made_again(
    undrawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _outcome(undrawn, tmp_path / "out")

    def never(*_: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr("incast.reproduce.kept.execute", never)
    again = _outcome(undrawn, tmp_path / "out")
    assert again.rows.equals(first.rows)
    # Another claim needs no other runs; another measure does.
    undrawn.write_text(UNDRAWN.replace("at_least = 10\nat_most = 10", "at_least = 11"))
    assert _outcome(undrawn, tmp_path / "out").verdicts[0].word == "falls short"
    undrawn.write_text(UNDRAWN.replace("rtt_samples > 0", "rtt_samples > 1"))
    with pytest.raises(AssertionError, match="made again"):
        _outcome(undrawn, tmp_path / "out")


def test_a_damaged_kept_run_is_made_again(undrawn: Path, tmp_path: Path) -> None:
    first = _outcome(undrawn, tmp_path / "out", quick=True)
    for kept in (tmp_path / "out" / ".runs").iterdir():
        kept.write_text(kept.read_text()[:40])
    again = _outcome(undrawn, tmp_path / "out", quick=True)
    assert again.rows.drop("seconds").equals(first.rows.drop("seconds"))


def test_workers_give_what_one_process_gives(
    undrawn: Path, tmp_path: Path, whole: tuple[Outcome, Path]
) -> None:
    one, _ = whole
    (two,) = driver.reproduce([load(undrawn)], tmp_path / "two", jobs=2)
    assert (
        two.rows.sort("case", "delay", "seed")
        .drop("seconds")
        .equals(one.rows.sort("case", "delay", "seed").drop("seconds"))
    )


def _views(*values: float) -> list[list[dict[str, object]]]:
    """The names for each seed; no run lacks a value, so that they are equal in all worlds."""
    return [[{"a": View("a", {"x": value})}] for value in values]


@pytest.mark.parametrize(
    ("values", "bounds", "word", "held"),
    [
        ((1.0, 1.0), {"at_most": 2.0}, "holds", 2),
        ((3.0, 2.0), {"at_most": 2.5}, "undecided", 1),
        ((3.0, 2.9), {"at_most": 2.0}, "falls short", 0),
        ((3.0, 3.0), {"at_least": 2.0, "at_most": 4.0}, "holds", 2),
        ((5.0, 5.0), {"at_least": 2.0, "at_most": 4.0}, "falls short", 0),
        ((0.3, 0.3), {"at_most": 0.1 + 0.2}, "holds", 2),
    ],
)
def test_a_verdict_is_that_of_the_interval(
    values: tuple[float, ...], bounds: dict[str, float], word: str, held: int
) -> None:
    verdict = judge(Claim("x", "a.x", **bounds), _views(*values))  # type: ignore[arg-type]
    assert (verdict.word, verdict.held) == (word, held)


@pytest.mark.parametrize(
    ("value", "bound", "why"),
    [
        (1.5, 1.0, "by 50.0%"),
        (30.0, 1.0, "by a factor of 30"),
        (0.5, 0.0, "by 0.5"),
        (-1.5, -2.0, "by 25.0%"),
    ],
)
def test_how_far_a_claim_falls_short(value: float, bound: float, why: str) -> None:
    assert judge(Claim("x", "a.x", at_most=bound), _views(value), chance=False).why == why


def test_a_value_that_no_run_has_cannot_be_judged() -> None:
    verdict = judge(Claim("x", "a.y / a.x", at_most=1), _views(1.0))
    assert (verdict.word, verdict.why) == ("not comparable", "a has no y")
    nothing = judge(Claim("x", "a.x / 0", at_most=1), _views(1.0), chance=False)
    assert nothing.word == "falls short"


AXIS = np.array([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("trend(axis, a.up)", 1.0),
        ("trend(axis, -a.up)", -1.0),
        ("trend(axis, a.flat)", 0.0),
        ("where_most(axis, a.hill)", 3.0),
        ("where_least(axis, a.hill)", 1.0),
        ("last_where(axis, a.up <= 20)", 2.0),
        ("last_where(axis, a.up <= 5)", 0.0),
        ("last_where(axis, a.hill >= 2)", 0.0),  # not at the first
        ("at(axis, 3, a.up)", 30.0),
        ("first(a.up) + last(a.up)", 50.0),
        ("least(a.up, a.flat)", 7.0),
        ("most(a.up, a.flat)", 40.0),
        ("mean(a.up)", 25.0),
        ("most(a.up * a.flat) ** 2", 78_400.0),
    ],
)
def test_functions_of_expressions(expression: str, value: float) -> None:
    columns = {
        "up": np.array([10.0, 20.0, 30.0, 40.0]),
        "hill": np.array([1.0, 2.0, 9.0, 3.0]),
        "flat": np.array([7.0, 7.0, 7.0, 7.0]),
    }
    names = [[{"a": View("a", columns), "axis": AXIS}]]
    verdict = judge(Claim("x", expression, at_least=value, at_most=value), names, chance=False)  # type: ignore[arg-type]
    assert verdict.word == "holds", verdict


def test_every_experiment_that_ships_is_one() -> None:
    names = known()
    assert len(names) >= 1
    for name in names:
        found = load(name)
        assert found.name == name
        assert found.claim, f"{name}: claims nothing"
        assert found.figure, f"{name}: draws nothing"
        assert found.shows, f"{name}: shows no figure or table of its source"
        assert len(set(found.shows)) == len(found.shows), f"{name}: shows one twice"
        run = {*found.shows} & {*source(found.source).not_run}
        assert not run, f"{name}: runs {run}, which sources.py says is not run"


def test_a_byte_order_mark_is_no_part_of_an_experiment(file: Path) -> None:
    plain = load(file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load(file) == plain


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "bars"', 'kind = "bras"', "Invalid enum value 'bras'"),
        ("about =", "abuot =", "unknown field `abuot`"),
        ('[[published]]\ncase = "timely"', '[[published]]\ncase = "timly"', "mean timely?"),
        ("first(timely.throughput_gbps)", "first(timely.throughput)", "throughput_gbps"),
        ("pfc.throughput_gbps /", "pcf.throughput_gbps /", 'there is no "pcf"; did you mean pfc?'),
        ("seeds = 2", "seeds = 0", ">= 1"),
        ('curve = "rtt"', 'curve = "rt"', "did you mean rtt?"),
        ('name = "delay"', 'name = "timely"', "have the same name"),
        ("at_least = 10\nat_most = 10", "", "expected value, and at_most, at_least or a pub"),
        ("least(timely", "least((timely", "was never closed"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_before_anything_runs(
    file: Path, old: str, new: str, said: str, command: Command
) -> None:
    assert old in EXPERIMENT
    file.write_text(EXPERIMENT.replace(old, new))
    error = command("reproduce", str(file)).error
    assert said in error
    assert "mine.toml" in error
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('scheme = "line-rate"', 'scheme = "line-rat"', 'did you mean "line-rate"?'),
        ('"run.warmup=1ms"', '"run.warmpu=1ms"', "warmup"),
        ('scenario = "incast"', 'scenario = "incst"', "did you mean incast"),
        ("FROM flows", "FROM flwos", "its tables"),
        ("high_us AS x", "high_us AS z", "expected columns x and y"),
        ("least(timely.flows", "lest(timely.flows", "lest"),
    ],
)
def test_what_cannot_be_run_says_where(
    file: Path, old: str, new: str, said: str, command: Command
) -> None:
    file.write_text(EXPERIMENT.replace(old, new))
    assert said in command("reproduce", str(file), "--jobs", "1").error


def test_a_measure_reads_the_summary_beside_the_tables(file: Path, command: Command) -> None:
    """The throughput twice: of the summary, and of the table."""
    sql = "SELECT throughput_gbps - (SELECT SUM(goodput_gbps) FROM flows) + 10 FROM summary"
    asked = "SELECT count(*) FROM flows WHERE rtt_samples > 0"
    file.write_text(UNDRAWN.replace(asked, sql))
    finished = command("reproduce", str(file), "--jobs", "1", "--json")
    (verdict,) = [
        claim for claim in json.loads(finished.out)[0]["claims"]
        if claim["says"] == "All flows have RTTs"
    ]  # fmt: skip
    assert verdict["verdict"] == "holds"


def test_names_on_the_command_line(command: Command) -> None:
    assert "did you mean timely/table-1" in command("reproduce", "timely/table1").error
    assert "--all" in command("reproduce").error
    assert "named twice" in command("reproduce", "timely/table-1", "timely").error
    listed = command("reproduce", "--list")
    assert listed.code == 0
    assert "timely/table-1" in listed.out
    items = json.loads(command("reproduce", "--list", "--json").out)
    assert [one["name"] for one in items] == list(known())
    table = next(one for one in items if one["name"] == "timely/table-1")
    assert table == {
        "name": "timely/table-1", "title": load("timely/table-1").title,
        "place": load("timely/table-1").place,
        "claims": len(load("timely/table-1").claim),
    }  # fmt: skip


def test_the_command_prints_the_verdicts(file: Path, command: Command) -> None:
    file.write_text(UNDRAWN)
    done = command("reproduce", str(file), "--quick", "--jobs", "1", "--out", "here")
    assert done.code == 0, done.err
    for text in (
        "undecided",
        "keeps the bounds",
        "misses",
        "asked ≥ 10",
        "Wrote here/index.html",
        "why it differs",
    ):
        assert text in done.out, text
    assert Path("here/index.html").is_file()
    again = command("reproduce", str(file), "--quick", "--out", "here", "--json")
    (said,) = json.loads(again.out)
    assert said["quick"] is True


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    undrawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, room = Path.write_text, [3]

    def write_text(self: Path, *args: str, **kwargs: str) -> int:
        if ".runs" in self.parts:
            room[0] -= 1
            if room[0] < 0:
                raise OSError(28, "No space left on device")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(Exception, match=r"cannot be written: No space left on device"):
        _outcome(undrawn, tmp_path / "out")
    kept = list((tmp_path / "out" / ".runs").iterdir())
    assert len(kept) == 3
    assert not [path for path in kept if path.suffix != ".json"]
    room[0] = 100
    assert len(_outcome(undrawn, tmp_path / "out").runs) == 6


def test_ctrl_c_keeps_what_is_done_and_the_next_call_goes_on(
    file: Path, tmp_path: Path, interpreter: list[str]
) -> None:
    file.write_text(UNDRAWN.replace("run.duration=5ms", "run.duration=150ms"))
    arguments = [*interpreter, "reproduce", str(file), "--jobs", "2", "--out", "out"]
    process = subprocess.Popen(
        arguments, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    runs = tmp_path / "out" / ".runs"
    deadline = time.monotonic() + 60
    while not (runs.is_dir() and list(runs.glob("*.json"))):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "goes on from there" in err
    assert "Traceback" not in err
    kept = {path: path.stat().st_mtime_ns for path in runs.glob("*.json")}
    assert 1 <= len(kept) < 6
    subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True)
    assert len(list(runs.glob("*.json"))) == 6
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_an_unknown_name_is_an_error_of_the_package() -> None:
    with pytest.raises(SpecError, match="no such experiment"):
        load("nowhere/nothing")
