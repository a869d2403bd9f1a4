"""The bar of many runs, on a terminal: what no other test has."""

import io

import pytest
from rich.console import Console

from incast.terminal import progress


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
