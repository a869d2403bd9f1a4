"""Completion as shells do it: keys are pressed in a terminal."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import Self

import incast
from conftest import Command
from incast.base import manual
from incast.figures.catalogue import ABOUT
from incast.reproduce import spec

# The folder of the command first; no settings of a user.
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
ENVIRONMENT = {"PATH": PATH, "TERM": "dumb", "COLUMNS": "200", "LANG": "C.UTF-8"}
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
# Completion asks the program; a command line that is entered prints its words.
SETUP = {
    "bash": "bind 'set enable-bracketed-paste off'",
    "zsh": "unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D",
}
WORDS = 'incast() { printf "<%s>\\n" "$@" end; }'


def needed(shell: str) -> None:
    if shutil.which(shell, path=PATH) is None:
        pytest.skip(f"{shell} is not installed")


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, shell: str, cwd: Path) -> None:
        self.keyboard, screen = pty.openpty()
        self.process = subprocess.Popen(
            START[shell], cwd=cwd, env={**ENVIRONMENT, "HOME": str(cwd)},
            stdin=screen, stdout=screen, stderr=screen, start_new_session=True,
        )  # fmt: skip
        os.close(screen)
        self.setup = f'{SETUP[shell]}; eval "$(incast completion {shell})"; {WORDS}; incast\n'

    def __enter__(self) -> Self:
        self.press(self.setup)
        self.until("<end>\n")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.keyboard)

    def press(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def until(self, what: str) -> str:
        """The output up to a text."""
        seen, end = "", time.monotonic() + 60.0
        while what not in seen:
            assert time.monotonic() < end, seen
            if select.select([self.keyboard], [], [], 0.1)[0]:
                seen += os.read(self.keyboard, 65536).decode().replace("\r", "")
        return seen

    def completed(self, line: str) -> list[str]:
        """The words of a command line after Tab at its end."""
        self.press(f"{line}\t\n")
        return re.findall(r"<(.*)>\n", self.until("<end>\n"))[:-1]


@pytest.fixture(scope="module", params=["bash", "zsh"])
def terminal(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    needed(request.param)
    cwd = tmp_path_factory.mktemp(request.param)
    (cwd / "mine.toml").touch()
    with Terminal(request.param, cwd) as one:
        yield one


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("incast sat", "saturate"),
        ("incast run inca", "run incast"),
        ("incast run mi", "run mine.toml"),
        ("incast run incast --cc patched", "run incast --cc patched-timely"),
        ("incast run incast --cc timely:z", "run incast --cc timely:zhu"),
        ("incast run incast --cc timely --cc timely:z", "run incast --cc timely --cc timely:zhu"),
        ("incast run incast --set run.du", "run incast --set run.duration="),
        ("incast run incast --thr", "run incast --threads"),
        ("incast plot results --figure rp", "plot results --figure rpc-latency"),
        ("incast scenario ch", "scenario check"),
        ("incast kernel att", "kernel attach"),
        ("incast kernel attach tim", "kernel attach timely"),
        ("incast reproduce timely/table", "reproduce timely/table-1"),
    ],
)
def test_tab_completes_a_word(terminal: Terminal, typed: str, completed: str) -> None:
    assert terminal.completed(typed) == completed.split()


def test_bash_completes_the_value_beside_an_equal_sign(tmp_path: Path) -> None:
    with Terminal("bash", tmp_path) as bash:
        words = bash.completed("incast run incast --cc=timely:zh")
        assert words == ["run", "incast", "--cc=timely:zhu"]
        words = bash.completed("incast plot here --figure=rp")
        assert words == ["plot", "here", "--figure=rpc-latency"]


def test_fish_offers_the_same(tmp_path: Path) -> None:
    needed("fish")
    for typed, offered in (
        ("incast run inca", "incast"),
        ("incast run --cc timely:z", "timely:zhu"),
    ):
        code = f"incast completion fish | source; complete -C '{typed}'"
        done = subprocess.run(
            [shutil.which("fish", path=PATH) or "fish", "--no-config", "-c", code], cwd=tmp_path,
            env={**ENVIRONMENT, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.split("\n")[0].split("\t")[0] == offered


def offered(line: str) -> list[str]:
    """The program's answer to a shell."""
    words = line.split(" ")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [Path(sys.executable).parent / "incast"], env={**ENVIRONMENT, **asked,
        "_INCAST_COMPLETE": "complete_bash"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


def test_everything_that_there_is_to_choose_from_is_offered() -> None:
    schemes = offered("incast run incast --cc ")
    for one in incast.algorithms():
        assert {one.name, *(f"{one.name}:{preset.name}" for preset in one.presets)} <= {*schemes}
    dctcp = [name for name in schemes if name.startswith("dct")]
    assert offered("incast show results --baseline dct") == dctcp
    for line in ("run", "saturate", "scenario check"):
        assert offered(f"incast {line} ") == list(incast.shipped())
    assert offered("incast algorithms ") == [one.name for one in incast.algorithms()]
    assert offered("incast workloads ") == [one.name for one in incast.workloads()]
    assert offered("incast plot --figure ") == list(ABOUT)
    assert offered("incast plot --format ") == ["png", "svg", "pdf"]
    assert offered("incast docs guide/") == [one for one in manual.pages() if "guide/" in one]
    assert {"timely", *spec.known()} <= {*offered("incast reproduce ")}
    assert offered("incast run incast --trace ") == ["queues", "flows", "packets"]
    assert offered("incast completion ") == ["bash", "zsh", "fish"]
    assert offered("incast run incast --set run.d") == ["run.duration=", "run.drain="]
    assert offered("incast sweep incast --vary traffic.0.conn") == ["traffic.0.connections="]
    assert {"network.", "run.", "cc."} <= {*offered("incast run incast --set ")}
    assert offered("incast run incast --set network.") == ["network.star."]
    assert offered("incast run fat-tree-web-search --set traffic.0.lo") == ["traffic.0.load="]
    assert offered("incast run incast --set cc.swift.fs_r") == ["cc.swift.fs_range="]
    kinds = offered("incast run incast --set transport.kind=")
    assert kinds == ["transport.kind=message", "transport.kind=stream"]
    assert offered("incast run no-such --set run.d") == []
    assert {"--cc", "--set", "--seed", "--help"} <= {*offered("incast run -")}


def test_a_shell_that_is_not_known_is_refused(command: Command) -> None:
    assert "tcsh: expected bash, zsh, fish" in command("completion", "tcsh").error
