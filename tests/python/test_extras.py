"""What runs where only the packages are installed that every use needs, and what the rest says."""

import json
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import polars as pl
import pytest

from incast.base import extras
from test_startup import COMMANDS

SHORT = ("--set", "run.duration=5ms", "--set", "run.warmup=1ms")
# Modules whose package has another name.
MODULES = {"scikit-learn": "sklearn"}
OPTIONAL = sorted({name for names in extras._MODULES.values() for name in names})

# The command where no extra is installed: a module that is None cannot be found or imported.
WITHOUT = """
import sys
sys.modules |= dict.fromkeys({modules!r})
sys.argv = ["incast", *{arguments!r}]
from incast.command import main
main()
"""


def incast(
    folder: Path, *arguments: str, without: list[str] = OPTIONAL
) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(modules=without, arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


def good(folder: Path, *arguments: str) -> str:
    done = incast(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lists_need_no_extra(tmp_path: Path) -> None:
    lines = [
        "--help", "algorithms timely", "docs switches", "plot --list", "reproduce --list",
        "scenario check incast", "scenario list", "tables", "workloads web-search",
    ]  # fmt: skip
    code = COMMANDS.format(lines=lines)
    code = f"import sys\nsys.modules |= dict.fromkeys({OPTIONAL!r})\n{code}"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)


def test_runs_need_no_extra_and_say_what_figures_take(once: Path, tmp_path: Path) -> None:
    seeds = ("--seed", "1", "--seed", "2", "--seed", "3")
    good(tmp_path, "run", "incast", *SHORT, *seeds, "--out", "seeds", "--quiet")
    said = good(tmp_path, "show", *(f"seeds/seed-{n}" for n in (1, 2, 3)), "--baseline", "timely")
    assert "95 % confidence interval" in said
    shown = json.loads(good(once, "show", "once", "--json"))
    assert shown


def test_saturation_needs_no_extra(tmp_path: Path) -> None:
    said = good(
        tmp_path, "saturate", "timely-clos-rpc", "--cc", "timely", "--from", "0.2", "--to", "0.2",
        "--set", "run.duration=6ms", "--set", "run.warmup=1ms", "--set", "run.cooldown=1ms",
        "--out", "load",
    )  # fmt: skip
    assert "pip install 'incast[figures]'" in said
    assert (tmp_path / "load" / "saturation.parquet").is_file()


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result in `once`."""
    folder = tmp_path_factory.mktemp("extras")
    said = good(folder, "run", "incast", *SHORT, "--out", "once")
    assert "figures  none: matplotlib is not installed: pip install 'incast[figures]'" in said
    assert not [*(folder / "once").glob("*.png")]
    assert pl.read_parquet(folder / "once" / "flows.parquet").height > 0
    return folder


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "plot once --figure rtt-cdf",
            "figures need matplotlib and numpy, which are not installed",
        ),
        (
            "scenario show incast --svg network.svg",
            "figures need matplotlib and numpy, which are not installed",
        ),
        (
            "reproduce timely/table-1",
            "experiments need matplotlib, numpy, jinja2 and simpleeval, which are not installed",
        ),
    ],
)
def test_what_needs_an_extra_says_which_in_one_sentence(line: str, said: str, once: Path) -> None:
    done = incast(once, *line.split())
    extra = said.partition(" ")[0].replace("experiments", "reproduce")
    assert done.returncode == 2
    assert done.stderr == f"error: {said}: pip install 'incast[{extra}]'\n"


def test_the_test_bed_needs_no_extra(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules |= dict.fromkeys({OPTIONAL!r})
from incast.cli import lab, observing
from incast.lab import attach, bed, measure, plan, predict, report, result, traffic
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_python_says_so_too(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules |= dict.fromkeys({OPTIONAL!r})
import incast
scenario = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
result = incast.run(scenario, ["timely"])
assert result.summary.height == 1
for draw in (result.plot, lambda: result.figure("rtt-cdf")):
    try:
        draw()
    except incast.IncastError as error:
        assert isinstance(error, ModuleNotFoundError)
        assert "incast[figures]" in str(error)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_one_package_that_is_missing_is_named_alone(tmp_path: Path) -> None:
    done = incast(tmp_path, "reproduce", "timely/table-1", without=["jinja2"])
    assert "experiments need jinja2, which is not installed" in done.stderr


def test_extras_are_those_of_the_package() -> None:
    """What the modules below stand for is what pip installs."""
    declared: dict[str, set[str]] = {}
    for line in requires("incast") or []:
        name, _, condition = line.partition(";")
        for extra in extras._MODULES:
            if f"'{extra}'" in condition.replace('"', "'"):
                package = re.split(r"[\[<>=]", name)[0].strip()
                declared.setdefault(extra, set()).add(MODULES.get(package, package))
    everything = {name for names in declared.values() for name in names} - {"incast"}
    assert everything == {*OPTIONAL}
    assert declared["figures"] == {*extras._MODULES["figures"]}
    always = [line for line in requires("incast") or [] if "extra ==" not in line]
    assert not [line for line in always if line.startswith(tuple(OPTIONAL))]
