"""Algorithms that are written in Python and compiled to native functions, by Numba."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from incast._core import (
    Algorithm,
    AlgorithmError,
    Declared,
    ParameterError,
    know_compiled,
    native_fields,
)
from incast.api.control import OwnControl, declared
from incast.base.lazy import lazy

if TYPE_CHECKING:
    import numba
    import numpy as np
else:
    numba = lazy("numba", "compiled")
    np = lazy("numpy", "compiled")

# The facts of each event: a struct of the core. `on_ack` may also take the stamps of switches.
_FACTS = {
    "on_start": "Flow",
    "on_ack": "Ack",
    "on_loss": "Loss",
    "on_sent": "Sent",
    "on_demand": "Demand",
    "on_restart": "Moment",
    "on_spurious_loss": "Spurious",
    "on_notification": "Moment",
    "on_timer": "Moment",
    "on_mss_change": "Moment",
}
_NUMBERS = {"f": "f8", "i": "i8", "u": "u8"}
_PARAMETERS = {"time": "f8", "rate": "f8", "number": "f8"}
_kept: list[object] = []
"""Compiled functions, which the core calls for as long as the process lives."""


class CompiledControl(OwnControl):
    """A congestion control algorithm of your own, which is compiled; derive from it.

    Static methods with the names that `CongestionControl` has answer the events. Numba compiles
    them, so they are written in the part of Python that it knows. Each takes four records:

    * the facts of the event, with the names and units of `incast.Flow`, `incast.Ack` and so on.
      A number that is not there is NaN, and a size that is not there -1; `ack.rtt.network` is NaN
      where there is no sample. The other events have `now`, `idle` and `mss`;
    * `p`, the parameters by name; a word is its place among the words;
    * `s`, the state of the flow, with the fields of `state`, all zero at first;
    * `out`, the answer: `rate`, `cwnd`, `pacing_gain`, `burst`, `burst_rate` and `next_timer`. Each
      is infinite until it is set, which is none, and stays as it is until it is set again; a timer
      ends when it comes.

    `on_ack` with five parameters takes `hops` as its second one, an array of `incast.Hop` records.
    `gauges(p, s, out)` sets the fields of `gauge_names`. A function that methods call has
    `@numba.njit`.

    Example:
        ```python
        import incast


        class Mine(incast.CompiledControl):
            # The rate falls by a tenth above a target RTT, and rises by 10 Mb/s below.
            target = incast.parameter("60us", doc="The RTT to aim at.")
            state = [("line_rate", "f8")]

            @staticmethod
            def on_start(flow, p, s, out):
                s.line_rate = flow.line_rate
                out.rate = flow.line_rate / (flow.active_flows + 1)

            @staticmethod
            def on_ack(ack, p, s, out):
                if ack.rtt.network > p.target:
                    out.rate = max(out.rate * 0.9, 10e6)
                elif ack.rtt.network <= p.target:  # NaN without a sample: neither
                    out.rate = min(out.rate + 10e6, s.line_rate)


        short = incast.load("incast").with_set("run.duration=5ms", "run.warmup=1ms")
        incast.run(short, [Mine(target="40us"), "timely"]).summary
        ```
    """

    state: ClassVar[Any] = ()
    """The state of a flow: a NumPy structured dtype, or its fields as pairs of name and type."""
    gauge_names: ClassVar[tuple[str, ...]] = ()
    """The names of what `gauges` sets; units stand in the names."""


def know(
    of: type[CompiledControl], about: Mapping[str, str], parameters: Sequence[Declared]
) -> Algorithm:
    """Compiles the methods of a class, and makes it known to the core.

    Raises:
        AlgorithmError: A method cannot be compiled; Numba's error is the cause.
        MissingExtraError: Numba is not installed.
        ParameterError: The class has no `on_start` or no `on_ack`, its state is no structured
            dtype, or it describes itself with an unknown word.
    """
    for name in ("on_start", "on_ack"):
        if getattr(of, name, None) is None:
            raise ParameterError(f"{about['name']}: no {name}; write it as a static method")
    try:
        state = np.dtype(of.state, align=True) if of.state != () else np.dtype([("_", "i8")])
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{about['name']}: state = {of.state!r}: {error}") from None
    if state.names is None or state.hasobject:
        raise ParameterError(
            f"{about['name']}: state = {of.state!r}: expected fields of numbers, such as "
            '[("bps", "i8"), ("gradient", "f8")]'
        )
    functions = {name: _address(of, name, state) for name in _FACTS if hasattr(of, name)}
    if hasattr(of, "gauges"):
        functions["gauges"] = _address(of, "gauges", state)
    return know_compiled(
        about, parameters, functions, state.itemsize, list(of.gauge_names), set(of.reads)
    )


def _address(of: type[CompiledControl], name: str, state: "np.dtype[Any]") -> int:
    """The address of a method, compiled."""
    method = getattr(of, name)
    user = method if hasattr(method, "py_func") else numba.njit(method)
    record = numba.from_dtype
    pointers = [numba.types.CPointer(record(one)) for one in (_parameters(of), state)]
    try:
        if name == "gauges":
            values = numba.types.CPointer(record(_gauges(of)))
            types = (*pointers, values, numba.types.intp)
            made = numba.cfunc(numba.types.int64(*types))(_gauging(user, len(of.gauge_names)))
        else:
            facts = numba.types.CPointer(record(_struct(_FACTS[name])))
            answer = numba.types.CPointer(record(_struct("Answer")))
            hops = numba.types.CPointer(record(_struct("Hop")))
            stamps = (hops, numba.types.intp) if name == "on_ack" else ()
            types = (facts, *stamps, *pointers, answer)
            made = numba.cfunc(numba.types.int32(*types))(_answering(name, user))
    except Exception as error:
        raise AlgorithmError(
            f"{of.__module__}:{of.__name__}: {name} cannot be compiled: {_mistake(error)}"
        ) from error
    _kept.append(made)
    return int(made.address)


def _mistake(error: Exception) -> str:
    """The part of an error of Numba that is about the code: records raise a KeyError."""
    if isinstance(error, KeyError):
        return f"there is no field {error}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join([line for line in lines if not line.startswith("Failed in")][:2] or lines)


def _struct(name: str) -> "np.dtype[Any]":
    """The structured type of a struct of the core."""
    fields = native_fields()[name]
    return np.dtype([(field, _NUMBERS.get(kind) or _struct(kind)) for field, kind in fields])


def _parameters(of: type[CompiledControl]) -> "np.dtype[Any]":
    fields = [(name, _PARAMETERS.get(one.kind, "i8")) for name, one in declared(of).items()]
    return np.dtype(fields or [("_", "i8")])


def _gauges(of: type[CompiledControl]) -> "np.dtype[Any]":
    """The values of an array of gauges of the core, each after a name and its length."""
    names = list(of.gauge_names)
    if not 0 < len(names) <= 32:
        raise ParameterError(
            f"{of.__name__}: gauge_names has {len(names)} names; gauges sets 1 to 32"
        )
    places = [24 * place + 16 for place in range(len(names))]
    return np.dtype({
        "names": names, "formats": ["f8"] * len(names), "offsets": places,
        "itemsize": 24 * len(names),
    })  # fmt: skip


# An exception in a compiled function would be printed and forgotten: it becomes a status.


def _answering(name: str, user: Any) -> Callable[..., int]:  # noqa: ANN401 - Numba has no types
    carray = numba.carray

    def on_ack_with_hops(ack, hops, number, p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        try:
            stamps = carray(hops, (number,))
            user(carray(ack, 1)[0], stamps, carray(p, 1)[0], carray(s, 1)[0], carray(out, 1)[0])
        except Exception:  # noqa: BLE001
            return 1
        return 0

    def on_ack(ack, hops, number, p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG001
        try:
            user(carray(ack, 1)[0], carray(p, 1)[0], carray(s, 1)[0], carray(out, 1)[0])
        except Exception:  # noqa: BLE001
            return 1
        return 0

    def on_event(facts, p, s, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        try:
            user(carray(facts, 1)[0], carray(p, 1)[0], carray(s, 1)[0], carray(out, 1)[0])
        except Exception:  # noqa: BLE001
            return 1
        return 0

    if name != "on_ack":
        return on_event
    return on_ack_with_hops if user.py_func.__code__.co_argcount == 5 else on_ack


def _gauging(user: Any, number: int) -> Callable[..., int]:  # noqa: ANN401 - Numba has no types
    carray = numba.carray

    def gauges(p, s, out, room):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG001
        try:
            user(carray(p, 1)[0], carray(s, 1)[0], carray(out, 1)[0])
        except Exception:  # noqa: BLE001
            return -1
        return number

    return gauges
