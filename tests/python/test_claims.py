"""Who makes a claim: the source, we, or nobody; and why one falls short."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Finished
from incast.reproduce import driver, page
from incast.reproduce.claims import WORLDS, Verdict, View, judge
from incast.reproduce.spec import Claim, known, load
from incast.reproduce.words import totals
from incast.terminal.numbers import measured

VERDICTS = Path(__file__).parent.parent / "golden" / "verdicts.txt"
FOLDERS = sorted({name.partition("/")[0] for name in known()})

EXPERIMENT = """
title = "An incast of five milliseconds, with one connection and with four"
place = "nowhere"
about = "What the tests run."
scenario = "incast"
set = ["run.duration=5ms", "run.warmup=1ms"]
seeds = 2
columns = ["throughput_gbps"]

[[case]]
name = "one"
scheme = "timely"
set = ["traffic.0.connections=1"]

[[case]]
name = "four"
label = "four connections"
scheme = "timely"
earlier = true

[curve.rtt]
sql = "SELECT high_us AS x, count AS y FROM rtt_histogram"

[[claim]]
says = "The port is used"
source = "Section 5: the port is full"
value = "one.throughput_gbps"
at_least = 1

[[claim]]
says = "The port has a terabit"
source = "Figure 1"
value = "one.throughput_gbps"
at_least = 1000
differs = "The port has 20 Gb/s (case one)"

[[claim]]
says = "There is an RTT"
ours = "without one there is nothing to see"
value = "one.rtt_mean_us"
at_least = 0
differs = "unseen, for it holds"

[[claim]]
says = "RTT of one connection over that of four"
open = "Does the number of connections matter?"
value = "one.rtt_mean_us / four.rtt_mean_us"

[[figure]]
name = "bars"
kind = "bars"
columns = ["throughput_gbps"]

[[figure]]
name = "rtt"
kind = "cdf"
curve = "rtt"
"""


def test_sources_ours_and_open_questions_are_told_apart(file: Path, tmp_path: Path) -> None:
    (found,) = driver.reproduce([load(file)], tmp_path / "out", jobs=1)
    words = [verdict.word for verdict in found.verdicts]
    assert words == ["holds", "falls short", "holds", "open question"]
    assert totals(found.verdicts).split("; ") == [
        "2 claims of the sources: 1 holds, 1 falls short", "1 claim of ours: 1 holds",
        "1 open question",
    ]  # fmt: skip
    said = json.loads((tmp_path / "out" / found.experiment.name / "result.json").read_text())
    claims = said["claims"]
    assert [claim["source"] for claim in claims] == [
        "Section 5: the port is full", "Figure 1", None, None,
    ]  # fmt: skip
    assert claims[2]["ours"] == "without one there is nothing to see"
    assert claims[3]["open"] == "Does the number of connections matter?"
    assert claims[3]["measured"] > 0
    # A cause is that of a shortfall: one that holds has none.
    assert [claim["differs"] for claim in claims] == [
        None, "The port has 20 Gb/s (case one)", None, None,
    ]  # fmt: skip
    assert said["earlier"] == ["four"]


def test_the_report_shows_source_cause_and_earlier_set_ups(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (found,) = driver.reproduce([load(file)], out, jobs=1)
    page, summary = (out / "index.html").read_text(), (out / "summary.md").read_text()
    for text in (page, summary):
        for wanted in (
            "Section 5: the port is full", "ours: without one there is nothing to see",
            "Does the number of connections matter?", "The port has 20 Gb/s (case one)",
            "1 claim of ours: 1 holds; 1 open question",
        ):  # fmt: skip
            assert wanted in text, wanted
        assert "unseen" not in text
    assert "kept for comparison" in page
    assert page.count("four connections (earlier)") >= 2  # in the table and among the parameters
    bars = (out / found.experiment.name / "bars.csv").read_text()
    assert "four connections (earlier)" in bars


def test_the_command_says_who_claims_and_why(file: Path, command: Callable[..., Finished]) -> None:
    done = command("reproduce", str(file), "--jobs", "1", "--out", "here")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    for wanted in (
        "Section 5: the port is full", "ours: without one", "why: The port has 20 Gb/s",
        "open question RTT of one connection over that of four; measured",
        "four connections (earlier)", "kept for comparison",
        "Experiments: 1; 2 claims of the sources: 1 holds, 1 falls short; 1 claim of ours",
    ):  # fmt: skip
        assert wanted in text, wanted


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('source = "Figure 1"', "", "does not say who makes it; name the place in the source"),
        ('source = "Figure 1"', 'source = "Figure 1"\nours = "x"', "has source and ours; keep"),
        ('open = "Does', 'ours = "x"\nopen = "Does', "has ours and open; keep"),
        (
            'value = "one.rtt_mean_us / four.rtt_mean_us"',
            'value = "one.rtt_mean_us / four.rtt_mean_us"\nat_most = 1',
            "open asks, and has no at_most, at_least or published; drop them",
        ),
        (
            'value = "one.rtt_mean_us / four.rtt_mean_us"',
            'not_comparable = "x"',
            "open shows what was measured; expected value alone",
        ),
        ('ours = "without', 'published = 1\nours = "without', "is ours and published; drop"),
    ],
)
def test_a_claim_of_nobody_or_of_two_is_refused(
    file: Path, old: str, new: str, said: str, command: Callable[..., Finished]
) -> None:
    assert EXPERIMENT.count(old) == 1
    file.write_text(EXPERIMENT.replace(old, new))
    error = command("reproduce", str(file)).error
    assert said in error
    assert "mine.toml: claim " in error


def test_every_source_has_its_title_in_the_report() -> None:
    assert set(FOLDERS) <= set(page.SOURCES)


def test_what_is_endless_is_no_point_of_a_curve(file: Path, tmp_path: Path) -> None:
    endless = (
        "SELECT CASE WHEN high_us > 21 THEN CAST('inf' AS DOUBLE) ELSE high_us END AS x, count AS y"
    )
    assert EXPERIMENT.count("SELECT high_us AS x, count AS y") == 1
    file.write_text(EXPERIMENT.replace("SELECT high_us AS x, count AS y", endless))
    (found,) = driver.reproduce([load(file)], tmp_path / "out", quick=True, jobs=1)
    rows = found.curve("rtt", "one", None)
    assert len(rows) > 0
    assert rows.filter(pl.col("x") > 21).is_empty()


def test_an_open_question_without_a_value_is_open_all_the_same() -> None:
    verdict = judge(Claim("x", open="why?", value="a.y"), [[{"a": View("a", {"x": 1.0})}] * 3])
    assert (verdict.word, verdict.why) == ("open question", "a has no y")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_claim_that_falls_short_names_the_cause(folder: str) -> None:
    """The claims that fall short in the table of verdicts, or hold with one seed only."""
    without = []
    for line in VERDICTS.read_text(encoding="utf-8").splitlines():
        name, _, verdicts = line.partition(" ")
        if not name.startswith(f"{folder}/"):
            continue
        claims = load(name).claim
        for part in verdicts.strip().split("; "):
            for word in ("falls short ", "one seed only "):
                if part.startswith(word):
                    numbers = map(int, part.removeprefix(word).split())
                    without += [
                        f"{name} {number}: {claims[number - 1].says}"
                        for number in numbers
                        if not claims[number - 1].differs
                    ]
    assert without == []


def judged(
    values: list[list[float | None]], *, expression: str = "least(a.y)", **bounds: float
) -> Verdict:
    """The verdict on an expression of a case whose column y has these values, by seed."""
    claim = Claim("x", value=expression, source="Figure 1", **bounds)

    def view(seed: list[float | None], world: float) -> dict[str, View]:
        return {"a": View("a", {"y": np.array([world if v is None else v for v in seed])})}

    return judge(claim, [[view(seed, world) for world in WORLDS] for seed in values])


def test_an_endless_seed_is_the_worst_and_not_left_out() -> None:
    verdict = judged([[0.1], [0.1], [math.inf]], at_most=0.5)
    assert (verdict.word, verdict.held) == ("falls short", 2)
    assert verdict.text == "falls short, by seed 3, which has no finite value (2 of 3 seeds)"
    assert verdict.measured is not None
    assert measured(verdict.measured) == "endless"
    # What is no number, an endless one over another, is no better.
    over = judged([[1.0], [math.inf]], expression="most(a.y) / least(a.y)", at_most=2)
    assert over.text == "falls short, by seed 2, which has no finite value (1 of 2 seeds)"
    # Endless is good where much is asked for, and hides no seed that has too little.
    assert judged([[9.0], [math.inf]], at_least=2).word == "holds"
    short = judged([[1.0], [math.inf]], at_least=2)
    assert short.text == "falls short, by a factor of 2, by seed 1 (1 of 2 seeds)"


@pytest.mark.parametrize(
    ("expression", "bounds"),
    [
        ("mean(a.y)", {"at_most": 5}), ("most(a.y)", {"at_most": 5}),
        ("least(a.y)", {"at_least": 0.5}), ("mean(a.y)", {"at_least": 0.5}),
        ("last(a.y)", {"at_most": 5}), ("1 / last(a.y)", {"at_most": 5}),
        ("first(a.y) / last(a.y)", {"at_least": 0.1}),
        ("most(a.y) - least(a.y)", {"at_most": 5}),
        ("log(last(a.y))", {"at_least": 0, "at_most": 5}),
    ],
)  # fmt: skip
def test_a_value_that_a_run_lacks_is_the_worst_in_every_function(
    expression: str, bounds: dict[str, float]
) -> None:
    assert judged([[1.0, 2.0]], expression=expression, **bounds).word == "holds"
    assert judged([[1.0, None]], expression=expression, **bounds).word == "falls short"


def test_a_place_where_a_case_is_not_run_is_no_value() -> None:
    assert judged([[1.0, math.nan, 2.0]], expression="mean(a.y)", at_most=1.5).word == "holds"


ENDLESS = """
[measure.wait]
sql = "SELECT CASE WHEN COUNT(*) > 0 THEN CAST('inf' AS DOUBLE) ELSE 1.0 END FROM rtt_histogram"
label = "wait"

[[claim]]
says = "Nobody waits"
source = "Figure 2"
value = "one.wait"
at_most = 1
"""


def test_what_is_endless_in_a_run_is_kept_and_told(file: Path, tmp_path: Path) -> None:
    columns = 'columns = ["throughput_gbps", "wait"]'
    file.write_text(EXPERIMENT.replace('columns = ["throughput_gbps"]', columns) + ENDLESS)
    out = tmp_path / "out"
    for _ in range(2):  # from the runs, and from what was kept of them
        (found,) = driver.reproduce([load(file)], out, jobs=1)
        assert found.verdicts[-1].text.startswith("falls short, by seed 1, which has no finite")
    said = json.loads((out / found.experiment.name / "result.json").read_text())
    assert said["rows"][0]["wait"] == "endless"
    assert "endless" in (out / "index.html").read_text()
