"""The command that draws figures of results."""

import json
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import completing, late, options
from incast.figures.catalogue import ABOUT, FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:  # it imports Polars
    from incast.api.result import Results


def plot(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Results: seeds of a scenario, or different ones."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completing.figures,
            help="A figure to draw; may be repeated. All there are if not given.",
        ),
    ] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="Say which figures there are, and draw none.")
    ] = False,
    baseline: options.Baseline = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write.")] = Path("figures"),
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            autocompletion=completing.formats,
            help="The kind of file.",
        ),
    ] = "png",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not text.")] = False,
) -> None:
    """Draw figures of results, alone or together."""
    results = late.result.open_result(*directories) if directories else None
    if list_them:
        _print_list(_why_not(results), as_json=as_json)
        return
    if results is None:
        raise typer.BadParameter("expected the directory of a result, or --list")
    if form not in FORMATS:
        raise typer.BadParameter(f"--format {form}: expected {', '.join(FORMATS)}")
    if (out / "run.json").exists():
        # The next run would refuse to replace a directory with files that it did not write.
        raise late.store.OutputError(
            f"{out}: holds a result; choose another directory for its figures"
        )
    # All figures are checked before any is written: a wrong name leaves nothing behind.
    names = list(dict.fromkeys(figure or late.gallery.available(results)))
    if baseline is not None and late.gallery.DIFFERENCES not in names:
        raise typer.BadParameter(
            f"--baseline {baseline}: only the figure {late.gallery.DIFFERENCES} shows differences; "
            "name it with --figure, too, or leave --baseline out"
        )
    for name in names:
        late.gallery.check(name, results)
    if baseline is not None:
        late.differences.differences(results, baseline)
    late.store.check_folder(out)
    drawn = {out / f"{name}.{form}": late.gallery.draw(name, results, baseline) for name in names}
    try:
        for path, picture in drawn.items():
            late.canvas.save(picture, path)
    except OSError as error:
        raise late.store.OutputError(
            f"{out}: cannot be written: {error.strerror or error}"
        ) from None
    if as_json:
        print(json.dumps({"written": [str(path) for path in drawn]}))
    else:
        late.report.print_drawn(late.writing.console(), list(drawn))


def _print_list(why_not: dict[str, str | None] | None, *, as_json: bool) -> None:
    if not as_json:
        late.catalogue.print_figures(late.writing.console(), ABOUT, why_not)
        return
    items = []
    for name, about in ABOUT.items():
        why = {} if why_not is None else {"drawn": why_not[name] is None, "why_not": why_not[name]}
        items.append({"name": name, "shows": about, **why})
    print(json.dumps(items))


def _why_not(results: "Results | None") -> dict[str, str | None] | None:
    """The reason why each figure cannot be drawn, None of one that can; None without results."""
    if results is None:
        return None
    return {name: drawing.why_not(results) for name, drawing in late.gallery.DRAWINGS.items()}
