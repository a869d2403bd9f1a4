"""Runs on a real Dask scheduler and its workers, on loopback: the same results, whatever dies."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from typing_extensions import Self

import incast
from conftest import SET, SHORT, Command
from dask_cluster import Cluster, cluster
from incast.base import cluster as clusters
from incast.base import executor
from incast.reproduce import driver, spec
from test_sweep import dataset

EXPERIMENT = """
title = "Ours"
place = "nowhere"
about = "What the tests run."
assumed = ["everything"]
differs = "It has nothing to differ from."
scenario = "incast"
set = ["run.duration=5ms", "run.warmup=1ms"]
seeds = 2
columns = ["throughput_gbps", "flows_with_rtt"]

[[case]]
name = "timely"
scheme = "timely"

[measure.flows_with_rtt]
sql = "SELECT count(*) FROM flows WHERE rtt_samples > 0"

[[claim]]
says = "All flows have RTTs"
source = "nowhere"
value = "least(timely.flows_with_rtt)"
at_least = 40

[[figure]]
name = "rates"
kind = "bars"
columns = ["throughput_gbps"]
"""


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("dask")) as found:
        yield found


def test_reproduction_is_the_same(dask: Cluster, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    rows = []
    for where in (None, dask.address):
        out = tmp_path / ("there" if where else "here")
        mine = spec.load(str(tmp_path / "mine.toml"))
        (outcome,) = driver.reproduce([mine], out, jobs=1, scheduler=where)
        rows.append(outcome.rows.drop("seconds"))
    assert rows[0].equals(rows[1])


class Steady(incast.CongestionControl):
    """A part of the line rate, whatever happens; some parts kill the process."""

    part = incast.parameter(0.05, doc="The part of the line rate.", least=0.001, most=1.0)

    def on_start(self, flow: incast.Flow) -> None:
        if self.part == 0.75:
            os.kill(os.getpid(), signal.SIGKILL)
        self.rate = self.part * flow.line_rate

    def on_ack(self, ack: incast.Ack) -> None:
        pass


def test_a_sweep_is_the_same_to_the_byte(
    dask: Cluster, of_file: incast.Scenario, tmp_path: Path
) -> None:
    """Of classes of one's own, too, and of a scenario whose file workers have not."""
    for where, name in ((None, "here"), (dask.address, "there")):
        found = incast.sweep(
            of_file, [Steady, Steady(part=0.02), "timely"], vary={"traffic.0.load": "0.2,0.4"},
            seeds=2, out=tmp_path / name, scheduler=where,
        )  # fmt: skip
        assert found.complete, found.errors
    assert dataset(tmp_path / "there") == dataset(tmp_path / "here")


def test_short_runs_travel_together_and_give_the_same(
    dask: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = incast.load("incast").with_set("run.duration=1ms", "run.warmup=200us")
    sizes: list[int] = []
    submit = clusters._Desk.submit

    def counted(desk: clusters._Desk, group: list[tuple[int, object]]) -> None:
        sizes.append(len(group))
        submit(desk, group)

    monkeypatch.setattr(clusters._Desk, "submit", counted)
    # The bound on what is short is that of a calm machine.
    monkeypatch.setattr(clusters, "_SHORT_S", 5.0)
    incast.sweep(tiny, "timely", seeds=150, out=tmp_path / "there", scheduler=dask.address)
    assert sum(sizes) == 150
    assert (sizes[0], max(sizes), sizes[-1]) == (1, 8, 1), "alone until it is known, and at the end"
    incast.sweep(tiny, "timely", seeds=150, out=tmp_path / "here")
    assert dataset(tmp_path / "there") == dataset(tmp_path / "here")


def test_a_run_that_kills_workers_is_lost_alone_out_of_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = incast.load("incast").with_set("run.duration=1ms", "run.warmup=200us")
    parts = [part / 1000 for part in range(1, 120)]
    parts[60] = 0.75  # which goes with seven others
    cc = [Steady(part=part) for part in parts]
    monkeypatch.setattr(clusters, "_SHORT_S", 5.0)
    ended = threading.Event()
    allowed = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with cluster(tmp_path / "dask", environment=allowed) as found:

        def keep() -> None:
            while not ended.wait(0.2):
                if sum(one.poll() is None for one in found.processes) < 2:
                    found.add()

        keeper = threading.Thread(target=keep)
        keeper.start()
        try:
            there = incast.sweep(tiny, cc, out=tmp_path / "there", scheduler=found.address)
        finally:
            ended.set()
            keeper.join()
    assert there.done + there.failed == 119
    failed = dict(there.runs.drop_nulls("error").select("scheme", "error").iter_rows())
    assert "was killed by the system" in failed["test_cluster:Steady[part=0.75]"]
    # Dask counts a death against all that the worker had, so others may be lost, but no group is.
    assert len(failed) < 8, failed


class Stand:
    """A stand-in for the classes that start clusters: the scheduler is there already."""

    address = ""
    asked: ClassVar[list[object]] = []

    def __init__(self, **settings: object) -> None:
        self.asked.append(settings)
        self.scheduler_address = self.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.append("closed")

    def scale(self, jobs: int) -> None:
        self.asked.append(jobs)


def cluster_spec(name: str, image: str, n_workers: int) -> dict[str, Any]:
    """The parts of a cluster's description that matter here, as Dask's operator has them."""

    def part(*args: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"image": image, "args": [*args]}]}}

    worker = part("dask-worker", "--name", "$(DASK_WORKER_NAME)")
    scheduler = part("dask-scheduler", "--host", "0.0.0.0")  # noqa: S104
    return {
        "metadata": {"name": name},
        "spec": {"worker": {**worker, "replicas": n_workers}, "scheduler": scheduler},
    }


@pytest.mark.parametrize("kind", ["dask_jobqueue", "dask_kubernetes.operator"])
def test_the_blocks_of_the_page_run(
    dask: Cluster, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/sweeps.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (block,) = [one for one in blocks if f"from {kind} import" in one]
    monkeypatch.setattr(Stand, "address", dask.address)
    monkeypatch.setattr(Stand, "asked", [])
    for name in ("dask_jobqueue", "dask_kubernetes", "dask_kubernetes.operator"):
        module = ModuleType(name)
        vars(module).update(SLURMCluster=Stand, KubeCluster=Stand, make_cluster_spec=cluster_spec)
        monkeypatch.setitem(sys.modules, name, module)
    # Five milliseconds and one seed in place of a second and ten.
    short = '"incast",\n        ["timely"'
    program = block.replace(short, short.replace('"incast"', "short", 1)).replace("=10,", "=1,")
    assert "short," in program
    assert "seeds=1," in program
    monkeypatch.chdir(tmp_path)
    exec(program, {"short": incast.load("incast").with_set(*SHORT)})  # noqa: S102
    found = incast.Sweep.read("sweep")
    assert found.complete
    assert found.schemes == ("timely", "swift")
    first, *_, last = Stand.asked
    assert last == "closed"
    if kind == "dask_jobqueue":
        assert Stand.asked[1] == 10
        return
    assert isinstance(first, dict)
    spec = first["custom_cluster_spec"]["spec"]
    for part in ("scheduler", "worker"):
        container = spec[part]["spec"]["containers"][0]
        assert container["command"] == ["dask", part]
        assert container["args"][0].startswith("--")
        options = ["--help"]
        done = subprocess.run(
            [Path(sys.executable).with_name("dask"), part, *options],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert container["args"][0] in done.stdout


def failing(task: int) -> int:
    if task == 3:
        raise incast.ScenarioError("three is none")
    return task


def test_work_that_workers_lack_is_told(dask: Cluster) -> None:
    # The module of a test is not there on the workers. Either task may be the first to tell.
    with pytest.raises(
        incast.IncastError, match=r"cannot do [13]: ModuleNotFoundError: .*test_clus"
    ):
        list(executor.executed(failing, [1, 3], 1, label=str, scheduler=dask.address))


def test_workers_that_are_killed_cost_nothing_but_time(tmp_path: Path) -> None:
    long = incast.load("incast").with_set("run.duration=100ms", "run.warmup=1ms")
    vary = {"traffic.0.connections": "1,2,4"}
    luck = random.Random(3)  # noqa: S311
    ended = threading.Event()
    with cluster(tmp_path / "dask") as found:

        def kill() -> None:
            for _ in range(4):
                if ended.wait(luck.uniform(0.3, 0.8)):
                    return
                found.add()
                alive = [one for one in found.processes if one.poll() is None]
                os.kill(luck.choice(alive).pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            there = incast.sweep(
                long, "timely", vary=vary, seeds=4, out=tmp_path / "there",
                scheduler=found.address,
            )  # fmt: skip
        finally:
            ended.set()
            killer.join()
    assert there.done + there.failed == 12
    # A run of which four workers died is a failure, which the same call makes good.
    for name in ("there", "here"):
        incast.sweep(long, "timely", vary=vary, seeds=4, out=tmp_path / name)
    assert dataset(tmp_path / "there") == dataset(tmp_path / "here")


def test_a_scheduler_that_goes_is_one_sentence_and_what_is_done_is_kept(tmp_path: Path) -> None:
    long = incast.load("incast").with_set("run.duration=200ms", "run.warmup=1ms")
    out = tmp_path / "out"
    with cluster(tmp_path / "dask", workers=1) as found:

        def kill() -> None:
            while len(list(out.glob("runs/*.json"))) < 3:
                time.sleep(0.02)
            os.kill(found.scheduler, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(incast.IncastError, match=r"the scheduler no longer answers$"):
            incast.sweep(long, "timely", seeds=60, out=out, scheduler=found.address)
        killer.join()
    assert len(list(out.glob("runs/*.json"))) >= 3


VERSION = """
import incast.base.engine as engine
mine = engine.own()._replace({what})
engine.own = lambda: mine
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler without workers."""
    with cluster(tmp_path_factory.mktemp("bare") / "dask", workers=0) as found:
        yield found


@pytest.mark.parametrize(
    ("preload", "why"),
    [
        (VERSION.format(what='version="0.0.9"'), ["a worker has incast 0.0.9, not"]),
        (VERSION.format(what='digest="other"'), ["a worker has another build of incast"]),
        (
            "import sys; sys.modules['incast'] = None",
            ["its workers cannot do timely, seed 1", "install incast"],
        ),
    ],
    ids=["version", "build", "none"],
)
def test_workers_of_another_version_or_without_incast_are_refused(
    bare: Cluster, command: Command, preload: str, why: list[str]
) -> None:
    worker = bare.add(preload=preload)
    done = command("sweep", "incast", *SET, "--cc", "timely", "--scheduler", bare.address)
    worker.kill()
    worker.wait()
    assert all(one in done.error for one in why), done.error


def silent() -> Iterator[str]:
    """The address of something that listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "sweep") for kind in ("nobody", "silent", "nonsense", "no-name")),
        *(("nobody", name) for name in ("saturate", "tune", "reproduce")),
    ],
)
def test_a_cluster_that_does_not_answer_is_told_within_seconds(
    command: Command, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    if kind != "silent":  # which has its five seconds
        monkeypatch.setattr(clusters, "_ANSWERS_S", 1.0)
    listening = silent()
    address = {
        "nobody": "tcp://127.0.0.1:9",
        "silent": next(listening),
        "nonsense": "gopher://x",
        "no-name": "tcp://no-such-host.invalid:8786",
    }[kind]
    scenario = {
        "sweep": ["incast", *SET, "--cc", "timely"],
        "saturate": ["timely-clos-rpc"],
        "tune": ["incast", *SET, "--cc", "timely", "--minimize", "rtt_mean_us"],
        "reproduce": ["timely/burst-pacing", "--quick"],
    }
    began = time.monotonic()
    done = command(name, *scenario[name], "--scheduler", address, "--out", "out")
    assert time.monotonic() - began < 15
    assert f"--scheduler {address}: no Dask scheduler answers there" in done.error
    listening.close()  # type: ignore[attr-defined]


def test_without_dask_it_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = command("sweep", "incast", *SET, "--cc", "timely", "--scheduler", "tcp://x:1")
    assert done.error == (
        "error: clusters need distributed, which is not installed: pip install 'incast[cluster]'\n"
    )


def test_rounds_on_a_cluster_are_those_of_this_machine(dask: Cluster, tmp_path: Path) -> None:
    short = incast.load("incast").with_set(*SHORT)
    found = [
        incast.tune(
            short, "timely", minimize="rtt_mean_us", over=["t_high", "beta"], trials=6, batch=3,
            out=tmp_path / name, **there,
        )
        for name, there in (("here", {"jobs": 1}), ("there", {"scheduler": dask.address}))
    ]  # fmt: skip
    assert found[0].trials.equals(found[1].trials)
    assert (tmp_path / "here" / "runs.parquet").read_bytes() == (
        tmp_path / "there" / "runs.parquet"
    ).read_bytes()
