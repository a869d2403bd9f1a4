"""The usual figures of a result, in its directory."""

from collections.abc import Sequence
from dataclasses import replace

from incast.figures import gallery
from incast.figures.canvas import save_as
from incast.results import store
from incast.results.record import Record
from incast.results.records import Records
from incast.results.store import Written


def add(result: Record, written: Written, formats: Sequence[str]) -> Written:
    """Draws the usual figures of a result that is written, and puts them there.

    Raises:
        OutputError: They cannot be written.
        KeyboardInterrupt: Ctrl-C; the result is as it was, or has some of them.
    """
    names: list[str] = []
    with store.staged(written.directory) as place:
        for name, figure in gallery.draw_usual(Records((result,))).items():
            names += [path.name for path in save_as(figure, place / name, formats)]
        # First the names, then the files: `run.json` knows every file at all times.
        tables = [path.name for path in written.tables]
        (place / store.RUN).write_text(store.describe(result, [*names, *tables]), encoding="utf-8")
        for name in (store.RUN, *names):
            (place / name).replace(written.directory / name)
    return replace(written, figures=[written.directory / name for name in names])
