"""Ctrl-C, whenever it comes: one line, exit code 130, and everything that was simulated is kept."""

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import incast
from conftest import RUN, Command
from incast import _core
from incast.api.interruption import Interrupted
from incast.api.result import add_figures
from incast.figures import canvas

LARGE = """
title = "Many connections"
[run]
duration = "1ms"
schemes = ["timely"]
[network.star]
hosts = [{ name = "host", count = 1150, rate = "10Gbps", delay = "1us" }]
[[traffic]]
kind = "requests"
from = "host"
outstanding = 1
reads = 0.5
sizes = { fixed = "2KB" }
"""


def ended(process: "subprocess.Popen[str]", *, within_s: float) -> str:
    """The error output of a command after Ctrl-C, which it hears in time."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - began < within_s, err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def started(interpreter: list[str], code: str, cwd: Path) -> "subprocess.Popen[str]":
    """A program in a process of its own, with the command's entry in `main`."""
    return subprocess.Popen(
        [interpreter[0], "-c", code],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# The module whose import tells that the moment has come, and goes on for a second.
SLOW_IMPORT = """
import sys, time
from importlib.abc import MetaPathFinder
class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            print("now", flush=True)
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                sum(range(1000))
sys.meta_path.insert(0, Finder())
sys.argv = ["incast", *{arguments!r}]
from incast.command import main
main()
"""


@pytest.mark.parametrize(
    "name",
    ["typer", "polars", "numpy", "incast._core", "incast.api.result", "rich.console", "msgspec"],
)
def test_during_imports_it_is_one_line(interpreter: list[str], tmp_path: Path, name: str) -> None:
    code = SLOW_IMPORT.format(name=name, arguments=RUN)
    with started(interpreter, code, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        assert ended(process, within_s=1.0) == "stopped\n"
    assert not list(tmp_path.iterdir())


def test_within_an_evaluated_text_it_has_the_same_exit_code(
    interpreter: list[str], tmp_path: Path
) -> None:
    """As where Typer evaluates annotations: Python remembers it, and `python -m` dies of it."""
    (tmp_path / "evaluating.py").write_text(
        "import incast.cli\n"
        "from incast.command import main\n"
        "def interrupted(): raise KeyboardInterrupt\n"
        "incast.cli.app = lambda *_, **__: eval('interrupted()')\n"
        "main()\n"
    )
    line = [interpreter[0], "-m", "evaluating"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


@pytest.mark.parametrize("name", ["matplotlib.rcsetup", "matplotlib.figure", "matplotlib.backends"])
def test_while_figures_are_made_all_tables_are_there(
    interpreter: list[str], tmp_path: Path, name: str
) -> None:
    code = SLOW_IMPORT.format(
        name=name, arguments=(*RUN, "--quiet", "--figures", "png", "--out", "out")
    )
    with started(interpreter, code, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        # Nothing waits for the figures: it is all there by now.
        result = incast.open_result(tmp_path / "out").members[0]
        assert result.complete
        assert "incast plot out" in ended(process, within_s=5.0)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".json", ".parquet", ".toml"}
    assert result.table("flows").height > 0
    assert result.figure("rtt-cdf") is not None


@pytest.mark.figures
@pytest.mark.parametrize("drawn", [0, 2])
def test_between_two_figures_the_result_is_whole(
    command: Command, monkeypatch: pytest.MonkeyPatch, drawn: int
) -> None:
    real: list[Path] = []

    def save(_figure: object, path: Path) -> None:
        if len(real) == drawn:
            raise KeyboardInterrupt
        real.append(path)

    monkeypatch.setattr(canvas, "save", save)
    done = command(*RUN, "--out", "out")
    assert done.code == 130
    assert "stopped: the tables are kept in out/" in done.err
    assert "timely" in done.out
    assert "Wrote out/" in done.out
    assert "figures" not in done.out
    assert not list(Path("out").glob("*.png"))
    read = incast.Result.read("out")
    assert read.complete
    assert read.table("flows").height
    assert [path.name for path in Path().iterdir()] == ["out"]


def test_figures_may_be_added_later(result: incast.Result, tmp_path: Path) -> None:
    written = result.write(tmp_path / "out", figures=False)
    tables = {path: path.read_bytes() for path in written.tables}
    whole = add_figures(result, written)
    assert whole.figures
    assert all(path.is_file() for path in whole.figures)
    assert {path: path.read_bytes() for path in written.tables} == tables
    files = json.loads(whole.run.read_text())["files"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files
    result.write(tmp_path / "out", figures=False)  # it knows all that is there


def test_a_network_that_is_being_built_is_given_up_within_a_second(
    interpreter: list[str], tmp_path: Path
) -> None:
    (tmp_path / "large.toml").write_text(LARGE)
    code = (
        "import incast\n"
        "from incast import _core\n"
        "scenario = incast.load('large.toml')\n"
        "print('now', flush=True)\n"
        "try:\n"
        "    _core.run(scenario, 'timely', progress=lambda *_: print('runs', flush=True) or True)\n"
        "except KeyboardInterrupt:\n"
        "    import os, sys\n"
        "    print('stopped', file=sys.stderr, flush=True)\n"
        "    os._exit(130)\n"
    )
    with started(interpreter, code, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        time.sleep(0.1)
        assert not select.select([process.stdout], [], [], 0)[0], "built already: make it larger"
        ended(process, within_s=1.0)


def test_the_command_keeps_what_was_simulated(command: Command, longer: incast.Scenario) -> None:
    Path("mine.toml").write_text(longer.toml())
    real = _core.run

    def run(*arguments: Any, **options: Any) -> _core.Run:  # noqa: ANN401
        if arguments[1] == "line-rate":
            options["progress"] = lambda *_: os.kill(os.getpid(), signal.SIGINT) or True
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "run", run)
        done = command("run", "mine.toml", "--out", "out")
    assert done.code == 130
    assert done.err.count("\n") == 1
    assert "stopped: the tables are kept in out/" in done.err
    result = incast.Result.read("out")
    assert not result.complete
    assert result.runs["timely"].complete
    assert not result.runs["line-rate"].complete


def test_a_loop_in_python_ends_with_what_there_is(longer: incast.Scenario) -> None:
    rounds = []

    def interrupt(*_: object) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return True

    real = _core.run

    def run(*arguments: Any, **options: Any) -> _core.Run:  # noqa: ANN401
        return real(*arguments, **{**options, "progress": interrupt})

    def loop() -> None:
        for seed in range(3):
            rounds.append(seed)
            incast.run(longer, "timely", seed=seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "run", run)
        with pytest.raises(KeyboardInterrupt) as interrupted:
            loop()
    assert rounds == [0]
    assert isinstance(interrupted.value, Interrupted)
    result = interrupted.value.result
    assert isinstance(result, incast.Result)
    assert not result.complete
    assert result.table("flows").height > 0


def test_before_the_first_run_there_is_nothing_to_keep(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "run", run)
    done = command(*RUN)
    assert (done.code, done.out, done.err) == (130, "", "stopped: nothing was simulated\n")
    assert not Path("results/incast").exists()
