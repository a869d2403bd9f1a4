"""Commands over several seeds, and those that read results back."""

import json
import re
from pathlib import Path

import pytest

import incast
from conftest import RUN, Command
from incast.figures import gallery

SEEDS = ("--seed", "1", "--seed", "2", "--seed", "5")


@pytest.fixture(scope="module")
def written(result: incast.Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(result.write(tmp_path_factory.mktemp("results") / "incast", figures=False).directory)


def test_several_seeds_are_several_results(command: Command) -> None:
    done = command(*RUN, *SEEDS, "--out", "out")
    assert done.code == 0, done.err
    assert sorted(path.name for path in Path("out").iterdir()) == ["seed-1", "seed-2", "seed-5"]
    for seed in (1, 2, 5):
        assert incast.Result.read(f"out/seed-{seed}").seed == seed
        assert f"Wrote out/seed-{seed}/" in done.out
    assert re.search(r"\ntimely +3 +\d+\.\d\d +.*\n +± \d+\.\d\d ", done.out)
    assert max(len(line) for line in done.out.splitlines()) <= 100
    shown = command("show", "out/seed-1", "out/seed-2", "out/seed-5").out
    assert shown
    assert done.out.startswith(shown)


def test_several_seeds_as_json(command: Command) -> None:
    read = json.loads(command(*RUN, *SEEDS, "--cc", "timely", "--json").out)
    assert [item["seed"] for item in read["results"]] == [1, 2, 5]
    (row,) = read["spread"]
    each = [item["runs"][0]["measured"]["rtt_mean_us"] for item in read["results"]]
    assert row["values"]["rtt_mean_us"]["mean"] == pytest.approx(sum(each) / 3)
    assert row["values"]["rtt_mean_us"]["runs"] == 3
    assert row["values"]["drops"] == {"mean": 0, "low": 0, "high": 0, "runs": 3}
    assert "written" in read["results"][0]


def test_one_seed_keeps_its_place(command: Command) -> None:
    command(*RUN, "--seed", "3", "--cc", "timely", "--out", "out")
    assert incast.Result.read("out").seed == 3


def test_a_seed_is_not_run_twice(command: Command) -> None:
    done = command(*RUN, "--seed", "1", "--seed", "1")
    assert "seed 1: named twice" in done.error
    assert not Path("results").exists()


def test_show_prints_the_table_of_the_run(command: Command) -> None:
    ran = command(*RUN, "--out", "out").out
    shown = command("show", "out").out
    assert shown
    assert ran.startswith(shown)


def test_show_as_json_is_that_of_the_run(command: Command, written: str) -> None:
    run = json.loads((Path(written) / "run.json").read_text())
    shown = json.loads(command("show", written, "--json").out)
    assert shown == {key: run[key] for key in shown}


def test_plot_draws_everything_there_is(command: Command, written: str) -> None:
    done = command("plot", written)
    assert done.code == 0, done.err
    drawn = {path.name for path in Path("figures").iterdir()}
    assert {"rtt-cdf.png", "rtt-ccdf.png", "queue.png", "rates.png", "bars.png"} <= drawn
    assert sorted(done.out.split()[1::2]) == sorted(f"figures/{name}" for name in drawn)


@pytest.mark.parametrize(
    ("form", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_plot_writes_the_kind_of_file(
    command: Command, written: str, form: str, start: bytes
) -> None:
    for place in ("first", "second"):
        chosen = ("--figure", "rtt-ccdf", "--format", form, "--out", place)
        assert command("plot", written, *chosen).code == 0
    (file,) = Path("first").iterdir()
    assert file.name == f"rtt-ccdf.{form}"
    assert file.read_bytes().startswith(start)
    assert file.read_bytes() == (Path("second") / file.name).read_bytes()


def test_plot_lists_the_figures(command: Command, written: str) -> None:
    out = command("plot", "--list").out
    for name in gallery.DRAWINGS:
        assert f"\n{name} " in out
    with_result = command("plot", "--list", written).out
    assert re.search(r"\nrtt-cdf .* yes +\n", with_result)
    assert re.search(r"\nrequest-cdf .* no: the table", with_result)
    assert not Path("figures").exists()


def test_plot_lists_the_figures_as_json(command: Command, written: str) -> None:
    items = json.loads(command("plot", "--list", "--json").out)
    assert [one["name"] for one in items] == list(gallery.DRAWINGS)
    assert all(set(one) == {"name", "shows"} for one in items)
    items = json.loads(command("plot", "--list", written, "--json").out)
    of = {one["name"]: one for one in items}
    assert of["rtt-cdf"]["drawn"] is True
    assert of["rtt-cdf"]["why_not"] is None
    assert of["request-cdf"]["drawn"] is False
    assert "the table" in of["request-cdf"]["why_not"]


def test_plot_says_as_json_what_it_wrote(command: Command, written: str) -> None:
    done = command("plot", written, "--figure", "queue", "--json")
    assert json.loads(done.out) == {"written": ["figures/queue.png"], "left_out": {}}
    assert Path("figures/queue.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plot",), "expected the directory of a result"),
        (("plot", "nowhere"), "nowhere: no such directory"),
        (("plot", "RESULT", "--figure", "request-cdf"), "there is rtt-cdf, rtt-ccdf"),
        (("plot", "RESULT", "--figure", "rtt-cfd"), "did you mean rtt-cdf"),
        (("plot", "RESULT", "--format", "gif"), "expected png, svg, pdf"),
        (("plot", "RESULT", "--only", "p9"), "--only p9: expected p99 or median"),
        (("plot", "RESULT", "--only", "p99", "--figure", "queue"), "slowdown-by-size or fct-by"),
        (("plot", "RESULT", "--out", "RESULT"), "choose another directory"),
        (("plot", "RESULT", "RESULT"), "both hold the run of timely with seed 1"),
        (("show", "."), "holds no result of incast"),
        (("tables", "RESULT", "flow"), "flow: no such table; there is summary, flows"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    command: Command, written: str, arguments: tuple[str, ...], said: str
) -> None:
    before = sorted(Path(written).iterdir())
    done = command(*(written if word == "RESULT" else word for word in arguments))
    assert said in done.error
    assert not Path("figures").exists()
    assert sorted(Path(written).iterdir()) == before


def test_tables_explains_every_column(command: Command, written: str) -> None:
    out = command("tables", written).out
    for name, table in incast.Result.read(written).describe_tables().items():
        assert f"{name}: {table['doc']}" in " ".join(out.split())
        for column, about in table["columns"].items():
            assert re.search(rf"\n{column} +{re.escape(about['unit'])}", out), column
            assert about["doc"].split()[0] in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_tables_of_one_name(command: Command, written: str) -> None:
    read = json.loads(command("tables", written, "links", "--json").out)
    assert list(read) == ["links"]
    assert read["links"]["columns"]["rate_gbps"] == {"unit": "Gb/s", "doc": "its first rate"}
    read = json.loads(command("tables", written, "summary", "--json").out)
    assert read["summary"]["columns"]["rtt_p99_us"]["unit"] == "us"
