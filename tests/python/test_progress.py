"""The bar of many runs, on a terminal: what no other test has."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import incast
from incast.terminal import progress


def test_the_bar_of_a_study_tells_runs_done_failed_and_left_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, short: incast.Scenario, tmp_path: Path
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "_terminal", lambda *, visible: console if visible else None)
    with progress.bar_of_study(visible=True) as show:
        show(2, 0, 5)
        show(3, 1, 5)
    shown = screen.getvalue()
    assert "3 runs done, 1 failed, 1 left" in shown
    # The time left stands before its word.
    assert re.search(r"(-|\d):(-|\d)+(\x1b\[0m)? +(\x1b\[\d+m)?left", shown), shown
    screen.truncate(0)

    class Divides(incast.CongestionControl):
        def on_start(self, flow: incast.Flow) -> None:
            self.rate = flow.line_rate / 0

        def on_ack(self, ack: incast.Ack) -> None:
            pass

    options = {"seeds": 2, "out": tmp_path / "sweep", "jobs": 1}
    incast.sweep(short, ["timely"], **options, progress=True)
    found = incast.sweep(short, ["timely", Divides], **options, progress=True)
    assert (found.done, found.failed) == (2, 2)
    shown = screen.getvalue()
    # What is shown last; the bar is drawn some times in a second.
    assert "2 runs done, 0 failed, 0 left" in shown
    assert "2 runs done, 2 failed, 0 left" in shown
    length = len(shown)
    incast.sweep(short, ["timely"], **options)
    assert len(screen.getvalue()) == length, "nobody asked for it"


def test_a_bar_shows_before_and_after_the_number_of_runs_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(progress, "_terminal", lambda *, visible: console if visible else None)
    with progress.bar_of_runs(visible=True) as show:
        assert "0 of 0 runs" in screen.getvalue()
        show(total=3)
        show(advance=1, description="timely/table-1", refresh=True)
    assert "1 of 3 runs" in screen.getvalue()
    assert "timely/table-1" in screen.getvalue()
    shown = len(screen.getvalue())
    with progress.bar_of_runs(visible=False) as show:
        show(total=3)
    assert len(screen.getvalue()) == shown


def test_a_terminal_says_drawing_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(progress, "_terminal", lambda *, visible: console if visible else None)
    with progress.drawing(visible=False):
        assert screen.getvalue() == ""
    with progress.drawing(visible=True):
        assert "drawing" in screen.getvalue()
    # In the end the line is erased, and the cursor is shown.
    assert screen.getvalue().rindex("\x1b[2K") > screen.getvalue().rindex("drawing")
