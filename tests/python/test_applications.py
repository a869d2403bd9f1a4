"""Applications that know nothing of incast, over its congestion control: nginx and curl, Redis."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import incast
from beds import STAR, program_or_skip
from incast.lab import attach, bed, commands, plan

_SIZE = 40_000_000


@pytest.fixture(params=["timely", "rtcp", "dctcp"])
def hosts(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[bed.Bed, str, Path]]:
    """Two hosts whose default is one of ours, its name, and `incast-kernel`."""
    monkeypatch.chdir(tmp_path)
    program = program_or_skip()
    for tool, package in (
        ("nginx", "nginx-light"),
        ("curl", "curl"),
        ("redis-server", "redis-server"),
    ):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing (Debian, Ubuntu: apt install {package})")
    found = plan.read(incast.Scenario.parse(STAR, "mine"), "cubic")
    with (
        bed.standing(found, program) as stands,
        attach.on_hosts(stands, program, request.param, []) as name,
    ):
        for host in ("sender0", "receiver"):
            write = f"echo {name} > /proc/sys/net/ipv4/tcp_congestion_control"
            commands.call(*stands.inside(host, "sh", "-c", write))
        yield stands, name, program


def _opened(program: Path, name: str) -> int:
    opened: int = json.loads(commands.call(str(program), "show", name, "--json"))["opened"]
    return opened


def test_curl_gets_from_nginx_what_is_there(hosts: tuple[bed.Bed, str, Path]) -> None:
    stands, name, program = hosts
    root = Path.cwd()
    root.chmod(0o755)
    content = bytes(at * 31 % 251 for at in range(100_000)) * (_SIZE // 100_000)
    (root / "file").write_bytes(content)
    address = stands.address("sender0")
    (root / "nginx.conf").write_text(
        f"""daemon off; pid {root}/pid; error_log stderr; user root;
events {{}}
http {{
    access_log off;
    client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
    uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
    server {{ listen {address}:80; location / {{ root {root}; }} }}
}}"""
    )
    nginx = stands.inside("sender0", "nginx", "-c", f"{root}/nginx.conf", "-p", str(root))
    with bed.kept(nginx):
        url = f"http://{address}/file"
        get = ["curl", "-sSf", "--retry", "20", "--retry-connrefused", "--retry-delay", "1"]
        commands.call(*stands.inside("receiver", *get, "-o", "got", url))
    assert hashlib.sha256(Path("got").read_bytes()).digest() == hashlib.sha256(content).digest()
    assert _opened(program, name) >= 2, "both ends used it"


def test_a_redis_benchmark_runs(hosts: tuple[bed.Bed, str, Path]) -> None:
    stands, name, program = hosts
    address = stands.address("sender0")
    server = stands.inside(
        "sender0", "redis-server", "--bind", address, "--save", "", "--appendonly", "no",
        "--protected-mode", "no", "--dir", str(Path.cwd()),
    )  # fmt: skip
    with bed.kept(server):
        commands.call(*stands.inside("receiver", "sh", "-c", _until_it_answers(address)))
        benchmark = ["redis-benchmark", "-h", address, "-c", "20", "-n", "5000", "-d", "2000"]
        out = commands.call(*stands.inside("receiver", *benchmark, "-t", "set,get", "--csv"))
    rows = {line.split(",")[0].strip('"'): line.split(",")[1] for line in out.splitlines()[1:]}
    assert set(rows) == {"SET", "GET"}
    assert all(float(rate.strip('"')) > 100 for rate in rows.values()), rows
    assert _opened(program, name) >= 40


def _until_it_answers(address: str) -> str:
    return f"for i in $(seq 100); do redis-cli -h {address} ping && exit; sleep 0.1; done; exit 1"
