"""The gallery of the site: the figures of `incast plot`, and the pictures of the pages."""

import io
from dataclasses import dataclass
from posixpath import basename

import incast
from book import Book, SiteError, place
from incast.figures import gallery
from incast.figures.catalogue import ABOUT

FOLDER = "gallery"


@dataclass(frozen=True)
class Shown:
    """Runs whose figures the gallery has."""

    scenario: str
    schemes: tuple[str, ...]
    set: tuple[str, ...]
    seeds: tuple[int, ...] = (1,)
    traces: tuple[str, ...] = ()

    def results(self) -> incast.Results:
        """Runs them."""
        scenario = incast.load(self.scenario).with_set(*self.set)
        return incast.run(scenario, self.schemes, seed=self.seeds, traces=self.traces)

    @property
    def command(self) -> str:
        """The command that runs the same."""
        parts = [f"incast run {self.scenario}"]
        parts += [f"--cc {scheme}" for scheme in self.schemes]
        parts += [f"--seed {seed}" for seed in self.seeds if self.seeds != (1,)]
        parts += [f"--trace {trace}" for trace in self.traces]
        parts += [f"--set {value}" for value in self.set]
        return _in_lines([*parts, f"--out results/{self.scenario}"])


def _in_lines(parts: list[str]) -> str:
    """A command in lines that a page has room for, an option and its value in one."""
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) < 80:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    return " \\\n".join(lines)


# A figure is of the first of these that has what it draws.
RUNS = (
    Shown(
        "incast",
        ("timely", "line-rate"),
        ("run.duration=150ms", "run.warmup=50ms", "run.interval=500us"),
        seeds=(1, 2),
        traces=("flows",),
    ),
    Shown(
        "fat-tree-web-search",
        ("dctcp", "swift"),
        ("run.duration=8ms", "run.warmup=2ms", "traffic.0.deadline=200us"),
    ),
    Shown("timely-storage", ("timely", "line-rate"), ("traffic.0.deadline=1ms",)),
    Shown("all-reduce", ("dcqcn",), ("traffic.0.size=1MB", "run.duration=3ms")),
)


def draw(runs: tuple[Shown, ...] = RUNS) -> dict[str, tuple[Shown, bytes]]:
    """Every figure by name, as PNG, and the runs that it shows.

    Raises:
        SiteError: None of the runs has what a figure draws.
    """
    drawn: dict[str, tuple[Shown, bytes]] = {}
    for shown in runs:
        results = shown.results()
        for name in ABOUT:
            if name not in drawn and name not in gallery.left_out(results):
                into = io.BytesIO()
                gallery.draw(name, results).savefig(into, format="png", metadata={"Software": None})
                drawn[name] = shown, into.getvalue()
    if missing := [name for name in ABOUT if name not in drawn]:
        raise SiteError(
            f"packaging/site/gallery.py: no run has what {', '.join(missing)} draws; add one"
        )
    return {name: drawn[name] for name in ABOUT}


def add(book: Book, drawn: dict[str, tuple[Shown, bytes]]) -> None:
    """Adds the page of the gallery with its figures."""
    blocks = [
        "# Gallery of figures",
        "[Figures for papers](how-to/figures.md) tells how to set width, fonts and labels.",
        "## Figures of results",
        (
            "`incast plot` draws these of any results that have the tables; `incast plot --list` "
            "names them. These show short runs, which were made for this page."
        ),
    ]
    for name, (shown, picture) in drawn.items():
        book.files[f"{FOLDER}/{name}.png"] = picture
        about = f"{ABOUT[name][0].upper()}{ABOUT[name][1:]}."
        plot = f"incast plot results/{shown.scenario} --figure {name}"
        if len(shown.seeds) > 1:
            plot = plot.replace(f"/{shown.scenario}", f"/{shown.scenario}/seed-*")
        blocks += [
            f"### {name}",
            about,
            f"![{name}: {ABOUT[name]}]({FOLDER}/{name}.png)",
            f"```sh\n{shown.command}\n{plot}\n```",
        ]
    blocks.append("## Pictures of the pages")
    for picture, pages in sorted(book.uses.items()):
        to = place(picture, book.root)
        uses = ", ".join(
            f"[{book.title(page)}]({place(page, book.root)}.md)" for page in sorted(pages)
        )
        blocks += [
            f"### {basename(picture)}",
            f"![{next(iter(pages.values()))}]({to})",
            f"In {uses}: {next(iter(pages.values()))}.",
        ]
    book.add("gallery", "packaging/site/gallery.py", "\n\n".join([*blocks, ""]))
