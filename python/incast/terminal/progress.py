"""The progress bar: simulated time, events per second, time left."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich import progress as bars
from rich.console import Console

Advance = Callable[[float, int], bool]
"""The callback of a run, with simulated seconds and events; the run goes on while it is True."""


@contextmanager
def bar_per_scheme(
    duration_s: float, *, visible: bool
) -> Iterator[Callable[[str], Advance | None]]:
    """Shows bars on stderr, and nothing at all when stderr is not a terminal.

    Yields a function that adds the bar of a scheme, for `duration_s` simulated seconds.
    """
    console = _terminal(visible=visible)
    if console is None:
        yield lambda _: None
        return
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[simulated]} of {task.fields[whole]} ms"),
        bars.TextColumn("{task.fields[speed]}"),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=console, transient=True) as display:

        def start(scheme: str) -> Advance:
            task = display.add_task(
                scheme, total=duration_s, simulated="0", whole=f"{duration_s * 1e3:g}", speed=""
            )
            began = time.monotonic()

            def advance(simulated_s: float, events: int) -> bool:
                speed = events / max(time.monotonic() - began, 1e-3) / 1e6
                display.update(
                    task,
                    completed=simulated_s,
                    simulated=f"{simulated_s * 1e3:.1f}",
                    speed=f"{speed:.1f} M events/s",
                )
                return True

            return advance

        yield start


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


def _terminal(*, visible: bool) -> Console | None:
    console = Console(stderr=True)
    return console if visible and console.is_terminal else None
