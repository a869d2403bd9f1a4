"""Takes the summary of a report into the pages that have it: the reproduction and the README."""

import argparse
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FIRST, _AFTER = "## How near the published numbers are\n", "## How it is judged\n"
_BEGIN, _END = "<!-- by make reproduction -->\n", "<!-- end -->\n"


def front(summary: str) -> str:
    """The tables that the summary leads with."""
    return summary.partition(_FIRST)[2].partition(_AFTER)[0].strip() + "\n"


def renewed(readme: str, summary: str) -> str:
    """The README with the tables of a summary between its two marks."""
    before, begin, rest = readme.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise SystemExit(f"README.md has no {_BEGIN.strip()} and {_END.strip()}; put them back")
    return f"{before}{begin}{front(summary)}{end}{after}"


def main() -> None:
    """Writes both pages, into the checkout or another folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="the folder that incast reproduce wrote")
    parser.add_argument("--into", type=Path, default=ROOT, help="the folder of the pages")
    given = parser.parse_args()
    summary = (given.report / "summary.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = given.into / "docs/reference/reproduction.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(summary, encoding="utf-8")
    (given.into / "README.md").write_text(renewed(readme, summary), encoding="utf-8")


if __name__ == "__main__":
    main()
