"""Servers of `incast udp` in processes of their own."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


def starting(interpreter: list[str], *arguments: str) -> list[str]:
    """The command line of a server that hears Ctrl-C wherever it runs."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from incast.command import main; main()"
    )
    return [interpreter[0], "-c", code, "udp", "serve", "127.0.0.1:0", *arguments]


@contextmanager
def serving(interpreter: list[str], *arguments: str) -> Iterator[tuple[str, list[str]]]:
    """A server in a process of its own; yields its address, and later the lines that it prints."""
    command = starting(interpreter, *arguments)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
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
