"""Peers of `incast udp serve` that send what they like: nobody ends the server or fills it.

`INCAST_STRANGERS_S=600 pytest tests/python/test_udp_strangers.py` lets them come and go for ten
minutes; `INCAST_STRANGERS=100000` tries as many calls.
"""

import asyncio
import logging
import os
import random
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import Command
from incast import IncastError

if sys.platform != "linux":
    pytest.skip("UDP sockets need Linux", allow_module_level=True)

from incast import udp
from incast.cli.live import Lines
from incast.udp.host import Request
from incast.udp.receiving import Bounds, Receiver
from incast.udp.serving import Server
from servers import running, starting

OPEN, PART, END, WORK, BARE = b"fileo", b"filep", b"filee", b"barew", b"bareo"
DEEP = b"[" * 200_000
SPARSE = b"filep" + bytes(8) + struct.pack(">Q", 2**43 - 1) + b"x"
ATTACKS = [
    OPEN + DEEP,
    b"file" + DEEP,
    BARE + DEEP,
    WORK + DEEP,
    OPEN + struct.pack(">Q", 1) + b"\xed\xa0\x80",
    OPEN + b'{"name": "\\ud800", "size": 1}',
    OPEN + struct.pack(">Q", 2**64 - 1) + b"name",
    OPEN + struct.pack(">Q", 1) + b"1e999\n",
    SPARSE,
    END + bytes(8) + bytes(32),
    b'bare{"kind":"calls","time_s":-1,"spin":true}',
    b'bare{"kind":"calls","time_s":NaN,"spin":true}',
    b'bare{"kind":"calls","time_s":-Infinity,"spin":true}',
    BARE + struct.pack(">BBI", 0, 1, 2**32 - 1),
    BARE + struct.pack(">BBI", 0, 1, 0),
    BARE + struct.pack(">BBI", 200, 1, 1_000),
    BARE + struct.pack(">BBI", 0, 255, 1_000),
    b"load" + struct.pack(">I", 2**32 - 1),
    b"load",
    b"file",
    b"bare",
    b"",
    b"\xff" * 100_000,
]


@pytest.mark.parametrize("flags", [(), ("--into",), ("--bench",), ("--into", "--bench")])
def test_no_call_ends_the_server(
    interpreter: list[str], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    arguments = [
        word for flag in flags for word in ((flag, str(tmp_path)) if flag == "--into" else (flag,))
    ]
    with running(starting(interpreter, "--plaintext", *arguments)) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2].rstrip(";")
        with udp.Host(plaintext=True) as host:
            peer = host.connect(address)
            for attack in ATTACKS * 2:
                with suppress(IncastError):
                    peer.call(attack, timeout_s=20)
                peer.note(attack, timeout_s=20)
            # Somebody else is served at once.
            honest = udp.Host(plaintext=True)
            assert honest.connect(address).call(b"load" + struct.pack(">I", 8), timeout_s=20)
            honest.close()
        server.terminate()
        _, err = server.communicate(timeout=30)
    assert server.returncode == 143
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_bench_takes_a_flag_and_there_is_one_at_a_time(
    interpreter: list[str], command: Command
) -> None:
    with running(starting(interpreter, "--plaintext")) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2].rstrip(";")
        done = command("udp", "bench", address, "--plaintext", "--rounds", "1")
        assert done.code == 2
        assert "this server offers no bench; start it with --bench" in done.err
    with running(starting(interpreter, "--plaintext", "--bench")) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2].rstrip(";")
        with udp.Host(plaintext=True) as host:
            peer = host.connect(address)
            ask = BARE + struct.pack(">BBI", 0, 1, 1_500)
            assert len(peer.call(ask)) == 2
            assert peer.call(ask) == b"", "another one answers"
            # A socket that spins has a thread of its own: calls are answered meanwhile.
            assert len(peer.call(b"load" + struct.pack(">I", 8) + bytes(8), timeout_s=1)) == 8
            until = time.monotonic() + 20
            while not peer.call(ask):
                assert time.monotonic() < until
                time.sleep(0.1)


class Fake:
    """A request whose answers are counted."""

    def __init__(self, body: bytes, peer: object) -> None:
        self.body, self.peer, self.wants_reply = body, peer, True
        self.answers = 0

    def reply(self, body: bytes) -> None:
        """Counts a reply."""
        assert isinstance(body, bytes)
        self._answered()

    def refuse(self, reason: str) -> None:
        """Counts a refusal, whose reason has to be a text."""
        assert reason.encode()
        assert reason.isprintable()
        self._answered()

    def _answered(self) -> None:
        self.answers += 1
        assert self.answers == 1, "answered once"


class Known:
    """A peer that is there."""

    def __init__(self, number: int, network: str = "10.0.0.{}") -> None:
        self.address = f"{network.format(number)}:7000"

    def statistics(self) -> dict[str, object]:
        """Anything but None: it is not gone."""
        return {}


def calls(seed: int, numbers: list[bytes]) -> Iterator[bytes]:
    """Calls of the two protocols, most of them nearly right."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    sizes = (0, 1, 9, 100, 2**20, 2**31, 2**43, 2**63, 2**64 - 1)
    names = (b"a", b"b.bin", b".c", b"../d", "é".encode(), b"\xff", b"", b"x" * 300, b"n\n", b"\0")
    while True:
        number = chance.choice([*numbers[-9:], bytes(8), chance.randbytes(8)])
        offset = struct.pack(">Q", chance.choice(sizes))
        call = chance.choice(
            [
                OPEN + struct.pack(">Q", chance.choice(sizes)) + chance.choice(names),
                PART + number + offset + chance.randbytes(chance.choice((0, 1, 9, 100))),
                END + number + chance.randbytes(chance.choice((32, 32, 31, 0))),
                WORK + chance.randbytes(chance.choice((0, 1))),
                BARE
                + struct.pack(
                    ">BBI",
                    chance.randrange(6),
                    chance.randrange(3),
                    chance.choice((0, 1, 13_000, 2**32 - 1)),
                ),
                chance.choice(ATTACKS),
            ]
        )
        if chance.random() < 0.3 and call:
            at = chance.randrange(len(call))
            cut = (call[:at], call[:at] + chance.randbytes(2) + call[at + 1 :], call + call[:at])
            call = chance.choice(cut)
        yield call


def test_each_call_of_any_content_is_answered_once(tmp_path: Path) -> None:
    seed = int(os.environ.get("INCAST_SEED", random.SystemRandom().randrange(10**6)))
    count = int(os.environ.get("INCAST_STRANGERS", "3000"))
    print(f"INCAST_SEED={seed}")  # noqa: T201 - shown where the test fails
    warned: list[str] = []

    class Bare:
        """A host that opens no sockets."""

        address = "10.0.0.99:7000"

        def bare(self, *_: object, spin: bool, most_s: float) -> int:
            """A port, after a look at the arguments."""
            assert isinstance(spin, bool)
            assert 0 < most_s <= 12
            return 7

    receiver = Receiver(tmp_path, tell=lambda _: None, warn=warned.append)
    server = Server(Bare(), receiver, has_bench=True, tell=lambda _: None, warn=warned.append)  # type: ignore[arg-type]
    peers, numbers, asked = [Known(number) for number in range(5)], [bytes(8)], []

    class Opened(Fake):
        def reply(self, body: bytes) -> None:
            super().reply(body)
            numbers.append(body.ljust(8)[:8])

    with receiver:
        for number, call in zip(range(count), calls(seed, numbers), strict=False):
            request = Opened(call, peers[number % len(peers)])
            asked.append(request)
            server.answer(request)  # type: ignore[arg-type]
    assert [request.body[:50] for request in asked if request.answers != 1] == []
    assert warned == []
    assert all(len(path.name.encode()) <= 255 for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("network", "files"),
    [
        ("10.0.0.{}", 3),
        ("[2001:db8::{}]", 1),
        ("[2001:db8:0:0:{}::]", 1),
        ("[2001:db8:0:{}::]", 3),
        ("[fe80::{}%2]", 1),
        ("[::ffff:10.0.0.{}]", 3),
    ],
)
def test_who_has_a_network_of_ipv6_is_one_sender(tmp_path: Path, network: str, files: int) -> None:
    warned: list[str] = []
    receiver = Receiver(tmp_path, Bounds(of_host=1), tell=lambda _: None, warn=warned.append)
    kept = 0

    class Counted(Fake):
        def reply(self, body: bytes) -> None:
            nonlocal kept
            super().reply(body)
            kept += 1

    with receiver:
        for number in range(3):
            opening = OPEN + struct.pack(">Q", 1) + b"name%d" % number
            receiver.take(Counted(opening, Known(number, network)), opening)  # type: ignore[arg-type]
    assert (kept, warned) == (files, [])


def test_faults_of_a_handler_stay_at_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: Request) -> bytes:
        raise ValueError(f"the password is {request.body.decode()}")

    async def run() -> None:
        async with (
            udp.serve("127.0.0.1:0", handler, plaintext=True) as server,
            udp.connect(server.address, plaintext=True) as peer,
        ):
            with pytest.raises(IncastError, match="the handler has failed; the server's") as failed:
                await peer.call(b"1234")
            assert "password" not in str(failed.value)

    with caplog.at_level(logging.ERROR, "incast.udp"):
        asyncio.run(run())
    (record,) = caplog.records
    assert "the handler has failed at a request of 127.0.0.1:" in record.message
    assert "the password is 1234" in str(record.exc_info)


def test_a_server_outlives_those_who_read_its_lines(
    interpreter: list[str], tmp_path: Path, command: Command
) -> None:
    with running(starting(interpreter, "--plaintext", "--into", str(tmp_path))) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        address = server.stdout.readline().split()[2].rstrip(";")
        (tmp_path.parent / "some.bin").write_bytes(b"content")
        with udp.Host(plaintext=True) as host:
            peer = host.connect(address)
            # A pipe that nobody reads is full after 64 KB, then it is closed.
            for _ in range(2):
                for _ in range(400):
                    peer.note(b"x" * 800, timeout_s=20)
                for stream in (server.stdout, server.stderr):
                    stream.close()
                assert peer.call(b"load" + struct.pack(">I", 8) + bytes(8), timeout_s=20)
        sent = command("udp", "send", address, str(tmp_path.parent / "some.bin"), "--plaintext")
        assert sent.code == 0, sent.err
        server.terminate()
        assert server.wait(timeout=30) == 143
    assert [path.name for path in tmp_path.iterdir()] == ["some.bin"]


def test_lines_of_a_server_are_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines("stdout") as lines:
        for number in range(900):
            lines(f"line {number} é\ud800")
    said = capsys.readouterr().out.splitlines()
    assert Lines.BURST <= len(said) < Lines.BURST + 60
    assert said[0] == "line 0 é\\ud800"


def test_a_fault_of_the_server_ends_one_request(tmp_path: Path) -> None:
    class Broken(Fake):
        @property
        def body(self) -> bytes:
            raise RecursionError("too deep\x1b")

        @body.setter
        def body(self, _: bytes) -> None:
            pass

    warned: list[str] = []
    server = Server(object(), Receiver(None), warn=warned.append)  # type: ignore[arg-type]
    request = Broken(b"", Known(1))
    server.answer(request)  # type: ignore[arg-type]
    assert request.answers == 1
    assert warned == ["failed: a request of 10.0.0.1:7000: RecursionError: too deep "]
    assert not list(tmp_path.iterdir())


def _state(pid: int) -> tuple[int, int, int]:
    """The descriptors, the threads and the resident memory in bytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text().split()
    threads = int(status[status.index("Threads:") + 1])
    memory = 1024 * int(status[status.index("VmRSS:") + 1])
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), threads, memory


def test_peers_that_come_and_go_and_misbehave_leave_nothing(
    interpreter: list[str], tmp_path: Path
) -> None:
    time_s = float(os.environ.get("INCAST_STRANGERS_S", "4"))
    seed = random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)  # noqa: S311 - no secret
    print(f"seed {seed}")  # noqa: T201 - shown where the test fails
    arguments = ("--plaintext", "--into", str(tmp_path), "--max-message", "2MB")
    with running(starting(interpreter, *arguments)) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2].rstrip(";")
        stream, early, numbers = calls(seed, [bytes(8)]), None, 0
        end = time.monotonic() + time_s
        while time.monotonic() < end:
            host = udp.Host(plaintext=True, listens=False)
            peer = host.connect(address, timeout_s=20)
            for _ in range(chance.randrange(20)):
                with suppress(IncastError, TimeoutError):
                    if chance.random() < 0.2:
                        peer.note(next(stream), timeout_s=5)
                    else:
                        peer.call(next(stream), timeout_s=chance.choice((0.001, 5)))
            if chance.random() < 0.5:
                peer.close()
            host.close()
            numbers += 1
            if early is None and time.monotonic() > end - time_s * 0.6:
                early = _state(server.pid)
        assert early is not None
        with udp.Host(plaintext=True) as host:
            assert host.connect(address).call(b"load" + struct.pack(">I", 8) + bytes(8))
        late = _state(server.pid)
        print(f"{numbers} peers: descriptors, threads, memory {early} and then {late}")  # noqa: T201 - shown where the test fails
        assert late[0] <= early[0] + 2
        assert late[1] == early[1]
        assert late[2] < early[2] + (24 << 20)
        server.terminate()
        _, err = server.communicate(timeout=30)
    assert server.returncode == 143
    assert "Traceback" not in err
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]
