"""Finding scenarios, and running them from Python."""

import pickle
from pathlib import Path

import pytest

import incast
from incast import _core
from incast.api import scenarios


def test_the_core_is_a_release_build() -> None:
    assert _core.build_profile == "release"
    assert incast.__version__ == _core.__version__


def test_every_exception_is_an_incast_error() -> None:
    for kind in (incast.ScenarioError, incast.ParameterError, incast.OutputError):
        assert issubclass(kind, incast.IncastError)
        assert pickle.loads(pickle.dumps(kind("text"))).args == ("text",)  # noqa: S301


def test_shipped_scenarios_load_by_name_and_by_path() -> None:
    shipped = incast.shipped()
    assert "incast" in shipped
    for name, path in shipped.items():
        assert incast.load(name).name == name
        assert incast.load(path).toml() == incast.load(name).toml()
        scenarios.check_schemes(incast.load(name))


def test_a_file_wins_over_a_shipped_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: incast.Scenario
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incast").write_text(short.toml())
    assert incast.load("incast").duration_s == pytest.approx(5e-3)


def test_a_directory_does_not_hide_a_shipped_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incast").mkdir()
    assert incast.load("incast").name == "incast"


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(incast.ScenarioError, match="did you mean incast"):
        incast.load("incats")


def test_a_missing_file_is_a_scenario_error() -> None:
    with pytest.raises(incast.ScenarioError, match=r"no/such\.toml"):
        incast.load("no/such.toml")


def test_assignments_make_a_new_scenario(short: incast.Scenario) -> None:
    changed = short.with_set("run.duration=7ms")
    assert changed.duration_s == pytest.approx(7e-3)
    assert short.duration_s == pytest.approx(5e-3)
    assert incast.Scenario.parse(changed.toml()).duration_s == pytest.approx(7e-3)


def test_the_schemes_of_the_scenario_run_when_none_is_named(
    short: incast.Scenario, result: incast.Result
) -> None:
    assert list(result.runs) == short.schemes
    assert result.schemes == tuple(short.schemes)
    assert result.complete


def test_one_scheme_may_be_named_by_itself(short: incast.Scenario) -> None:
    assert list(incast.run(short, "line-rate").runs) == ["line-rate"]


def test_one_seed_gives_one_result(short: incast.Scenario) -> None:
    first, second = (incast.run(short, "timely", seed=7) for _ in range(2))
    assert first.seed == second.seed == 7
    assert first.to_dict() == second.to_dict()
    for name in first.tables:
        assert first.table(name).equals(second.table(name))


@pytest.mark.parametrize("threads", [1, 2, "3", "auto"])
def test_threads_change_nothing(threads: int | str) -> None:
    fabric = incast.load("fat-tree-web-search").with_set(
        "run.duration=100us", "run.warmup=0s", "run.cooldown=0s", "measure.series=false"
    )
    alone, result = (incast.run(fabric, "dctcp", threads=given) for given in (None, threads))
    assert alone.to_dict() == result.to_dict()
    for name in alone.tables:
        assert alone.table(name).equals(result.table(name))
    assert incast.run(fabric.with_set(f"run.threads={threads}"), "dctcp").summary.equals(
        alone.summary
    )


@pytest.mark.parametrize("threads", [0, -1, 1000, "many", True])
def test_threads_that_cannot_be(short: incast.Scenario, threads: int | str) -> None:
    with pytest.raises(incast.ParameterError, match="or a number from 1 to 256"):
        incast.run(short, "timely", threads=threads)


@pytest.mark.parametrize(
    ("schemes", "said"),
    [
        (["timely", "timely"], "twice"),
        (["timly"], "timely"),
        (["timely:zuh"], "zhu"),
        ([], "no scheme"),
    ],
)
def test_schemes_that_cannot_be_run(short: incast.Scenario, schemes: list[str], said: str) -> None:
    with pytest.raises(incast.ParameterError, match=said):
        incast.run(short, schemes)


def test_an_unknown_trace_gets_the_nearest(short: incast.Scenario) -> None:
    with pytest.raises(incast.ParameterError, match="did you mean queues"):
        incast.run(short, traces=["queue"])


@pytest.mark.parametrize("trace", scenarios.TRACES)
def test_a_trace_is_one_more_table(short: incast.Scenario, trace: str) -> None:
    traced = incast.run(short.with_set("run.duration=2ms"), "timely", traces=[trace])
    assert traced.table(f"trace_{trace}").height > 0
    traces = {name for name in traced.tables if name.startswith("trace_")}
    # What flows measure comes with what their algorithms show, packets with the pauses of PFC.
    more = {"flows": {"trace_gauges"}, "packets": {"trace_pauses"}}
    assert traces == {f"trace_{trace}"} | more.get(trace, set())


def test_progress_is_told_simulated_time_and_events(longer: incast.Scenario) -> None:
    seen: list[tuple[float, int]] = []

    def progress(simulated_s: float, events: int) -> bool:
        seen.append((simulated_s, events))
        return True

    assert _core.run(longer, "timely", progress=progress).complete
    assert seen
    assert seen == sorted(seen)
    assert 0 <= seen[-1][0] <= longer.duration_s


def test_a_run_that_progress_stops_is_not_complete(stopped: incast.Result) -> None:
    run = stopped.runs["timely"]
    assert not stopped.complete
    assert run.summary["simulated_s"] < stopped.scenario.duration_s


def test_ctrl_c_in_progress_stops_with_what_there_is(longer: incast.Scenario) -> None:
    def interrupt(_time: float, _events: int) -> bool:
        raise KeyboardInterrupt

    assert not _core.run(longer, "timely", progress=interrupt).complete


def test_another_error_in_progress_comes_out(longer: incast.Scenario) -> None:
    def fail(_time: float, _events: int) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _core.run(longer, "timely", progress=fail)


def test_every_algorithm_describes_itself() -> None:
    algorithms = incast.algorithms()
    assert {"timely", "patched-timely", "line-rate"} <= {item.name for item in algorithms}
    for algorithm in algorithms:
        assert algorithm.summary
        assert algorithm.signal
        names = {parameter.name for parameter in algorithm.parameters}
        for parameter in algorithm.parameters:
            assert parameter.doc, parameter.name
            assert parameter.default, parameter.name
            assert parameter.source, parameter.name
        for preset in algorithm.presets:
            assert set(preset.values) <= names, preset.name


def test_every_preset_can_be_asked_for(short: incast.Scenario) -> None:
    for algorithm in incast.algorithms():
        for preset in algorithm.presets:
            short.check(f"{algorithm.name}:{preset.name}")
