"""The notebooks of the tutorials: each runs from its first cell to its last, and shows what it has.

Pictures are there or not; a page of the documentation looks at them. `INCAST_UPDATE_GOLDEN=1`
writes the notebook anew.
"""

import copy
import os
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs").glob("**/*.ipynb"))


def shown(cell: dict[str, Any]) -> list[tuple[str, ...]]:
    """The outputs of a cell: texts in full, of others the kind."""
    return [
        ("image",) if "image/png" in (data := one.get("data", {})) else
        (data.get("text/plain", ""), one.get("text", ""))
        for one in cell.get("outputs", [])
        if one.get("name") != "stderr"
    ]  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_has(path: Path, tmp_path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    made = copy.deepcopy(stored)
    began = time.monotonic()
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(made, timeout=300, kernel_name="python3", resources=resources).execute()
    took = time.monotonic() - began
    for cell in made.cells:
        cell.metadata.pop("execution", None)
    if os.environ.get("INCAST_UPDATE_GOLDEN"):
        nbformat.write(made, path)
    for old, new in zip(stored.cells, made.cells, strict=True):
        assert shown(old) == shown(new), new.source
    assert sum(("image",) in shown(cell) for cell in made.cells) >= 2
    # In seconds; a minute is what the notebook promises, on a machine that is busy, too.
    assert took < 60


def test_there_is_a_notebook() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-figure"]
