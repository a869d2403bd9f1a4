"""Links from figures to the page that runs the simulator, with the runs behind them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.api import scenarios
from incast.base import links, staging
from incast.reproduce.experiment import SpecFigure
from incast.reproduce.outcome import At, Outcome
from incast.reproduce.runs import PlannedRun
from incast.reproduce.words import case_label

_COPY = "page.html"
_TO_COPY = f"../../{_COPY}"
"""The address of the copy, as seen from the page of an experiment."""


@dataclass(frozen=True)
class Entry:
    """Cases that one run of the page shows side by side, and a link for each value of the axis."""

    label: str
    links: list[tuple[str, str]]
    """The value of the axis, or nothing where there is none, and the address."""


@dataclass(frozen=True)
class Page:
    """The page that links lead to, and the runs that there are."""

    address: str
    planned: Mapping[str, Sequence[PlannedRun]]
    """The runs of each experiment, by its name."""

    def entries(self, of: Outcome, figure: SpecFigure) -> list[Entry]:
        """The links of a figure: of its cases that are runs, with the first seed, and small enough.

        Cases in the same scenario with the same changes stand side by side in one link.
        """
        grouped: dict[tuple[str, tuple[str, ...], At], list[PlannedRun]] = {}
        for plan in self._plans(of, figure):
            grouped.setdefault((plan.source, plan.changes, plan.at), []).append(plan)
        found: dict[str, list[tuple[str, str]]] = {}
        for plans in grouped.values():
            label = ", ".join(dict.fromkeys(case_label(of, plan.case) for plan in plans))
            at = "" if plans[0].at is None else str(plans[0].at)
            found.setdefault(label, []).append((at, f"{self.address}#{_fragment(plans)}"))
        return [Entry(label, own) for label, own in found.items()]

    def _plans(self, of: Outcome, figure: SpecFigure) -> Iterator[PlannedRun]:
        planned = self.planned[of.experiment.name]
        cases = figure.cases or [case.name for case in of.experiment.case]
        for case in cases:
            for plan in planned:
                here = plan.at is None or not figure.at or plan.at in figure.at
                # The curve of an ideal is computed from a run, and is no run itself.
                run = plan.case == case and plan.seed == 1 and plan.source and not plan.ideal
                if here and run and _fits(plan):
                    yield plan


def page(
    out: Path, planned: Mapping[str, Sequence[PlannedRun]], address: str | None
) -> Page | None:
    """The page at an address or, without one, a copy of this installation's in the book.

    None where there is neither.

    Raises:
        OSError: The copy cannot be written.
    """
    if address is not None:
        return Page(address, planned)
    if not links.PAGE.is_file():
        return None
    with staging.file(out / _COPY) as place:
        place.write_bytes(links.PAGE.read_bytes())
    return Page(_TO_COPY, planned)


def _fits(plan: PlannedRun) -> bool:
    """Whether a page would run it, by the estimate."""
    scenario = plan.scenario
    if scenario is None:
        return False
    cost = scenario.cost(plan.scheme)
    small = cost["memory_bytes"] <= links.MOST_BYTES
    return small and cost["seconds"] * links.SLOWER <= links.MOST_SECONDS


def _fragment(plans: Sequence[PlannedRun]) -> str:
    first = plans[0]
    schemes = list(dict.fromkeys(plan.scheme for plan in plans))
    name, text, files = first.source, None, None
    if name.endswith(".toml"):
        scenario = scenarios.load(Path(name))
        name, text, files = Path(name).stem, scenario.toml(), scenario.inputs
    return links.fragment(
        name, text=text, files=files, changes=first.changes, schemes=schemes, seed=first.seed
    )
