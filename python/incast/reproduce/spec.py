"""The file of an experiment; docs/how-to/adding-an-experiment.md is the page for its writers."""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from incast import _core
from incast._core import IncastError, ScenarioError
from incast.base import inputs
from incast.base.words import nearest

_SHIPPED = Path(__file__).parent.parent / "papers"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
PLACE = re.compile(r"\{([^{}]+)\}")
"""An expression in the text of a cause: `{timely.rtt_mean_us}`."""
EARLIER_SEEDS = 3
"""The most seeds of an earlier set-up, which is not counted."""
# The place of an error, as tomllib words it.
_AT = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)",
    re.DOTALL,
)
# The deepest nesting of brackets that is read.
_DEEPEST = 100

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
    """What was fitted in this case, and to which published numbers of this experiment."""
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
    """Its own expression; that of the claim if absent."""
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
    """The other set-ups in which it is judged, too."""

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
        """The bounds: those of the file, or a factor of [EQUAL][] about what was published."""
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


@cache
def known() -> Mapping[str, Path]:
    """The experiments that ship, by name."""
    return {
        f"{path.parent.name}/{path.stem}": path
        for path in sorted(_SHIPPED.glob("*/*.toml"), key=lambda path: (path.parent, path.stem))
    }


def load(name: str | os.PathLike[str]) -> Experiment:
    """Reads the experiment of that name, or that file.

    Raises:
        SpecError: There is none, or it is not one.
    """
    there = known()
    path = there.get(str(name)) or Path(name)
    if not path.suffix and not (path.exists() and not path.is_dir()):
        raise SpecError(f"{name}: no such experiment; {nearest(str(name), there)}")
    found = _decoded(path)
    home = path.resolve().parent
    found = msgspec.structs.replace(found, name=f"{home.name}/{path.stem}", folder=str(home))
    _check(found, path)
    return found


def _decoded(path: Path) -> Experiment:
    try:
        whole = inputs.read(path, inputs.SCENARIO_BYTES)
    except ScenarioError as error:
        raise SpecError(str(error)) from None
    try:
        text = whole.decode("utf-8-sig")
        return msgspec.toml.decode(text, type=Experiment)
    except UnicodeDecodeError as error:
        place = _place(path, whole[: error.start].decode("utf-8"))
        raise SpecError(f"{place}: not a text in UTF-8; expected an experiment in TOML") from None
    except RecursionError:
        place = _place(path, _shallow(text))
        raise SpecError(
            f"{place}: brackets in brackets, too deep; expected an experiment"
        ) from None
    except msgspec.DecodeError as error:
        if at := _AT.fullmatch(str(error)):
            where = f"{path}:{at['line']}:{at['column']}" if at["line"] else _place(path, text)
            raise SpecError(f"{where}: {at['what']}") from None
        raise SpecError(f"{path}: is no experiment: {error}") from None


def _place(path: Path, before: str) -> str:
    """File, line and column of what comes after that part of its text."""
    return f"{path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _shallow(text: str) -> str:
    """The text up to where brackets are too deep."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "[{") - (sign in "]}")
        if depth > _DEEPEST:
            return text[:place]
    return ""


def _check(found: Experiment, path: Path) -> None:
    """Refuses names that do not go together, before anything is run."""
    for what in (_names, _cases, _claims, _figures, _columns):
        for fault in what(found):
            raise SpecError(f"{path}: {fault}")


def _names(found: Experiment) -> Iterator[str]:
    cases = [case.name for case in found.case]
    axis = [found.axis.name] if found.axis else []
    for name in (*cases, *axis, *found.measure):
        if not _NAME.fullmatch(name):
            yield f'name "{name}": expected small letters, digits and _, a letter first'
    if len({*cases, *axis}) != len(cases + axis):
        yield "two cases, or a case and the axis, have the same name"
    for value in found.quick.values:
        if not found.axis or value not in found.axis.values:
            yield f"quick.values: {value} is none of the axis's values"


def _cases(found: Experiment) -> Iterator[str]:
    if not found.case:
        yield "has no [[case]]"
    for case in found.case:
        if not case.fluid and not (case.scheme and (case.scenario or found.scenario)):
            yield f'case "{case.name}": expected a scheme and a scenario, or fluid'
        if case.ideal and not case.scheme:
            yield (
                f'case "{case.name}": ideal = "{case.ideal}" is of the messages of a run; '
                "expected the scheme of that run"
            )
    for one in found.published:
        yield from _unknown("[[published]]", one.case, [case.name for case in found.case])


def _claims(found: Experiment) -> Iterator[str]:
    for claim in found.claim:
        place = f'claim "{claim.says}"'
        bounded = claim.at_most is not None or claim.at_least is not None
        named = [key for key in ("source", "ours", "open") if getattr(claim, key)]
        if not named:
            yield (
                f"{place}: does not say who makes it; name the place in the source with source = "
                "..., or say ours = ... and why, or open = ... and the question"
            )
        if len(named) > 1:
            yield f"{place}: has {' and '.join(named)}; keep the one that is true"
        if claim.kind == "open":
            if bounded or claim.published is not None:
                yield (
                    f"{place}: open asks, and has no at_most, at_least or published; "
                    "drop them, or name the source that claims it"
                )
            if claim.not_comparable or not claim.value:
                yield f"{place}: open shows what was measured; expected value alone"
        elif not claim.not_comparable and not (claim.value and (bounded or claim.equality)):
            yield f"{place}: expected value, and at_most, at_least or a published number"
        elif claim.equality and not claim.published and not claim.not_comparable:
            yield f"{place}: published is 0, which nothing comes near; give at_most or at_least"
        if claim.setup and (claim.not_comparable or not claim.value):
            yield f"{place}: has a setup and no value; drop one of them"
        for setup in claim.setup:
            own = f'{place}, setup "{setup.name}"'
            if not (setup.cases or setup.value):
                yield f"{own}: expected cases or a value; without them it is the claim itself"
        if claim.kind == "ours" and claim.published is not None:
            yield f"{place}: is ours and published; drop published, or name its source"


def _figures(found: Experiment) -> Iterator[str]:
    for figure in found.figure:
        place = f'figure "{figure.name}"'
        for name in figure.cases:
            yield from _unknown(place, name, [case.name for case in found.case])
        if figure.kind not in ("lines", "bars"):
            yield from _unknown(f"{place}, curve", figure.curve, list(found.curve))
        elif not figure.columns:
            yield f"{place}: expected columns"
        elif figure.kind == "lines" and not found.axis:
            yield f"{place}: lines are drawn over an [axis]"


def _columns(found: Experiment) -> Iterator[str]:
    there = [*(name for name, _, _ in _core.summary_figures()), *found.measure]
    for column in found.columns:
        yield from _unknown("columns", column, there)
    for one in found.published:
        yield from _unknown("[[published]]", one.column, there)
    for figure in found.figure:
        for column in figure.columns:
            yield from _unknown(f'figure "{figure.name}"', column, there)
    for claim in found.claim:
        place = f'claim "{claim.says}"'
        yield from _expression(found, place, claim.value)
        yield from _texts(found, place, claim.differs)
        for setup in claim.setup:
            own = f'{place}, setup "{setup.name}"'
            yield from _expression(found, own, setup.value)
            yield from _texts(found, own, setup.differs)
            for name in (*setup.cases, *setup.cases.values()):
                yield from _unknown(own, name, [case.name for case in found.case])
    yield from _texts(found, "differs", found.differs)


def _texts(found: Experiment, place: str, text: str) -> Iterator[str]:
    """The faults of the expressions in a text."""
    for expression in PLACE.findall(text):
        yield from _expression(found, place, expression)


def _expression(found: Experiment, place: str, value: str) -> Iterator[str]:
    """The faults of an expression that can be seen before anything runs."""
    there = [*(name for name, _, _ in _core.summary_figures()), *found.measure]
    try:
        tree = ast.walk(ast.parse(value.strip() or "0", mode="eval"))
    except SyntaxError as error:
        yield f"{place}: {value}: {error.msg}"
        return
    except (ValueError, MemoryError, RecursionError):
        yield f"{place}: its value cannot be read; expected a short expression"
        return
    for node in tree:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from _unknown(place, node.value.id, [case.name for case in found.case])
            yield from _unknown(f"{place}, {node.value.id}", node.attr, there)


def _unknown(place: str, name: str, there: list[str]) -> Iterator[str]:
    if name not in there:
        yield f'{place}: there is no "{name}"; {nearest(name, there)}'
