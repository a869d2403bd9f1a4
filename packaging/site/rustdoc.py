"""The pages of the crates, which `cargo doc --workspace --no-deps` has made, in the site."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from book import SiteError

SIDEBAR = '<nav class="sidebar">'
"""The start of the sidebar in a page of rustdoc."""
HOME = '<a style="display: block; padding: 1rem 1.5rem 0 {}" href="{}">Documentation</a>'


@dataclass(frozen=True)
class Crates:
    """The libraries of a workspace, and the folder of their pages."""

    pages: Path
    known: dict[str, tuple[str, str]]
    """Name and description of a crate, by the folder of its pages."""

    @classmethod
    def of(cls, root: Path) -> "Crates":
        """Asks cargo for them."""
        command = ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"]
        done = subprocess.run(command, cwd=root, check=True, capture_output=True)  # noqa: S603
        told = json.loads(done.stdout)
        found = {
            target["name"].replace("-", "_"): (package["name"], package["description"])
            for package in told["packages"]
            for target in package["targets"]
            if target["doc"] and {"lib", "rlib", "cdylib", "staticlib"} & {*target["kind"]}
        }
        ordered = dict(sorted(found.items(), key=lambda item: item[1]))
        return cls(Path(told["target_directory"]) / "doc", ordered)

    def copy(self, into: Path, home: str) -> None:
        """Copies the pages, without those of other crates that are there by chance.

        Each gets a link to the page `home`, as seen from `into`.

        Raises:
            SiteError: A crate has none.
        """
        for name in self.known:
            if not (self.pages / name / "index.html").is_file():
                raise SiteError(
                    f"{self.pages / name}: not there; `cargo doc --workspace --no-deps` makes it"
                )

        def others(folder: str, names: list[str]) -> list[str]:
            inside = Path(folder)
            if inside not in {self.pages, self.pages / "src"}:
                return []
            is_source = inside != self.pages
            return [
                one for one in names
                if one not in self.known and (is_source or (inside / one / "all.html").is_file())
            ]  # fmt: skip

        def copied(source: str, to: str) -> None:
            if source.endswith(".html"):
                *above, _ = Path(source).relative_to(self.pages).parts
                # The sidebar of a source has a button at its left.
                left = "3rem" if above[:1] == ["src"] else "1.5rem"
                link = HOME.format(left, "../" * len(above) + home)
                text = Path(source).read_text(encoding="utf-8")
                Path(to).write_text(text.replace(SIDEBAR, SIDEBAR + link, 1), encoding="utf-8")
            else:
                shutil.copy2(source, to)

        shutil.copytree(self.pages, into, ignore=others, copy_function=copied, dirs_exist_ok=True)

    def page(self) -> str:
        """The index of the pages."""
        start = "[Architecture](../../internals/architecture.md#crates) tells how they depend."
        return f"---\norphan: true\n---\n\n# Crates\n\n{start}\n\n{self.table()}\n"

    def table(self, below: str = "") -> str:
        """A table of the crates, whose pages are in the folder `below`."""
        rows = (
            f'| <a href="{below}{name}/index.html"><code>{crate}</code></a> | {about} |'
            for name, (crate, about) in self.known.items()
        )
        return "\n".join(["| crate | contents |", "|---|---|", *rows])
