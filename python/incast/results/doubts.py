"""Doubts about what was measured that show when runs have ended: a sentence for each cause.

Each run is looked at by itself (`of_run`), which gives numbers that can be kept. Then the seeds of
a scheme are judged together, and schemes and points share a sentence (`sentences`). The core does
both, as it does for the page: `crates/simulator/sim/src/doubts.rs`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl
import polars.selectors as cs

from incast import _core
from incast._core import Scenario, Table
from incast.results.stored import StoredScenario
from incast.results.tables import FramedTable, SchemeRun

Doubt = dict[str, str | int | float | None]
"""The numbers of a run by which something is doubted; `type` says what."""
Doubts = tuple[Doubt, ...]


def of_run(run: SchemeRun, scenario: Scenario | StoredScenario) -> Doubts:
    """The numbers of a run that doubts are judged by; none of a run that was stopped."""
    if not run.complete:
        return ()
    wanted = (table for table in run.tables if table.name in _core.doubted_tables)
    found = _core.run_doubts(
        [(table.name, _plain(table)) for table in wanted],
        scenario.toml(),
        dropped=bool(run.summary.get("drops")),
        simulated_s=run.summary.get("simulated_s"),
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        cooldown_s=scenario.cooldown_s,
        drain_s=scenario.drain_s,
    )
    return tuple(json.loads(found))


def _plain(table: Table | FramedTable) -> Table | pl.DataFrame:
    """The rows as the core reads them: names, and numbers of 64 bits."""
    if isinstance(table, Table):
        return table
    names = cs.string() | cs.categorical()
    return table.frame().select(names.cast(pl.String), (~names).cast(pl.Float64))


def of_runs(
    runs: Iterable[tuple[Mapping[str, SchemeRun], Scenario | StoredScenario]],
) -> list[str]:
    """The sentences of the runs of one scenario, by scheme, which may differ in the seed."""
    found: dict[str, list[Doubts]] = {}
    for of_schemes, scenario in runs:
        for scheme, run in of_schemes.items():
            found.setdefault(scheme, []).append(of_run(run, scenario))
    return sentences([("", found)])


def sentences(points: Iterable[tuple[str, Mapping[str, Sequence[Doubts]]]]) -> list[str]:
    """A sentence for each cause, of the doubts by point, scheme and seed.

    The numbers are of the point at which they are worst, for each scheme.

    Raises:
        ValueError: They are no doubts.
    """
    return _core.doubt_sentences(json.dumps([(at, [*schemes.items()]) for at, schemes in points]))


def once(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences said before runs, once for each cause: sentences that differ in numbers are of one.

    Each comes with the point that it is of. Where it does not hold at all points alike, the first
    of them is named.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    points: set[str] = set()
    for at, text in texts:
        points.add(at)
        if text:
            found.setdefault(re.sub(r"\d[\d.,]*", "#", text), []).append((at, text))
    said = []
    for same in found.values():
        at, text = same[0]
        everywhere = len({at for at, _ in same}) == len(points)
        alike = everywhere and all(other == text for _, other in same)
        more = len({at for at, _ in same}) - 1
        several = f", and at {more} more point{'s' if more > 1 else ''}" if more else ""
        said.append(text if alike or not at else f"{text} (at {at}{several})")
    return said
