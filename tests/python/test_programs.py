"""The test bed knows of BPF programs only what `incast-kernel` lists."""

import re
import stat
from pathlib import Path

import pytest

import incast
from beds import STAR, built_program
from incast import _core
from incast.lab import attach, plan, predict
from incast.lab.programs import BpfProgram, listed

# Stands in for incast-kernel: lists two programs, and keeps what else it was asked.
STUB = """#!/bin/sh
case $1 in
algorithms) echo '[
    {"name": "timely", "preset": "zhu", "line_rate": true, "ecn": false,
     "parameters": {"t_low": "50us"}, "host_params": {"min_filter": "500us"}},
    {"name": "dctcp", "preset": null, "line_rate": false, "ecn": true, "parameters": {},
     "host_params": {}}]' ;;
*) echo "$*" >> "$0.asked" ;;
esac
"""


def _stub(folder: Path, text: str) -> Path:
    path = folder / "incast-kernel"
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _plan() -> plan.BedPlan:
    return plan.read(incast.Scenario.parse(STAR, "mine"), "cubic")


def test_a_program_is_attached_as_it_is_listed(tmp_path: Path) -> None:
    stub = _stub(tmp_path, STUB)
    for scheme in ("timely", "dctcp", "timely:zhu[t_low=40us,beta=0.5]"):
        with attach.attached(_plan(), stub, scheme, ["g=0.1"] if scheme == "dctcp" else []):
            pass
    asked = (tmp_path / "incast-kernel.asked").read_text().splitlines()
    words = [line.split() for line in asked if line.startswith("attach")]
    assert [(line[1], line[4:]) for line in words] == [
        ("timely", ["--set", "line_rate=10000Mbps"]),
        ("dctcp", ["--set", "g=0.1"]),
        ("timely", ["--preset", "zhu", "--set", "line_rate=10000Mbps",
                    "--set", "t_low=40us", "--set", "beta=0.5"]),
    ]  # fmt: skip


def test_an_algorithm_without_a_program_is_refused_with_those_that_there_are(
    tmp_path: Path,
) -> None:
    stub = _stub(tmp_path, STUB)
    said = "^swift: is not on Linux TCP; there is cubic, bbr, newreno, timely, dctcp$"
    with pytest.raises(plan.LabError, match=said), attach.attached(_plan(), stub, "swift", []):
        pass
    said = r"^cubic\[beta=0.7\]: Linux's own cubic has no such parameters; leave them out$"
    cubic = attach.attached(_plan(), stub, "cubic[beta=0.7]", [])
    with pytest.raises(plan.LabError, match=said), cubic:
        pass


@pytest.mark.parametrize(
    ("scheme", "simulated"),
    [
        ("timely", "timely"),
        ("timely:linux-tcp", "timely"),
        ("timely[t_low=30us]", "timely"),
        ("dctcp", "dctcp"),
        ("cubic", "cubic"),
    ],
)
def test_what_is_attached_is_simulated(tmp_path: Path, scheme: str, simulated: str) -> None:
    scenario = incast.Scenario.parse(STAR, "mine").with_set("run.duration=1ms", "run.warmup=0us")
    assert predict.of_linux(scenario, _stub(tmp_path, STUB), scheme, [], 1).scheme == simulated


TIMELY = BpfProgram(
    preset="linux-tcp",
    line_rate=True,
    ecn=False,
    host_params={"min_filter": "500us", "initial_rate": "share"},
)


@pytest.mark.parametrize(
    ("scheme", "knobs", "expected"),
    [
        ("timely", [], {"preset": "linux-tcp", "t_low": "20us"}),
        ("timely:linux-tcp", [], {"preset": "linux-tcp", "t_low": "20us"}),
        (
            "timely:zhu",
            ["rtcp.alpha=800", "timely.t_high=2ms", "window=1ms", "line_rate=1Gbps", "t_low=30us"],
            {
                "preset": "zhu",
                "min_filter": "500us",
                "initial_rate": "share",
                "t_low": "30us",
                "t_high": "2ms",
                "window": "1ms",
            },
        ),
        (
            "timely:linux-tcp[t_low=40us,beta=0.5]",
            ["beta=0.6"],
            {"preset": "linux-tcp", "t_low": "40us", "beta": "0.6"},
        ),
        # eRPC's own first rate stands.
        ("timely:erpc", [], {"preset": "erpc", "min_filter": "500us", "t_low": "20us"}),
    ],
)
def test_predictions_have_the_values_that_are_attached(
    scheme: str, knobs: list[str], expected: dict[str, str]
) -> None:
    text = STAR + '[cc.timely]\npreset = "erpc"\ntransport = "message"\nt_low = "20us"\n'
    scenario, name = predict.attached(incast.Scenario.parse(text), TIMELY, scheme, knobs)
    assert name == "timely"
    section = scenario.toml().partition("[cc.timely]")[2].partition("\n[")[0]
    found = dict(re.findall(r'(\w+) = "?([^"\n]*)"?', section))
    assert found == expected | {"transport": "stream"}


def test_without_the_program_the_remedy_is_said(tmp_path: Path) -> None:
    said = "No such file or directory; `make kernel` builds it$"
    with pytest.raises(plan.LabError, match=said):
        listed(tmp_path / "incast-kernel")


@pytest.mark.parametrize(
    "answer",
    ["echo \"error: unrecognized subcommand 'algorithms'\" >&2; exit 2", "echo '[{}]'", "echo 1"],
)
def test_a_program_of_another_version_is_said(tmp_path: Path, answer: str) -> None:
    stub = _stub(tmp_path, f"#!/bin/sh\n{answer}\n")
    with pytest.raises(plan.LabError, match="does not list its algorithms; `make kernel`"):
        listed(stub)


def test_what_was_built_attaches_presets_of_the_simulator() -> None:
    program = built_program()
    if program is None:
        pytest.skip("incast-kernel is not built (make kernel)")
    found = listed(program)
    assert found["dctcp"] == BpfProgram(preset=None, line_rate=False, ecn=True, host_params={})
    presets = {one.name: [preset.name for preset in one.presets] for one in _core.algorithms()}
    for name, one in found.items():
        assert one.preset is None or one.preset in presets[name], name
    assert found["timely"].host_params["min_filter"] == "500us"
