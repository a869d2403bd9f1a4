"""`incast udp` on a terminal, and Ctrl-C: the table of peers, the bar, what is shown in the end."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("UDP sockets need Linux", allow_module_level=True)

from incast import udp
from servers import running, serving, starting, until

SOME_PERCENT = r"━+.* [1-9]\d?% "
SLOW = ("--cc", "line-rate", "--line-rate", "100Mbps")


class Screen:
    """A terminal of 100 columns, and all that was written to it without colors."""

    def __init__(self) -> None:
        self._ours, self.end = pty.openpty()
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self._raw = b""

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self._raw.decode(errors="replace"))

    def until(self, pattern: str) -> "re.Match[str]":
        """The first match of a pattern, which comes in time."""
        deadline = time.monotonic() + 30
        while (found := re.search(pattern, self.text)) is None:
            assert time.monotonic() < deadline, self.text
            if select.select([self._ours], [], [], 0.1)[0]:
                self._raw += os.read(self._ours, 65536)
        return found

    def rest(self) -> str:
        """All text, when nobody writes any more."""
        while select.select([self._ours], [], [], 0.2)[0]:
            self._raw += os.read(self._ours, 65536)
        return self.text

    def close(self) -> None:
        os.close(self.end)
        os.close(self._ours)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    """A terminal whose size is its own."""
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    one = Screen()
    yield one
    one.close()


def test_a_server_shows_its_peers(interpreter: list[str], screen: Screen) -> None:
    serve = starting(interpreter, "--plaintext")
    with running(serve, stdout=screen.end) as server:
        address = screen.until(r"listening at (\S+); Ctrl-C ends it")[1]
        with udp.Host("127.0.0.1:0", plaintext=True) as host:
            peer = host.connect(address)
            load = b"load" + struct.pack(">I", 64_000) + bytes(100_000)
            assert [len(peer.call(load)) for _ in range(30)] == [64_000] * 30
            port = host.address.rpartition(":")[2]
            screen.until(r"peer +RTT, us +least +messages +MB +waiting +again")
            row = screen.until(
                rf"127\.0\.0\.1:{port} +([\d,]+\.\d) +([\d,]+\.\d) +30 +3\.0 +0 +\d+"
            )
            rtt, least = (float(number.replace(",", "")) for number in row.groups())
            # Between two processes of one machine the least can be less than the last digit.
            assert 0 <= least < 100_000
            assert 0 < rtt < 100_000
            peer.note(b"how are you?")
            screen.until(rf"message from 127\.0\.0\.1:{port}: how are you\?\n")
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=30)
    assert (server.returncode, err) == (130, "stopped\n")


def test_a_file_that_is_sent_has_a_bar(
    interpreter: list[str], screen: Screen, tmp_path: Path
) -> None:
    into = tmp_path / "into"
    into.mkdir()
    file = tmp_path / "some.bin"
    file.write_bytes(bytes(20 << 20))
    with serving(interpreter, "--plaintext", "--into", str(into)) as (address, _):
        command = [*interpreter, "udp", "send", address, str(file), "--plaintext", *SLOW]
        with running(command, stderr=screen.end) as sender:
            # A line with a bar, the part that is done, and the time left.
            for part in (r"0", r"[1-4]\d", r"[5-9]\d"):
                screen.until(rf"━+.* {part}% +\S+")
            out, _ = sender.communicate(timeout=60)
        assert (sender.returncode, out.startswith(f"sent {file} ({20 << 20} B) in ")) == (0, True)
    assert (into / "some.bin").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_shows_what_a_load_has_measured(
    interpreter: list[str], screen: Screen, as_json: bool
) -> None:
    command = [*interpreter, "udp", "call", "--plaintext", "--size", "1KB"]
    options = ["--json"] if as_json else []
    with udp.Host("127.0.0.1:0", plaintext=True, answers_loads=True) as server:
        with running([*command, server.address, *options], stderr=screen.end) as client:
            until(lambda: any(peer["messages"] > 100 for peer in server.peers()))
            if not as_json:
                screen.until(SOME_PERCENT)
            client.send_signal(signal.SIGINT)
            out, _ = client.communicate(timeout=30)
        assert client.returncode == 130, screen.rest()
        until(lambda: not server.peers())
    said = "stopped: what was measured until then is shown\n"
    if as_json:
        assert json.loads(out)["calls"] > 0
        assert screen.rest() == said
    else:
        assert out.startswith("timely:auto: ")
        assert re.search(r"latency of a call, us +\d", out)
        assert screen.rest().endswith(f"\n{said}")
        assert "Traceback" not in screen.text


@pytest.mark.parametrize("name", ["call", "send", "bench"])
def test_ctrl_c_while_nobody_answers_is_one_line(interpreter: list[str], name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(30)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [*interpreter, "udp", name, address, "--plaintext"]
        with running([*command, *(["--text", "a"] if name == "send" else [])]) as client:
            silent.recv(2_000)
            client.send_signal(signal.SIGINT)
            ended = client.communicate(timeout=30)
    assert (client.returncode, *ended) == (130, "", "stopped\n")


@pytest.mark.parametrize("name", ["send", "bench"])
def test_ctrl_c_in_the_middle_is_one_line(
    interpreter: list[str], screen: Screen, tmp_path: Path, name: str
) -> None:
    into, file = tmp_path / "into", tmp_path / "some.bin"
    into.mkdir()
    file.write_bytes(bytes(40 << 20))
    options = [str(file), *SLOW] if name == "send" else ["--rounds", "99", "--duration", "50ms"]
    with serving(interpreter, "--plaintext", "--bench", "--into", str(into)) as (address, _):
        command = [*interpreter, "udp", name, address, "--plaintext", *options]
        with running(command, stderr=screen.end) as client:
            screen.until(SOME_PERCENT)
            assert len(list(into.iterdir())) == (1 if name == "send" else 0)
            client.send_signal(signal.SIGINT)
            out, _ = client.communicate(timeout=30)
        assert (client.returncode, out) == (130, "")
        assert screen.rest().endswith("\nstopped\n")
        assert "Traceback" not in screen.text
        until(lambda: not list(into.iterdir()))
