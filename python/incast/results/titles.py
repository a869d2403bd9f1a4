"""The title of results: the scenario's, unless it names schemes that were not run."""

import re
from collections.abc import Sequence
from functools import cache

from incast import _core
from incast._core import Scenario
from incast.results.stored import StoredScenario


def title(
    scenario: Scenario | StoredScenario, schemes: Sequence[str], labels: Sequence[str] = ()
) -> str:
    """The title of runs of these schemes; `labels` are their names, if they have others.

    A title such as "Ten clients send into one server: TIMELY against PFC alone" fits the scenario's
    own schemes. With others it keeps the words before the colon.
    """
    text = scenario.title or scenario.name
    if not schemes or set(schemes) == set(scenario.schemes) or not _schemes().search(text):
        return text
    before, colon, _ = text.rpartition(": ")
    where = before if colon and not _schemes().search(before) else scenario.name
    return f"{where}: {', '.join(labels or schemes)}"


@cache
def _schemes() -> re.Pattern[str]:
    """The words by which a title names a scheme."""
    names = [one.name.replace("-", "[- ]") for one in _core.algorithms()]
    return re.compile(rf"\b(?:{'|'.join(names)}|PFC alone|every scheme)\b", re.IGNORECASE)
