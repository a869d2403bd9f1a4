"""Variants of one algorithm in one run: brackets, labels, and what tells results apart."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import incast
from conftest import SET, Command
from incast.results import settings
from synthetic import made_up

LOW, HIGH = "timely[t_high=200us]", "timely[t_high=1ms,beta=0.5]"


@pytest.fixture(scope="module")
def variants(short: incast.Scenario) -> incast.Result:
    return incast.run(short, [LOW, " timely[ t_high = 1ms , beta=0.5 ]", "timely"])


@pytest.fixture(scope="module")
def labelled(short: incast.Scenario) -> incast.Result:
    return incast.run(short, {"100 us": LOW, "1 ms": HIGH})


def test_brackets_are_settings_of_one_scheme(
    short: incast.Scenario, variants: incast.Result
) -> None:
    assert variants.schemes == (LOW, HIGH, "timely")
    assert list(variants.runs) == [LOW, HIGH, "timely"]
    set_high = short.with_set("cc.timely.t_high=1ms", "cc.timely.beta=0.5")
    expected = incast.run(set_high, "timely")
    ours = variants.table("flows").filter(scheme=HIGH).drop("scheme")
    assert ours.equals(expected.table("flows").drop("scheme"))
    plain = variants.table("flows").filter(scheme="timely").drop("scheme")
    assert not ours.equals(plain)
    assert variants.title.endswith(f": {LOW}, {HIGH}, timely")


def test_labels_take_the_place_of_schemes(
    variants: incast.Result, labelled: incast.Result, tmp_path: Path
) -> None:
    assert labelled.schemes == ("100 us", "1 ms")
    assert labelled.runs["1 ms"].scheme == HIGH
    assert labelled.table("flows")["scheme"].unique(maintain_order=True).to_list() == [
        "100 us", "1 ms",
    ]  # fmt: skip
    for label, scheme in (("100 us", LOW), ("1 ms", HIGH)):
        ours = labelled.table("flows").filter(scheme=label).drop("scheme")
        assert ours.equals(variants.table("flows").filter(scheme=scheme).drop("scheme"))
    assert labelled.title.endswith(": 100 us, 1 ms")
    assert [case.label for case in incast.Results((labelled,)).cases] == ["100 us", "1 ms"]
    # What was published for TIMELY stands beside each of its variants.
    assert labelled.rows()[0]["published"] == variants.rows()[2]["published"] != {}
    assert labelled.ratios == []
    # Warnings are those of the schemes.
    assert not any("100 us" in text for text in labelled.warnings)
    read = incast.Result.read(labelled.write(tmp_path / "out", figures=False).directory)
    assert read == labelled
    assert read.named == {"100 us": LOW, "1 ms": HIGH}
    assert read.rows() == labelled.rows()
    assert read.runs["1 ms"].scheme == HIGH
    assert json.loads((tmp_path / "out/run.json").read_text())["named"] == read.named


def test_other_labels_are_another_result(short: incast.Scenario, tmp_path: Path) -> None:
    one = incast.run(short, {"a": "timely"})
    one.write(tmp_path / "out", figures=False)
    with pytest.warns(incast.OutputWarning, match="the result of a "):
        incast.run(short, {"a": LOW}).write(tmp_path / "out", figures=False)
    assert one != incast.run(short, "timely")


@pytest.mark.parametrize("jobs", [1, 2])
def test_labels_go_with_seeds_and_jobs(short: incast.Scenario, jobs: int) -> None:
    found = incast.run(short, {"low": LOW, "plain": "timely"}, seed=[1, 2], jobs=jobs)
    assert [case.label for case in found.cases] == ["low", "plain"]
    assert [len(case.results) for case in found.cases] == [2, 2]
    assert found.summary["scheme"].to_list() == ["low", "plain"] * 2


@pytest.mark.parametrize(
    ("cc", "why"),
    [
        ({"a": "timely", " a ": "dctcp"}, "^a: the label of two schemes; expected one for each"),
        ({"a": "timely", "b": " timely"}, "^timely: named twice; a scheme is run once"),
        ({"": "timely"}, "'': expected a label of one line"),
        ({"a\nb": "timely"}, r"'a\\nb': expected a label of one line"),
        ({1: "timely"}, "1: expected a label of one line"),
        ({"a": {"t_high": "1ms"}}, "expected a scheme such as timely or timely"),
        ({}, "names no scheme to run"),
        ([LOW, "timely[ t_high=200us ]"], r"^timely\[t_high=200us\]: named twice"),
        ("timely[t_hgh=1ms]", 'unknown parameter "t_hgh" of timely; did you mean "t_high"'),
        ("timely[t_high=1ms", r'"\[" without "\]"; expected such as timely\[t_high'),
        ("timely[t_high=fast]", 't_high = "fast"'),
        ("timely[signal=rtt]", "signal is no parameter of timely"),
    ],
)
def test_bad_variants_get_one_sentence(short: incast.Scenario, cc: object, why: str) -> None:
    with pytest.raises(incast.ParameterError, match=why) as error:
        incast.run(short, cc)  # type: ignore[call-overload]
    assert "\n" not in str(error.value)


def test_the_command_takes_variants(command: Command) -> None:
    arguments = ("run", "incast", *SET, "--cc", LOW, "--cc", "timely", "--baseline", f" {LOW}")
    done = command(*arguments, "--out", "out")
    assert done.code == 0, done.err
    assert LOW in done.out
    shown = command("show", "out")
    assert LOW in shown.out
    drawn = command(
        "plot", "out", "--figure", "rtt-cdf", "--cc", f"{LOW}=low", "--cc", "timely", "--out", "f"
    )
    assert drawn.code == 0, drawn.err
    assert LOW in command("show", "out", "--json").out
    assert "timely[t_high" in command("run", "--help").out
    error = command("run", "incast", *SET, "--cc", "timely[t_high=1ms").error
    assert 'timely[t_high=1ms: "[" without "]"' in error


def results(short: incast.Scenario, *changes: Mapping[str, object]) -> incast.Results:
    return incast.Results(
        tuple(made_up(short.with_set(dict(one)), "timely", "dctcp") for one in changes)
    )


def test_results_that_differ_in_settings_are_called_by_them(short: incast.Scenario) -> None:
    found = results(short, {}, {"cc.timely.beta": 0.7}, {"cc.timely.beta": 0.75})
    assert [case.label for case in found.cases][::2] == [
        "timely, beta default", "timely, beta=0.7", "timely, beta=0.75",
    ]  # fmt: skip
    both = results(
        short,
        {"cc.timely.beta": 0.5, "run.seed": 3},
        {"cc.timely.beta": 0.6, "measure.series": False},
    )
    assert [case.label for case in both.cases][::2] == [
        "timely, beta=0.5, seed=3, series default", "timely, beta=0.6, seed default, series=false",
    ]  # fmt: skip
    other = incast.Scenario.parse(short.toml(), "other.toml")
    three = incast.Results(
        (
            *results(short, {}, {"run.seed": 2}).members,
            made_up(other.with_set("run.seed=7"), "swift"),
        )
    )
    assert three.cases[-1].label == "swift, other, seed=7"
    shown = pl.Series(three.summary["result"]).unique(maintain_order=True).to_list()
    assert shown == ["incast, seed default", "incast, seed=2", "other, seed=7"]


def test_settings_that_differ_too_much_are_no_names() -> None:
    one = "a = 1\nb = 1\nc = 1\nd = 1\n"
    assert settings.differences([one, one.replace("1", "2")]) == ["", ""]
    assert settings.differences([one, one]) == ["", ""]
    assert settings.differences([one, "= no TOML"]) == ["", ""]
    assert settings.differences(["title = 'x'\na = 1", "title = 'y'\na = 2"]) == ["a=1", "a=2"]
    # As many words as tell keys apart.
    pair = ["[x]\nk = 1\n[y]\nk = true", "[x]\nk = 2\n[y]\nk = false"]
    assert settings.differences(pair) == ["x.k=1, y.k=true", "x.k=2, y.k=false"]
    assert settings.differences(["l = [1, 2]", "l = [1, 3]"]) == ["l.1=2", "l.1=3"]
    # "enabled" alone would not say of what.
    pfc = "[switch.pfc]\nenabled = true"
    assert settings.differences([pfc, pfc.replace("true", "false")]) == [
        "pfc.enabled=true", "pfc.enabled=false",
    ]  # fmt: skip
