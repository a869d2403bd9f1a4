"""The command's text: lines, wrapped or not, and tables that fit."""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from incast.base import extras
from incast.terminal.documents import Document

_PLAIN_WIDTH = 100  # columns of a pipe or a file
_LEAST_WIDTH = 80

Columns = list[tuple[str, list[str]]]
"""Headings and the cells below each."""


def console(form: str | None = None) -> Console:
    """Standard output: as wide as the terminal, or 100 columns where there is none.

    Not below 80, where the terminal folds lines: a number that is cut is a wrong one. Without
    markup: a name in brackets is a name. Tables are `latex`, `markdown` or `csv` where that is the
    form.
    """
    if form is not None:
        return Document(form)
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH) if known else _PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False)


def say(out: Console, text: str, style: str | None = None) -> None:
    """A line as it is: not wrapped, so that a path can be copied."""
    if isinstance(out, Document):
        out.note(text)
        return
    out.print(text, style=style, soft_wrap=True)


def say_figures(out: Console, drawn: Sequence[Path] = (), folder: str = "") -> None:
    """The names of figures and their formats, or what figures take where it is not installed."""
    if drawn:
        names = ", ".join(dict.fromkeys(path.stem for path in drawn))
        *others, last = dict.fromkeys(path.suffix for path in drawn)
        kinds = f"{', '.join(others)} and {last}" if others else last
        wrapped(out, "  figures  ", f"{names} (each {kinds}{folder and f', in {folder}'})")
    elif not extras.have("figures"):
        say(out, f"  figures  none: matplotlib is not installed: {extras.how('figures')}")


def say_written(out: Console, place: Path | None, files: str, drawn: Sequence[Path]) -> None:
    """Says what a study has written: its directory, its files, and its figures."""
    out.print()
    say(out, f"Wrote {place or Path()}{os.sep}")
    say(out, f"  {files}")
    say_figures(out, drawn, "figures")


def of_seeds(seeds: Sequence[int]) -> str:
    """The seeds of runs in a title: the only one, or how many there are."""
    return f"{len(seeds)} seeds" if len(seeds) > 1 else f"seed {seeds[0]}"


def wrapped(out: Console, label: str, text: str, style: str | None = None) -> None:
    """A text below and beside its label, folded between words."""
    indent = " " * len(label)
    lines = textwrap.wrap(
        text,
        out.width,
        initial_indent=label,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    say(out, "\n".join(lines), style=style)


def grid_of(out: Console, *, wrap: bool = False) -> Table:
    """A table with one rule under its heading, which stays readable in a pipe."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, _gap(out), 0, 0))
    if not wrap:
        grid.header_style = "bold"
    return grid


def print_columns(out: Console, front: Columns, columns: Columns) -> None:
    """A table; what does not fit beside each other goes below, each part with the front columns."""
    if isinstance(out, Document):
        out.table(front + columns)
        return
    first = True
    while first or columns:
        first = False
        grid, columns = first_columns(out, front, columns)
        out.print()
        out.print(grid)


def first_columns(out: Console, front: Columns, columns: Columns) -> tuple[Table, Columns]:
    """A table of what fits beside the front columns, and the columns that are left."""
    count = max(1, _fitting(out, front, columns))
    grid = grid_of(out)
    for heading, cells in front:
        number = all(cell.isdecimal() for cell in cells)
        grid.add_column(heading, justify="right" if number else "left", overflow="fold")
    for heading, _ in columns[:count]:
        grid.add_column(heading, justify="right")
    for row in zip(*(cells for _, cells in front + columns[:count]), strict=True):
        grid.add_row(*row)
    return grid, columns[count:]


def _fitting(out: Console, front: Columns, columns: Columns) -> int:
    """The number of columns that fit beside the front ones."""
    room = out.width - sum(_width(out, column) for column in front)
    for count, column in enumerate(columns):
        room -= _width(out, column)
        if room < 0:
            return count
    return len(columns)


def _width(out: Console, column: tuple[str, list[str]]) -> int:
    """The width of a column with the gap to the next: the box adds a space, padding another."""
    heading, cells = column
    return 1 + _gap(out) + max(len(line) for text in (heading, *cells) for line in text.split("\n"))


def _gap(out: Console) -> int:
    return 1 if out.width >= 90 else 0
