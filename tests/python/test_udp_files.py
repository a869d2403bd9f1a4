"""Files over UDP: senders that die, servers that are killed, and names that two want."""

import errno
import hashlib
import json
import os
import re
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Finished
from incast import IncastError

if sys.platform != "linux":
    pytest.skip("UDP sockets need Linux", allow_module_level=True)

from incast import udp
from incast.udp import files
from servers import running, serving, starting, until

Command = Callable[..., Finished]

CONTENT = bytes(range(256)) * 40
SLOW = ("--cc", "line-rate", "--line-rate", "100Mbps")


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """The folder of a server."""
    path = tmp_path / "into"
    path.mkdir()
    return path


@contextmanager
def receiving(folder: Path, **settings: float) -> Iterator[str]:
    """A server on another thread that takes files; yields its address."""
    over = threading.Event()
    with (
        udp.Host("127.0.0.1:0", plaintext=True, **settings) as host,
        files.Receiver(folder) as receiver,
    ):

        def run() -> None:
            while not over.is_set():
                request = host.accept(0.05)
                receiver.forget_gone()
                if request is not None:
                    receiver.answer(request)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield host.address
        finally:
            over.set()
            thread.join()


def opened(peer: udp.Peer, name: str, size: int = len(CONTENT)) -> int:
    """The number of a transfer that a peer has opened."""
    return int.from_bytes(peer.call(b"fileo" + json.dumps({"name": name, "size": size}).encode()))


def written(peer: udp.Peer, number: int, content: bytes = CONTENT) -> None:
    """Writes all of a file."""
    peer.call(struct.pack(">5sQQ", b"filep", number, 0) + content)


def ended(peer: udp.Peer, number: int, content: bytes = CONTENT) -> None:
    """Ends the transfer of a file."""
    end = {"number": number, "sha256": hashlib.sha256(content).hexdigest()}
    peer.call(b"filee" + json.dumps(end).encode())


def large(folder: Path) -> Path:
    """A file that takes seconds at the rate of a slow sender."""
    path = folder / "large.bin"
    path.write_bytes(os.urandom(1 << 20) * 40)
    return path


def test_a_killed_sender_leaves_nothing(interpreter: list[str], into: Path, tmp_path: Path) -> None:
    file = large(tmp_path)
    with receiving(into, patience_s=1.0) as address:
        command = [*interpreter, "udp", "send", address, str(file), "--plaintext", *SLOW]
        with running(command) as sender:
            until(lambda: [path for path in into.iterdir() if path.stat().st_size])
            (part,) = into.iterdir()
            assert re.fullmatch(r"\.large\.bin\.[0-9a-f]{16}\.part", part.name)
            sender.send_signal(signal.SIGKILL)
        until(lambda: not list(into.iterdir()))


def test_a_server_forgets_a_peer_that_closes(
    interpreter: list[str], command: Command, into: Path, tmp_path: Path
) -> None:
    with serving(interpreter, "--plaintext", "--into", str(into)) as (address, _):
        with udp.Host(plaintext=True) as host:
            peer = host.connect(address)
            written(peer, opened(peer, "some.bin"))
            assert [path.stat().st_size for path in into.iterdir()] == [len(CONTENT)]
            peer.close()
        until(lambda: not list(into.iterdir()))
        (tmp_path / "some.bin").write_bytes(CONTENT)
        done = command("udp", "send", address, str(tmp_path / "some.bin"), "--plaintext")
        assert done.code == 0, done.err
    assert (into / "some.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_server_that_ends_does_not_hinder_the_next(
    interpreter: list[str], command: Command, into: Path, tmp_path: Path, how: int, code: int
) -> None:
    serve = starting(interpreter, "--plaintext", "--into", str(into))
    with (
        udp.Host(plaintext=True) as host,
        running(serve) as server,
    ):
        assert server.stdout is not None
        found = re.match(r"listening at (\S+);", server.stdout.readline())
        assert found is not None
        peer = host.connect(found[1])
        written(peer, opened(peer, "some.bin"))
        server.send_signal(how)
        _, err = server.communicate(timeout=30)
        assert server.returncode == code
        assert "Traceback" not in err
    # Nobody cleans up behind SIGKILL.
    assert len(list(into.iterdir())) == (1 if how == signal.SIGKILL else 0)
    (tmp_path / "some.bin").write_bytes(CONTENT)
    with serving(interpreter, "--plaintext", "--into", str(into)) as (address, _):
        done = command("udp", "send", address, str(tmp_path / "some.bin"), "--plaintext")
        assert done.code == 0, done.err
    assert (into / "some.bin").read_bytes() == CONTENT


def test_of_two_senders_of_a_name_one_wins(into: Path) -> None:
    other = CONTENT[::-1]
    with (
        receiving(into) as address,
        udp.Host(plaintext=True) as one,
        udp.Host(plaintext=True) as two,
    ):
        first, second = one.connect(address), two.connect(address)
        numbers = opened(first, "some.bin"), opened(second, "some.bin")
        written(first, numbers[0])
        written(second, numbers[1], other)
        ended(second, numbers[1], other)
        with pytest.raises(IncastError, match=r"some\.bin is there already; give the file another"):
            ended(first, numbers[0])
        assert [path.name for path in into.iterdir()] == ["some.bin"]
        assert (into / "some.bin").read_bytes() == other
        with pytest.raises(IncastError, match=r"some\.bin is there already; give the file another"):
            opened(first, "some.bin")


def test_where_there_are_no_hard_links_one_wins_too(
    into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    with receiving(into) as address, udp.Host(plaintext=True) as host:
        peer = host.connect(address)
        numbers = [opened(peer, "some.bin") for _ in range(2)]
        for number in numbers:
            written(peer, number)
        ended(peer, numbers[0])
        with pytest.raises(IncastError, match=r"some\.bin is there already; give the file another"):
            ended(peer, numbers[1])
        assert [path.name for path in into.iterdir()] == ["some.bin"]
        assert (into / "some.bin").read_bytes() == CONTENT


def test_nobody_writes_to_the_transfer_of_another_peer(into: Path) -> None:
    with (
        receiving(into) as address,
        udp.Host(plaintext=True) as one,
        udp.Host(plaintext=True) as two,
    ):
        owner, other = one.connect(address), two.connect(address)
        number = opened(owner, "some.bin")
        written(owner, number)
        with pytest.raises(
            IncastError, match=f"there is no transfer {number}; send the file again"
        ):
            written(other, number, b"of another")
        with pytest.raises(
            IncastError, match=f"there is no transfer {number}; send the file again"
        ):
            ended(other, number)
        ended(owner, number)
    assert (into / "some.bin").read_bytes() == CONTENT


def test_another_content_than_was_told_is_no_file(into: Path) -> None:
    with receiving(into) as address, udp.Host(plaintext=True) as host:
        peer = host.connect(address)
        number = opened(peer, "some.bin")
        written(peer, number)
        with pytest.raises(IncastError, match="has arrived with another content; send it again"):
            ended(peer, number, b"what was told")
        assert not list(into.iterdir())
        with pytest.raises(IncastError, match="there is no transfer"):
            written(peer, number)


def test_names_as_long_as_a_folder_takes(into: Path) -> None:
    name = "ä" * 127 + "b"
    with receiving(into) as address, udp.Host(plaintext=True) as host:
        peer = host.connect(address)
        number = opened(peer, name)
        written(peer, number)
        ended(peer, number)
    assert [path.name for path in into.iterdir()] == [name]


def test_files_on_their_way_are_bounded_and_names_control_no_terminal(
    into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_TRANSFERS", 2)
    with receiving(into) as address, udp.Host("127.0.0.1:0", plaintext=True) as host:
        peer = host.connect(address)
        numbers = [opened(peer, f"name{number}") for number in range(2)]
        with pytest.raises(IncastError, match="2 files are on their way"):
            opened(peer, "another")
        written(peer, numbers[0])
        ended(peer, numbers[0])
        opened(peer, "another")

    class Said:
        body, wants_reply = b"a\x1b[2Jb", False
        peer = type("Peer", (), {"address": "here"})

    assert files.said(Said) == "message from here: a [2Jb"  # type: ignore[arg-type]
    assert files._printable("x\x1by\n") == "x y "
