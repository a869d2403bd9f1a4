"""A path measured with messages and with bare sockets, in turn."""

import json
from collections.abc import Callable
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from incast import _core
from incast._core import IncastError
from incast.udp.host import Request
from incast.udp.measured import quantile

_WORD = b"bare"
_MOST_S = 600.0

MEASURES = {
    "latency": "64 B calls one at a time, p50, us",
    "latency_p99": "the same, p99, us",
    "calls": "32 B calls, 64 in flight, thousands a second",
    "goodput": "1 MB messages, 4 in flight, Gb/s",
}


def is_of_bench(body: bytes) -> bool:
    """Whether a call asks for a bare socket."""
    return body[:4] == _WORD


def answer(request: Request, address: str) -> None:
    """Opens a bare socket for the caller alone, at the server's `address`, for the time it asks."""
    try:
        asked = json.loads(request.body[4:])
        time_s = min(float(asked["time_s"]), _MOST_S)
        here, there = address.rpartition(":")[0], request.peer.address.rpartition(":")[0]
        port = _core.udp_bare_echo(f"{here}:0", f"{there}:0", bool(asked["spin"]), time_s)
        request.reply(json.dumps({"port": port}).encode())
    except (IncastError, ValueError, KeyError, TypeError) as error:
        request.refuse(str(error))


def run(
    options: _core.UdpOptions,
    address: str,
    key: str | None,
    *,
    spin: bool,
    rounds: int,
    time_s: float,
    progress: Callable[[int, int], None],
) -> dict[str, list[dict[str, float]]]:
    """Measures each figure in rounds, with messages and with bare sockets in turn.

    Returns:
        For each of `MEASURES` the rounds, each with `messages` and `bare`.

    Raises:
        IncastError: The server does not answer, or offers no bare socket.
    """
    host = _core.UdpHost(options)
    peer = host.connect(address, key).wait()
    asked = json.dumps({"spin": spin, "time_s": rounds * time_s * 8 + 10}).encode()
    port = json.loads(peer.call(_WORD + asked).wait())["port"]
    bare = f"{address.rpartition(':')[0]}:{port}"
    found: dict[str, list[dict[str, float]]] = {name: [] for name in MEASURES}

    def load(size: int, in_flight: int) -> dict[str, Any]:
        measured = _core.udp_load(
            options,
            address,
            key=key,
            size=size,
            in_flight=in_flight,
            reply=8 if size > 1000 else size,
            duration_s=time_s * 1.1,
            warmup_s=time_s * 0.1,
        )
        if measured["gone"] is not None:
            raise IncastError(measured["gone"])
        if measured["interrupted"]:
            raise KeyboardInterrupt
        return measured

    for turn in range(rounds):
        messages = sorted(load(64, 1)["latency_us"])
        sockets = sorted(_core.udp_bare(bare, 64, 1, spin, time_s))
        for name, part in (("latency", 0.5), ("latency_p99", 0.99)):
            ours, theirs = quantile(messages, part), quantile(sockets, part)
            if ours is None or theirs is None:
                raise IncastError(f"no reply came within {time_s:g} s; measure longer")
            found[name].append({"messages": ours, "bare": theirs})
        ours = _per_s(load(32, 64)) / 1e3
        theirs = len(_core.udp_bare(bare, 32, 64, spin, time_s)) / time_s / 1e3
        found["calls"].append({"messages": ours, "bare": theirs})
        ours = _per_s(load(1_000_000, 4)) * 8e6 / 1e9
        theirs = _core.udp_bare(bare, 0, 0, spin, time_s) * 8 / time_s / 1e9
        found["goodput"].append({"messages": ours, "bare": theirs})
        progress(turn + 1, rounds)
    return found


def _per_s(measured: dict[str, Any]) -> float:
    """The replies in a second."""
    return float(measured["replies"] / measured["elapsed_s"])


def medians(found: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """The medians of each figure, and that of the rounds' ratios: pairs that were neighbours."""
    return {
        name: {
            **{end: median(one[end] for one in rounds) for end in ("messages", "bare")},
            "ratio": median(one["messages"] / one["bare"] for one in rounds),
        }
        for name, rounds in found.items()
    }


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """The figures as a table."""
    rows = Table(box=None, pad_edge=False)
    for column in ("", "messages", "bare sockets", "ratio"):
        rows.add_column(column, justify="right" if column else "left")
    for name, one in medians(found).items():
        rows.add_row(
            MEASURES[name], f"{one['messages']:,.1f}", f"{one['bare']:,.1f}", f"{one['ratio']:.2f}"
        )
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(rows)
    return captured.get().rstrip()
