"""What a user types and looks at; journeys know nothing else of incast."""

import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

INCH_PT = 72.0


def incast(*arguments: str) -> str:
    """What the command prints; it must end well."""
    done = subprocess.run(["incast", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"incast {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def as_json(*arguments: str) -> Any:  # noqa: ANN401 - whatever it prints
    """What the command prints with `--json`."""
    return json.loads(incast(*arguments, "--json"))


def measured(directory: str) -> dict[str, dict[str, Any]]:
    """The measured values of each scheme of a result."""
    run = json.loads((Path(directory) / "run.json").read_text(encoding="utf-8"))
    return {row["scheme"]: row["measured"] for row in run["runs"]}


def check_pdf(path: Path, width_in: float) -> None:
    """Looks at a figure: as wide as was asked for, something drawn, and TrueType fonts alone."""
    pdf = path.read_bytes()
    assert pdf.startswith(b"%PDF-"), path
    [box] = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
    assert abs(float(box[0]) - width_in * INCH_PT) < 1, f"{path}: {box}"
    parts = [_inflated(part) for part in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)]
    strokes = sum(len(re.findall(rb"^\S+ \S+ (?:l|m|c)$", part, re.MULTILINE)) for part in parts)
    assert strokes > 20, f"{path}: only {strokes} lines"
    assert b"/Type3" not in pdf, f"{path}: a bitmap or outline font, which publishers refuse"
    assert b"/FontFile2" in pdf, f"{path}: no TrueType font"


def check_png(path: Path) -> None:
    """Looks at a figure: a picture that is not of one colour."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n"), path
    assert len(data) > 5000, f"{path}: {len(data)} B"


def has(program: str) -> bool:
    """Whether a program is installed."""
    return shutil.which(program) is not None


def _inflated(part: bytes) -> bytes:
    try:
        return zlib.decompress(part)
    except zlib.error:
        return b""
