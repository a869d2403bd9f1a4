"""The papers' tables and figures: run again, and judged beside what was published.

Each experiment is a TOML file under `papers/<source>/`: what is run, what was published, what must
hold, how it is drawn. `spec` reads it, `runs` plans the runs, `pool` makes them side by side and
keeps each, `claims` judges, `outcome` is all that came of it; `figures`, `page` and `say` show it,
and `driver` goes through all of this.
"""

from incast.reproduce.claims import Verdict
from incast.reproduce.driver import reproduce
from incast.reproduce.outcome import Outcome
from incast.reproduce.spec import Experiment, SpecError, known, load

__all__ = ["Experiment", "Outcome", "SpecError", "Verdict", "known", "load", "reproduce"]
