"""Algorithms in Python: the contract, errors, other processes, and TIMELY as in Rust."""

import copy
import importlib
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

import incast
from incast.api.control import OwnControl
from incast.examples.timely import PythonTimely

SHORT = ("run.duration=6ms", "run.warmup=1ms")
MODULE = '''
import incast


class Mine(incast.CongestionControl):
    """Sends at a part of the line rate, whatever happens."""

    part = incast.parameter(0.05, doc="The part of the line rate.", least=0.001, most=1.0)

    def on_start(self, flow):
        self.rate = self.part * flow.line_rate

    def on_ack(self, ack):
        pass


class Short(Mine):
    name = "mine"


class Divides(Mine):
    def on_ack(self, ack):
        if ack.now > 0.0005:
            1 / 0
'''
WRONG = """
import incast


class Wrong(incast.CongestionControl):
    def on_start(self, flow):
        self.rate = flow.line_rate / 50

    def on_ack(self, ack):
        {}
"""


@pytest.fixture(scope="module")
def incast_scenario() -> incast.Scenario:
    return incast.load("incast").with_set(*SHORT)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A directory with a module of algorithms."""
    (tmp_path / "my_algorithms.py").write_text(MODULE)
    return tmp_path


def command(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "incast", *arguments],
        check=False, cwd=directory, capture_output=True, text=True,
    )  # fmt: skip


class Fixed(incast.CongestionControl):
    """A rate that never changes."""

    part = incast.parameter(0.05, doc="The part of the line rate.", least=0.001, most=1.0)

    def on_start(self, flow: incast.Flow) -> None:
        self.rate = self.part * flow.line_rate

    def on_ack(self, ack: incast.Ack) -> None:
        pass


def tables(result: incast.Result, label: str) -> dict[str, pl.DataFrame]:
    """All tables of a run by name."""
    return {table.name: pl.DataFrame(table) for table in result.runs[label].tables}


def figures(result: incast.Result, label: str) -> str:
    """The figures of a summary, in which one that there is not equals another."""
    return repr(dict(result.runs[label].summary))


def assert_every_step_of_timely(
    timely: Callable[..., OwnControl], settings: Mapping[str, object], *changes: str
) -> None:
    """Two runs have the same packets, gauges and tables."""
    scenario = incast.load("incast").with_set("run.duration=30ms", "run.warmup=5ms", *changes)
    rust = f"timely[{','.join(f'{key}={value}' for key, value in settings.items())}]"
    cc = {"rust": rust, "own": timely(**settings)}
    result = incast.run(scenario, cc=cc, traces=["packets", "flows"])
    rust_tables, own_tables = tables(result, "rust"), tables(result, "own")
    assert rust_tables["trace_packets"].height > 10_000
    assert rust_tables["trace_gauges"].height > 1_000
    assert rust_tables.keys() == own_tables.keys()
    for name, table in rust_tables.items():
        assert table.equals(own_tables[name]), name


@pytest.mark.parametrize(
    "settings",
    [
        {"t_high": "100us", "burst_rate": "700Mbps"},
        {"t_high": "200us", "burst_rate": "700Mbps", "t_low": "30us", "beta": 0.5, "hai_n": 9},
    ],
)
def test_timely_in_python_makes_every_step_of_timely_in_rust(settings: dict[str, str]) -> None:
    assert_every_step_of_timely(PythonTimely, settings)


def test_a_class_an_object_and_a_place_are_the_same_algorithm(
    incast_scenario: incast.Scenario, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(mine)
    import my_algorithms  # noqa: PLC0415 - it was just written

    result = incast.run(
        incast_scenario,
        cc=[my_algorithms.Mine, my_algorithms.Mine(part=0.02), "my_algorithms:Mine[part=0.04]"],
    )
    assert [*result.runs] == ["Mine", "Mine[part=0.02]", "Mine[part=0.04]"]
    assert result.runs["Mine"].scheme == "my_algorithms:Mine"
    sent = [result.runs[label].summary["throughput_gbps"] for label in result.runs]
    # Forty flows of 10 Gb/s. Headers take 4 % more of the line than the payload.
    assert sent[1] == pytest.approx(40 * 0.02 * 10, rel=0.05)
    assert sent[2] == pytest.approx(40 * 0.04 * 10, rel=0.05)
    named = incast.run(incast_scenario, cc="my_algorithms:Short[part=0.02]")
    assert [*named.runs] == ["mine[part=0.02]"]
    assert named.runs["mine[part=0.02]"].summary["throughput_gbps"] == sent[1]


def test_runs_side_by_side_and_sweeps_have_classes_of_the_program(
    incast_scenario: incast.Scenario, tmp_path: Path
) -> None:
    class Local(Fixed):
        """A class that no other process can import."""

    one, two = (
        incast.run(incast_scenario, cc=[Local, Local(part=0.02)], seed=range(2), jobs=jobs)
        for jobs in (1, 2)
    )
    for left, right in zip(one.members, two.members, strict=True):
        assert figures(left, "Local") == figures(right, "Local")
    found = incast.sweep(
        incast_scenario, cc=[Local, "timely"], vary={"run.duration": ["3ms", "4ms"]},
        out=tmp_path / "sweep",
    )  # fmt: skip
    assert pl.DataFrame(found.runs)["error"].null_count() == 4
    assert {Path(path).name for path in tmp_path.iterdir()} == {"sweep"}


def test_a_sweep_makes_its_runs_again_when_the_module_has_changed(mine: Path) -> None:
    arguments = ("sweep", "incast", "--set", "run.duration=2ms", "--set", "run.warmup=1ms",
                 "--vary", "transport.mtu=1000B,1500B", "--cc", "my_algorithms:Mine", "--out", "s",
                 "--quiet")  # fmt: skip
    written = []
    for text in (MODULE, MODULE, MODULE.replace("self.part * ", "0.5 * self.part * ")):
        (mine / "my_algorithms.py").write_text(text)
        done = command(mine, *arguments)
        assert done.returncode == 0, done.stderr
        written.append({path.name for path in (mine / "s").rglob("*") if path.is_file()})
    assert written[0] == written[1]
    assert len(written[2]) > len(written[1])


def test_parameters_have_units_bounds_and_words() -> None:
    class All(Fixed):
        """Parameters of all kinds."""

        time = incast.parameter("50us", doc="A time.")
        rate_of = incast.parameter("10Gbps", doc="A rate.")
        size = incast.parameter("16KB", doc="A size.", least="1KB")
        count = incast.parameter(3, doc="A count.", most=7)
        word = incast.parameter("on", doc="A word.", words=("off", "on"))

    one = All(time=20e-6, size=2000, word="off")
    assert (one.time, one.rate_of, one.size, one.count, one.word) == (20e-6, 1e10, 2000, 3, "off")
    assert repr(one) == "All(time='20us', size='2KB', word='off')"
    assert copy.deepcopy(one).time == 20e-6
    for settings, message in (
        ({"tim": 1}, "All: unknown parameter 'tim'; expected part, time"),
        ({"size": 10}, 'size = "10B" is out of range; expected 1KB or more'),
        ({"count": 8}, 'count = "8" is out of range; expected 7 or less'),
        ({"count": 1.5}, 'count = "1.5" is not one of the whole numbers'),
        ({"word": "maybe"}, 'word = "maybe" is not one of off, on'),
        ({"time": "50"}, 'time = "50"'),
    ):
        with pytest.raises(incast.ParameterError) as error:
            All(**settings)
        assert message in str(error.value)
    with pytest.raises(incast.ParameterError, match="no value of a parameter"):
        incast.parameter("fifty", doc="Nothing.")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("self.rate = float('nan')", "limits: rate = NaN; expected bits per second above 0"),
        ("self.rate = -1.0", "limits: rate = -1; expected bits per second above 0"),
        ("self.cwnd = -3", "limits: cwnd = -3; expected bytes above 0"),
        ("self.rate = None", "neither rate nor cwnd is set"),
        ("self.rate = 'fast'", "TypeError"),
        ("self.limits = lambda: None", "limits() returned None; expected incast.Limits"),
        ("self.missing", "in on_ack() (wrong.py:10): AttributeError: "),
    ],
)
def test_an_answer_that_is_none_names_flow_and_time(
    incast_scenario: incast.Scenario, tmp_path: Path, body: str, message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "wrong.py").write_text(WRONG.format(body))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wrong", raising=False)
    module = importlib.import_module("wrong")
    with pytest.raises(incast.AlgorithmError) as error:
        incast.run(incast_scenario, cc=module.Wrong)
    assert str(error.value).startswith("Wrong, seed 1: flow ")
    assert " us, in " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_prints_the_trace_of_ones_own_code_once(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "wrong.py").write_text(WRONG.format("self.missing"))
    done = command(
        tmp_path, "run", "incast", "--set", "run.duration=2ms", "--set", "run.warmup=1ms",
        "--cc", "wrong:Wrong", "--seed", "1", "--seed", "2", "--jobs", jobs, "--out", "o",
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("Traceback") == 1, done.stderr
    assert done.stderr.count("self.missing") == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: wrong:Wrong, seed "), done.stderr
    assert "in on_ack() (wrong.py:10): AttributeError: " in last


def test_an_exception_is_the_cause_and_pickles(incast_scenario: incast.Scenario) -> None:
    class Divides(Fixed):
        def on_ack(self, ack: incast.Ack) -> None:
            ack.bytes // 0

    with pytest.raises(
        incast.AlgorithmError, match=r"in on_ack\(\) \(test_own_algorithms"
    ) as error:
        incast.run(incast_scenario, cc=Divides)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)  # noqa: S301
    # The next run has nothing of it.
    assert incast.run(incast_scenario, cc=Fixed).complete


def test_events_come_with_what_they_are_about(incast_scenario: incast.Scenario) -> None:
    seen: dict[str, int] = {}

    class Listens(Fixed):
        """Counts all events, and has a timer of 100 us."""

        def on_start(self, flow: incast.Flow) -> None:
            super().on_start(flow)
            assert flow.line_rate == 10e9
            assert flow.mss > 500
            self.at = flow.now + 100e-6

        def on_ack(self, ack: incast.Ack) -> None:
            self.count("on_ack")
            assert ack.rtt is None or ack.rtt.total >= ack.rtt.network > 0
            assert ack.end >= ack.first
            assert ack.now > ack.sent_at

        def on_sent(self, sent: incast.Sent) -> None:
            self.count("on_sent")
            assert sent.bytes > 0

        def on_timer(self, now: float) -> None:
            self.count("on_timer")
            assert now == pytest.approx(self.at)
            self.at = now + 100e-6

        def next_timer(self) -> float | None:
            return self.at

        def gauges(self) -> dict[str, float]:
            return {"line_part": 0.05}

        def count(self, name: str) -> None:
            seen[name] = seen.get(name, 0) + 1

    result = incast.run(incast_scenario, cc=Listens, traces=["flows"])
    assert seen["on_timer"] == pytest.approx(40 * 59, rel=0.05)
    assert seen["on_ack"] > 200
    assert seen["on_sent"] >= seen["on_ack"]
    gauges = tables(result, "Listens")["trace_gauges"]
    assert "line_part" in gauges["gauge"].unique()


def test_the_command_prints_a_class_and_refuses_what_is_none(mine: Path) -> None:
    done = command(mine, "algorithms", "my_algorithms:Mine")
    assert done.returncode == 0, done.stderr
    assert "Sends at a part of the line rate, whatever happens" in done.stdout
    assert "part=0.05" in done.stdout
    for name, message in (
        ("my_algorithms:Nobody", "my_algorithms has no class Nobody"),
        ("timley:zhu", "did you mean timely?"),
        ("my_algorithms:Mine[part=2]", "expected 0.001 to 1.0"),
        ("my_algorithms:Mine[parts=2]", 'unknown parameter "parts"'),
        ("broken:Mine", "the module cannot be imported: NameError"),
    ):
        (mine / "broken.py").write_text("import incast\nundefined\n")
        done = command(mine, "run", "incast", "--cc", name, "--out", "o")
        assert done.returncode == 2
        assert message in done.stderr.strip().splitlines()[-1]
    assert not (mine / "o").exists()


def test_a_class_cannot_have_the_name_of_an_algorithm(incast_scenario: incast.Scenario) -> None:
    class Usurper(Fixed):
        name = "timely"

    with pytest.raises(incast.ParameterError, match="an algorithm is called timely already"):
        incast.run(incast_scenario, cc=Usurper)

    class Vague(Fixed):
        kind = "vague"

    with pytest.raises(incast.ParameterError, match='kind = "vague" is not one of rate, window'):
        incast.run(incast_scenario, cc=Vague)
