"""The directory of a tuning: a file for each run, then tables of trials and runs."""

import json
from dataclasses import dataclass
from pathlib import Path

from incast.base import staging
from incast.results import store
from incast.results.run_files import RunFolder
from incast.results.tunings import MARK, RUNS, TRIALS, TuningRecord


@dataclass(frozen=True)
class TuningFolder(RunFolder):
    """The directory of a tuning."""

    mark = MARK
    kind = "tuning"

    def write(self, found: TuningRecord) -> None:
        """Writes both tables, and the file that says what was tuned; no figures.

        Raises:
            OutputError: They cannot be written.
        """
        try:
            for name, table in ((TRIALS, found.trials), (RUNS, found.runs)):
                with staging.file(self.place / name) as place:
                    table.write_parquet(place)
            with staging.file(self.place / MARK) as place:
                text = json.dumps(found.to_dict(), indent=2, allow_nan=False)
                place.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise store.unwritable(self.place, error) from None

    def validation(self, scenario: str) -> Path:
        """The directory of the sweep that validates in a scenario."""
        return self.place / "validation" / scenario

    def figures(self) -> Path:
        """The folder of figures, which is made if it is missing.

        Raises:
            OutputError: It cannot be written.
        """
        store.check_folder(self.place / "figures")
        return self.place / "figures"
