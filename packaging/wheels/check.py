"""The checks of a wheel: its tags, its files, the format of its core, and what that names."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from targets import Target

ABI = "cp310-abi3"
PACKAGE = Path(__file__).parents[2] / "python" / "incast"
_MODULES = (".so", ".pyd", ".dll", ".dylib", ".wasm")
# The first bytes of a module, which say for what it is.
_HEAD = 4096


def faults(path: Path, target: Target, here: Sequence[Path]) -> list[str]:
    """The ways in which a wheel is not what it should be.

    Args:
        path: Its file.
        target: The target that it was built for.
        here: The folders of this machine, none of which it must name.
    """
    found = []
    tags = path.stem.split("-", 2)[-1]
    platforms = tags.removeprefix(f"{ABI}-").split(".")
    if not tags.startswith(f"{ABI}-") or target.platform not in platforms:
        found.append(f"its tags are {tags}, not {ABI}-{target.platform}")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        modules = {name for name in names if name.endswith(_MODULES)}
        if modules != {f"incast/{target.core}"}:
            there = ", ".join(sorted(modules)) or "none"
            return [*found, f"its compiled modules are {there}, not incast/{target.core}"]
        sources = {f"incast/{one.relative_to(PACKAGE)}" for one in PACKAGE.rglob("*.py")}
        if missing := sorted(sources - names):
            found.append(f"it lacks {', '.join(missing)}")
        if not target.fits(archive.read(f"incast/{target.core}")[:_HEAD]):
            found.append("its core is for another system or processor")
        for name in sorted(names):
            inside = archive.read(name)
            found += [
                f"{name} names {folder}, a folder of the machine that built it"
                for folder in here
                if f"{folder}/".encode() in inside
            ]
    return found
