"""Commands that read results back."""

import json
from pathlib import Path
from typing import Annotated

import typer

from incast.api.result import open_result
from incast.cli import options
from incast.results import described, store
from incast.results.differences import differences
from incast.results.store import OutputError
from incast.terminal import catalogue, report, writing

_FORMATS = ("png", "svg", "pdf")


def show(
    directories: options.Directories,
    baseline: options.Baseline = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the table of results again; of several, the mean over the seeds and its certainty."""
    results = open_result(*directories)
    if baseline is not None:
        differences(results, baseline)  # raises where the baseline is wrong
    options.say_warnings(results.unfinished)
    one = len(results.members) == 1
    if as_json:
        items = [result.to_dict() for result in results.members]
        print(json.dumps(report.to_dict(results, items, baseline, one=one), allow_nan=False))
    else:
        report.print_results(writing.console(), results, baseline, one=one)


def plot(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Results: seeds of a scenario, or different ones."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A figure to draw; may be repeated. All there are if not given."
        ),
    ] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="Say which figures there are, and draw none.")
    ] = False,
    baseline: options.Baseline = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write.")] = Path("figures"),
    form: Annotated[
        str, typer.Option("--format", metavar="|".join(_FORMATS), help="The kind of file.")
    ] = "png",
) -> None:
    """Draw figures of results, alone or together."""
    # Late: matplotlib takes half a second, which no other command needs.
    from incast.figures import gallery  # noqa: PLC0415
    from incast.figures.canvas import save  # noqa: PLC0415

    results = open_result(*directories) if directories else None
    if list_them:
        known = gallery.DRAWINGS.values()
        about = [(one.name, one.about) for one in known]
        why_not = None if results is None else {one.name: one.why_not(results) for one in known}
        catalogue.print_figures(writing.console(), about, why_not)
        return
    if results is None:
        raise typer.BadParameter("expected the directory of a result, or --list")
    if form not in _FORMATS:
        raise typer.BadParameter(f"--format {form}: expected {', '.join(_FORMATS)}")
    if (out / "run.json").exists():
        # The next run would refuse to replace a directory with files that it did not write.
        raise OutputError(f"{out}: holds a result; choose another directory for its figures")
    # All figures are checked before any is written: a wrong name leaves nothing behind.
    names = list(dict.fromkeys(figure or gallery.available(results)))
    if baseline is not None and gallery.DIFFERENCES not in names:
        raise typer.BadParameter(
            f"--baseline {baseline}: only the figure {gallery.DIFFERENCES} shows differences; name "
            "it with --figure, too, or leave --baseline out"
        )
    for name in names:
        gallery.check(name, results)
    if baseline is not None:
        differences(results, baseline)
    store.check_folder(out)
    drawn = {out / f"{name}.{form}": gallery.draw(name, results, baseline) for name in names}
    try:
        for path, picture in drawn.items():
            save(picture, path)
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror or error}") from None
    report.print_drawn(writing.console(), list(drawn))


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
    """Say what the tables of a result hold: every column, with its unit and meaning."""
    if directory is None:
        known = described.all_tables()
    else:
        known = open_result(directory).members[0].describe_tables()
    for wanted in name or []:
        if wanted not in known:
            raise typer.BadParameter(f"{wanted}: no such table; there is {', '.join(known)}")
    chosen = {key: known[key] for key in name} if name else known
    if as_json:
        print(json.dumps(chosen))
    elif as_markdown:
        print(described.markdown(chosen), end="")
    else:
        catalogue.print_tables(writing.console(), chosen)
