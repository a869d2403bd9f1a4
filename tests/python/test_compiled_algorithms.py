"""Algorithms in Python that Numba compiles: TIMELY as in Rust, errors, other processes."""

import importlib
import re
import sys
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

import incast
from incast.base import extras
from incast.examples.timely import PythonTimely
from test_own_algorithms import SHORT, assert_every_step_of_timely, command, tables

needs_numba = pytest.mark.skipif(
    not extras.have("compiled"), reason="numba is not installed: pip install 'incast[compiled]'"
)
MODULE = '''
import numpy as np

import incast


class Mine(incast.CompiledControl):
    """Sends at a part of the line rate, whatever happens."""

    part = incast.parameter(0.05, doc="The part of the line rate.", least=0.001, most=1.0)
    state = [("acks", "i8")]

    @staticmethod
    def on_start(flow, p, s, out):
        out.rate = p.part * flow.line_rate

    @staticmethod
    def on_ack(ack, p, s, out):
        {}
'''


@pytest.fixture(scope="module")
def scenario() -> incast.Scenario:
    return incast.load("incast").with_set(*SHORT)


def module(directory: Path, body: str, name: str = "compiled_mine") -> None:
    (directory / f"{name}.py").write_text(MODULE.replace("{}", body))


@needs_numba
@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({"t_high": "100us", "burst_rate": "700Mbps"}, ()),
        ({"t_high": "200us", "burst_rate": "700Mbps", "t_low": "30us", "beta": 0.5}, ()),
        # An ACK for each packet.
        ({"t_high": "100us"}, ("transport.segment=1KB",)),
    ],
)  # fmt: skip
def test_timely_compiled_makes_every_step_of_timely_in_rust(
    settings: dict[str, str], changes: tuple[str, ...]
) -> None:
    timely = importlib.import_module("incast.examples.compiled_timely").CompiledTimely
    assert_every_step_of_timely(timely, settings, *changes)


@needs_numba
def test_the_compiled_and_the_plain_class_have_the_same_parameters() -> None:
    timely = importlib.import_module("incast.examples.compiled_timely").CompiledTimely
    settings = {"t_high": "100us", "burst_rate": "700Mbps"}
    assert timely(**settings).settings == PythonTimely(**settings).settings
    with pytest.raises(incast.ParameterError, match="unknown parameter 'tim'"):
        timely(tim=1)


@needs_numba
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("out.rate = np.nan", "limits: rate = NaN; expected bits per second above 0"),
        ("out.rate = -1.0", "limits: rate = -1; expected bits per second above 0"),
        ("out.cwnd = -3", "limits: cwnd = -3; expected bytes above 0"),
        ("out.rate = np.inf", "neither rate nor cwnd is set"),
        ("out.next_timer = ack.now", "expected an instant after now"),
        ("s.acks = 1 // s.acks", "it failed: an exception or a panic"),
        ("raise ValueError('no')", "it failed: an exception or a panic"),
    ],
)
def test_an_answer_that_is_none_names_flow_and_time(
    scenario: incast.Scenario, tmp_path: Path, body: str, message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    module(tmp_path, body)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "compiled_mine", raising=False)
    mine = importlib.import_module("compiled_mine").Mine
    with pytest.raises(incast.AlgorithmError) as error:
        incast.run(scenario, cc=mine)
    assert str(error.value).startswith("Mine, seed 1: flow ")
    assert " us, in on_ack(): ValueError: " in str(error.value)
    assert message in str(error.value)


@needs_numba
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("s.acks += 1", "ack.missing"), "on_ack cannot be compiled: there is no field 'missing'"),
        (("s.acks += 1", "s.acks = nothing"), "on_ack cannot be compiled: NameError: "),
        (("def on_ack", "def on_acks"), "no on_ack; write it as a static method"),
        (('[("acks", "i8")]', '"i8"'), "state = 'i8': expected fields of numbers"),
        (('("acks", "i8")', '("acks", "O")'), "expected fields of numbers"),
        (('[("acks", "i8")]', '[("acks", "i9")]'), "state = [('acks', 'i9')]: "),
    ],
)
def test_what_cannot_be_compiled_is_said_in_one_sentence(
    tmp_path: Path, changed: tuple[str, str], message: str
) -> None:
    module(tmp_path, "s.acks += 1")
    file = tmp_path / "compiled_mine.py"
    assert changed[0] in file.read_text()
    file.write_text(file.read_text().replace(*changed))
    done = command(tmp_path, "run", "incast", "--cc", "compiled_mine:Mine", "--out", "o")
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert message in last, done.stderr
    assert not (tmp_path / "o").exists()


@needs_numba
def test_other_processes_compile_the_class_again(tmp_path: Path) -> None:
    module(tmp_path, "s.acks += 1")
    lines = []
    for jobs in ("1", "2"):
        done = command(
            tmp_path, "run", "incast", "--set", SHORT[0], "--set", SHORT[1], "--seed", "1",
            "--seed", "2", "--cc", "compiled_mine:Mine[part=0.02]", "--jobs", jobs, "--out", jobs,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        frames = [
            pl.read_parquet(path) for path in sorted((tmp_path / jobs).rglob("flows.parquet"))
        ]
        assert frames
        lines.append(frames)
    assert all(one.equals(two) for one, two in zip(*lines, strict=True))


@needs_numba
def test_a_timer_a_word_and_stamps_of_switches(scenario: incast.Scenario) -> None:
    class Ticks(incast.CompiledControl):
        """A window that a timer raises, from a word."""

        kind = "window"
        needs = ("telemetry",)
        start = incast.parameter("two", doc="Packets at first.", words=("one", "two"))
        count = incast.parameter(3, doc="Packets for each tick.")
        state: ClassVar = [("packets", "i8"), ("mss", "i8"), ("hops", "i8")]
        gauge_names = ("packets", "hops")

        @staticmethod
        def on_start(flow, p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN205
            s.mss = flow.mss
            s.packets = p.start + 1
            out.cwnd = s.packets * s.mss
            out.next_timer = flow.now + 100e-6

        @staticmethod
        def on_ack(ack, hops, p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN205, ARG004
            s.hops = len(hops)

        @staticmethod
        def on_timer(moment, p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN205
            s.packets += p.count
            out.cwnd = s.packets * s.mss
            if moment.now < 0.003:
                out.next_timer = moment.now + 100e-6

        @staticmethod
        def gauges(p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN205, ARG004
            out.packets = s.packets
            out.hops = s.hops

    result = incast.run(scenario, cc=Ticks, traces=["flows"])
    (label,) = result.runs
    gauges = tables(result, label)["trace_gauges"]
    packets = gauges.filter(pl.col("gauge") == "packets")["value"]
    # Two at first, and three more each 100 us until 3 ms, for flows that start within 1 ms.
    assert (packets.cast(pl.Int64) % 3 == 2).all()
    assert 60 < packets.max() <= 2 + 3 * 30
    telemetry = incast.run(scenario.with_set("switch.telemetry=true"), cc=Ticks, traces=["flows"])
    stamps = tables(telemetry, label)["trace_gauges"].filter(pl.col("gauge") == "hops")["value"]
    assert stamps.max() == 1


def test_without_numba_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: incast.Scenario
) -> None:
    module(tmp_path, "s.acks += 1", "compiled_without")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(extras, "_MODULES", {**extras._MODULES, "compiled": ("no_such_numba",)})
    mine = importlib.import_module("compiled_without").Mine
    with pytest.raises(incast.IncastError, match=r"pip install 'incast\[compiled\]'"):
        incast.run(scenario, cc=mine)


@needs_numba
def test_the_class_of_the_tutorial_has_the_results_of_the_plain_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tutorials = Path(__file__).parents[2] / "docs/tutorials"
    for page, name in (
        ("an-algorithm-in-python", "delay_target"),
        ("a-compiled-algorithm", "compiled_target"),
    ):
        text = (tutorials / f"{page}.md").read_text(encoding="utf-8")
        found = re.search(rf"^```python {name}\.py\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        assert found is not None
        (tmp_path / f"{name}.py").write_text(found[1])
    monkeypatch.syspath_prepend(tmp_path)
    scenario = incast.load("incast").with_set("run.duration=30ms", "run.warmup=5ms")
    schemes = ["delay_target:DelayTarget", "compiled_target:CompiledTarget"]
    result = incast.run(scenario, cc=schemes, traces=["packets"])
    plain, compiled = (tables(result, label) for label in result.runs)
    assert plain["trace_packets"].height > 10_000
    for name, table in plain.items():
        assert table.equals(compiled[name]), name
