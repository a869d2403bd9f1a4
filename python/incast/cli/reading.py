"""Commands that read results back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import late, options


def show(
    directories: options.Directories,
    baseline: options.Baseline = None,
    metric: options.Metrics = None,
    table: options.Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the table of results, or of a sweep, again.

    Of several seeds it has the means, and how certain they are.
    """
    form = options.check_table(table, as_json=as_json)
    if late.sweep_records.holds(directories[0]):
        _show_sweep(directories, baseline, metric or (), form, as_json=as_json)
        return
    if metric:
        raise typer.BadParameter(f"--metric {metric[0]}: results of runs show all; leave it out")
    results = late.result.open_result(*directories)
    if baseline is not None:
        late.differences.differences(results, baseline)  # raises where the baseline is wrong
    options.say_warnings(results.doubts)
    one = len(results.members) == 1
    if as_json:
        items = [result.to_dict() for result in results.members]
        print(json.dumps(late.report.to_dict(results, items, baseline, one=one), allow_nan=False))
    else:
        late.report.print_results(late.writing.console(form), results, baseline, one=one)


def _show_sweep(
    directories: Sequence[Path],
    baseline: str | None,
    metrics: Sequence[str],
    form: str | None,
    *,
    as_json: bool,
) -> None:
    options.alone(directories)
    sweep = late.sweep.Sweep.read(directories[0])
    if baseline is not None:
        late.differences.check_baseline(baseline, sweep.schemes)
    metrics = sweep.check_metrics(metrics)
    if as_json:
        print(json.dumps(sweep.told(baseline), allow_nan=False))
    else:
        late.sweeps.print_sweep(late.writing.console(form), sweep, metrics, baseline)


def tables(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="A result; all tables that there can be if not given."
        ),
    ] = None,
    name: Annotated[list[str] | None, typer.Argument(help="Only these tables.")] = None,
    as_json: options.AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Say what the tables of a result hold.

    Every column has its unit and meaning.
    """
    if directory is None:
        known = late.described.all_tables()
    else:
        own = late.result.open_result(directory).members[0].describe_tables()
        known = {"summary": late.described.all_tables()["summary"], **own}
    for wanted in name or []:
        if wanted not in known:
            raise typer.BadParameter(f"{wanted}: no such table; there is {', '.join(known)}")
    chosen = {key: known[key] for key in name} if name else known
    if as_json:
        print(json.dumps(chosen))
    elif as_markdown:
        print(late.described.markdown(chosen), end="")
    else:
        late.catalogue.print_tables(late.writing.console(), chosen)
