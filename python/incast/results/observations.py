"""Reports of connections on Linux TCP, kept in a directory as a table."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from incast import _core
from incast._core import IncastError
from incast.results.columns import TableInfo
from incast.results.store import DirectoryKind

KIND = DirectoryKind("observation.json", "an observation of incast")
TABLE = "observations.parquet"

# The columns: key of the program's JSON, name, type, unit and meaning.
_COLUMNS: tuple[tuple[str, str, type[pl.DataType], str, str], ...] = (
    ("time_s", "time_s", pl.Float64, "s", "since the machine started"),
    ("local_port", "local_port", pl.UInt16, "", "port of this end"),
    ("remote", "remote", pl.String, "", "address and port of the other end"),
    ("rate_mbps", "rate_mbps", pl.Float64, "Mb/s", "what it sends at; a window over its RTT"),
    ("rtt_us", "rtt_us", pl.Float64, "us", "newest sample; null if the newest ACK brought none"),
    ("gauge", "", pl.Float64, "", ""),
    ("counter", "counter", pl.Float64, "", "counter of Regulated TCP"),
    ("branch", "branch", pl.String, "", "what the algorithm did last; empty at first"),
    ("cwnd", "cwnd_segments", pl.UInt32, "segments", "window"),
    ("in_flight", "in_flight_segments", pl.UInt32, "segments", "in flight"),
    ("retransmissions", "retransmissions", pl.UInt32, "segments", "sent again since it began"),
    ("recovering", "recovering", pl.Boolean, "", "whether losses are being repaired"),
)  # fmt: skip
# The gauge of each algorithm: column, unit and meaning.
_GAUGES = {
    "timely": ("gradient_us", "us", "smoothed change of the RTT, not yet divided by min_rtt"),
    "rtcp": ("price", "", "price of the delay"),
    "dctcp": ("alpha", "", "estimate of the fraction of marked packets"),
}
FIGURES = ("rate", "rtt")
_EMPTY = {"timely": ("counter",), "rtcp": (), "dctcp": ("counter", "branch")}


@dataclass(frozen=True)
class Observed:
    """The algorithm that is observed."""

    name: str
    algorithm: str
    parameters: Mapping[str, str]

    @property
    def title(self) -> str:
        """The name, with the algorithm."""
        return f"{self.name} ({self.algorithm})"


def fill(directory: Path, observed: Observed, record: Path, formats: Iterable[str]) -> None:
    """Makes a table and the mark of what the program recorded there.

    Figures in these formats may be put there later.

    Raises:
        IncastError: It recorded nothing.
    """
    rows = _read(record, observed.algorithm)
    record.unlink()
    if rows.is_empty():
        raise IncastError(
            f"{observed.name}: no connection sent anything in this time, so nothing is written"
        )
    info = _info(observed, rows)
    rows.write_parquet(directory / TABLE, metadata={"incast": json.dumps(info)})
    files = [KIND.mark, TABLE, *(f"{name}.{suffix}" for suffix in formats for name in FIGURES)]
    mark = {
        "incast": _core.__version__,
        "name": observed.name,
        "algorithm": observed.algorithm,
        "parameters": dict(observed.parameters),
        "table": info,
        "files": sorted(files),
    }
    text = json.dumps(mark, indent=2, allow_nan=False)
    (directory / KIND.mark).write_text(text + "\n", encoding="utf-8")


def _read(record: Path, algorithm: str) -> pl.DataFrame:
    """The rows in the order of time, without the columns that another algorithm has."""
    schema = pl.Schema({key: kind for key, _, kind, _, _ in _COLUMNS})
    # Polars reads no smaller integers from JSON.
    wide = {key: pl.Int64 if kind.is_integer() else kind for key, kind in schema.items()}
    whole = record.read_bytes()
    rows = pl.read_ndjson(whole, schema=wide).cast(schema) if whole else schema.to_frame()
    names = {key: column for key, column, *_ in _COLUMNS} | {"gauge": _GAUGES[algorithm][0]}
    rows = rows.rename(names).drop(_EMPTY[algorithm])
    return rows.sort("time_s", maintain_order=True)


def _info(observed: Observed, rows: pl.DataFrame) -> TableInfo:
    known = {column: (unit, doc) for _, column, _, unit, doc in _COLUMNS}
    known |= {column: (unit, doc) for column, unit, doc in _GAUGES.values()}
    pairs = {column: known[column] for column in rows.columns}
    return {
        "doc": f"what connections under {observed.title} told of themselves",
        "columns": {column: {"unit": unit, "doc": doc} for column, (unit, doc) in pairs.items()},
    }
