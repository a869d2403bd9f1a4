"""A real Dask scheduler and workers on loopback, in processes of their own."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT_S = 60.0


@dataclass
class Cluster:
    folder: Path
    address: str
    scheduler: int
    """The number of its process."""
    processes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def add(
        self, *, preload: str = "", environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Starts a worker of one thread; the code of `preload` runs in it first."""
        place = self.folder / f"worker-{len(self.processes)}"
        place.mkdir()
        arguments = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1",
                     "--local-directory", str(place), "--death-timeout", "30"]  # fmt: skip
        if preload:
            (place / "preload.py").write_text(preload)
            arguments += ["--preload", str(place / "preload.py")]
        process = started(
            "dask_worker", self.address, *arguments, log=place / "log", environment=environment
        )
        self.processes.append(process)
        return process


def started(
    program: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *arguments],
            stdout=said, stderr=said, cwd=log.parent, start_new_session=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip


@contextlib.contextmanager
def cluster(
    folder: Path, workers: int = 2, *, environment: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A scheduler with workers; the environment is the scheduler's."""
    folder.mkdir(parents=True, exist_ok=True)
    about = folder / "scheduler.json"
    # A scheduler needs no incast.
    (folder / "preload.py").write_text("import sys; sys.modules['incast'] = None")
    scheduler = started(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", str(about), "--preload", str(folder / "preload.py"),
        log=folder / "log", environment=environment,
    )  # fmt: skip
    deadline = time.monotonic() + TIMEOUT_S
    while not about.exists() or not about.read_text():
        assert scheduler.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline, "no scheduler"
        time.sleep(0.05)
    found = Cluster(folder, json.loads(about.read_text())["address"], scheduler.pid)
    try:
        for _ in range(workers):
            found.add()
        yield found
    finally:
        for one in [*found.processes, scheduler]:
            one.kill()
            one.wait()
