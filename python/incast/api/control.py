"""Algorithms that are written in Python: the class to derive from, and its parameters."""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, overload

from incast._core import (
    Ack,
    Declared,
    Demand,
    Flow,
    Limits,
    Loss,
    ParameterError,
    Sent,
    Spurious,
)


class Parameter:
    """A parameter of an algorithm in Python, as `parameter` declares it."""

    def __init__(self, default: object, kind: str, declared: Mapping[str, Any]) -> None:
        self.default = default
        self.kind = kind
        self._declared = dict(declared)
        self._core: Declared | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._core = Declared(name, self.kind, _text(self.default), **self._declared)

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # noqa: ANN401
        """The parameter itself of the class, the default of an object that has no value."""
        if instance is None:
            return self
        return self.known.read(_text(self.default))

    @property
    def known(self) -> Declared:
        """The declaration in the core."""
        if self._core is None:
            raise TypeError("a parameter outside a class")
        return self._core

    def __getstate__(self) -> dict[str, object]:
        """All but the declaration in the core, of which the name is enough."""
        return {**vars(self), "_core": self._core and self._core.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The parameter of a class that came from another process."""
        name = state["_core"]
        vars(self).update(state, _core=None)
        if name is not None:
            self.__set_name__(type(self), name)


@overload
def parameter(
    default: str,
    *,
    doc: str,
    source: str = "",
    words: tuple[str, ...],
) -> str: ...


@overload
def parameter(
    default: int,
    *,
    doc: str,
    source: str = "",
    least: int | None = None,
    most: int | None = None,
) -> int: ...


@overload
def parameter(
    default: float | str,
    *,
    doc: str,
    source: str = "",
    least: float | str | None = None,
    most: float | str | None = None,
) -> float: ...


def parameter(
    default: float | str,
    *,
    doc: str,
    source: str = "",
    least: float | str | None = None,
    most: float | str | None = None,
    words: tuple[str, ...] = (),
) -> Any:
    """Declares a parameter of a class of `CongestionControl`, which has its value as an attribute.

    The kind follows from the default: `"50us"` is a time, which the attribute has in seconds,
    `"10Gbps"` a rate in bits per second, `"16KB"` a size in bytes, `0.5` a number, `3` a whole
    number; with `words` it is one of these.

    Args:
        default: The value where none is given.
        doc: The effect of the parameter, in a sentence.
        source: The source of the default.
        least: The least value that is accepted.
        most: The greatest value that is accepted.
        words: The words that are accepted.

    Raises:
        ParameterError: The default is no such value, or out of range; raised where the class is
            made.

    Example:
        ```python
        import incast


        class Mine(incast.CongestionControl):
            target = incast.parameter("60us", doc="The RTT to aim at.", least="1us", most="1s")
            gain = incast.parameter(0.5, doc="The strength of the decrease.", source="my notes")
            mode = incast.parameter("slow", doc="The start.", words=("slow", "fast"))


        Mine(target="40us").target  # 4e-05, in seconds
        ```
    """
    declared: dict[str, Any] = {"doc": doc, "source": source}
    if words:
        return Parameter(default, "word", {**declared, "words": list(words)})
    declared["least"] = None if least is None else _text(least)
    declared["most"] = None if most is None else _text(most)
    return Parameter(default, _kind(default), declared)


def _kind(default: object) -> str:
    if isinstance(default, bool):
        raise ParameterError(f'{default}: expected a word; write "on" with words=("off", "on")')
    if isinstance(default, int):
        return "count"
    if isinstance(default, float):
        return "number"
    text = str(default).strip()
    for unit, kind in (("bps", "rate"), ("B", "size"), ("s", "time")):
        if text.endswith(unit):
            return kind
    raise ParameterError(
        f'{default!r}: no value of a parameter; expected a number, a time such as "50us", a rate '
        'such as "10Gbps" or a size such as "16KB", or words='
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


class OwnControl:
    """The description and the parameters of an algorithm of your own; derive from a class below."""

    name: ClassVar[str] = ""
    """The name in schemes and results; `module:Class` if empty."""
    summary: ClassVar[str] = ""
    """The effect on the rate or the window, on one line; else the first line of the docstring."""
    kind: ClassVar[str] = "rate"
    """The controlled quantity: `rate`, `window`, `telemetry` or `fixed`."""
    signal: ClassVar[str] = "RTT"
    """The signal of congestion, in some words."""
    source: ClassVar[str] = ""
    """The publication."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Needs of the network, which a run warns of where it lacks them: `ecn`, `notifications`,
    `telemetry`, `lossless`, `each_acknowledged`, `deadlines`."""
    transport: ClassVar[str] = "message"
    """The transport that it was made for: `message` or `stream`."""
    reads: ClassVar[tuple[str, ...]] = ()
    """The reports of an ACK that take extra work, where they are wanted: `delivery`,
    `nic_backlog`, `due`."""

    def __init__(self, **values: float | str) -> None:
        """Makes the algorithm with parameters by name.

        Values are texts with units, or numbers in seconds, bits per second and bytes.

        Raises:
            ParameterError: There is no such parameter, or it does not take the value.
        """
        known = declared(type(self))
        for name, value in values.items():
            if name not in known:
                expected = ", ".join(known) or "none: it has no parameters"
                raise ParameterError(
                    f"{type(self).__name__}: unknown parameter {name!r}; expected {expected}"
                )
            setattr(self, name, known[name].known.read(_written(known[name], value)))
        self.settings: dict[str, str] = {
            name: known[name].known.canonical(_written(known[name], value))
            for name, value in values.items()
        }
        """The parameters that were given, as schemes have them."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{type(self).__name__}({settings})"


class CongestionControl(OwnControl):
    """A congestion control algorithm of your own; derive from it, and override `on_ack`.

    An object of the class is the algorithm with its parameters: `MyControl(t_low="40us")`. For each
    flow the simulator copies it and calls `on_start` of the copy. After every event it reads
    `limits`. Times are in seconds, rates in bits per second, sizes in bytes. All state of a flow
    belongs into `on_start`: what a class or a module holds is shared by all flows, and results then
    depend on the order of their events.

    Methods with the Rust trait's names answer the same events in the same order.

    Example:
        ```python
        import incast


        class Mine(incast.CongestionControl):
            # The rate falls by a tenth above a target RTT, and rises by 10 Mb/s below.

            target = incast.parameter("60us", doc="The RTT to aim at.")

            def on_start(self, flow: incast.Flow) -> None:
                self.line_rate = flow.line_rate
                self.rate = flow.line_rate / (flow.active_flows + 1)

            def on_ack(self, ack: incast.Ack) -> None:
                if ack.rtt is not None:
                    above = ack.rtt.network > self.target
                    wanted = self.rate * 0.9 if above else self.rate + 10e6
                    self.rate = min(max(wanted, 10e6), self.line_rate)


        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        incast.run(short, [Mine, Mine(target="40us"), "timely"]).summary
        ```
    """

    rate: float | None = None
    """The pacing rate in bits per second that `limits` tells; None is none."""
    cwnd: float | None = None
    """The window in bytes that `limits` tells; None is none."""

    def on_start(self, flow: Flow) -> None:
        """A flow begins: sets its state, and `rate` or `cwnd`, or both."""

    def on_ack(self, ack: Ack) -> None:
        """Data was acknowledged; `ack.bytes` may be zero: a duplicate, or a mark alone."""
        raise NotImplementedError

    def on_loss(self, loss: Loss) -> None:
        """Data was declared lost."""

    def on_sent(self, sent: Sent) -> None:
        """Data was handed to the network."""

    def on_demand(self, demand: Demand) -> None:
        """The application posted a message."""

    def on_restart(self, now: float, idle: float) -> None:
        """The flow is about to send after `idle` seconds with nothing in flight."""

    def on_spurious_loss(self, spurious: Spurious) -> None:
        """Data declared lost has been acknowledged after all."""

    def on_notification(self, now: float) -> None:
        """A congestion notification outside the ACK stream, such as the CNP of DCQCN."""

    def on_timer(self, now: float) -> None:
        """The instant that `next_timer` named has come."""

    def next_timer(self) -> float | None:
        """The instant of the next `on_timer`, in seconds since the start of the run, or None."""
        return None

    def on_mss_change(self, mss: int) -> None:
        """The largest payload of a packet has changed."""

    def limits(self) -> Limits:
        """The limits on sending from now on: the attributes `rate` and `cwnd`.

        Raises:
            ValueError: Neither is set, or one is not above zero.
        """
        if self.rate is None and self.cwnd is None:
            raise ValueError("neither rate nor cwnd is set; set one in on_start")
        return Limits(rate=self.rate, cwnd=self.cwnd)

    def gauges(self) -> dict[str, float]:
        """Numbers that are worth plotting, by name; units stand in the names."""
        return {}

    def _of_a_flow(self, values: Mapping[str, object]) -> "CongestionControl":
        """The object of a new flow, with these values of parameters."""
        one = copy.copy(self)
        vars(one).update(values)
        return one


def declared(of: type[OwnControl]) -> dict[str, Parameter]:
    """The parameters of a class by name, the bases' first."""
    found: dict[str, Parameter] = {}
    for base in reversed(of.__mro__):
        found |= {name: one for name, one in vars(base).items() if isinstance(one, Parameter)}
    return found


def _written(one: Parameter, value: object) -> str:
    """A value as text: numbers of times, rates and sizes get the unit that they are in."""
    unit = {"time": "s", "rate": "bps", "size": "B"}.get(one.kind, "")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and unit:
        if unit == "s":
            return f"{value * 1e12:.0f}ps"
        return f"{value:.0f}{unit}"
    return _text(value)
