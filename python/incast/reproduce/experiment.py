"""The tables of an experiment's file; docs/how-to/adding-an-experiment.md is their page."""

import ast
import re
from typing import Annotated, Literal

import msgspec

from incast._core import IncastError

PLACE = re.compile(r"\{([^{}]+)\}")
"""An expression in the text of a cause: `{timely.rtt_mean_us}`."""


def asked_for(expression: str) -> list[tuple[str, str]]:
    """The columns that an expression asks for, each after the name of its case.

    Raises:
        SyntaxError: It is no expression.
        ValueError: It has a zero byte.
        MemoryError, RecursionError: It is too deep for the parser.
    """
    return [
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(expression.strip() or "0", mode="eval"))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]


EARLIER_SEEDS = 3
"""The most seeds of an earlier set-up, which is not counted."""

Number = int | float
Count = Annotated[int, msgspec.Meta(ge=1)]


class SpecError(IncastError):
    """An experiment that does not exist, or a file that is none."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file; a key that it does not know is refused."""


class Axis(_Table, frozen=True):
    """The axis: a quantity that varies."""

    name: str
    """The name in expressions."""
    values: list[Number | str]
    set: list[str] = []
    """The assignments that a value makes in the scenario, with `{}` for it."""
    fluid: str = ""
    """The parameter of a fluid model that it changes."""
    label: str = ""
    """The label of the axis in figures, unit included; the name if absent."""
    scale: Literal["linear", "log"] = "linear"


class Quick(_Table, frozen=True):
    """The changes of a quick run."""

    seeds: Count = 1
    set: list[str] = []
    values: list[Number | str] = []
    """The values of the axis; all if absent."""


class SpecCase(_Table, frozen=True):
    """A case, which is a curve or a row: a scheme in a scenario, or a fluid model."""

    name: str
    """The name in expressions."""
    label: str = ""
    scheme: str = ""
    scenario: str = ""
    """The scenario, if not the experiment's: one that ships, or a file beside this one."""
    set: list[str] = []
    axis: bool = True
    """Whether the axis applies; if not, it is run once, and is a level line in figures."""
    earlier: bool = False
    """An earlier set-up, as measured before; kept for comparison, and shown as such. It runs with
    at most [EARLIER_SEEDS][] seeds."""
    fitted: str = ""
    """The values that were fitted, and the published numbers to which; empty if none were."""
    ideal: Literal["", "fluid", "greedy", "srpt"] = ""
    """The reference by which the messages of the run are complete, if it is the ideal of them."""
    fluid: dict[str, Number | str] = {}
    """The parameters of a fluid model in place of a scheme, `model` among them."""
    values: list[Number | str] = []
    """Values of the axis at which it is run; all if absent. Elsewhere it has no value."""


class Measure(_Table, frozen=True):
    """A column that a run's tables give: one value, by SQL over these tables."""

    sql: str
    label: str = ""


class Curve(_Table, frozen=True):
    """Rows that a figure is drawn from: columns `x` and `y`, and `line` where there are several."""

    sql: str


class Published(_Table, frozen=True):
    """A number that the source gives."""

    case: str
    column: str
    value: Number
    at: Number | str | None = None
    """The value of the axis."""
    note: str = ""


ClaimKind = Literal["source", "ours", "open"]
"""The author of a claim: the source, we, or nobody."""

EQUAL = 1.25
"""The factor within which a number equals the published one, where a source says that it is so."""


class Setup(_Table, frozen=True):
    """Another set-up of a claim: an earlier, a fitted or another one; listed, and not counted."""

    name: str
    """The name for people: `floor 2`, `earlier: 100 packets`."""
    cases: dict[str, str] = {}
    """Cases of the claim's expression, each with the case that stands in for it."""
    value: str = ""
    """The expression of this set-up; the claim's if absent."""
    differs: str = ""


class Claim(_Table, frozen=True):
    """A statement that is judged, or a question that is answered by a value."""

    says: str
    value: str = ""
    """An expression over cases, columns and the axis: `timely.rtt_mean_us / pfc.rtt_mean_us`."""
    published: Number | str | None = None
    """The number that the source has for it. Without bounds it is an equality."""
    at_most: Number | None = None
    at_least: Number | None = None
    not_comparable: str = ""
    """Instead of a value: why it cannot be judged here."""
    source: str = ""
    """The place in the source that says or shows it: figure, section or slide, in short words."""
    ours: str = ""
    """Instead of a source: why we ask for it, though no source says so."""
    open: str = ""
    """Instead of a source: the question, where nobody makes a claim."""
    was: str = ""
    """The earlier sentence or bounds, where they changed after a result was known."""
    differs: str = ""
    """The cause of a shortfall, with expressions in braces for what the runs that show it have."""
    setup: list[Setup] = []
    """Further set-ups in which the claim is judged."""

    @property
    def kind(self) -> ClaimKind:
        """The author of the claim."""
        return "ours" if self.ours else "open" if self.open else "source"

    @property
    def equality(self) -> bool:
        """Whether the source says that it equals a number."""
        bounded = self.at_least is not None or self.at_most is not None
        return not bounded and isinstance(self.published, (int, float))

    @property
    def asked(self) -> tuple[float | None, float | None]:
        """The bounds: the file's, or a factor of [EQUAL][] about the published value."""
        if self.equality and isinstance(self.published, (int, float)):
            low, high = sorted((self.published / EQUAL, self.published * EQUAL))
            return low, high
        return self.at_least, self.at_most


class SpecFigure(_Table, frozen=True):
    """A figure, and how it is drawn."""

    name: str
    kind: Literal["lines", "bars", "cdf", "ccdf", "curves", "points"]
    title: str = ""
    columns: list[str] = []
    """The columns of `lines` and `bars`: a panel for each."""
    curve: str = ""
    """The curve of other kinds. `cdf` and `ccdf` take `x` as a value and `y` as its weight."""
    cases: list[str] = []
    """The cases to draw; all if absent."""
    at: list[Number | str] = []
    """Values of the axis, a panel for each; all if absent."""
    x: str = ""
    """The label of the horizontal axis."""
    y: str = ""
    log: Literal["", "x", "y", "xy"] = ""


class Experiment(_Table, frozen=True):
    """An experiment: one table or figure of a publication."""

    title: str
    place: str
    """The place in the source."""
    about: str
    """A summary of what was done and found there, and of what is run here."""
    case: list[SpecCase]
    claim: list[Claim]
    figure: list[SpecFigure]
    shows: list[str] = []
    """The figures and tables of the source that are run again, each by its number where the text of
    the source is at hand: `Figure 6a`, `Table I`; else by its subject."""
    scenario: str = ""
    set: list[str] = []
    """Changes of the scenario for all cases."""
    assumed: list[str] = []
    """Assumptions: settings that the source does not give."""
    differs: str = ""
    """The known reason where results differ."""
    seeds: Count = 1
    traces: list[str] = []
    columns: list[str] = []
    """The columns of the table of results: figures of the summary, and measures."""
    axis: Axis | None = None
    quick: Quick = Quick()
    measure: dict[str, Measure] = {}
    curve: dict[str, Curve] = {}
    published: list[Published] = []
    name: str = ""
    """`<source>/<name>`, from where the file stands."""
    folder: str = ""

    def case_of(self, name: str) -> SpecCase:
        """The case of that name."""
        return next(case for case in self.case if case.name == name)

    @property
    def source(self) -> str:
        """The folder of the publication."""
        return self.name.partition("/")[0]

    @property
    def slug(self) -> str:
        """The name within its source."""
        return self.name.partition("/")[2]
