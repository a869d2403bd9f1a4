"""The progress bar: simulated time, events per second, time left."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich import progress as bars
from rich.console import Console
from rich.live import Live
from rich.text import Text

Advance = Callable[[float, int], bool]
"""The callback of a run, with simulated seconds and events; the run goes on while it is True."""


class Bars:
    """A bar for each run that is under way, and below them, of many runs, one for all."""

    def __init__(self, display: bars.Progress | None, runs: int, *, stay: bool) -> None:
        self._display = display
        self._stay = stay
        self._of_run: dict[str, tuple[bars.TaskID, float]] = {}
        self._all: bars.TaskID | None = None
        if display is not None and not stay:
            self._all = display.add_task("all", total=runs, simulated=f"0 of {runs} runs", speed="")

    @property
    def visible(self) -> bool:
        """Whether anything is shown."""
        return self._display is not None

    def start(self, name: str, duration_s: float) -> Advance | None:
        """Adds the bar of a run of so many simulated seconds; None if nothing is shown."""
        if self._display is None:
            return None

        def advance(simulated_s: float, events: int) -> bool:
            self.advance(name, duration_s, simulated_s, events)
            return True

        self.advance(name, duration_s, 0.0, 0)
        return advance

    def advance(self, name: str, duration_s: float, simulated_s: float, events: int) -> None:
        """Shows how far a run is, which begins with this if it has no bar yet."""
        if self._display is None:
            return
        if name not in self._of_run:
            task = self._display.add_task(name, total=duration_s, simulated="", speed="")
            self._of_run[name] = task, time.monotonic()
        task, began = self._of_run[name]
        speed = events / max(time.monotonic() - began, 1e-3) / 1e6
        self._display.update(
            task,
            completed=simulated_s,
            simulated=f"{simulated_s * 1e3:.1f} of {duration_s * 1e3:g} ms",
            speed=f"{speed:.1f} M events/s" if events else "",
        )

    def end(self, name: str, done: int, runs: int) -> None:
        """Takes the bar of a run away where there are many, and counts the run."""
        if self._display is None or self._all is None:
            return
        task, _ = self._of_run.pop(name, (None, 0.0))
        if task is not None:
            self._display.remove_task(task)
        self._display.update(self._all, completed=done, simulated=f"{done} of {runs} runs")


# Up to so many runs each keeps its bar to the end, and there is none for all.
_FEW = 4


@contextmanager
def bars_of(runs: int, *, visible: bool) -> Iterator[Bars]:
    """Shows bars of runs on stderr, and nothing at all when stderr is not a terminal."""
    console = _terminal(visible=visible)
    if console is None:
        yield Bars(None, runs, stay=True)
        return
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[simulated]}"),
        bars.TextColumn("{task.fields[speed]}"),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=console, transient=True) as display:
        yield Bars(display, runs, stay=runs <= _FEW)


@contextmanager
def bar_of_runs(*, visible: bool) -> Iterator[Callable[..., None]]:
    """Shows one bar on stderr for many runs, and nothing at all when stderr is not a terminal.

    Yields a function that changes it: `total`, `completed` or `advance` in runs, `description`.
    """
    console = _terminal(visible=visible)
    if console is None:
        yield lambda **_: None
        return
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=console, transient=True) as display:
        task = display.add_task("runs", total=0)
        yield partial(display.update, task)


@contextmanager
def bar_of_study(*, visible: bool) -> Iterator[Callable[[int, int, int], None]]:
    """Shows on stderr how many runs are done, failed and left, and the time left.

    Yields a function that is told of the runs that are done, that failed, and of all there are.
    Nothing at all is shown when stderr is not a terminal.
    """
    console = _terminal(visible=visible)
    if console is None:
        yield lambda _done, _failed, _runs: None
        return
    columns = (
        bars.BarColumn(),
        bars.TextColumn("{task.description}"),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
    )
    with bars.Progress(*columns, console=console, transient=True) as display:
        task = display.add_task("", total=None)

        def show(done: int, failed: int, runs: int) -> None:
            text = f"{done} runs done, {failed} failed, {runs - done - failed} left"
            display.update(task, completed=done + failed, total=runs, description=text)

        yield show


@contextmanager
def drawing(*, visible: bool) -> Iterator[None]:
    """Says on stderr that figures are drawn for as long as it takes, if stderr is a terminal."""
    console = _terminal(visible=visible)
    if console is None:
        yield
        return
    with Live(Text("drawing"), console=console, auto_refresh=False, transient=True):
        yield


def _terminal(*, visible: bool) -> Console | None:
    console = Console(stderr=True)
    return console if visible and console.is_terminal else None
