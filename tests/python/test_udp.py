"""Messages between hosts over UDP: the Python API and `incast udp`, over the loopback device."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from conftest import Command
from incast import IncastError

if sys.platform != "linux":
    pytest.skip("UDP sockets need Linux", allow_module_level=True)

from incast import udp
from incast.udp import bench
from servers import serving, starting


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """The file of a secret."""
    path = tmp_path / "secret"
    assert udp.make_key(path, shared=True) is None
    return path


@contextmanager
def answering(host: udp.Host) -> Iterator[list[bytes]]:
    """Answers calls by their bodies backwards on another thread; yields the notes."""
    notes: list[bytes] = []
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            request = host.accept(0.05)
            if request is None:
                continue
            if not request.wants_reply:
                notes.append(request.body)
            elif request.body.startswith(b"no"):
                request.refuse("said no")
            elif not request.body.startswith(b"slow"):
                request.reply(request.body[::-1])

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield notes
    finally:
        over.set()
        thread.join()


def test_calls_notes_and_refusals(secret: Path) -> None:
    with (
        udp.Host("127.0.0.1:0", secret=secret) as server,
        udp.Host("127.0.0.1:0", secret=secret, cc="swift") as client,
        answering(server) as notes,
    ):
        peer = client.connect(server.address)
        assert peer.address == server.address
        body = os.urandom(200_000)
        assert peer.call(body) == body[::-1]
        peer.note(b"a note", timeout_s=10)
        with pytest.raises(IncastError, match="said no"):
            peer.call(b"no")
        (state,) = client.peers()
        assert state["is_open"]
        assert state["least_rtt_us"] > 0
        assert peer.statistics() == state
        assert server.counters()["datagrams"] > 100
        peer.close()
        with pytest.raises(IncastError, match=r"gone|closed"):
            peer.call(b"anybody?")
        assert notes == [b"a note"]
    with pytest.raises(IncastError, match="the host is closed"):
        client.peers()


def test_the_program_of_the_guide_runs(secret: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guide/udp.md").read_text()
    program = re.search(r"```python\n(import incast\n.*?)```", guide, re.DOTALL)
    assert program, "the guide has a program"
    blocking, waiting = re.split(r"\n\n(?=async with)", program[1])
    body = textwrap.indent(waiting, "    ")
    text = f"{blocking}\nimport asyncio\nasync def main():\n{body}\n    print(reply)\n"
    with udp.Host("127.0.0.1:0", secret=secret) as server, answering(server):
        text = text.replace("10.0.0.2:7000", server.address) + "print(reply)\nasyncio.run(main())\n"
        # A fresh interpreter: another test may have imported the package already.
        ran = subprocess.run(
            [sys.executable, "-c", text],
            cwd=secret.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ran.stdout == f"{b'how are you?'[::-1]}\n" * 2, ran.stderr


def test_the_server_of_the_guide_counts_words_and_logs_whom_it_refuses(secret: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guide/udp.md").read_text()
    section = guide.partition("## A server with a handler")[2]
    serve, call = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    udp.make_key(secret.parent / "other", shared=True)
    serve = serve.replace("0.0.0.0:7000", "127.0.0.1:0")
    with subprocess.Popen(
        [sys.executable, "-c", serve],
        cwd=secret.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        call = call.replace("10.0.0.2:7000", address)

        def said(program: str) -> str:
            return subprocess.run(
                [sys.executable, "-c", program],
                cwd=secret.parent,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            ).stdout

        assert said(call) == printed
        refused = said(call.replace('"secret"', '"other"'))
        assert refused.startswith(f"another secret, key or version: {address} has another secret")
        time.sleep(1.0)
        server.send_signal(signal.SIGINT)
        _, log = server.communicate(timeout=30)
    assert re.search(r"WARNING:incast\.udp:refused: 127\.0\.0\.1:\d+ has another secret", log)


def test_a_call_ends_in_time(secret: Path) -> None:
    with (
        udp.Host("127.0.0.1:0", secret=secret) as server,
        udp.Host("127.0.0.1:0", secret=secret) as client,
    ):
        peer = client.connect(server.address)
        with pytest.raises(TimeoutError, match="no reply came within"):
            peer.call(b"slow", timeout_s=0.05)
        with pytest.raises(IncastError, match="too long: the peer takes up to"):
            peer.call(bytes(65 << 20))


def test_a_note_tells_its_time_and_does_not_leave_after_it() -> None:
    async def run() -> None:
        async with (
            udp.AsyncHost("127.0.0.1:0", plaintext=True) as server,
            udp.connect(
                server.address, plaintext=True, cc="line-rate", line_rate="100Mbps"
            ) as peer,
        ):
            await peer.note(b"in time", timeout_s=20)
            assert (await server.accept()).timeout_s == 20
            long = asyncio.create_task(peer.note(bytes(2_000_000)))  # 160 ms
            cancelled = asyncio.create_task(peer.note(b"cancelled", priority="low"))
            await asyncio.sleep(0)
            cancelled.cancel()
            with pytest.raises(TimeoutError, match="could leave within 20ms, so the peer does not"):
                await peer.note(b"late", timeout_s=0.02, priority="low")
            await peer.note(b"last", priority="low")
            await long
            requests = [await server.accept() for _ in range(2)]
            assert [len(request.body) for request in requests] == [2_000_000, 4]
            assert requests[0].timeout_s is None

    asyncio.run(run())


def test_keys_of_hosts_are_checked(tmp_path: Path) -> None:
    alice = udp.make_key(tmp_path / "alice")
    bob = udp.make_key(tmp_path / "bob")
    assert alice is not None
    assert bob == udp.public_key(tmp_path / "bob")
    (tmp_path / "peers").write_text(f"{alice}\n")
    with (
        udp.Host("127.0.0.1:0", identity=tmp_path / "bob", peers=tmp_path / "peers") as server,
        udp.Host("127.0.0.1:0", identity=tmp_path / "alice") as client,
        answering(server),
    ):
        assert client.connect(server.address, bob).call(b"abc") == b"cba"
        with pytest.raises(udp.SecurityError, match="does not have the public key"):
            client.connect(server.address, alice)
        with pytest.raises(udp.SecurityError, match="no public key is known"):
            client.connect(server.address)


def test_those_who_wait_for_messages_get_one_each_and_hear_of_the_end() -> None:
    async def run() -> None:
        server = udp.AsyncHost("127.0.0.1:0", plaintext=True)
        first, second, third = (asyncio.create_task(server.accept()) for _ in range(3))
        await asyncio.sleep(0.05)
        third.cancel()
        async with udp.connect(server.address, plaintext=True) as peer:
            for body in (b"one", b"two"):
                await asyncio.wait_for(peer.note(body), 20)
            bodies = [(await asyncio.wait_for(task, 20)).body for task in (first, second)]
            assert sorted(bodies) == [b"one", b"two"]
        waits = asyncio.create_task(server.accept())
        await asyncio.sleep(0.05)
        server.close()
        with pytest.raises(IncastError, match="the host is closed"):
            await asyncio.wait_for(waits, 20)
        with udp.Host("127.0.0.1:0", plaintext=True) as nobody:
            client = udp.AsyncHost("127.0.0.1:0", plaintext=True)
            peer = await client.connect(nobody.address)
            call = asyncio.create_task(peer.call(b"is anybody there?"))
            await asyncio.sleep(0.05)
            client.close()
            with pytest.raises(IncastError, match="the host is closed"):
                await asyncio.wait_for(call, 20)

    asyncio.run(run())


def test_event_loops_call_serve_and_cancel() -> None:
    async def answer(request: udp.Request) -> bytes | None:
        if request.body == b"fail":
            raise ValueError("on purpose")
        if request.body == b"wait":
            await asyncio.sleep(60)
        return request.body.upper()

    async def run() -> None:
        async with udp.serve("127.0.0.1:0", answer, plaintext=True) as server:
            address = server.address
            async with udp.connect(address, plaintext=True) as peer:
                replies = await asyncio.gather(*(peer.call(b"n%d" % n) for n in range(50)))
                assert replies == [b"N%d" % n for n in range(50)]
                await peer.note(b"a note")
                with pytest.raises(
                    IncastError, match="the handler has failed; the server's log says how"
                ):
                    await peer.call(b"fail")
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(peer.call(b"wait"), 0.05)
                assert await peer.call(b"still there?") == b"STILL THERE?"
                statistics = peer.statistics()
                assert statistics is not None
                assert statistics["messages"] == 52
            with pytest.raises(IncastError, match="nothing answers"):
                async with udp.connect(f"127.0.0.1:{_free_port()}", plaintext=True):
                    pass

    asyncio.run(run())


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_the_command_measures_calls_and_sends_files(
    interpreter: list[str], command: Command, secret: Path, tmp_path: Path
) -> None:
    into = tmp_path / "into"
    into.mkdir()
    sent = tmp_path / "some.bin"
    sent.write_bytes(os.urandom(3_000_000))
    with serving(interpreter, "--secret", str(secret), "--into", str(into)) as (address, lines):
        common = (address, "--secret", str(secret))
        load = ("--size", "4KB", "--rate", "300/s", "--duration", "600ms", "--warmup", "100ms")
        done = command(
            "udp", "call", *common, *load, "--out", "out", "--json", "--figures", "png,svg"
        )
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert 60 < found["calls"] < 300
        assert 0 < found["rtt_p50_us"] <= found["rtt_p99_us"]
        assert 0 < found["latency_p50_us"] <= found["latency_p999_us"]
        assert json.loads(Path("out/summary.json").read_text()) == found
        assert pl.read_parquet("out/calls.parquet").height == found["calls"]
        assert pl.read_parquet("out/samples.parquet").height == found["samples"]
        figures = {path.name for path in Path("out").glob("*.*g")}
        assert figures == {
            f"{of}.{kind}" for of in ("times-cdf", "over-time") for kind in ("png", "svg")
        }
        done = command("udp", "call", *common, *load, "--out", "out")
        assert (done.code, done.out) == (2, "")
        assert "out is there already" in done.err
        done = command("udp", "call", *common, *load)
        assert "latency of a call, us" in done.out
        assert "sending rate: mean" in done.out
        assert "with headers, in" in done.out

        done = command("udp", "send", address, str(sent), "--secret", str(secret))
        assert done.code == 0, done.err
        assert (into / "some.bin").read_bytes() == sent.read_bytes()
        done = command("udp", "send", address, str(sent), "--secret", str(secret))
        assert done.code == 2
        assert "some.bin is there already" in done.err
    assert [path.name for path in into.iterdir()] == ["some.bin"]
    assert f"received {into}/some.bin (3000000 B)" in lines


def test_the_command_measures_beside_bare_sockets(
    interpreter: list[str], command: Command, secret: Path
) -> None:
    with serving(interpreter, "--secret", str(secret), "--bench") as (address, _):
        common = (address, "--secret", str(secret))
        few = ("--rounds", "1", "--duration", "60ms")
        done = command("udp", "bench", *common, *few, "--busy", "--json")
        assert done.code == 0, done.err
        told = json.loads(done.out)
        assert set(told["medians"]) == set(bench.MEASURES)
        for name, one in told["medians"].items():
            assert one["messages"] > 0, name
            assert one["bare"] > 0, name
            assert ("by_hand" in one) == name.startswith("goodput")
        assert told["work"]["one_machine"]
        assert told["work"]["server"]["cpu_s"] > 0
        assert told["work"]["client"]["cpus"] == sorted(os.sched_getaffinity(0))
        done = command("udp", "bench", *common, *few)
        assert "bare sockets" in done.out
        assert "by hand" in done.out
        assert "of CPU time." in done.out
        assert "other programs took" in done.out
        done = command("udp", "bench", *common, "--duration", "2min")
        assert "too short or too long: give 50ms to 10s" in done.err


def test_sends_are_late_by_what_is_told(
    interpreter: list[str], command: Command, secret: Path
) -> None:
    with serving(interpreter, "--secret", str(secret)) as (address, _):
        common = (address, "--secret", str(secret))
        paced = ("--size", "1MB", "--cc", "line-rate", "--line-rate", "100Mbps")
        done = command("udp", "call", *common, *paced, "--duration", "600ms", "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        # A send of 60 KB each 4.9 ms, of which the first few had no time to wait for.
        assert found["paced_sends"] > 50
        assert 0 <= found["late_p50_us"] <= found["late_p99_us"] <= found["late_most_us"]
        assert 0.09 <= found["sent_gbps"] <= 0.11
        done = command("udp", "call", *common, *paced, "--duration", "300ms")
        assert "sends waited for their time; late by p50" in done.out


def test_what_is_recorded_on_the_wire_is_replayed(
    interpreter: list[str], command: Command, tmp_path: Path
) -> None:
    recording = tmp_path / "calls.txt"
    with serving(interpreter, "--plaintext") as (address, _):
        load = ("--size", "100KB", "--in-flight", "4", "--duration", "300ms")
        call = ("udp", "call", address, "--plaintext", *load, "--record", str(recording))
        done = command(*call, "--cc", "swift", "--set", "ai=2")
        assert (done.code, done.err) == (0, "")
        done = command(*call)
        assert done.code == 2
        assert "calls.txt is there already" in done.err
    done = command("udp", "replay", str(recording))
    assert done.code == 0, done.err
    assert done.out.startswith("swift: ")
    assert done.out.endswith("equal: every send, every rate, every RTT sample\n")
    found = json.loads(command("udp", "replay", str(recording), "--json").out)
    assert found["equal"]
    assert found["difference"] is None
    assert found["sends"] > 100
    assert found["samples"] > 10

    # One send is a microsecond later than it was.
    lines = recording.read_text().splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if line.startswith('{"send"')][50]
    sent = json.loads(lines[at])
    sent["send"]["at"] += 1_000_000
    later = json.dumps(sent, separators=(",", ":"))
    recording.write_text("".join([*lines[:at], later + "\n", *lines[at + 1 :]]))
    done = command("udp", "replay", str(recording))
    assert done.code == 1
    assert f"not equal from line {at + 1}:\n  recorded {later}\n" in done.out

    for damaged, why in (
        ("", "no recording of incast"),
        ("".join(lines[:-1]), "cut short"),
        ("".join(lines).replace('"version":1', '"version":9', 1), "of version 9"),
        ("".join([*lines[:at], *lines[at + 1 :]]), "lines of calls, and should have"),
        ("".join([*lines[:at], "send x\n", *lines[at + 1 :]]), f"its line {at + 1} is no call"),
    ):
        recording.write_text(damaged)
        done = command("udp", "replay", str(recording))
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert why in done.err
    recording.write_bytes(bytes(range(256)))
    assert "no recording of incast" in command("udp", "replay", str(recording)).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("replay", "missing"), "cannot read missing"),
        (("call", "127.0.0.1:7000", "--plaintext", "--record", "no/file"), "no is no folder"),
        (("call", "127.0.0.1:7000"), "no key is given"),
        (("call", "127.0.0.1", "--plaintext"), "has no port"),
        (("call", "no-such-host.invalid:7000", "--plaintext"), "is no address"),
        (("call", "127.0.0.1:7000", "--plaintext", "--rate", "fast"), "--rate 'fast'"),
        (("call", "127.0.0.1:7000", "--plaintext", "--size", "4KiB"), "--size '4KiB'"),
        (("call", "127.0.0.1:7000", "--plaintext", "--duration", "1s", "--warmup", "2s"), "--warm"),
        (("call", "127.0.0.1:7000", "--plaintext", "--cc", "timly"), 'did you mean "timely"?'),
        (("call", "127.0.0.1:7000", "--plaintext", "--cc", "hpcc"), "(INT, explicit rates)"),
        (("call", "127.0.0.1:7000", "--plaintext", "--cc", "swift:x"), "swift has no preset"),
        (("call", "127.0.0.1:7000", "--plaintext", "--cc", "swift[x=1]"), "swift has no parameter"),
        (("call", "127.0.0.1:7000", "--plaintext", "--cc", "swift[ai=2"), 'without a "]"'),
        (("call", "127.0.0.1:7000", "--plaintext", "--nic-rate", "fast"), 'NIC rate "fast"'),
        (("call", "127.0.0.1:7000", "--plaintext", "--nic-rate", "0Gbps"), "NIC rate is zero"),
        (("call", "127.0.0.1:7000", "--plaintext", "--line-rate", "0Gbps"), "line rate is zero"),
        (("call", "127.0.0.1:7000", "--plaintext", "--set", "t_low"), "is not KEY=VALUE"),
        (("call", "127.0.0.1:7000", "--secret", "missing"), "cannot read missing"),
        (("serve", "192.0.2.1:7000", "--plaintext"), "cannot bind to 192.0.2.1:7000"),
        (("serve", "127.0.0.1:0", "--plaintext", "--into", "missing"), "missing is no folder"),
        (("send", "127.0.0.1:7000", "missing", "--plaintext"), "missing is no file"),
        (("send", "127.0.0.1:7000", "--plaintext"), "give either a FILE to send, or a message"),
        (("send", "127.0.0.1:7000", "-", "--text", "a", "--plaintext"), "either a FILE to send"),
        (
            ("call", "127.0.0.1:7000", "--plaintext", "--max-message", "1GiB"),
            "--max-message '1GiB'",
        ),
    ],
)
def test_bad_input_gets_one_sentence(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = command("udp", *arguments)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert words in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "option", "value", "words"),
    [
        ("call", "--mtu", "900", "'--mtu': 900; expected a number from 1280 to 65535"),
        ("call", "--mtu", "65536", "'--mtu': 65536; expected a number from 1280 to 65535"),
        ("send", "--mtu", "-1", "'--mtu': -1; expected a number from 1280 to 65535"),
        ("bench", "--mtu", "9" * 30, f"'--mtu': {'9' * 30}; expected a number from 1280 to 65535"),
        ("serve", "--mtu", "0", "'--mtu': 0; expected a number from 1280 to 65535"),
        ("serve", "--threads", "0", "'--threads': 0; expected a number from 1 to 256"),
        ("serve", "--threads", "-1", "'--threads': -1; expected a number from 1 to 256"),
        ("serve", "--threads", str(2**64), f"'--threads': {2**64}; expected a number from 1 to"),
        ("serve", "--max-message", "0B", "--max-message 0B is too short; give 1B or more"),
        ("serve", "--max-file", "1e30TB", "--max-file 1e30TB is too long; give 1000000000GB"),
        ("serve", "--max-message", "1e30B", "--max-message 1e30B is too long; give 2GB"),
        ("call", "--size", "5GB", "--size 5GB is too long; give 2GB at most"),
        ("call", "--size", "1e308GB", "--size 1e308GB is too long; give 2GB at most"),
        ("call", "--size", "-1KB", "--size '-1KB' is not a number with a unit, such as 64KB"),
        ("call", "--reply", "5GB", "--reply 5GB is too long; give 2GB at most"),
        ("call", "--reply", "65MB", "--reply 65MB is longer than --max-message 64MB; give a short"),
        ("call", "--seed", "-1", f"'--seed': -1; expected a number from 0 to {2**64 - 1}"),
        ("call", "--seed", str(2**64), f"{2**64}; expected a number from 0 to {2**64 - 1}"),
        ("call", "--in-flight", "0", "'--in-flight': 0; expected a number from 1 to 1000000"),
        ("call", "--in-flight", str(10**12), f"{10**12}; expected a number from 1 to 1000000"),
        ("call", "--in-flight", str(2**64), f"{2**64}; expected a number from 1 to 1000000"),
        ("call", "--rate", "1e-20/s", "--rate 1e-20/s is below one call in an hour; give 0.0003/s"),
        ("call", "--rate", "-1/s", "--rate '-1/s' is not a number of calls in a second"),
        ("call", "--duration", "1e30s", "--duration 1e30s is too long; give 100000000s at most"),
        ("call", "--warmup", "1e308min", "--warmup 1e308min is too long; give 100000000s at most"),
        ("bench", "--rounds", "0", "'--rounds': 0; expected a number from 1 to 99"),
        ("bench", "--rounds", "-1", "'--rounds': -1; expected a number from 1 to 99"),
        ("bench", "--rounds", str(2**64), f"'--rounds': {2**64}; expected a number from 1 to 99"),
    ],
)
def test_bad_numbers_get_one_sentence(
    command: Command, name: str, option: str, value: str, words: str
) -> None:
    # Nobody listens there, and `serve` could open it: the number comes first.
    assert words in command("udp", name, "127.0.0.1:7000", "--plaintext", option, value).error


def test_the_least_and_the_largest_numbers_are_taken(
    interpreter: list[str], command: Command
) -> None:
    with serving(interpreter, "--plaintext", "--mtu", "65535") as (address, _):
        for numbers in (
            ("--mtu", "1280", "--seed", "0", "--rate", "0.0003/s"),
            ("--mtu", "65535", "--seed", str(2**64 - 1), "--in-flight", "1000000"),
        ):
            call = ("udp", "call", address, "--plaintext", "--duration", "100ms", *numbers)
            done = command(*call, "--size", "64B")
            assert done.code == 0, done.err


def test_a_port_that_is_taken_is_said(command: Command) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = command("udp", "serve", address, "--plaintext")
    assert (done.code, done.out) == (2, "")
    words = "is taken by another socket; choose another port, or end the program that has it"
    assert done.err == f"error: {address} {words}\n"


def test_ends_of_different_versions_say_so(command: Command) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        other.settimeout(10)
        address = f"127.0.0.1:{other.getsockname()[1]}"
        hellos = []

        def answer() -> None:
            # The header: version, kind, a part of a number, the receiver's id, the rest of the
            # number. The id of the sender is at the same place in all versions.
            # One refusal, which anybody could send, is not believed.
            for _ in range(2):
                hello, client = other.recvfrom(2_000)
                hellos.append(hello)
                other.sendto(bytes([6, 3, 0, 0]) + hello[20:28] + bytes(4), client)

        thread = threading.Thread(target=answer)
        thread.start()
        done = command("udp", "call", address, "--plaintext", "--duration", "1s")
        thread.join()
        assert (done.code, done.out) == (2, "")
        said = "speaks version 6, this end version 5; update the older one"
        assert done.err == f"error: {address} {said}\n"

        with udp.Host("127.0.0.1:0", plaintext=True) as server:
            host, _, port = server.address.rpartition(":")
            other.sendto(bytes([6]) + hellos[0][1:], (host, int(port)))
            refused = other.recv(2_000)
            # Its own version, a refusal, to the sender, because of the version.
            assert (refused[0], refused[1], refused[4:12]) == (5, 6, hellos[0][20:28])
            assert refused[16] == 0
            assert server.rejected() == [(address, f"{address} {said}")]


def test_a_message_is_sent_and_shown(
    interpreter: list[str], command: Command, tmp_path: Path
) -> None:
    with serving(interpreter, "--plaintext") as (address, lines):
        for text in ("how are you?", "file \x1b[31m names", "x" * 300):
            done = command("udp", "send", address, "--plaintext", "--text", text)
            assert done.code == 0, done.err
            assert done.out.startswith(f"sent a message of {len(text)} B; {address} has it after")
        time.sleep(1)  # the server prints what it has
    shown = [line.partition(": ")[2] for line in lines if line.startswith("message from")]
    assert shown == ["how are you?", "file  [31m names", "x" * 200 + " ... (300 B)"]
    assert not list(tmp_path.iterdir())


def test_hosts_that_are_refused_are_told(
    interpreter: list[str], command: Command, secret: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    udp.make_key(other, shared=True)
    with udp.Host("127.0.0.1:0", secret=secret) as server:
        with (
            udp.Host(secret=other) as client,
            pytest.raises(udp.SecurityError, match="another secret"),
        ):
            client.connect(server.address)
        (address, reason), *_ = server.rejected()
        assert address.startswith("127.0.0.1:")
        assert reason.startswith(f"{address} has another secret")
        assert server.rejected() == []
    serve = starting(interpreter, "--secret", str(secret))
    with subprocess.Popen(
        serve,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        found = re.match(r"listening at (\S+); Ctrl-C ends it", process.stdout.readline())
        assert found is not None
        for _ in range(2):
            done = command("udp", "call", found[1], "--secret", str(other), "--duration", "1s")
            assert (done.code, done.out) == (2, "")
        told = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=30)
    assert re.match(r"refused: 127\.0\.0\.1:\d+ has another secret than this end", told)
    assert rest == "stopped\n", "it is told once"


def test_a_secret_that_others_may_read_is_refused(command: Command, secret: Path) -> None:
    secret.chmod(0o644)
    done = command("udp", "call", "127.0.0.1:7000", "--secret", str(secret))
    assert done.code == 2
    assert "chmod 600" in done.err
    secret.unlink()
    done = command("udp", "key", str(secret))
    public = done.out.strip()
    assert command("udp", "key", str(secret), "--show").out.strip() == public
    again = command("udp", "key", str(secret))
    assert again.code == 2
    assert "existing file stays" in again.err
