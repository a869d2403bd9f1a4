"""Tables as LaTeX, Markdown and CSV: for papers, pages and spreadsheets."""

import csv
import io
import re
import sys

from rich.console import Console

_UNIT = re.compile(r" (Gb/s|[un]s|ms|s|[KMG]?B|%)(?=,|$)")
_NUMBER = re.compile(r"((?:[≥≤] )?[+-]?\d[\d.]*(?:e[+-]?\d+)?)(?: |$)(.*)")
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$", "<": "$<$", ">": "$>$",
    }
)  # fmt: skip


class Document(Console):
    """Standard output on which tables have another form; sentences are comments, of CSV on stderr.

    Nothing is cut, and no line is folded.
    """

    def __init__(self, form: str) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)
        self._form = form
        self._begun = False

    def note(self, text: str) -> None:
        """A sentence beside the tables; an empty one is left out."""
        if not (text := " ".join(text.split())):
            return
        if self._form == "csv":
            sys.stderr.write(f"{text}\n")
        else:
            self._put(f"% {text}" if self._form == "latex" else text)

    def table(self, columns: list[tuple[str, list[str]]]) -> None:
        """A table of headings and the cells below each, with units in parentheses."""
        named = [(_heading(name), [" ".join(one.split()) for one in of]) for name, of in columns]
        self._put({"latex": _latex, "markdown": _markdown, "csv": _csv}[self._form](named))

    def _put(self, text: str) -> None:
        """Prints lines below an empty one, which LaTeX would take for a paragraph."""
        if self._begun and self._form != "latex":
            self.print()
        self._begun = True
        self.print(text, soft_wrap=True)


def _heading(text: str) -> str:
    return _UNIT.sub(r" (\1)", " ".join(text.replace("-\n", "-").split()))


def _is_text(cells: list[str]) -> bool:
    return not any(re.match(r"[+-]?\d", cell) for cell in cells)


def _latex(columns: list[tuple[str, list[str]]]) -> str:
    """A table for the package booktabs."""
    sides = "".join("l" if _is_text(cells) else "r" for _, cells in columns)
    names = [name.translate(_LATEX).replace("(us)", r"($\mu$s)") for name, _ in columns]
    rows = [[_of_latex(cell) for cell in row] for row in _rows(columns)]
    lines = [" & ".join(row) + r" \\" for row in [names, *rows]]
    return "\n".join(
        [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
         r"\bottomrule", r"\end{tabular}"]
    )  # fmt: skip


def _of_latex(cell: str) -> str:
    return "--" if cell == "-" else re.sub(r"(?<![^\s(])-(?=\d)", "$-$", cell.translate(_LATEX))


def _markdown(columns: list[tuple[str, list[str]]]) -> str:
    rules = ["---" if _is_text(cells) else "---:" for _, cells in columns]
    rows = [[name for name, _ in columns], rules, *_rows(columns)]
    bars = ([cell.replace("|", r"\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in bars)


def _csv(columns: list[tuple[str, list[str]]]) -> str:
    """Numbers by themselves; what stands beside them, such as half an interval, is a column."""
    parted = [part for name, cells in columns for part in _parted(name, cells)]
    into = io.StringIO()
    csv.writer(into, lineterminator="\n").writerows([[name for name, _ in parted], *_rows(parted)])
    return into.getvalue().rstrip("\n")


def _parted(name: str, cells: list[str]) -> list[tuple[str, list[str]]]:
    found = [_NUMBER.fullmatch(cell) for cell in cells]
    if not any(found):
        return [(name, cells)]
    rest = [one[2] if one else "" for one in found]
    numbers = [one[1] if one else cell for one, cell in zip(found, cells, strict=True)]
    if not any(rest):
        return [(name, numbers)]
    there = list(filter(None, rest))
    for pattern, what in ((r"± (\S+)", "half of the 95 % interval"), (r"\((\S+)\)", "published")):
        if all(re.fullmatch(pattern, one) for one in there):
            inner = [re.sub(pattern, r"\1", one) for one in rest]
            return [(name, numbers), (f"{name}, {what}", inner)]
    return [(name, numbers), (f"{name}, beside it", rest)]


def _rows(columns: list[tuple[str, list[str]]]) -> list[list[str]]:
    return [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
