"""Files over UDP: senders that die, servers that are killed, and names that two want."""

import errno
import hashlib
import os
import re
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Command
from incast import IncastError

if sys.platform != "linux":
    pytest.skip("UDP sockets need Linux", allow_module_level=True)

from incast import udp
from incast.udp.receiving import Bounds, Receiver
from incast.udp.serving import said
from servers import running, serving, starting, until

CONTENT = bytes(range(256)) * 40
SLOW = ("--cc", "line-rate", "--line-rate", "100Mbps")


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """The folder of a server."""
    path = tmp_path / "into"
    path.mkdir()
    return path


@contextmanager
def receiving(
    folder: Path,
    bounds: Bounds | None = None,
    told: list[str] | None = None,
    **settings: float,
) -> Iterator[str]:
    """A server on another thread that takes files; yields its address."""
    over, lines = threading.Event(), [] if told is None else told
    with (
        udp.Host("127.0.0.1:0", plaintext=True, **settings) as host,
        Receiver(folder, bounds, tell=lines.append, warn=lines.append) as receiver,
    ):

        def run() -> None:
            while not over.is_set():
                request = host.accept(0.05)
                if request is not None:
                    receiver.take(request, request.body)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield host.address
        finally:
            over.set()
            thread.join()


@pytest.fixture
def peer(into: Path) -> Iterator[udp.Peer]:
    """A peer of a server that takes files into `into`."""
    with receiving(into) as address, udp.Host(plaintext=True) as host:
        yield host.connect(address)


def opened(peer: udp.Peer, name: str | bytes, size: int = len(CONTENT)) -> bytes:
    """The number of a transfer that a peer has opened."""
    raw = name.encode() if isinstance(name, str) else name
    return peer.call(b"fileo" + struct.pack(">Q", size) + raw)


def written(peer: udp.Peer, number: bytes, content: bytes = CONTENT, offset: int = 0) -> None:
    """Writes a part of a file: all of it, if nothing else is said."""
    peer.call(b"filep" + number + struct.pack(">Q", offset) + content)


def ended(peer: udp.Peer, number: bytes, content: bytes = CONTENT) -> None:
    """Ends the transfer of a file."""
    peer.call(b"filee" + number + hashlib.sha256(content).digest())


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
        assert err.count("stopped") == (0 if how == signal.SIGKILL else 1)
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
    peer: udp.Peer, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
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
            IncastError, match=f"there is no transfer {number.hex()}; send the file again"
        ):
            written(other, number, b"of another")
        with pytest.raises(
            IncastError, match=f"there is no transfer {number.hex()}; send the file again"
        ):
            ended(other, number)
        ended(owner, number)
    assert (into / "some.bin").read_bytes() == CONTENT


def test_another_content_than_was_told_is_no_file(peer: udp.Peer, into: Path) -> None:
    number = opened(peer, "some.bin")
    written(peer, number)
    with pytest.raises(IncastError, match="has arrived with another content; send it again"):
        ended(peer, number, b"what was told")
    assert not list(into.iterdir())
    with pytest.raises(IncastError, match="there is no transfer"):
        written(peer, number)


def test_names_as_long_as_a_folder_takes(peer: udp.Peer, into: Path) -> None:
    name = "ä" * 127 + "b"
    number = opened(peer, name)
    written(peer, number)
    ended(peer, number)
    assert [path.name for path in into.iterdir()] == [name]


def test_files_on_their_way_are_bounded_by_host(into: Path) -> None:
    bounds = Bounds(of_host=2, in_all=3)
    with (
        receiving(into, bounds) as address,
        udp.Host("127.0.0.1:0", plaintext=True) as one,
        udp.Host("127.0.0.1:0", plaintext=True) as again,
        udp.Host("127.0.0.2:0", plaintext=True) as two,
        udp.Host("127.0.0.3:0", plaintext=True) as three,
    ):
        peer, other, third = one.connect(address), two.connect(address), three.connect(address)
        numbers = [opened(peer, f"name{number}") for number in range(2)]
        # Another port is no other host.
        for connection in (peer, again.connect(address)):
            with pytest.raises(IncastError, match="too many files are on their way"):
                opened(connection, "another")
        opened(other, "of another")
        with pytest.raises(IncastError, match="too many files are on their way"):
            opened(peer, "another")
        # The host with the most makes place, with the file that nothing came for.
        written(peer, numbers[0])
        opened(third, "of a third")
        ended(peer, numbers[0])
        with pytest.raises(IncastError, match="there is no transfer"):
            written(peer, numbers[1])


def test_what_peers_store_is_bounded(into: Path) -> None:
    bounds = Bounds(file_bytes=300_000, total_bytes=500_000)
    with receiving(into, bounds) as address, udp.Host(plaintext=True) as host:
        peer = host.connect(address)
        with pytest.raises(IncastError, match="300001 B are more than the 300000 B that this"):
            opened(peer, "too long", 300_001)
        # Promises take no room of others.
        promises = [opened(peer, f"promise {number}", 300_000) for number in range(3)]
        with pytest.raises(IncastError, match="a part ends at 300001 B of 300000 B"):
            written(peer, promises[0], bytes(300_001))
        written(peer, promises[0], bytes(300_000))
        with pytest.raises(IncastError, match=r"there is no room for 200001 B: all files have"):
            opened(peer, "too much", 200_001)
        with pytest.raises(IncastError, match=r"there is no room for 100000 B: all files have"):
            written(peer, promises[1], bytes(100_000))
        with pytest.raises(IncastError, match="there is no transfer"):
            ended(peer, promises[1], b"")
        ended(peer, promises[0], bytes(300_000))
        # Empty files take a place each; one that was promised has one as well.
        for name in ("empty", "empty, too"):
            ended(peer, opened(peer, name, 0), b"")
        with pytest.raises(IncastError, match="there is no room for 65536 B"):
            opened(peer, "one more", 0)
        peer.close()
        # What was under way of somebody who is gone is free again.
        again = host.connect(address)
        until(lambda: len(list(into.iterdir())) == 3)
        ended(again, opened(again, "one more", 0), b"")


def test_a_file_that_lost_bytes_on_the_disk_is_no_file(peer: udp.Peer, into: Path) -> None:
    number = opened(peer, "cleaned", 2 * len(CONTENT))
    written(peer, number)
    (part,) = into.iterdir()
    part.unlink()
    with pytest.raises(IncastError, match="cannot be stored there: No such file"):
        written(peer, number, offset=len(CONTENT))
    with pytest.raises(IncastError, match="there is no transfer"):
        ended(peer, number, CONTENT * 2)
    number = opened(peer, "longer")
    written(peer, number)
    (part,) = into.iterdir()
    with part.open("ab") as file:
        file.write(b"more")
    with pytest.raises(IncastError, match="has arrived with another content; send it again"):
        ended(peer, number)
    assert not list(into.iterdir())


def test_the_disk_itself_is_a_bound(into: Path) -> None:
    everything = Bounds(file_bytes=2**62, total_bytes=2**63)
    with receiving(into, everything) as address, udp.Host(plaintext=True) as host:
        with pytest.raises(IncastError, match=f"there is no room for {2**61} B on the disk there"):
            opened(host.connect(address), "huge", 2**61)
        assert not list(into.iterdir())


def test_parts_come_in_order_and_leave_no_holes(peer: udp.Peer, into: Path) -> None:
    number = opened(peer, "sparse", 2**33)
    with pytest.raises(IncastError, match=f"a part begins at {2**33 - 1} B and not at 0 B"):
        written(peer, number, b"x", 2**33 - 1)
    written(peer, number, b"abc")
    with pytest.raises(IncastError, match="a part begins at 0 B and not at 3 B"):
        written(peer, number, b"abc")
    with pytest.raises(IncastError, match=f"3 B of {2**33} B of sparse have come"):
        ended(peer, number, b"abc")
    assert not list(into.iterdir())


def test_a_file_that_nobody_goes_on_with_is_dropped(into: Path) -> None:
    with receiving(into, Bounds(idle_s=0.2)) as address, udp.Host(plaintext=True) as host:
        peer = host.connect(address)
        number = opened(peer, "left behind", 10)
        until(lambda: not list(into.iterdir()))
        with pytest.raises(IncastError, match="there is no transfer"):
            written(peer, number, b"0123456789")


def test_names_that_are_none_are_refused(peer: udp.Peer, into: Path) -> None:
    for name in (
        b"", b".", b"..", b".hidden", b"-rf", b" a", b"a ", b"a/b", b"/etc/passwd", b"a\nb",
        b"a\x1b[2Jb", b"\xed\xa0\x80", b"\xff", b"a\x00b", b"x" * 256,
        "\u202egnp.exe".encode(), "\u2028".encode(),
    ):  # fmt: skip
        for _ in range(2):
            with pytest.raises(IncastError, match="is no name of a file here: 1 to 255 B of"):
                opened(peer, name)
    assert peer.statistics() is not None
    assert not list(into.iterdir())


def test_a_peer_hears_nothing_of_the_folders_of_a_server(into: Path) -> None:
    told: list[str] = []
    with receiving(into, told=told) as address, udp.Host(plaintext=True) as host:
        peer = host.connect(address)
        number = opened(peer, "some.bin")
        (part,) = into.iterdir()
        part.unlink()
        part.mkdir()
        with pytest.raises(IncastError, match="cannot be stored there: Is a directory") as refused:
            written(peer, number)
        assert str(into) not in str(refused.value)
        assert f"{part}: Is a directory" in told
        part.rmdir()


def test_messages_in_a_line_control_no_terminal() -> None:
    assert said("here", b"a\x1b[2Jb") == "message from here: a [2Jb"
    assert said("here", "é".encode() * 300) == f"message from here: {'é' * 200} ... (600 B)"
    assert said("here", bytes([255, 254, 0, 1] * 9)) == "message from here: 36 B"
    # The cut is in the middle of a character.
    text = ("aé" * 500)[: 3 * 267].encode()
    assert said("here", text).startswith("message from here: aéaé")
