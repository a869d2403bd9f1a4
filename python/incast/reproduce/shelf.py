"""The files of an experiment's outcome: figures, their rows, all numbers."""

import json
from dataclasses import dataclass
from pathlib import Path

from incast.base import staging
from incast.figures.canvas import save
from incast.reproduce import figures
from incast.reproduce.interactive import Inlined, inline
from incast.reproduce.outcome import Outcome
from incast.results.store import unwritable

THUMBNAIL = "thumbnail.png"


@dataclass(frozen=True)
class WrittenOutcome:
    """An outcome that is written, and its figures for the book."""

    outcome: Outcome
    figures: list[Inlined]
    """The figures, in the order of the experiment's file."""


def write(of: Outcome, out: Path) -> WrittenOutcome:
    """Writes figures (SVG, CSV), a thumbnail, `rows.csv` and, last, `result.json`.

    Raises:
        OutputError: It cannot be written; what was there before may be in part replaced.
    """
    folder = out / of.experiment.name
    drawn = figures.draw(of)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging.clean(folder)
        for one in drawn:
            save(one.figure, folder / f"{one.name}.svg")
            put(folder / f"{one.name}.csv", one.data.write_csv())
        if drawn:
            save(figures.thumbnail(of), folder / THUMBNAIL)
        put(folder / "rows.csv", of.rows.write_csv())
        text = json.dumps(of.to_dict(), indent=2, allow_nan=False)
        put(folder / "result.json", text + "\n")
    except OSError as error:
        raise unwritable(folder, error) from None
    return WrittenOutcome(of, [inline(one, f"{one.name}-") for one in drawn])


def put(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    with staging.file(path) as place:
        place.write_text(text, encoding="utf-8")
