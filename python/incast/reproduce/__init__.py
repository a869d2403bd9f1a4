"""The papers' tables and figures: run again, and judged beside what was published.

Each experiment is a TOML file under `papers/<source>/`: what is run, what was published, what must
hold, how it is drawn. `spec` reads it, `runs` plans the runs, `pool` makes them side by side and
keeps each, `claims` judges, `outcome` is all that came of it; `figures`, `page` and `say` show it,
and `driver` goes through all of this.
"""
