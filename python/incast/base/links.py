"""Links to the page of the simulator, whose address holds a whole run."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlencode

PAGE = Path(__file__).parents[1] / "page" / "index.html"
"""The page: one file, which `make page` builds."""

SLOWER = 2.0
"""The time that a run takes in a page, over the time of native code."""
MOST_SECONDS = 60.0
"""The estimated time in a page above which it refuses a run (`crates/front/wasm/src/opened.rs`)."""
MOST_BYTES = 1.5e9
"""The memory above which it refuses one."""


def fragment(
    name: str,
    *,
    text: str | None = None,
    files: Mapping[str, str] | None = None,
    changes: Iterable[str] = (),
    schemes: Iterable[str] = (),
    seed: int | None = None,
) -> str:
    """The part of a link after `#`, as `web/src/state.ts` reads it.

    Args:
        name: The name of a scenario that ships, or of `text`.
        text: The scenario in TOML, if it does not ship.
        files: The texts of the files that it names, by their names.
        changes: Assignments such as `run.duration=10ms`; of several of one path the last holds.
        schemes: The schemes, or none for the scenario's.
        seed: The seed, or the scenario's.
    """
    last: dict[str, str] = {}
    for change in changes:
        path, _, value = change.partition("=")
        last.pop(path, None)
        last[path] = value
    parts = [("s", name), *(("cc", scheme) for scheme in schemes)]
    parts += [("set", f"{path}={value}") for path, value in last.items()]
    if seed is not None:
        parts.append(("seed", str(seed)))
    if text is not None:
        parts.append(("t", _packed(json.dumps([text, dict(files or {})], ensure_ascii=False))))
    return urlencode(parts)


def _packed(text: str) -> str:
    packing = zlib.compressobj(9, wbits=-15)
    packed = packing.compress(text.encode()) + packing.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")
