"""The documentation site: the book, the gallery, the interfaces of Python and Rust, and the page.

    python packaging/site/build.py --sphinx .venv/site/bin/sphinx-build --out target/docs

The sources that Sphinx reads are gathered in target/site. The last step checks every link, and that
the search finds what readers look for.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import api
import book
import experiments
import front
import gallery
import links
import rustdoc
import words
from incast.base.links import PAGE

ROOT = Path(__file__).parents[2]
WORK = ROOT / "target/site"
RUST = "api/rust"
PYTHON = "api/python"
SELF = "packaging/site/build.py"
REPRODUCTION = "docs/reference/reproduction.md"


def main() -> None:
    """Builds and checks the site, or says in a sentence why not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sphinx", type=Path, required=True, help="the program sphinx-build")
    parser.add_argument("--out", type=Path, required=True, help="the directory of the site")
    given = parser.parse_args()
    try:
        found = build(given.sphinx, given.out)
    except book.SiteError as error:
        sys.exit(f"error: {error}")
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)  # noqa: T201 - the script says what is wrong
    if found:
        sys.exit(f"error: the site has {len(found)} faults, named above")
    print(f"{given.out / 'index.html'}: every link leads somewhere")  # noqa: T201


def build(sphinx: Path, out: Path) -> list[str]:
    """Builds the site; returns what is wrong with its links and its search."""
    crates = rustdoc.Crates.of(ROOT)
    gathered = book.gather(ROOT)
    gallery.add(gathered, gallery.draw())
    gathered.add("live", SELF, _live())
    made_book = experiments.book(ROOT)
    reproduction = (ROOT / REPRODUCTION).read_text(encoding="utf-8")
    gathered.add(experiments.PAGE, REPRODUCTION, experiments.page(reproduction, made_book))
    gathered.add("api/index", SELF, _interfaces(crates))
    gathered.add(f"{RUST}/index", SELF, crates.page())
    made = {
        "gallery": "Gallery of figures",
        "live": "The simulator, live",
        experiments.PAGE: "Experiments of the papers",
        "api/index": "Interfaces of Python and Rust",
    }
    front.add(gathered)
    book.navigation(gathered, made)
    book.write(gathered, WORK / "source")
    _sphinx(sphinx, out, {f"{name}.html" for name in gathered.pages})
    api.write(out / PYTHON, "../../index.html")
    crates.copy(out / RUST, "../../index.html")
    experiments.copy(made_book, out / "book")
    shutil.rmtree(out / "page", ignore_errors=True)
    if PAGE.is_file():
        (out / "page").mkdir()
        shutil.copyfile(PAGE, out / "page/index.html")
    sources = {f"{name}.html": source for name, source in gathered.pages.items()}
    return [
        *links.faults(out, sources, unchecked=(f"{RUST}/", "page/", "book/")),
        *words.faults(out),
    ]


def _sphinx(program: Path, out: Path, pages: set[str]) -> None:
    """Runs Sphinx on what has changed, and removes pages that are no longer there."""
    command = [program, "-q", "-W", "--keep-going", "-j", "auto", "-b", "html"]
    command += ["-c", Path(__file__).parent, "-d", WORK / "doctrees", WORK / "source", out]
    if subprocess.run(command, check=False).returncode:  # noqa: S603 - the program of `make docs`
        raise book.SiteError("Sphinx could not make the site of the pages; its warnings are above")
    kept = (*pages, "search.html", "genindex.html", "404.html")
    for old in out.rglob("*.html"):
        path = old.relative_to(out).as_posix()
        if path not in kept and not path.startswith(("api/", "page/", "book/", "_static/")):
            old.unlink()


def _live() -> str:
    """The page that leads to the simulator, where that is built."""
    start = "# The simulator, live\n\nMove a slider, watch the queue: it runs in the browser."
    if PAGE.is_file():
        more = '<a href="page/index.html">Open the simulator</a>.'
    else:
        more = (
            "This copy of the site was built without it. `make page` builds it, the next "
            "`make docs` puts it here, and `incast ui` serves it without the site."
        )
    return f"{start}\n\n{more}\n\n[The guide](guide/page.md) tells what it can do.\n"


def _interfaces(crates: rustdoc.Crates) -> str:
    """The page of the interfaces."""
    modules = (
        f'* <a href="python/{name.replace(".", "/")}.html"><code>{name}</code></a>: {about}'
        for name, about in api.abouts().items()
    )
    return "\n\n".join(
        [
            "# Interfaces of Python and Rust",
            "## Python",
            (
                "Pages of every public name, made of the docstrings. The "
                "[guide](../guide/python.md) tells how they are used together."
            ),
            "\n".join(modules),
            "## Rust",
            (
                "Pages of every crate, made of the comments in the code. "
                "[Architecture](../internals/architecture.md) tells how they stand on each other."
            ),
            crates.table("rust/"),
            "",
        ]
    )


if __name__ == "__main__":
    main()
