"""Messages over UDP from Python: keys, a handler that fails at times, calls and a file."""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

from steps import as_json, incast

import incast as api

if not sys.platform.startswith("linux"):
    print("messages over UDP are for Linux")
    sys.exit(77)

KEY = "secret"
incast("udp", "key", KEY, "--shared")
incast("udp", "key", "other", "--shared")


async def answer(request: api.udp.Request) -> bytes:
    """Answers in capitals, and fails at one word."""
    if request.body == b"fail":
        raise ValueError("the password is swordfish")
    return request.body.upper()


async def refusal(peer: api.udp.AsyncPeer, body: bytes) -> str:
    """The words of a call that must fail."""
    try:
        await peer.call(body)
    except api.IncastError as error:
        return str(error)
    raise AssertionError("a handler that fails must fail the call")


async def talk() -> None:
    """Calls a server of this program."""
    serving = api.udp.serve("127.0.0.1:0", answer, secret=KEY)
    async with serving as server, api.udp.connect(server.address, secret=KEY) as peer:
        replies = await asyncio.gather(*(peer.call(b"message %d" % n) for n in range(20)))
        assert replies == [b"MESSAGE %d" % n for n in range(20)]
        said = await refusal(peer, b"fail")
        assert "handler" in said
        assert "swordfish" not in said
        assert await peer.call(b"after") == b"AFTER"


asyncio.run(talk())

# A server on the command line takes a file, and Ctrl-C ends it.
Path("inbox").mkdir()
Path("notes.txt").write_bytes(bytes(range(256)) * 4000)
command = ["incast", "udp", "serve", "127.0.0.1:0", "--secret", "secret", "--into", "inbox"]
with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    assert server.stderr is not None
    assert server.stdout is not None
    found = None
    while found is None:
        found = re.search(r"127\.0\.0\.1:\d+", server.stdout.readline())
    address = found[0]
    incast("udp", "send", address, "notes.txt", "--secret", "secret")
    assert Path("inbox/notes.txt").read_bytes() == Path("notes.txt").read_bytes()
    said = as_json(
        "udp", "call", address, "--secret", "secret", "--size", "4KB", "--duration", "1s"
    )
    assert said, said
    refused = subprocess.run(
        ["incast", "udp", "call", address, "--secret", "other", "--duration", "1s"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode != 0
    assert refused.stderr.count("\n") <= 2, refused.stderr
    server.send_signal(signal.SIGINT)
    assert server.wait(10) in (0, 130)
