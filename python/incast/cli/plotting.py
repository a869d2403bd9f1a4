"""The command that draws figures of results."""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import completing, late, options
from incast.figures.catalogue import ABOUT, BY_SIZE, FORMATS, PERCENTILES, check_formats

TYPE_CHECKING = False
if TYPE_CHECKING:  # they import Polars and matplotlib
    from matplotlib.figure import Figure

    from incast.api.result import Results


def plot(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR...", help="Results: seeds of a scenario, or different ones; or a sweep."
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completing.figures,
            help="A figure to draw, of a sweep a figure of runs; may be repeated. All there are if "
            "not given, of a sweep the usual ones.",
        ),
    ] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="Say which figures there are, and draw none.")
    ] = False,
    cc: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="NAME[=LABEL]",
            autocompletion=completing.schemes,
            help="A scheme to draw, under a label of yours; repeat it: others are left out, and "
            "the order is this one. All of the results if not given.",
        ),
    ] = None,
    baseline: options.Baseline = None,
    flow: Annotated[
        list[int] | None,
        typer.Option(
            min=0, metavar="N", help="A flow that `state` shows; may be repeated; the first if not."
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(PERCENTILES), help="The percentile that figures by size show; both."
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="Such as 3.3in, 8.4cm or 84mm; 7in if not given."),
    ] = None,
    title: Annotated[
        bool,
        typer.Option(
            "--title/--no-title", help="With a title, or none: its remarks are printed then."
        ),
    ] = True,
    style: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A matplotlib style sheet that comes on top of ours."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write.")] = Path("figures"),
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            autocompletion=completing.formats,
            help="The kind of file, or several, such as svg,pdf.",
        ),
    ] = "png",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not text.")] = False,
) -> None:
    """Draw figures of results, alone or together, or of a sweep."""
    if only not in (None, *PERCENTILES):
        raise typer.BadParameter(f"--only {only}: expected {' or '.join(PERCENTILES)}")
    if directories and late.sweep_records.holds(directories[0]):
        options.alone(directories)
        sweep = late.sweep.Sweep.read(directories[0])
        if list_them:
            by_size = {name: ABOUT[name] for name in BY_SIZE} if sweep.sizes.width else {}
            about = {name: late.sweep_records.doc_of(name) for name in sweep.metrics} | by_size
            _print_list(about, None, as_json=as_json)
            return
        names = sweep.check_figures(figure or ())
        _check_options(names, baseline, flow, only)
        draw = partial(
            sweep.figure, schemes=cc or None, only=only, width=width, title=title, style=style
        )
        _write(names, draw, {}, form, out, title=title, as_json=as_json)
        return
    results = late.result.open_result(*directories) if directories else None
    if results is not None:
        results = (results.of_schemes(cc) if cc else results).of_flows(flow or ())
        results = results.of_percentile(only)
    if list_them:
        _print_list(ABOUT, _why_not(results), as_json=as_json)
        return
    if results is None:
        raise typer.BadParameter("expected the directory of a result, or --list")
    look = late.look.Look.of(width, title=title, style=style)
    # All figures are checked before any is written: a wrong name leaves nothing behind.
    left_out = {} if figure else late.gallery.left_out(results)
    names = list(dict.fromkeys(figure or (name for name in ABOUT if name not in left_out)))
    _check_options(names, baseline, flow, only)
    for name in names:
        late.gallery.check(name, results)
    if baseline is not None:
        late.differences.differences(results, baseline)
    _write(
        names,
        lambda name: late.gallery.draw(name, results, baseline, look),
        left_out,
        form,
        out,
        title=title,
        as_json=as_json,
    )


def _write(
    names: Sequence[str],
    draw: "Callable[[str], Figure]",
    left_out: dict[str, str],
    form: str,
    out: Path,
    *,
    title: bool,
    as_json: bool,
) -> None:
    """Draws figures, writes them, and says where, and why some are left out."""
    formats = check_formats(form.split(","))
    if (out / "run.json").exists():
        # The next run would refuse to replace a directory with files that it did not write.
        raise late.store.OutputError(
            f"{out}: holds a result; choose another directory for its figures"
        )
    with late.progress.drawing(visible=not as_json):
        drawn = {name: draw(name) for name in names}
        late.store.check_folder(out)
        paths = _save(drawn, out, formats)
    # The remarks for a caption, where no title has them.
    remarks = {} if title else {name: str(one.get_label()) for name, one in drawn.items()}
    if as_json:
        written = {"written": list(map(str, paths)), "left_out": left_out}
        print(json.dumps(written if title else {**written, "remarks": remarks}))
        return
    late.report.print_drawn(late.writing.console(), paths)
    for why, of in _by_text(left_out).items():
        print(f"note: not drawn: {', '.join(of)}: {why}", file=sys.stderr)
    for remark, of in _by_text(remarks).items():
        print(f"note: for the caption of {', '.join(of)}: {remark}", file=sys.stderr)


def _check_options(
    names: list[str], baseline: str | None, flow: list[int] | None, only: str | None
) -> None:
    """Refuses an option of a figure that is not drawn."""
    gallery = late.gallery
    for option, value, figures, shows in (
        ("--baseline", baseline, (gallery.DIFFERENCES,), "differences"),
        ("--flow", flow[0] if flow else None, (gallery.STATE,), "single flows"),
        ("--only", only, BY_SIZE, "percentiles by size"),
    ):
        if value is not None and not {*figures} & {*names}:
            raise typer.BadParameter(
                f"{option} {value}: only the figure {' or '.join(figures)} shows {shows}; name it "
                f"with --figure, too, or leave {option} out"
            )


def _by_text(said: dict[str, str]) -> dict[str, list[str]]:
    """The figures of which a text is said."""
    found: dict[str, list[str]] = {}
    for name, text in said.items():
        if text:
            found.setdefault(text, []).append(name)
    return found


def _save(drawn: "dict[str, Figure]", out: Path, formats: Sequence[str]) -> list[Path]:
    try:
        return [
            path
            for name, picture in drawn.items()
            for path in late.canvas.save_as(picture, out / name, formats)
        ]
    except OSError as error:
        raise late.store.OutputError(
            f"{out}: cannot be written: {error.strerror or error}"
        ) from None


def _print_list(
    figures: dict[str, str], why_not: dict[str, str | None] | None, *, as_json: bool
) -> None:
    if not as_json:
        late.catalogue.print_figures(late.writing.console(), figures, why_not)
        return
    items = []
    for name, about in figures.items():
        why = {} if why_not is None else {"drawn": why_not[name] is None, "why_not": why_not[name]}
        items.append({"name": name, "shows": about, **why})
    print(json.dumps(items))


def _why_not(results: "Results | None") -> dict[str, str | None] | None:
    """The reason why each figure cannot be drawn, None of one that can; None without results."""
    if results is None:
        return None
    return {name: drawing.why_not(results) for name, drawing in late.gallery.DRAWINGS.items()}
