"""The runs of one scenario as tables and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from incast import _core
from incast._core import Scenario
from incast.results import comparison, doubts, titles
from incast.results.arrow import ArrowTable
from incast.results.columns import TableInfo
from incast.results.measures import by_traffic
from incast.results.stored import StoredScenario
from incast.results.tables import SchemeRun, concatenate, describe, held


@dataclass(frozen=True, eq=False)
class Record:
    """The runs of one scenario, one for each scheme; `incast.Result` adds figures and files."""

    scenario: Scenario | StoredScenario
    """The scenario that was run; of a result that was read, its text, title and files."""
    schemes: tuple[str, ...]
    """The schemes that were asked for, in that order."""
    seed: int
    """The seed of the runs."""
    runs: Mapping[str, SchemeRun]
    """The runs that there are, by scheme: fewer than asked for when the simulation was stopped."""
    version: str = _core.__version__
    """The version of incast that simulated it."""
    build: str = _core.build_profile
    """`release` or `debug`."""
    directory: Path | None = None
    """The directory that it was read from."""
    named: Mapping[str, str] = field(default_factory=dict)
    """The schemes that have labels, by these: `schemes`, `runs` and tables have the label."""

    def __eq__(self, other: object) -> bool:
        """Whether scenario, schemes, seed, version, and all that was measured are the same.

        A result that was read equals the one that was written.
        """
        if not isinstance(other, Record):
            return NotImplemented
        names = set(self.tables)
        return (
            self._identity == other._identity
            and self.scenario.inputs == other.scenario.inputs
            and self.rows() == other.rows()
            and names == set(other.tables)
            and all(self.table(name).equals(other.table(name)) for name in names)
        )

    def __hash__(self) -> int:
        """A hash of scenario, schemes, seed and version."""
        return hash(self._identity)

    def __getstate__(self) -> dict[str, Any]:
        """The fields for pickle and copy, with tables of the core as frames."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**state, "runs": {scheme: held(run) for scheme, run in self.runs.items()}}

    @property
    def _identity(self) -> tuple[object, ...]:
        scenario, named = self.scenario, tuple(self.named.items())
        return scenario.name, scenario.toml(), self.schemes, named, self.seed, self.version

    def __repr__(self) -> str:
        """A line with the schemes, the seed, and whether the run reached its end."""
        ended = "" if self.complete else ", incomplete"
        return f"Result({self.scenario.name!r}, {', '.join(self.schemes)}, seed {self.seed}{ended})"

    def _repr_html_(self) -> str:
        """The summary, which notebooks show."""
        return self.summary._repr_html_()

    @property
    def title(self) -> str:
        """The title of tables and figures, which names no scheme that was not run."""
        return titles.title(self.scenario, self.schemes)

    @property
    def complete(self) -> bool:
        """Whether every scheme was simulated to the end."""
        return len(self.runs) == len(self.schemes) and all(
            run.complete for run in self.runs.values()
        )

    @property
    def warnings(self) -> list[str]:
        """Doubts about the scenario and its schemes, and about what was measured."""
        if isinstance(self.scenario, StoredScenario):
            return list(self.scenario.recorded_warnings)
        schemes = (self.named.get(label, label) for label in self.schemes)
        of_schemes = (text for scheme in schemes for text in self.scenario.warnings(scheme))
        return [*self.scenario.load_warnings(), *of_schemes, *self.doubts]

    @cached_property
    def doubts(self) -> list[str]:
        """Doubts about what was measured: a sentence for each cause."""
        return doubts.of_runs([(self.runs, self.scenario)])

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The summary, a row for each scheme: measured values, and published ones.

        Units are in the names of the columns; published values are in `published_...`.
        """
        rows = [
            {
                "scheme": row["scheme"],
                "complete": row["complete"],
                **row["measured"],
                **{f"published_{key}": value for key, value in row["published"].items()},
            }
            for row in self.rows()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @cached_property
    def traffic(self) -> pl.DataFrame:
        """The traffic, a row for each scheme and traffic: counts of messages and their times.

        Counted is what was posted while it was measured: means are of what had finished by the end
        of the run, percentiles of all, what had not finished the slowest. Traffic without messages
        of known size has no row.
        """
        messages, requests, load = (
            self.table(name) if name in self.tables else pl.DataFrame()
            for name in ("messages", "requests", "load")
        )
        return by_traffic(messages, requests, load, self.scenario)

    @property
    def tables(self) -> list[str]:
        """The names that `table` knows."""
        return list(dict.fromkeys(table.name for run in self.runs.values() for table in run.tables))

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name, with the rows of all schemes; `scheme` is the first column.

        Raises:
            KeyError: There is no table of that name.
        """
        found = [
            (scheme, table)
            for scheme, run in self.runs.items()
            for table in run.tables
            if table.name == name
        ]
        if not found:
            raise KeyError(f"{name}: no such table; there is {', '.join(self.tables) or 'none'}")
        return concatenate(found)

    def to_arrow(self, name: str) -> ArrowTable:
        """The table of that name as an Arrow stream, with units and meanings, without pyarrow.

        Raises:
            KeyError: There is no table of that name.
        """
        rows = self.table(name)
        return ArrowTable(name, self.describe_tables()[name], rows)

    @cached_property
    def ratios(self) -> list[comparison.Ratio]:
        """RTT ratios between the schemes, measured and published."""
        return comparison.ratios(self.scenario, self.runs)

    def to_dict(self) -> dict[str, Any]:
        """The result without its tables, ready for JSON; units are in the keys."""
        return {
            "incast": self.version,
            "build": self.build,
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "seed": self.seed,
            "duration_s": self.scenario.duration_s,
            "warmup_s": self.scenario.warmup_s,
            "cooldown_s": self.scenario.cooldown_s,
            **({"drain_s": self.scenario.drain_s} if self.scenario.drain_s else {}),
            "complete": self.complete,
            "schemes": list(self.schemes),
            **({"named": dict(self.named)} if self.named else {}),
            "warnings": self.warnings,
            "runs": self.rows(),
            "traffic": self.traffic.to_dicts(),
            "ratios": [
                {
                    "key": ratio.key,
                    "scheme": ratio.scheme,
                    "against": ratio.against,
                    "measured": ratio.measured,
                    "published": ratio.published,
                    "shortfall": ratio.shortfall,
                }
                for ratio in self.ratios
            ],
        }

    def describe_tables(self) -> dict[str, TableInfo]:
        """The meaning of every table's rows and columns, with units."""
        return {table.name: describe(table) for run in self.runs.values() for table in run.tables}

    def rows(self) -> list[dict[str, Any]]:
        """The measured and published values of each scheme that was run, ready for JSON."""
        return [
            {
                "scheme": scheme,
                "complete": run.complete,
                "measured": {key: comparison.number(value) for key, value in run.summary.items()},
                "published": comparison.published(self.scenario, run.scheme),
            }
            for scheme, run in self.runs.items()
        ]
