"""Servers of `incast udp` in processes of their own."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def starting(interpreter: list[str], *arguments: str) -> list[str]:
    """The command line of a server that hears Ctrl-C wherever it runs."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from incast.command import main; main()"
    )
    return [interpreter[0], "-c", code, "udp", "serve", "127.0.0.1:0", *arguments]


@contextmanager
def running(
    command: list[str], stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> Iterator["subprocess.Popen[str]"]:
    """A program that does not outlive the test, whatever fails."""
    with subprocess.Popen(command, text=True, stdout=stdout, stderr=stderr) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def serving(interpreter: list[str], *arguments: str) -> Iterator[tuple[str, list[str]]]:
    """A server in a process of its own; yields its address, and later the lines that it prints."""
    with running(starting(interpreter, *arguments)) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.match(r"listening at (\S+); Ctrl-C ends it", first)
        lines: list[str] = []
        try:
            assert found is not None, first or process.communicate(timeout=10)
            yield found[1], lines
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            lines += out.splitlines()
        assert (process.returncode, err) == (130, "stopped\n")


def until(true: Callable[[], object], within_s: float = 20.0) -> None:
    """Waits until something is true, and fails if it takes too long."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
