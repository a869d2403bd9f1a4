"""Who makes a claim: the source, we, or nobody; and why one falls short."""

import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Command
from incast.reproduce import driver, nearness
from incast.reproduce.claims import Verdict, judge
from incast.reproduce.experiment import PLACE, Claim
from incast.reproduce.expressions import WORLDS, View
from incast.reproduce.outcome import Outcome
from incast.reproduce.sources import SOURCES
from incast.reproduce.spec import known, load
from incast.reproduce.words import kind, percent, totals
from incast.terminal.numbers import measured, told

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
differs = "The port has {one.throughput_gbps} Gb/s (case one)"

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


# Figures take longer than the runs.
UNDRAWN = "figure = []\n" + EXPERIMENT.partition("[[figure]]")[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """The outcome of the experiment, and the directory that it is written to."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "mine.toml").write_text(EXPERIMENT)
    (found,) = driver.reproduce([load(folder / "mine.toml")], folder / "out", jobs=1)
    return found, folder / "out"


def test_sources_ours_and_open_questions_are_told_apart(whole: tuple[Outcome, Path]) -> None:
    found, out = whole
    words = [verdict.word for verdict in found.verdicts]
    assert words == ["holds", "falls short", "holds", "open question"]
    assert totals(found.verdicts).split("; ") == [
        "2 claims of the sources: 1 holds, 1 falls short", "1 claim of ours: 1 holds",
        "1 open question",
    ]  # fmt: skip
    said = json.loads((out / found.experiment.name / "result.json").read_text())
    claims = said["claims"]
    assert [claim["source"] for claim in claims] == [
        "Section 5: the port is full", "Figure 1", None, None,
    ]  # fmt: skip
    assert claims[2]["ours"] == "without one there is nothing to see"
    assert claims[3]["open"] == "Does the number of connections matter?"
    assert claims[3]["measured"] > 0
    # A cause is that of a shortfall: one that holds has none.
    port = found.spread("one", None, "throughput_gbps")
    assert port is not None
    assert [claim["differs"] for claim in claims] == [
        None, f"The port has {told(port.mean)} Gb/s (case one)", None, None,
    ]  # fmt: skip
    assert said["earlier"] == ["four"]


def test_the_report_shows_source_cause_and_earlier_set_ups(whole: tuple[Outcome, Path]) -> None:
    found, out = whole
    name = found.experiment.name
    page, summary = (out / name / "index.html").read_text(), (out / "summary.md").read_text()
    for text in (page, summary):
        for wanted in (
            "Section 5: the port is full", "ours: without one there is nothing to see",
            "Does the number of connections matter?", " Gb/s (case one)",
            "1 claim of ours: 1 holds; 1 open question",
        ):  # fmt: skip
            assert wanted in text, wanted
        assert "unseen" not in text
    assert "kept for comparison" in page
    assert page.count("four connections (earlier)") >= 2  # in the table and among the parameters
    bars = (out / name / "bars.csv").read_text()
    assert "four connections (earlier)" in bars


def test_the_command_says_who_claims_and_why(file: Path, command: Command) -> None:
    file.write_text(UNDRAWN)
    done = command("reproduce", str(file), "--jobs", "1", "--out", "here")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    for wanted in (
        "Section 5: the port is full", "ours: without one", "why: The port has ",
        " Gb/s (case one)",
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
    file: Path, old: str, new: str, said: str, command: Command
) -> None:
    assert EXPERIMENT.count(old) == 1
    file.write_text(EXPERIMENT.replace(old, new))
    error = command("reproduce", str(file)).error
    assert said in error
    assert "mine.toml: claim " in error


@pytest.mark.parametrize("folder", sorted({name.partition("/")[0] for name in known()}))
def test_every_source_has_its_page_in_the_book(folder: str) -> None:
    about = SOURCES[folder]
    assert re.fullmatch(r"[A-Z].*\.", about.claims)
    assert len(re.findall(r"\.( [A-Z]|$)", about.claims)) == 2
    assert not about.leads or f"{folder}/{about.leads}" in known()


@pytest.mark.parametrize("name", known())
def test_a_claim_can_be_read_alone(name: str) -> None:
    """A claim's sentence leans on no neighbour: it neither begins with one nor refers to one."""
    for claim in load(name).claim:
        assert not re.match(r"(And|But|It|Its|So|That|Their|These|They|This|Those)\b", claim.says)
        assert not re.search(r"\b(by both:|here, too|that without|(as well|the same)$)", claim.says)
        assert claim.says.count(" ") >= 4, claim.says


def test_what_is_endless_is_no_point_of_a_curve(file: Path, tmp_path: Path) -> None:
    endless = (
        "SELECT CASE WHEN high_us > 21 THEN CAST('inf' AS DOUBLE) ELSE high_us END AS x, count AS y"
    )
    assert UNDRAWN.count("SELECT high_us AS x, count AS y") == 1
    file.write_text(UNDRAWN.replace("SELECT high_us AS x, count AS y", endless))
    (found,) = driver.reproduce([load(file)], tmp_path / "out", quick=True, jobs=1)
    rows = found.curve("rtt", "one", None)
    assert len(rows) > 0
    assert rows.filter(pl.col("x") > 21).is_empty()


def test_an_open_question_without_a_value_is_open_all_the_same() -> None:
    verdict = judge(Claim("x", open="why?", value="a.y"), [[{"a": View("a", {"x": 1.0})}] * 3])
    assert (verdict.word, verdict.why) == ("open question", "a has no y")


def judged(
    values: list[list[float | None]],
    *,
    expression: str = "least(a.y)",
    chance: bool = False,
    **bounds: float,
) -> Verdict:
    """The verdict on an expression of a case whose column y has these values, by seed."""
    claim = Claim("x", value=expression, source="Figure 1", **bounds)

    def view(seed: list[float | None], world: float) -> dict[str, View]:
        return {"a": View("a", {"y": np.array([world if v is None else v for v in seed])})}

    names = [[view(seed, world) for world in WORLDS] for seed in values]
    return judge(claim, names, chance=chance)


def test_an_endless_seed_is_the_worst_and_not_left_out() -> None:
    verdict = judged([[0.1], [0.1], [math.inf]], at_most=0.5, chance=True)
    assert (verdict.word, verdict.held) == ("falls short", 2)
    assert verdict.text == "falls short, by seed 3, which has no finite value (2 of 3 seeds)"
    assert verdict.measured is not None
    assert measured(verdict.measured) == "endless"
    # What is no number, an endless one over another, is no better.
    over = judged([[1.0], [math.inf]], expression="most(a.y) / least(a.y)", at_most=2, chance=True)
    assert over.text == "falls short, by seed 2, which has no finite value (1 of 2 seeds)"
    # Endless is good where much is asked for, and hides no seed that has too little.
    assert judged([[9.0], [math.inf]], at_least=2).word == "holds"
    short = judged([[1.0], [math.inf]], at_least=2, chance=True)
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
    file.write_text(UNDRAWN.replace('columns = ["throughput_gbps"]', columns) + ENDLESS)
    out = tmp_path / "out"
    for _ in range(2):  # from the runs, and from what was kept of them
        (found,) = driver.reproduce([load(file)], out, jobs=1)
        assert found.verdicts[-1].text.startswith("falls short, by seed 1, which has no finite")
    said = json.loads((out / found.experiment.name / "result.json").read_text())
    assert said["rows"][0]["wait"] == "endless"
    assert "endless" in (out / found.experiment.name / "index.html").read_text()


def seeds(*values: float, **bounds: float) -> Verdict:
    """The verdict on one value a seed, where chance matters."""
    return judged([[value] for value in values], chance=True, **bounds)


def test_a_claim_holds_by_its_whole_interval() -> None:
    """1, 2, 3 have the mean 2 and the half width 4.303 / √3 = 2.484 (Student's t, 2 degrees)."""
    assert seeds(1.0, 2.0, 3.0, at_most=4.49).word == "holds"
    assert seeds(1.0, 2.0, 3.0, at_most=4.48).word == "undecided"
    assert seeds(1.0, 2.0, 3.0, at_most=2.0).word == "undecided"
    assert seeds(1.0, 2.0, 3.0, at_most=-0.48).word == "undecided"
    assert seeds(1.0, 2.0, 3.0, at_most=-0.49).word == "falls short"
    assert seeds(1.0, 2.0, 3.0, at_least=-0.49).word == "holds"
    assert seeds(1.0, 2.0, 3.0, at_least=4.49).word == "falls short"
    # With two bounds the interval must lie between them.
    assert seeds(1.0, 2.0, 3.0, at_least=-1, at_most=5).word == "holds"
    assert seeds(1.0, 2.0, 3.0, at_least=1.5, at_most=2.5).word == "undecided"
    assert seeds(1.0, 2.0, 3.0, at_least=5, at_most=6).word == "falls short"


def test_an_undecided_claim_says_how_many_seeds_would_decide() -> None:
    """The deviation of 1, 2, 3 is 1, and the bound 3 is 1 away: t(5) / √6 = 1.05, t(6) / √7 < 1."""
    verdict = seeds(1.0, 2.0, 3.0, at_most=3.0)
    assert verdict.needed == 7
    assert (
        verdict.text
        == "undecided, its interval crosses 3; some 7 seeds would decide (3 of 3 seeds)"
    )
    assert verdict.keeps
    at_its_bound = seeds(1.0, 2.0, 3.0, at_most=2.0)
    assert at_its_bound.needed is None
    assert "more than 1,000 seeds would decide" in at_its_bound.text


def test_one_seed_decides_nothing_where_chance_matters() -> None:
    kept, missed = seeds(1.0, at_most=2.0), seeds(3.0, at_most=2.0)
    assert kept.text == "undecided, one seed, which keeps the bounds"
    assert missed.text == "undecided, one seed, which misses them by 50.0%"
    assert (kept.keeps, missed.keeps) == (True, False)
    alone = judged([[1.0]], at_most=2.0)
    assert alone.text == "holds (without chance)"


@pytest.mark.parametrize(
    ("published", "value", "word", "bound"),
    [
        (2.0, 2.49, "holds", "1.6 to 2.5"),
        (2.0, 1.59, "falls short", "1.6 to 2.5"),
        (2.0, 2.51, "falls short", "1.6 to 2.5"),
        (-10.0, -12.4, "holds", "-12.5 to -8"),
    ],
)
def test_an_equality_has_two_bounds(published: float, value: float, word: str, bound: str) -> None:
    verdict = judged([[value]], published=published)
    assert (verdict.word, verdict.bound) == (word, bound)
    assert verdict.off == pytest.approx(value / published - 1)


@pytest.mark.parametrize(
    ("off", "text", "place"),
    [
        (0.1, "+10 %", 0), (-0.004, "0 %", 0), (-0.24, "-24 %", 1), (0.26, "+26 %", 2),
        (-0.5, "-50 %", 2), (1.01, "2.01 times", 3), (-0.51, "0.49 times", 3),
        (130.4, "131 times", 3),
    ],
)  # fmt: skip
def test_a_difference_is_told_and_has_its_class(off: float, text: str, place: int) -> None:
    assert percent(off) == text
    assert nearness.class_of(off) == place


SETUPS = """
[[case]]
name = "fit"
scheme = "timely"
fitted = "the number of connections, to the row of figure 1"

[[claim]]
says = "As fast as published"
source = "Figure 1: 20 Gb/s"
value = "one.throughput_gbps"
published = 20
was = "at least 5 Gb/s"
differs = "one connection has {one.throughput_gbps} Gb/s, four have {four.throughput_gbps}"

[[claim.setup]]
name = "earlier: four connections"
cases = { one = "four" }
differs = "four have {four.throughput_gbps} Gb/s"

[[claim.setup]]
name = "twice"
value = "2 * one.throughput_gbps"

[[claim]]
says = "As fast as fitted"
source = "Figure 1"
value = "fit.throughput_gbps"
published = 20
"""


def test_other_set_ups_are_listed_and_not_counted(file: Path, tmp_path: Path) -> None:
    file.write_text(UNDRAWN + SETUPS)
    out = tmp_path / "out"
    (found,) = driver.reproduce([load(file)], out, jobs=1)
    main, fit = found.verdicts[-2:]
    assert [other.setup for other in main.others] == ["earlier: four connections", "twice"]
    earlier, twice = main.others
    values = [found.spread(case, None, "throughput_gbps") for case in ("one", "four")]
    assert all(values)
    one, four = (value.mean for value in values if value)
    assert main.measured is not None
    assert earlier.measured is not None
    assert twice.measured is not None
    assert (main.measured.mean, earlier.measured.mean) == (one, four)
    assert twice.measured.mean == pytest.approx(2 * one)
    # Counted once, and apart where a value was fitted.
    assert totals(found.verdicts).startswith("3 claims of the sources without fitted values: ")
    assert "1 claim of the sources on fitted values: " in totals(found.verdicts)
    assert fit.fitted == "fit"
    assert kind(fit) == "fitted"
    (claims, fitted) = nearness.rows([found])
    assert (claims.total, fitted.total) == (1, 1)
    name = found.experiment.name
    page_text, summary = (out / name / "index.html").read_text(), (out / "summary.md").read_text()
    for text in (page_text, summary):
        for wanted in (
            "earlier: four connections", "before: at least 5 Gb/s",
            "the number of connections, to the row of figure 1",
        ):  # fmt: skip
            assert wanted in text, wanted
    assert page_text.count("data-verdict=") == len(found.verdicts)
    # A cause has the numbers of its runs.
    assert main.word != "holds"
    assert main.cause == f"one connection has {told(one)} Gb/s, four have {told(four)}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{one.throughput_gbps} Gb/s, four", "{one.thruput_gbps} Gb/s, four", 'no "thruput_gbps"'),
        ("{one.throughput_gbps} Gb/s, four", "{one.} Gb/s, four", "invalid syntax"),
        ('cases = { one = "four" }', 'cases = { one = "five" }', 'there is no "five"'),
        ('cases = { one = "four" }', "", "expected cases or a value"),
        ("published = 20\nwas", "published = 0\nwas", "published is 0, which nothing comes near"),
        ("published = 20\nwas", "was", "expected value, and at_most, at_least or a published"),
    ],
)
def test_a_set_up_or_a_cause_that_is_none_is_refused(
    file: Path, old: str, new: str, said: str, command: Command
) -> None:
    assert SETUPS.count(old) == 1
    file.write_text(EXPERIMENT + SETUPS.replace(old, new))
    assert said in command("reproduce", str(file)).error


def test_every_cause_has_numbers_of_its_runs() -> None:
    """A text without an expression would grow old; none ships."""
    without = [
        f"{name}: {claim.says}: {text}"
        for name in known()
        for claim in load(name).claim
        for text in (claim.differs, *(setup.differs for setup in claim.setup))
        if text and not PLACE.search(text)
    ]
    assert without == []
