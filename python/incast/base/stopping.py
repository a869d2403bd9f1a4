"""Ctrl-C and SIGTERM while work goes on side by side."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from typing_extensions import Self

from incast.base import leaving


class Stop:
    """Ctrl-C as a flag: while the block runs it interrupts nothing but what asks for it.

    The second Ctrl-C raises KeyboardInterrupt at once. A command hears SIGTERM in the same way.
    Outside the main thread, or where somebody else handles a signal, nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        """Whether everything should stop."""
        self._raises = False
        self._workers: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        """Handles Ctrl-C from here on."""
        self._ours = leaving.ours()
        for one in self._ours:
            signal.signal(one, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves Ctrl-C to Python again."""
        for one in self._ours:
            signal.signal(one, leaving.USUAL[one])

    def ask(self) -> None:
        """Asks for the end of everything, as Ctrl-C does."""
        self.asked = True
        self._workers()

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Work in which Ctrl-C raises KeyboardInterrupt, already the first time."""
        if self.asked:
            raise KeyboardInterrupt
        self._raises = True
        try:
            yield
        except KeyboardInterrupt:
            self.ask()
            raise
        finally:
            self._raises = False

    @contextlib.contextmanager
    def telling(self, workers: Callable[[], None]) -> Iterator[None]:
        """Tells workers, too, for as long as the block runs."""
        self._workers = workers
        try:
            yield
        finally:
            self._workers = lambda: None

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        leaving.heard(number)
        again = self.asked
        self.ask()
        if again or self._raises:
            raise KeyboardInterrupt
