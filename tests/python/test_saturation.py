"""The search for the load that saturates, over a core that is made up here.

A scheme of it carries all of the offered load up to its capacity, and the capacity beyond.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incast
from conftest import LOAD, Command
from incast import _core
from incast.api import saturation, scenarios
from incast.figures import canvas
from incast.results.saturation import OpenLoop, Point, Saturation
from synthetic import FakeRun, FakeTable

GBPS = 10.0
CAPACITY = {"good": 0.83, "poor": 0.05, "endless": 9.0}
TRAFFIC = '[[traffic]]\nkind = "poisson"\nname = "{}"\nload = 0.5\n'


class FakeScenario:
    """A scenario as far as the search uses it; assignments are kept below the text."""

    name, title, warmup_s, duration_s, seed = "made-up", "Made up", 0.0, 1.0, 1
    threads = "1"
    published: dict[str, Any] = {}  # noqa: RUF012
    inputs: dict[str, str] = {}  # noqa: RUF012
    cooldown_s = 0.0
    drain_s = None

    def __init__(self, text: str, schemes: tuple[str, ...] = ("good",)) -> None:
        self.text = text
        self.schemes = schemes

    def with_set(self, *assignments: str) -> "FakeScenario":
        kept = [part for part in assignments if part.startswith("traffic")]
        for assignment in kept:
            if float(assignment.split("=")[1]) > 2:
                raise incast.ParameterError(f"{assignment}: at most 2")
        return FakeScenario("\n".join([self.text, *kept]), self.schemes)

    def toml(self) -> str:
        return self.text

    def check(self, scheme: str) -> None:
        if scheme not in CAPACITY:
            raise incast.ParameterError(f"{scheme}: no such algorithm")

    def warnings(self, _scheme: str) -> list[str]:
        return []

    def load_warnings(self) -> list[str]:
        return []

    def cost(self, _scheme: str, *, traces: list[str], runs: int) -> dict[str, Any]:
        assert traces == []
        assert runs > 0
        parts = [("2 hosts", 1e6, "take fewer")]
        cost = {"memory_bytes": 1e6, "seconds": 0.1, "packet_hops": 1e6, "faster": "wait"}
        return {**cost, "parts": parts}

    def open_loops(self) -> list[tuple[int, str, str]]:
        return [(0, "rpc", "poisson")]


@pytest.fixture
def ran(made: list[str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """The runs, in order, as scheme and load."""
    assert made == []
    done: list[tuple[str, float]] = []

    def run(scenario: FakeScenario, scheme: str, *, seed: int, **_: object) -> FakeRun:
        load = float(scenario.toml().splitlines()[-1].split("=")[1])
        done.append((scheme, load))
        carried = min(load, CAPACITY[scheme])
        loads = pl.DataFrame(
            {
                "traffic": ["rpc", "other"], "offered_gbps": [load * GBPS, 1.0],
                "carried_gbps": [carried * GBPS, 0.5], "posted": 9, "completed": 8,
            }
        )  # fmt: skip
        messages = pl.DataFrame(
            {
                "traffic": ["rpc"] * 100, "posted_us": 1.0, "bytes": 5000,
                "slowdown": [1.0] * 98 + [load * 10, 99.0],
            }
        )  # fmt: skip
        tables = (FakeTable("load", loads), FakeTable("messages", messages))
        return FakeRun(scheme, seed, tables=tables)

    monkeypatch.setattr(_core, "run", run)
    return done


@pytest.fixture
def scenario() -> FakeScenario:
    return FakeScenario(TRAFFIC.format("rpc"))


def search(scenario: FakeScenario, *schemes: str, **options: object) -> Saturation:
    made_up: Any = scenario
    settings: dict[str, Any] = {"directory": "out", **options}
    return incast.saturate(made_up, schemes or None, **settings)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(canvas, "save", lambda _figure, path: path.touch())  # drawn, not written


def test_the_gap_is_halved_three_times(
    ran: list[tuple[str, float]], scenario: FakeScenario
) -> None:
    found = search(scenario)
    sweep = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    # 0.83 / 0.9 = 0.922 is below 0.95, 0.83 / 0.8 above 1: between them 0.85 (0.976, carried),
    # then 0.875 (0.949, not), then 0.8625 (0.962, carried).
    assert ran == [("good", load) for load in [*sweep, 0.85, 0.875, 0.8625]]
    assert found.saturated("good") == (0.8625, 0.875)
    assert found.complete


def test_points_are_those_of_the_tables(
    ran: list[tuple[str, float]], scenario: FakeScenario
) -> None:
    (point,) = search(scenario, loads=[0.9]).points
    assert ran == [("good", 0.9)]
    # Of 100 messages, 98 have slowdown 1: the 99th in order is that of the load.
    assert point == Point("good", 0.9, 9.0, pytest.approx(8.3), 9.0, 100, 100.0)
    assert point.ratio == pytest.approx(0.83 / 0.9)


def test_too_few_messages_are_doubted(ran: list[tuple[str, float]], scenario: FakeScenario) -> None:
    # 100 of one size: 1 / √100 is a tenth, twice what is left to a threshold of 0.95.
    found = search(scenario, loads=[0.4])
    assert "100 messages" in str(found.doubts("good"))
    assert "measure 4 times the time" in str(found.doubts("good"))
    assert search(scenario, loads=[0.4], threshold=0.89).doubts("good") is None
    # One of 9,000 B and nine of 1,000 B: 18² / (81 + 9) = 3.6.
    few = Point("good", 0.4, 1.0, 1.0, None, 10, 3.6)
    assert few.uncertainty == pytest.approx(0.527, abs=1e-3)
    assert len(ran) == 1


def test_a_scheme_below_the_lowest_load_and_one_that_never_saturates(
    ran: list[tuple[str, float]], scenario: FakeScenario
) -> None:
    found = search(scenario, "poor", "endless", loads=[0.2, 0.4])
    assert len(ran) == 4
    assert found.saturated("poor") == (None, 0.2)
    assert found.saturated("endless") == (0.4, None)


def test_a_run_that_is_there_is_not_run_again(
    ran: list[tuple[str, float]], scenario: FakeScenario
) -> None:
    first = search(scenario, loads=[0.2, 0.4])
    ran.clear()
    assert search(scenario, loads=[0.2, 0.4]).to_dict() == first.to_dict()
    assert ran == []
    search(scenario, loads=[0.2, 0.3, 0.4])
    assert ran == [("good", 0.3)]


def test_another_seed_or_traffic_is_another_run(
    ran: list[tuple[str, float]], scenario: FakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(scenario, loads=[0.2])
    search(scenario, loads=[0.2], seed=7)
    monkeypatch.setattr(
        FakeScenario, "open_loops", lambda _: [(0, "rpc", "poisson"), (1, "other", "poisson")]
    )
    search(scenario, loads=[0.2], traffic="0")
    assert len(ran) == 2
    search(scenario, loads=[0.2], traffic="1")
    assert len(ran) == 3


def test_a_run_that_fails_is_told_and_the_others_are_kept(
    ran: list[tuple[str, float]], scenario: FakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _core.run

    def posts_nothing(scenario: FakeScenario, scheme: str, **options: Any) -> FakeRun:  # noqa: ANN401
        given: Any = scenario
        found: Any = run(given, scheme, **options)
        rows = found.tables[0].rows.with_columns(offered_gbps=0.0)
        at = scenario.toml().endswith("=0.4")
        return (
            FakeRun(scheme, 1, tables=(FakeTable("load", rows), *found.tables[1:])) if at else found
        )

    monkeypatch.setattr(_core, "run", posts_nothing)
    with pytest.raises(incast.IncastError, match=r"^good, load 0\.4: nothing was offered"):
        search(scenario, loads=[0.2, 0.4])
    assert len(ran) == len(list(Path("out/runs").iterdir())) == 2
    ran.clear()
    monkeypatch.setattr(_core, "run", run)
    search(scenario, loads=[0.2, 0.4])
    assert ran == [("good", 0.4)]


def test_what_is_stopped_goes_on_from_there(
    ran: list[tuple[str, float]], scenario: FakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _core.run

    def stop_at_0_4(scenario: FakeScenario, scheme: str, *, seed: int, **_: object) -> object:
        if scenario.toml().endswith("=0.4"):
            raise KeyboardInterrupt
        given: Any = scenario
        return run(given, scheme, seed=seed)

    monkeypatch.setattr(_core, "run", stop_at_0_4)
    with pytest.raises(incast.Interrupted) as interrupted:
        search(scenario, loads=[0.2, 0.4, 0.6])
    stopped = interrupted.value.result
    assert isinstance(stopped, Saturation)
    assert not stopped.complete
    assert [point.load for point in stopped.points] == [0.2]
    assert json.loads(Path("out/saturation.json").read_text())["complete"] is False
    monkeypatch.setattr(_core, "run", run)
    ran.clear()
    assert search(scenario, loads=[0.2, 0.4, 0.6]).complete
    assert ran == [("good", 0.4), ("good", 0.6)]


def test_everything_is_kept(ran: list[tuple[str, float]], scenario: FakeScenario) -> None:
    found = search(scenario, "good", "poor", loads=[0.5, 1.0])
    assert {path.name for path in Path("out").iterdir()} == {
        "figures", "runs", "saturation.json", "saturation.parquet", "scenario.toml",
    }  # fmt: skip
    assert pl.read_parquet("out/saturation.parquet").equals(found.table)
    said = json.loads(Path("out/saturation.json").read_text())
    assert said["schemes"][1] == {
        "scheme": "poor", "saturated_load": None, "first_above": 0.5,
        "doubts": found.doubts("poor"),
    }  # fmt: skip
    assert [path.name for path in Path("out/figures").iterdir()] == ["saturation.png"]
    assert len(ran) == 2 + 3 + 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loads": [0.5, 3]}, "at most 2"),
        ({"threshold": 1.5}, "threshold 1.5"),
        ({"traffic": "web"}, "there is rpc"),
    ],
)
def test_bad_input_is_refused_before_anything_is_run(
    ran: list[tuple[str, float]], scenario: FakeScenario, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(incast.ParameterError, match=said):
        search(scenario, **options)
    assert ran == []
    assert not Path("out").exists()


def test_the_loads_of_a_grid() -> None:
    assert saturation.grid(0.1, 0.3, 0.1) == [0.1, 0.2, 0.3]  # 3 * 0.1 is above 0.3 in binary
    assert saturation.grid(0.5, 0.5, 0.1) == [0.5]
    assert saturation.grid(0.2, 0.9, 0.3) == [0.2, 0.5, 0.8]
    for lowest, highest, step in ((0, 1, 0.1), (0.5, 0.4, 0.1), (0.1, 1, 0)):
        with pytest.raises(incast.ParameterError, match="expected 0 < from"):
            saturation.grid(lowest, highest, step)


MIXED = """
title = "mixed"
run = { duration = "1ms", schemes = ["timely"] }

[[network.star.hosts]]
name = "host"
count = 4
rate = "10Gbps"
delay = "1us"

[[traffic]]
kind = "connections"
name = "bulk"
from = "host0"
to = "host1"

[[traffic]]
kind = "poisson"
name = "web"
from = "host"
load = 0.5
[traffic.sizes]
fixed = "10KB"

[[traffic]]
kind = "requests"
from = "host0"
to = "host1"
sizes = { fixed = "1KB" } # in one line
load = 1.0

[[traffic]]
kind = "requests"
name = 'closed'
from = "host0"
to = "host1"
sizes = { fixed = "1KB" }
outstanding = 4

[[traffic]]
kind = "incast"
name = "many"
from = "host"
load = 0.1
senders = 2
size = "1KB"

[[traffic]]
kind = "incast"
name = "many"
from = "host"
load = 0.1
senders = 3
size = "1KB"
"""


def test_open_loop_traffic_is_found_by_name_and_number() -> None:
    mixed = incast.Scenario.parse(MIXED)
    assert mixed.open_loops() == [
        (1, "web", "poisson"), (2, "requests", "requests"), (4, "many-4", "incast"),
        (5, "many-5", "incast"),
    ]  # fmt: skip
    assert saturation.open_loop(mixed, "web") == OpenLoop(1, "web", "poisson")
    assert saturation.open_loop(mixed, "2").at(0.25) == "traffic.2.load=0.25"
    for traffic in mixed.open_loops():
        mixed.with_set(OpenLoop(*traffic).at(0.25))
    with pytest.raises(incast.ParameterError, match=r"web \(1\), requests \(2\), many-4 \(4\)"):
        saturation.open_loop(mixed)
    with pytest.raises(incast.ParameterError, match="bulk: no traffic with a load"):
        saturation.open_loop(mixed, "bulk")


def test_a_shipped_scenario_without_a_load_is_refused() -> None:
    with pytest.raises(incast.ParameterError, match="none of its traffic has a load"):
        incast.saturate("incast", directory="out")


def test_a_description_that_looks_like_traffic_is_none(short: incast.Scenario) -> None:
    looks = short.with_set(f"description=Not this:\n{TRAFFIC.format('x')}")
    assert 'kind = "poisson"' in looks.toml()
    with pytest.raises(incast.ParameterError, match="none of its traffic"):
        saturation.open_loop(looks)


def test_the_command_prints_a_table_and_the_load(
    ran: list[tuple[str, float]],
    scenario: FakeScenario,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scenarios, "load", lambda _: scenario)
    done = command("saturate", "x", "--from", "0.7", "--to", "0.9", "--cc", "good", "--cc", "poor")
    assert done.code == 0, done.err
    assert "good: saturated load 0.8625; at 0.875 it is below 0.95" in done.out
    assert "poor: saturated already at 0.7" in done.out
    row = next(line for line in done.out.splitlines() if " 0.9 " in line)
    assert row.split() == ["good", "0.9", "9.00", "8.30", "0.9222", "9.0", "100"]
    assert done.out.endswith("  figures  saturation (each .png, in figures)\n")
    drawn = Path("results/made-up-saturation/figures/saturation.png")
    drawn.unlink()
    as_json = json.loads(command("saturate", "x", "--from", "0.7", "--to", "0.9", "--json").out)
    assert not drawn.exists()
    assert as_json["schemes"][0]["saturated_load"] == 0.8625
    assert len(ran) == 6 + 3


def test_points_are_those_of_a_run_of_their_load(tmp_path: Path) -> None:
    scenario = incast.Scenario.parse(LOAD, "load.toml")
    found = incast.saturate(scenario, directory=tmp_path / "real", loads=[0.2, 0.5], jobs=2)
    assert found.schemes == ("dctcp", "timely")
    for point in found.points:
        there = scenario.with_set(f"traffic.0.load={point.load:g}")
        load = incast.run(there, point.scheme).table("load").row(0, named=True)
        assert (point.offered_gbps, point.carried_gbps) == (
            load["offered_gbps"], load["carried_gbps"],
        )  # fmt: skip
