"""The command's output on tunings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from incast.results.sweeps import SweepRecord
from incast.results.tunings import RUNS, TRIALS, Trial, TuningRecord
from incast.terminal import cells, numbers
from incast.terminal.sweeps import heading
from incast.terminal.writing import Columns, of_seeds, print_columns, say, say_written, wrapped

# The most trials of a table on a terminal; files have all.
_MOST = 12


def print_tuning(out: Console, tuning: TuningRecord) -> None:
    """The best trials beside the scheme as it was given, and the settings of the best."""
    goals = tuning.goals
    title = f"{tuning.scheme} in {', '.join(goals.scenarios)}"
    seeds = of_seeds(tuning.seeds)
    say(out, f"{title} ({len(tuning.every)} trials, {seeds})", style="bold")
    if not tuning.every:
        return
    picked = list(tuning.front[:_MOST]) or [one for one in (tuning.nearest,) if one is not None]
    rows = [tuning.every[0], *(one for one in picked if one.number != 0)]
    front: Columns = [
        ("trial", ["as given" if not one.number else str(one.number) for one in rows])
    ]
    columns: Columns = []
    for name in goals.figures:
        columns.append((_heading(tuning, name), [_value(tuning, one, name) for one in rows]))
    if goals.constraints:
        columns.append(("holds\nlimits", ["yes" if one.feasible else "no" for one in rows]))
    for each in tuning.space:
        columns.append((each.name, [one.settings[each.name] for one in rows]))
    print_columns(out, front, cells.plain(out, columns))
    if len(tuning.front) > _MOST:
        say(out, f"and {len(tuning.front) - _MOST} more of the front, which the files have")
    if len(goals.scenarios) > 1:
        wrapped(
            out, "",
            "Figures are geometric means over the scenarios of ratios to the scheme as given.",
        )  # fmt: skip
    _print_verdict(out, tuning)


def _print_verdict(out: Console, tuning: TuningRecord) -> None:
    failed = [one for one in tuning.every if one.error is not None]
    if failed:
        wrapped(out, "", f"* {len(failed)} trials failed, the first: {failed[0].error}")
    best, nearest = tuning.best, tuning.nearest
    out.print()
    if best is not None:
        if best.number == 0 and len(tuning.front) == 1:
            say(out, "No trial is better than the scheme as given.")
        elif len(tuning.front) > 1:
            wrapped(out, "", f"Best by {tuning.goals.objectives[0].figure}, trial {best.number}:")
            say(out, f"  --cc '{best.scheme}'")
        else:
            say(out, f"Best, trial {best.number}:")
            say(out, f"  --cc '{best.scheme}'")
    elif nearest is not None:
        rules = " and ".join(one.text for one in tuning.goals.constraints)
        wrapped(
            out, "",
            f"No trial holds {rules}. The nearest is trial {nearest.number}, off by "
            f"{nearest.violation:.2%} of a limit:", style="bold",
        )  # fmt: skip
        say(out, f"  --cc '{nearest.scheme}'")
    else:
        say(out, "No trial has values of all goals.", style="bold")


def _heading(tuning: TuningRecord, figure: str) -> str:
    if len(tuning.goals.scenarios) == 1:
        return heading(figure)
    return f"{heading(figure).splitlines()[0]}\nratio"


def _value(tuning: TuningRecord, one: Trial, figure: str) -> str:
    found = tuning.goals.spread(one.ran, tuning.every[0].ran, figure)
    return "-" if found is None else numbers.measured(replace(found, half_width=None))


def print_validation(out: Console, tuning: TuningRecord) -> None:
    """The sweeps of what was found beside the scheme as given and published presets."""
    found = {one.scheme: f"trial {one.number}" for one in tuning.every[1:]}
    for name, sweep in tuning.validation.items():
        out.print()
        say(out, f"Validation: {name} ({of_seeds(sweep.seeds)})", style="bold")
        labels = [found.get(scheme, scheme) for scheme in sweep.schemes]
        columns: Columns = [
            (heading(figure), [_mean(sweep, scheme, figure) for scheme in sweep.schemes])
            for figure in tuning.goals.figures
        ]
        print_columns(out, [("scheme", labels)], cells.plain(out, columns))
        if sweep.failed:
            first = next(iter(sweep.errors))
            wrapped(out, "", f"* {sweep.failed} of {sweep.planned} runs failed, the first: {first}")
    if tuning.validation and any(len(one.seeds) > 1 for one in tuning.validation.values()):
        wrapped(out, "", "Means over the seeds, with 95 % confidence intervals by Student's t.")


def _mean(sweep: SweepRecord, scheme: str, figure: str) -> str:
    found = sweep.spread(0, scheme, figure)
    return "-" if found is None else numbers.measured(found)


def print_tuning_written(out: Console, tuning: TuningRecord, drawn: Sequence[Path]) -> None:
    """The files of a tuning."""
    files = f"tables  {TRIALS}, a row for each trial; {RUNS}, one for each run"
    say_written(out, tuning.directory, files, drawn)
