"""The files of an experiment's outcome: figures, their rows, all numbers."""

import json
from dataclasses import dataclass
from pathlib import Path

from incast.base import staging
from incast.figures.canvas import save
from incast.reproduce import figures
from incast.reproduce.outcome import Outcome
from incast.results.store import unwritable


@dataclass(frozen=True)
class WrittenOutcome:
    """An outcome, and where its figures are."""

    outcome: Outcome
    folder: Path
    figures: list[figures.Drawn]


def write(of: Outcome, out: Path) -> WrittenOutcome:
    """Writes figures (SVG, CSV), `rows.csv` and, last, `result.json`.

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
        put(folder / "rows.csv", of.rows.write_csv())
        text = json.dumps(of.to_dict(), indent=2, allow_nan=False)
        put(folder / "result.json", text + "\n")
    except OSError as error:
        raise unwritable(folder, error) from None
    return WrittenOutcome(of, folder, drawn)


def put(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    with staging.file(path) as place:
        place.write_text(text, encoding="utf-8")
