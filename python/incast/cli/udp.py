"""`incast udp`: messages between real hosts, in user space."""

import contextlib
import functools
import inspect
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from incast import _core
from incast._core import IncastError
from incast.base import extras, leaving
from incast.cli import completing, late, live, options
from incast.cli.exits import UNEQUAL

# The room for calls is made at once.
_MOST_IN_FLIGHT = 1_000_000


def _from_to(least: int, most: int) -> Callable[[int | None], int | None]:
    """A check of a whole number, whose sentence has the number and both ends."""

    def check(value: int | None) -> int | None:
        if value is not None and not least <= value <= most:
            raise typer.BadParameter(f"{value}; expected a number from {least} to {most}")
        return value

    return check


app = typer.Typer(
    help="Messages between real hosts over UDP, in user space.",
    rich_markup_mode=None,
)
app.callback(invoke_without_command=True)(options.commands)

To = Annotated[str, typer.Argument(metavar="HOST:PORT", help="The server's address.")]

Key = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The server's public key, with --identity.")
]

_SETTINGS = {one["name"]: one for one in _core.udp_settings()}
# The types and the defaults of settings that a command line has in another way.
_TYPES = {
    "secret": Path | None, "identity": Path | None, "peers": Path | None, "nic_rate": str | None,
    "settings": list[str] | None, "max_message_bytes": str,
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {"settings": None, "max_message_bytes": "64MB"}
_ALL = [name for name, one in _SETTINGS.items() if one["option"]]
_OF_CLIENTS = [name for name in _ALL if name not in ("peers", "threads")]
_OF_SENDERS = [name for name in _OF_CLIENTS if name not in ("always_spin", "max_message_bytes")]
Given = dict[str, Any]


def _option(name: str) -> inspect.Parameter:
    """A setting of hosts as an option, with its explanation, its range and its default."""
    one = _SETTINGS[name]
    default = _DEFAULTS.get(name, one["default"])
    option = typer.Option(
        one["option"],
        metavar={"max_message_bytes": "SIZE"}.get(name, one["unit"] or None),
        help=one["doc"],
        callback=_from_to(*one["range"]) if one["range"] is not None else None,
        autocompletion=completing.schemes if name == "cc" else None,
    )
    annotation: Any = Annotated[_TYPES.get(name, type(default)), option]
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _with(names: Sequence[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of these settings, whose values it gets in `given`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**values: Any) -> None:  # noqa: ANN401
            command(given={name: values.pop(name) for name in names}, **values)

        own = inspect.signature(command)
        others = [one for name, one in own.parameters.items() if name != "given"]
        every = [*others, *map(_option, names)]
        run.__signature__ = own.replace(parameters=every)  # type: ignore[attr-defined]
        return run

    return decorate


@app.command()
@_with(_ALL)
def serve(
    address: Annotated[
        str, typer.Argument(metavar="HOST:PORT", help="The address, such as 0.0.0.0:7000.")
    ],
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the files that peers send there.")
    ] = None,
    max_file: Annotated[
        str, typer.Option(metavar="SIZE", help="The longest file that is kept, with --into.")
    ] = "10GB",
    max_total: Annotated[
        str, typer.Option(metavar="SIZE", help="The most that all files take, with --into.")
    ] = "100GB",
    offers_bench: Annotated[
        bool,
        typer.Option("--bench", help="Open bare sockets for peers that run `incast udp bench`."),
    ] = False,
    *,
    given: Given,
) -> None:
    """Answer calls and receive files, until Ctrl-C."""
    receiving, serving = late.receiving, late.udp_serving
    if into is not None and not into.is_dir():
        raise IncastError(f"{into} is no folder; make it first")
    bounds = receiving.Bounds(
        file_bytes=_bytes(max_file, "--max-file", most=_MOST_STORED),
        total_bytes=_bytes(max_total, "--max-total", most=_MOST_STORED),
    )
    opened = late.host.Host(address, **_settings(given), answers_loads=True)
    # A server is often left running by a shell that goes away.
    signal.signal(signal.SIGHUP, leaving.terminate)
    options.say_warnings(opened.missing_features)
    print(f"listening at {opened.address}; Ctrl-C ends it", flush=True)
    try:
        with opened as host, live.Lines("stdout") as lines, live.Lines("stderr") as warnings:
            refusals = late.guarding.Refusals(warnings)
            with (
                receiving.Receiver(into, bounds, tell=lines, warn=refusals.say) as receiver,
                live.Shown(lines) as shown,
            ):
                server = serving.Server(
                    host, receiver, has_bench=offers_bench, tell=lines, warn=refusals.say
                )
                while True:
                    request = host.accept(0.5)
                    shown.show(host)
                    refusals.show(host)
                    if request is not None:
                        server.answer(request)
    except KeyboardInterrupt:
        # Nobody may read it any more, which is no reason to end otherwise.
        with contextlib.suppress(OSError):
            print("stopped", file=sys.stderr)
        raise typer.Exit(leaving.code()) from None


@app.command()
@_with(_OF_CLIENTS)
def call(
    address: To,
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="The length of each call, such as 64KB.")
    ] = "64KB",
    reply: Annotated[str, typer.Option(metavar="SIZE", help="The length of each reply.")] = "32B",
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="N/s",
            help="Calls in a second, at random times (Poisson); without it, the next call follows "
            "each reply.",
        ),
    ] = None,
    in_flight: Annotated[
        int | None,
        typer.Option(
            callback=_from_to(1, _MOST_IN_FLIGHT),
            metavar="N",
            help="Most calls under way: 1, or 1,000 with a rate.",
        ),
    ] = None,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="How long calls are made, such as 10s.")
    ] = "10s",
    warmup: Annotated[
        str, typer.Option(metavar="TIME", help="The time at first that does not count.")
    ] = "0s",
    seed: Annotated[
        int,
        typer.Option(callback=_from_to(0, 2**64 - 1), metavar="N", help="The seed of arrivals."),
    ] = 1,
    key: Key = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write calls, RTT samples and figures there."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record what congestion control does, for `replay`."),
    ] = None,
    figures: options.Figures = None,
    no_figures: options.NoFigures = False,
    as_json: options.AsJson = False,
    *,
    given: Given,
) -> None:
    """Call a server at a rate: latency of calls, RTT and sending rate."""
    formats = options.formats_in(out, figures, no_figures=no_figures, shown=not as_json)
    measured, recorded = late.measured, late.recorded
    per_second = None if rate is None else _per_second(rate)
    most = in_flight or (1 if per_second is None else 1000)
    duration_s, warmup_s = _seconds(duration, "--duration"), _seconds(warmup, "--warmup")
    if warmup_s >= duration_s:
        raise IncastError(f"--warmup {warmup} leaves nothing of --duration {duration}")
    size_bytes, reply_bytes = _bytes(size, "--size"), _bytes(reply, "--reply")
    max_message = given["max_message_bytes"]
    if reply_bytes > _bytes(max_message, "--max-message"):
        raise IncastError(
            f"--reply {reply} is longer than --max-message {max_message}; give a shorter reply, or "
            "a larger --max-message"
        )
    if out is not None and out.exists():
        raise IncastError(f"{out} is there already; choose another directory for --out")
    if record is not None:
        recorded.check(record)
    chosen = _client(address, given)
    with live.Bar(duration_s, visible=not as_json) as progress:
        found = _core.udp_load(
            chosen,
            address,
            key=key,
            size=size_bytes,
            reply=reply_bytes,
            rate=per_second,
            in_flight=most,
            duration_s=duration_s,
            warmup_s=warmup_s,
            seed=seed,
            record_bytes=None if record is None else recorded.MOST_BYTES,
            progress=progress,
        )
    if record is not None:
        options.say_warnings(recorded.write(record, found["recording"]))
    options.say_warnings(found["warnings"])
    summary = measured.summary(found, size=size_bytes, cc=given["cc"])
    if out is not None:
        measured.write(out, found, summary)
    print(json.dumps(summary, indent=2) if as_json else measured.table(summary))
    if out is not None and formats:
        with late.progress.drawing(visible=not as_json):
            late.loads.write(
                out, found, formats, title=f"{given['cc']} to {address}, calls of {size}"
            )
    elif out is not None and not extras.have("figures"):
        print(f"note: no figures: {extras.how('figures')}", file=sys.stderr)
    if found["gone"] is not None:
        raise IncastError(f"{found['gone']}; what was measured until then is shown")
    if found["interrupted"]:
        print("stopped: what was measured until then is shown", file=sys.stderr)
        raise typer.Exit(leaving.code())


@app.command()
@_with(_OF_SENDERS)
def send(
    address: To,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file to send; - is a message on stdin."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Send this message instead of a file.")
    ] = None,
    key: Key = None,
    *,
    given: Given,
) -> None:
    """Send a file, or a message, to a server.

    A file goes to a server that was started with --into. `incast udp serve` prints the messages
    that it receives.
    """
    files = late.files
    if (file is None) == (text is None):
        raise IncastError("give either a FILE to send, or a message by --text")
    message = None if text is None else text.encode()
    if str(file) == "-":
        message = sys.stdin.buffer.read()
    elif file is not None and not file.is_file():
        raise IncastError(f"{file} is no file")
    host = _core.UdpHost(_client(address, given))
    options.say_warnings(host.missing_features)
    peer = host.connect(address, key).wait()
    began = time.monotonic()
    if message is not None or file is None:
        peer.note(message or b"").wait()
        took = 1e3 * (time.monotonic() - began)
        print(f"sent a message of {len(message or b'')} B; {address} has it after {took:.1f} ms")
        return
    with live.Bar(float(file.stat().st_size), visible=True) as progress:
        size = files.send(peer, file, lambda done, _: progress.show(done))
    took = time.monotonic() - began
    print(f"sent {file} ({size} B) in {took:.2f} s, {size * 8 / max(took, 1e-9) / 1e9:.2f} Gb/s")


@app.command("bench")
@_with([*_OF_SENDERS, "always_spin"])
def bench_(
    address: To,
    rounds: Annotated[int, typer.Option(callback=_from_to(1, 99), metavar="N", help="Rounds.")] = 3,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="The time of each measurement.")
    ] = "1s",
    key: Key = None,
    busy: Annotated[
        bool,
        typer.Option("--busy", help="Measure RTTs with all CPUs of this machine busy as well."),
    ] = False,
    as_json: options.AsJson = False,
    *,
    given: Given,
) -> None:
    """Measure a path with messages and with bare sockets, in turn."""
    bench = late.bench
    spin = given["always_spin"]
    measured, control = (_client(address, {**given, "always_spin": one}) for one in (spin, False))
    time_s = _seconds(duration, "--duration")
    if not _LEAST_S <= time_s <= _MOST_S:
        raise IncastError(f"--duration {duration} is too short or too long: give 50ms to 10s")
    measures = bench.Bench(measured, control, address, key, spin=spin, time_s=time_s)
    options.say_warnings(measures.missing_features)
    with live.Bar(float(rounds), visible=not as_json) as progress:
        found = bench.run(
            measures,
            rounds=rounds,
            busy=busy,
            progress=lambda done, _: progress.show(done),
        )
    print(json.dumps(found, indent=2) if as_json else bench.table(found))


@app.command()
def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recording of `incast udp call --record`.")
    ],
    as_json: options.AsJson = False,
) -> None:
    """Replay a recording in the simulator's endpoint.

    The exit code is 1 if a send or a rate differs.
    """
    found = _core.udp_replay(file)
    print(json.dumps(found, indent=2) if as_json else late.recorded.text(found))
    if not found["equal"]:
        raise typer.Exit(UNEQUAL)


@app.command()
def key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file.")],
    shared: Annotated[
        bool, typer.Option("--shared", help="A secret that all hosts have, not a key pair.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Show the public key of a file that is there.")
    ] = False,
) -> None:
    """Make a key pair, or a secret that hosts share."""
    public = _core.udp_public_key(file) if show else _core.udp_make_key(file, shared)
    if public is not None:
        print(public)


def _settings(given: Given) -> Given:
    """Settings of hosts as they are in Python."""
    size = given.get("max_message_bytes", _DEFAULTS["max_message_bytes"])
    found = {**given, "settings": given["settings"] or []}
    return {**found, "max_message_bytes": _bytes(size, "--max-message", least=1)}


def _client(address: str, given: Given) -> _core.UdpOptions:
    """The settings of the end that calls."""
    here = "[::]:0" if address.startswith("[") else "0.0.0.0:0"
    return late.host.options(here, **_settings(given), listens=False)


_LEAST_S, _MOST_S = 0.05, 10.0
_MOST_BYTES, _MOST_TIME_S, _LEAST_PER_S = 2 * 10**9, 1e8, 1 / 3600
_MOST_STORED = 10**18
_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def _number(text: str, units: dict[str, Any], option: str, example: str) -> float:
    """A number with a unit."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :]
    try:
        value = float(digits)
    except ValueError:
        value = -1.0
    if unit not in units or not 0 <= value < float("inf"):
        raise IncastError(f"{option} {text!r} is not a number with a unit, such as {example}")
    return float(value * units[unit])


def _bytes(text: str, option: str, *, least: int = 0, most: int = _MOST_BYTES) -> int:
    value = _number(text, _SIZES, option, "64KB")
    if value > most:
        raise IncastError(f"{option} {text} is too long; give {most // 10**9}GB at most")
    if value < least:
        raise IncastError(f"{option} {text} is too short; give {least}B or more")
    return int(value)


def _seconds(text: str, option: str) -> float:
    value = _number(text, _TIMES, option, "10s")
    if value > _MOST_TIME_S:
        raise IncastError(f"{option} {text} is too long; give {_MOST_TIME_S:.0f}s at most")
    return value


def _per_second(text: str) -> float:
    digits = text.removesuffix("/s")
    try:
        value = float(digits)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise IncastError(f"--rate {text!r} is not a number of calls in a second, such as 2000/s")
    if value < _LEAST_PER_S:
        raise IncastError(f"--rate {text} is below one call in an hour; give 0.0003/s or more")
    return value
