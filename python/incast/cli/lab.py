"""`incast lab`: a scenario on Linux TCP and on UDP of this machine, and in the simulator."""

import functools
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incast._core import IncastError, Run, Scenario
from incast.api import scenarios
from incast.base import leaving
from incast.cli import completing, late, options, program

if TYPE_CHECKING:
    from incast.api.result import Result
    from incast.lab.carriers import Target
    from incast.lab.plan import BedPlan
    from incast.lab.row import Measured, Row
    from incast.results.store import Written


def lab(
    scenario: options.ScenarioName,
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CARRIER",
            autocompletion=completing.carriers,
            help="What carries it: simulator, linux-tcp or udp; repeat it for several. If not "
            "given, all that this machine can run.",
        ),
    ] = None,
    cc: options.Schemes = None,
    assignments: options.Assignments = None,
    knobs: Annotated[
        list[str] | None,
        typer.Option(
            "--knob",
            metavar="KEY=VALUE",
            help="Change a parameter of the schemes that are this project's, such as t_low=200us, "
            "or timely.t_low=200us of one of them.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Runs of each scheme.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write tables and figures there, as `incast run`; of several runs, seed-N in it.",
        ),
    ] = None,
    figures: options.Figures = None,
    no_figures: options.NoFigures = False,
    as_json: options.AsJson = False,
) -> None:
    """Run a scenario on this machine's TCP and UDP, and simulated.

    Each host is a network namespace, which root can make.
    """
    formats = options.formats_in(out, figures, no_figures=no_figures, shown=not as_json)
    session = _Session(scenario, on, cc, assignments or [], knobs or [], repeat)
    places = [] if out is None else [_place(out, turn, repeat) for turn in range(repeat)]
    _check(places)
    session.run(visible=not as_json)
    # All tables are written before anything is said, or matplotlib imported.
    found = session.results() if places else {}
    written = [(one, late.store.write(one, places[turn])) for turn, one in found.items()]
    rows = session.rows()
    if as_json:
        said = {"rows": [asdict(row) for row in rows], "bucket": session.bucket}
        print(json.dumps(said, allow_nan=False))
    elif rows:
        late.lab_report.print_rows(late.writing.console(), session.title, rows, delay=session.delay)
    _draw(session, written, formats, visible=not as_json)
    if rows and out is not None and not as_json:
        late.writing.console().print(f"\nWrote {out}/")
        late.writing.say_figures(late.writing.console())
    if session.stopped:
        raise typer.Exit(leaving.code())


@functools.wraps(lab)
def on_linux(**given: Any) -> None:  # noqa: ANN401
    """`incast kernel lab`: on Linux TCP beside the simulator unless `--on` is given."""
    lab(**{**given, "on": given["on"] or ["simulator", "linux-tcp"]})


class _Session:
    """The schemes of a scenario over its carriers, one after the other."""

    def __init__(
        self,
        scenario: str,
        on: Sequence[str] | None,
        cc: Sequence[str] | None,
        assignments: Sequence[str],
        knobs: Sequence[str],
        repeat: int,
    ) -> None:
        found = program.incast_kernel()
        self._kernel = None if found is None else Path(found)
        self._knobs, self._repeat = knobs, repeat
        targets = late.carriers.targets(on or late.carriers.ALL)
        if on:
            for reason in filter(None, (late.carriers.missing(one, self._kernel) for one in on)):
                raise IncastError(reason)
        else:
            targets = self._runnable()
        self.scenario = options.load(scenario, [*assignments])
        hosts = len(self.scenario.resolved()["hosts"])
        # A title may name other numbers, from before --set.
        self.title = f"{self.scenario.title or self.scenario.name} ({hosts} hosts)"
        self.schemes = scenarios.check_schemes(self.scenario, list(cc) if cc else None)
        self._of: dict[Target, Scenario] = {
            one: options.load(scenario, one.assignments(assignments)) for one in targets
        }
        for one in targets:
            if one.predicts:
                self._of[one] = late.plan.shaped(self._of[one])
        self._plan: BedPlan | None = None
        if any(one.carrier != late.carriers.SIMULATOR for one in targets):
            self._plan = late.plan.read(self.scenario, self.schemes[0], repeat)
        self._work = self._pairs(targets, strict=bool(on))
        self._found: dict[tuple[int, Target, str], Measured | Run] = {}
        self.delay = ""
        self.stopped = False

    def _runnable(self) -> "list[Target]":
        """The carriers of this machine; a sentence for each that it cannot have."""
        there = []
        for one in late.carriers.ALL:
            reason = late.carriers.missing(one, self._kernel)
            if reason is None:
                there.append(one)
            else:
                print(f"note: not on {one}: {reason}", file=sys.stderr)
        return late.carriers.targets(there)

    def _pairs(self, targets: "Sequence[Target]", *, strict: bool) -> "list[tuple[Target, str]]":
        """Each scheme with each of its carriers. What cannot run is refused at once, or left out.

        Raises:
            IncastError: A carrier that was asked for does not run a scheme.
        """
        pairs, refused = [], set()
        for scheme in self.schemes:
            for one in targets:
                of = one.predicts or one.carrier
                if one.carrier != late.carriers.SIMULATOR and self._plan is not None:
                    reason = late.carriers.refusal(
                        one.carrier, self._of[one], self._plan, self._kernel, scheme, self._knobs
                    )
                    if reason is not None and strict:
                        raise IncastError(reason)
                    if reason is not None:
                        print(f"note: not on {one.carrier}: {reason}", file=sys.stderr)
                        refused.add((of, scheme))
                if (of, scheme) not in refused:
                    pairs.append((one, scheme))
        return pairs

    def run(self, *, visible: bool) -> None:
        """Runs all of it, on the test bed first; Ctrl-C ends it early."""
        real = [pair for pair in self._work if pair[0].carrier != late.carriers.SIMULATOR]
        # Carriers and schemes take turns, so that other work on the machine meets all of them.
        order = [(turn, *pair) for turn in range(self._repeat) for pair in real]
        order += [
            (turn, *pair) for turn in range(self._repeat) for pair in self._work if pair not in real
        ]
        # Ctrl-C while one of these is imported would end the process, and leave the namespaces.
        _ = (late.attach, late.bed, late.measure, late.over_udp, late.predict)
        bar_of_runs = late.progress.bar_of_runs
        try:
            with ExitStack() as stack, bar_of_runs(visible=visible) as show:
                stands = None
                for done, (turn, one, scheme) in enumerate(order):
                    show(total=len(order), completed=done, description=f"{scheme} on {one.label}")
                    if one.carrier == late.carriers.SIMULATOR:
                        stack.close()
                    elif stands is None and self._plan is not None:
                        stands = stack.enter_context(late.bed.standing(self._plan, self._kernel))
                        self.delay = _said_of(stands, self._kernel)
                    self._found[turn, one, scheme] = self._one(stands, one, scheme, turn)
        except KeyboardInterrupt:
            self.stopped = True
        for (turn, one, scheme), run in list(self._found.items()):
            of = late.carriers.Target(one.predicts, "", one.predicts)
            found = self._found.get((turn, of, scheme))
            if isinstance(run, Run) and found is not None and not isinstance(found, Run):
                paired = late.predict.paired(self.scenario, found, run)
                self._found[turn, of, scheme] = paired

    def _one(self, stands: Any, one: "Target", scheme: str, turn: int) -> "Measured | Run":  # noqa: ANN401
        own, kernel, knobs = self._of[one], self._kernel, self._knobs
        if one.carrier == late.carriers.UDP:
            return late.over_udp.run(stands, own, scheme, knobs, turn, kernel)
        if one.carrier == late.carriers.LINUX and kernel is not None:
            with late.attach.on_hosts(stands, kernel, scheme, knobs) as name:
                return late.measure.run(stands, kernel, scheme, name, turn)
        if one.predicts == late.carriers.LINUX and kernel is not None:
            run = late.predict.of_linux(own, kernel, scheme, knobs, turn + 1)
        else:
            run = late.predict.of_udp(own, scheme, knobs, turn + 1)
        if not run.complete:
            raise KeyboardInterrupt
        return run

    @property
    def bucket(self) -> dict[str, float] | None:
        """The token bucket of the test bed's ports, and of those that predict it."""
        if self._plan is None:
            return None
        of = self._plan
        return {"burst_bytes": of.burst_bytes, "burst_time_us": of.burst_time_us}

    def rows(self) -> "list[Row]":
        """The figures of all runs."""
        rows = []
        for one, scheme in self._work:
            for turn in range(self._repeat):
                found = self._found.get((turn, one, scheme))
                if isinstance(found, Run):
                    rows.append(late.predict.row(self._of[one], found, one.label, scheme, turn))
                elif found is not None:
                    rows.append(found.row)
        return rows

    def results(self) -> "Mapping[int, Result]":
        """The result of each repetition that has one."""
        found = {}
        names = [f"{scheme} on {one.label}" for one, scheme in self._work]
        for turn in range(self._repeat):
            runs = {
                name: self._found[turn, one, scheme]
                for name, (one, scheme) in zip(names, self._work, strict=True)
                if (turn, one, scheme) in self._found
            }
            if runs:
                found[turn] = late.lab_result.result(self.scenario, names, runs, turn)
        return found


def _said_of(stands: Any, kernel: Path | None) -> str:  # noqa: ANN401
    """Sentences on the test bed's ports, and on what it lacks."""
    said = [stands.plan.bucket, *filter(None, [stands.delays])]
    if stands.plan.mark_bytes is not None and kernel is None:
        said.append("Without incast-kernel no switch marks packets (ECN).")
    if stands.plan.protected:
        said.append("PFC is the simulator's alone: a full queue here drops.")
    return " ".join(said)


def _place(out: Path, turn: int, repeat: int) -> Path:
    return out / f"seed-{turn + 1}" if repeat > 1 else out


def _check(places: list[Path]) -> None:
    """Finds out whether results can be written there, and says which earlier ones they replace."""
    for place in places:
        late.store.check(place)
        if of := late.store.replaces(place, "", (), 0):
            print(f"note: {of} in {place}/ will be replaced", file=sys.stderr)


def _draw(
    session: _Session,
    written: "Sequence[tuple[Result, Written]]",
    formats: Sequence[str],
    *,
    visible: bool,
) -> None:
    """Draws the figures of results; Ctrl-C leaves them be."""
    if session.stopped or not formats:
        return
    try:
        with late.progress.drawing(visible=visible):
            for one, where in written:
                late.result.add_figures(one, where, formats)
    except KeyboardInterrupt:
        session.stopped = True
