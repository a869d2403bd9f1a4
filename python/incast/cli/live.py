"""The display of `incast udp` while it runs: a table of peers, a progress bar."""

import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from incast.base.lazy import lazy

if TYPE_CHECKING:
    import rich.console as rich_console
    import rich.live as rich_live
    import rich.progress as rich_progress

    from incast.udp import measured
else:
    rich_console = lazy("rich.console")
    rich_live = lazy("rich.live")
    rich_progress = lazy("rich.progress")
    measured = lazy("incast.udp.measured")


class Shown:
    """The table of a server's peers on a terminal; elsewhere a line when their number changes."""

    def __init__(self, lines: Callable[[str], None]) -> None:
        """Shows the table, or gives its lines to `lines`."""
        self._lines = lines
        self._live: Any = None
        self._count = 0
        self._at = 0.0

    def __enter__(self) -> "Shown":  # noqa: PYI034 - Python 3.10 has no Self
        if sys.stdout.isatty():
            # Lines of stderr go above the table, unless they go to a file.
            self._live = rich_live.Live(
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
            self._live.update(measured.peers(peers))
        elif len(peers) != self._count:
            self._lines(f"{len(peers)} peers" if len(peers) != 1 else "1 peer")
        self._count = len(peers)


class Lines:
    """The lines of a server on stdout or stderr, printed by a thread of their own.

    Whoever reads them may be slow, or gone, and a disk may be full: that is no server's end. Lines
    beyond some in a second are left out and counted, so that no peer fills a log.
    """

    BURST, PER_S = 200, 20
    _WAITING, _LEAVE_S = 1_000, 1.0

    def __init__(self, stream: str) -> None:
        """Prints to `sys.stdout` or `sys.stderr`, as it is at that time."""
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(self._WAITING)
        self._left_out = 0
        self._thread = threading.Thread(target=self._run, name=f"incast-{stream}", daemon=True)

    def __enter__(self) -> "Lines":  # noqa: PYI034 - Python 3.10 has no Self
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(self._LEAVE_S)

    def __call__(self, text: str) -> None:
        """Prints a line soon."""
        try:
            self._lines.put_nowait(text)
        except queue.Full:
            self._left_out += 1

    def _run(self) -> None:
        allowed, at = float(self.BURST), time.monotonic()
        while (text := self._lines.get()) is not None:
            now = time.monotonic()
            allowed = min(allowed + (now - at) * self.PER_S, self.BURST)
            at = now
            if allowed < 1:
                self._left_out += 1
                continue
            allowed -= 1
            if self._left_out:
                self._print(f"{self._left_out} lines were left out")
                self._left_out = 0
            self._print(text)

    def _print(self, text: str) -> None:
        stream = getattr(sys, self._stream)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        shown = text.encode(encoding, "backslashreplace").decode(encoding)
        # A closed pipe, a full disk, a stream that is closed.
        with suppress(OSError, ValueError):
            print(shown, file=stream, flush=True)


class Bar:
    """The progress bar on stderr, where that is a terminal."""

    def __init__(self, total: float, *, visible: bool) -> None:
        self._total = total
        self._visible = visible and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Bar":  # noqa: PYI034
        if self._visible:
            console = rich_console.Console(stderr=True)
            self._bar = rich_progress.Progress(console=console, transient=True)
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
