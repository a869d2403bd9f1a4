"""The display of `incast udp` while it runs: a table of peers, a progress bar."""

import sys
import time
from typing import Any


class Shown:
    """The table of a server's peers on a terminal; elsewhere a line when their number changes."""

    def __init__(self) -> None:
        self._live: Any = None
        self._count = 0
        self._at = 0.0

    def __enter__(self) -> "Shown":  # noqa: PYI034 - Python 3.10 has no Self
        if sys.stdout.isatty():
            # Late: only this command needs it.
            from rich.live import Live  # noqa: PLC0415

            # Lines of stderr go above the table, unless they go to a file.
            self._live = Live(
                refresh_per_second=4, transient=True, redirect_stderr=sys.stderr.isatty()
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, host: Any) -> None:  # noqa: ANN401
        """Shows the peers, twice a second at most."""
        now = time.monotonic()
        if now < self._at:
            return
        self._at = now + 0.5
        peers = host.peers()
        if self._live is not None:
            # Late: only this command needs it.
            from incast.udp import measured  # noqa: PLC0415

            self._live.update(measured.peers(peers))
        elif len(peers) != self._count:
            print(f"{len(peers)} peers" if len(peers) != 1 else "1 peer", flush=True)
        self._count = len(peers)


def line(text: str) -> None:
    """Prints a line of a server on stdout."""
    print(text, flush=True)


class Refusals:
    """The hosts that a server refuses, and its own faults, each with its reason once, on stderr."""

    MOST = 1000
    """So many are remembered: beyond, all are told again."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def show(self, host: Any) -> None:  # noqa: ANN401
        """Tells of hosts that were refused since the last call."""
        for address, reason in host.rejected():
            # A host that tries again has another port each time.
            one = (address.rpartition(":")[0], reason.replace(address, ""))
            self._once(one, f"refused: {reason}")

    def say(self, fault: str) -> None:
        """Tells of a fault of the server."""
        self._once(("", fault), fault)

    def _once(self, one: tuple[str, str], text: str) -> None:
        if one not in self._told:
            if len(self._told) >= self.MOST:
                self._told.clear()
            self._told.add(one)
            print(text, file=sys.stderr, flush=True)


class Bar:
    """The progress bar on stderr, where that is a terminal."""

    def __init__(self, total: float, *, visible: bool) -> None:
        self._total = total
        self._visible = visible and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Bar":  # noqa: PYI034
        if self._visible:
            # Late: only this command needs it.
            from rich.console import Console  # noqa: PLC0415
            from rich.progress import Progress  # noqa: PLC0415

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: float) -> None:
        """Shows how much is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done)

    def __call__(self, done: float, _: int) -> bool:
        """Shows how much of a load is done, which goes on."""
        self.show(done)
        return True
