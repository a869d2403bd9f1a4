"""Scenarios and results as values of Python: docstrings, repr, ==, pickle, copies, settings."""

import ast
import copy
import inspect
import pickle
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import nanoarrow as na
import numpy as np
import polars as pl
import pytest

import incast
from incast import _core
from incast.results.tables import RecordedRun
from synthetic import everything, made_up

STUB = Path(_core.__file__).with_name("_core.pyi")


def documented() -> dict[str, str]:
    """The docstrings of the stub, by name."""
    found: dict[str, str] = {}

    def visit(nodes: list[ast.stmt], path: str) -> None:
        for node in nodes:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
                if text := ast.get_docstring(node):
                    # Examples are the stub's alone.
                    found[f"{path}{node.name}"] = text.partition("\n\nExample:")[0]
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{path}{node.name}.")

    visit(ast.parse(STUB.read_text()).body, "")
    return found


def test_what_is_compiled_has_the_docstrings_of_the_stub() -> None:
    known = documented()
    assert len(known) > 70
    for name, text in known.items():
        owner: type | ModuleType = _core
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        assert inspect.cleandoc(getattr(owner, last).__doc__ or "") == text, name


def test_every_public_member_has_a_docstring() -> None:
    known = documented()
    for name in _core.__all__ if hasattr(_core, "__all__") else dir(_core):
        one = getattr(_core, name)
        if name.startswith("_") or not (inspect.isclass(one) or callable(one)):
            continue
        assert name in known
        if inspect.isclass(one) and not issubclass(one, Exception):
            members = [member for member in vars(one) if not member.startswith("_")]
            assert {f"{name}.{member}" for member in members} <= {*known}


def test_things_say_what_they_are(short: incast.Scenario, result: incast.Result) -> None:
    assert repr(short) == 'Scenario("incast")'
    algorithm = incast.algorithms()[0]
    assert repr(algorithm) == f'Algorithm("{algorithm.name}")'
    assert repr(algorithm.presets[0]).startswith('Preset("')
    assert repr(algorithm.parameters[0]).startswith('Parameter("')
    assert repr(result) == "Result('incast', timely, line-rate, seed 1)"
    run = result.runs["timely"]
    assert repr(run) == 'Run("timely", seed 1)'
    table = next(one for one in run.tables if one.name == "flows")
    assert repr(table) == 'Table("flows", 40 rows)'
    assert repr(result.to_arrow("flows")) == "ArrowTable('flows', 80 rows)"


def test_scenarios_are_equal_by_text_name_and_files(short: incast.Scenario) -> None:
    again = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
    assert again == short
    assert hash(again) == hash(short)
    assert short.with_set("run.seed=2") != short
    assert incast.Scenario.parse(short.toml(), "other.toml") != short
    assert short != "incast"


@pytest.fixture
def with_file(tmp_path: Path) -> incast.Scenario:
    """A scenario that names a file, which is gone."""
    (tmp_path / "sizes.txt").write_text("1000 0\n2000 1\n")
    text = """
        title = "Sizes of a file"
        run = { duration = "1ms", schemes = ["timely"] }
        network.star.hosts = [{ name = "host", count = 2, rate = "10Gbps", delay = "1us" }]
        [[traffic]]
        kind = "poisson"
        from = "host"
        load = 0.1
        sizes = { file = "sizes.txt" }
    """
    (tmp_path / "mine.toml").write_text(text)
    found = incast.load(tmp_path / "mine.toml")
    (tmp_path / "sizes.txt").unlink()
    return found


def test_scenarios_are_pickled_with_the_files_that_they_name(with_file: incast.Scenario) -> None:
    again = pickle.loads(pickle.dumps(with_file))  # noqa: S301
    assert again == with_file
    assert again.inputs == {"sizes.txt": "1000 0\n2000 1\n"}
    # An immutable thing is its own copy, and is not read from the disk again.
    assert copy.copy(with_file) is with_file
    assert copy.deepcopy([with_file])[0] is with_file
    assert with_file.with_set("run.seed=7").inputs == with_file.inputs
    ours, theirs = (_core.run(one, "timely").summary for one in (with_file, again))
    assert (
        ours["bytes_sent" if "bytes_sent" in ours else "packet_hops"]
        == theirs["bytes_sent" if "bytes_sent" in theirs else "packet_hops"]
    )


def test_settings_are_texts_or_dictionaries_of_values(short: incast.Scenario) -> None:
    as_text = short.with_set(
        "run.seed=3", "cc.timely.t_high=200us", "traffic.0.connections=2", "measure.series=false"
    )
    as_values = short.with_set(
        {
            "run.seed": np.int64(3),
            "cc": {"timely": {"t_high": "200us"}},
            "traffic": {0: {"connections": 2}},
            "measure.series": False,
        }
    )
    assert as_values == as_text
    assert short.with_set({"run": {"schemes": ["timely", "dctcp"]}}).schemes == ["timely", "dctcp"]
    assert short.with_set({"cc.timely.beta": 0.5}) == short.with_set("cc.timely.beta=0.5")
    assert short.with_set({"title": 'A "quoted"\n\\ title'}).title == 'A "quoted"\n\\ title'
    assert short.with_set({"title": "5"}).title == "5"
    assert short.with_set({}) == short.with_set()
    star = {"network.star.hosts": [{"name": "client", "count": 10, "rate": "10Gbps",
        "delay": "1us"}, {"name": "server", "rate": "10Gbps", "delay": "1us"}]}  # fmt: skip
    assert len(short.with_set(star).resolved()["hosts"]) == 11


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"run.seed": None}, "run.seed: expected text, a number, .* not NoneType"),
        ({"run": {"seed": [object()]}}, "run.seed: expected .* not object"),
        ({"a=b": 1}, "a=b: expected a key"),
        ({"run.sed": 1}, "sed"),
        ({"run.duration": float("nan")}, "run.duration"),
        (3, "with_set: expected text such as run.duration=50ms, or a dict, not int"),
    ],
)
def test_wrong_settings_get_one_sentence(short: incast.Scenario, setting: object, why: str) -> None:
    with pytest.raises(incast.ParameterError, match=why) as error:
        short.with_set(setting)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_a_result_equals_itself_read_back(result: incast.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "out", figures=False)
    again = incast.Result.read(tmp_path / "out")
    assert again == result
    assert hash(again) == hash(result)
    assert incast.run(result.scenario) == result  # type: ignore[arg-type]
    assert incast.run(result.scenario, "timely") != result  # type: ignore[arg-type]
    assert incast.run(result.scenario, seed=2) != result  # type: ignore[arg-type]
    assert incast.Results((again,)) == incast.Results((result,))
    assert result != "incast"


def test_a_table_that_differs_makes_results_differ(short: incast.Scenario) -> None:
    assert made_up(short, "timely") == made_up(short, "timely")
    other = made_up(short, "timely")
    run = other.runs["timely"]
    summary = {**run.summary, "drops": 77}
    changed = RecordedRun(run.scheme, run.seed, run.complete, summary, run.tables)
    assert incast.Result(short, ("timely",), other.seed, {"timely": changed}) != other


def test_results_are_pickled_and_copied_with_their_tables(result: incast.Result) -> None:
    for again in (
        pickle.loads(pickle.dumps(result)),  # noqa: S301
        copy.deepcopy(result),
        copy.copy(result),
    ):
        assert again == result
        assert type(again) is incast.Result
        assert again.describe_tables() == result.describe_tables()
        assert again.to_dict() == result.to_dict()
    several = incast.Results((result, incast.run(result.scenario, seed=2)))  # type: ignore[arg-type]
    assert several.cases
    assert pickle.loads(pickle.dumps(several)) == several  # noqa: S301


def test_a_pickled_result_writes_the_same_files(result: incast.Result, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    for name, one in (("first", result), ("second", again)):
        one.write(tmp_path / name, figures=False)
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "second").iterdir())
    for name in files:
        first, second = (tmp_path / folder / name for folder in ("first", "second"))
        assert first.read_bytes() == second.read_bytes(), name


# Of several results a scenario, seed, version and so on is not one.
SEVERAL = {"scenario": "scenarios", "seed": "seeds", "version": "versions", "build": "builds",
           "directory": "directories"}  # fmt: skip


def test_results_have_all_of_a_result(result: incast.Result, tmp_path: Path) -> None:
    names = {one.name for one in fields(incast.Result)} | {*vars(incast.Result)}
    names |= {*vars(incast.Result.__mro__[1])}
    public = {name for name in names if not name.startswith("_")}
    missing = {SEVERAL.get(name, name) for name in public} - {*dir(incast.Results)}
    assert missing == set()
    second = incast.run(result.scenario, seed=2)  # type: ignore[arg-type]
    both = incast.Results((result, second))
    assert both.schemes == result.schemes
    assert both.scenarios == [result.scenario]
    assert {seed for _, seed in both.runs} == {1, 2}
    assert [row["seed"] for row in both.rows()] == [1, 1, 2, 2]
    assert both.warnings == list(dict.fromkeys([*result.warnings, *second.warnings]))
    one, mean = result.ratios[0], both.ratios[0]
    measured = [each.ratios[0].above.measured for each in (result, second)]
    assert (mean.key, mean.published) == (one.key, one.published)
    assert mean.above.measured == pytest.approx(sum(measured) / 2)
    for name, info in both.describe_tables().items():
        assert list(info["columns"]) == both.table(name).columns
    assert both.plot().keys() == result.plot().keys()
    written = both.write(tmp_path / "both", figures=False)
    assert [one.directory.name for one in written] == ["seed-1", "seed-2"]
    assert incast.Results.read(*(one.directory for one in written)) == both
    alone = incast.Results((result,)).write(tmp_path / "alone", figures=False)
    assert alone[0].directory == tmp_path / "alone"


def test_traffic_of_several_results_says_its_seed(short: incast.Scenario) -> None:
    each = [everything(short, "timely", "dctcp", seed=seed, messages=100) for seed in (1, 2)]
    traffic = incast.Results(tuple(each)).traffic
    assert traffic.height == sum(one.traffic.height for one in each) > 2
    assert traffic.columns[0] == "seed"
    assert traffic.filter(seed=2).drop("seed").equals(each[1].traffic)


def test_the_examples_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE))
    assert code.count("\n") > 20
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "python.md", "exec"), {})  # noqa: S102
    assert (tmp_path / "seeds/seed-2/run.json").is_file()


def test_several_scenarios_are_written_side_by_side(short: incast.Scenario, tmp_path: Path) -> None:
    other = incast.Scenario.parse(short.toml(), "other.toml").with_set("run.seed=5")
    results = incast.Results((made_up(short, "timely"), made_up(other, "timely")))
    written = results.write(tmp_path, figures=False)
    assert [one.directory for one in written] == [tmp_path / "incast", tmp_path / "other"]


@pytest.mark.parametrize("several", [False, True])
def test_tables_leave_as_arrow_streams_with_units(result: incast.Result, *, several: bool) -> None:
    shown = incast.Results((result,)) if several else result
    for name in shown.tables:
        table = shown.to_arrow(name)
        schema = na.Schema(na.c_array_stream(table).get_schema())
        about = shown.describe_tables()[name]
        assert dict(schema.metadata) == {b"name": name.encode(), b"doc": about["doc"].encode()}
        assert [field.name for field in schema.fields] == list(about["columns"])
        for field in schema.fields:
            said = {key.encode(): str(text).encode()
                    for key, text in about["columns"][field.name].items()}  # fmt: skip
            assert dict(field.metadata) == said
        assert pl.DataFrame(table).equals(shown.table(name))
    with pytest.raises(KeyError, match="no such table"):
        shown.to_arrow("flow")
