"""TIMELY on Linux: what the simulator expects of it, and, with root and the program, a live one.

It exits with 77, and says what is missing, after what can be done without.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from steps import as_json, has, incast, measured

# First the simulator, with the preset that the program has by default.
assert "linux-tcp" in incast("algorithms", "timely")
settings = ("--set", "run.duration=200ms", "--set", "run.warmup=50ms")
incast("run", "tcp-incast", "--cc", "timely:linux-tcp", "--cc", "newreno", *settings)
rows = measured("results/tcp-incast")
assert rows["timely:linux-tcp"]["throughput_gbps"] > 5
assert rows["timely:linux-tcp"]["rtt_mean_us"] < rows["newreno"]["rtt_mean_us"]
assert "kernel attach timely" in incast("docs", "kernel")

if not has("incast-kernel"):
    refused = subprocess.run(
        ["incast", "kernel", "list"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2, refused
    assert "incast-kernel" in refused.stderr, refused.stderr
    print("incast-kernel is not installed")
    sys.exit(77)

assert {one["name"] for one in as_json("kernel", "algorithms")} >= {"timely", "dctcp", "rtcp"}
incast("kernel", "object", "timely", "--out", "objects")
assert all(one.read_bytes().startswith(b"\x7fELF") for one in Path("objects").glob("*.o"))
able = subprocess.run(["incast", "kernel", "check"], capture_output=True, text=True, check=False)
if able.returncode != 0:
    print(f"this kernel or this user cannot: {able.stdout or able.stderr}")
    sys.exit(77)

NAME = f"j{os.getpid()}"


def receive(taken: socket.socket) -> None:
    """Takes in all that a connection sends."""
    while taken.recv(1 << 20):
        pass


incast("kernel", "attach", "timely", "--name", NAME, "--set", "t_low=150us")
try:
    assert NAME in incast("kernel", "list")
    incast("kernel", "set", "--name", NAME, "t_low=120us")
    assert "120us" in incast("kernel", "show", NAME)
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    threading.Thread(target=receive, args=(accepted,), daemon=True).start()
    asked = [one for one in incast("kernel", "list").split() if NAME in one]
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, asked[0].encode())
    observing = subprocess.Popen(
        ["incast", "kernel", "observe", NAME, "--duration", "3s", "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    client.settimeout(0.2)
    while observing.poll() is None:
        with suppress(TimeoutError):
            client.send(bytes(1 << 16))
    client.close()
    assert observing.stdout is not None
    reports = [json.loads(line) for line in observing.stdout]
    assert reports, "the connection told nothing of itself"
    assert all(report["rate_mbps"] > 0 for report in reports)
finally:
    incast("kernel", "detach", NAME)
assert NAME not in incast("kernel", "list")
