"""Modules that import Polars, NumPy, matplotlib or Rich, each imported when a command names it.

They take up to a second, which versions, help, lists and completion need not wait for. A command
says `late.store.check(...)`, and type checkers see the module itself. Ctrl-C during an import ends
the process: a command names what it needs before it begins what it would have to clean up.
"""

from incast._core import IncastError
from incast.base import extras, leaving, loading, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from incast.api import (
        advising,
        batch,
        checking,
        expecting,
        imports,
        result,
        running,
        saturation,
        study,
        sweep,
        sweeping,
        tuning,
        tuning_plan,
    )
    from incast.base import pool
    from incast.cli import observing, serving
    from incast.figures import canvas, gallery, loads, look, network
    from incast.lab import attach, bed, carriers, measure, plan, predict
    from incast.lab import report as lab_report
    from incast.lab import result as lab_result
    from incast.lab import udp as over_udp
    from incast.reproduce import driver, say
    from incast.results import changes, described, differences, store
    from incast.results import sweeps as sweep_records
    from incast.terminal import (
        advice,
        catalogue,
        expectations,
        pages,
        progress,
        report,
        sweeps,
        tunings,
        writing,
    )
    from incast.traces import exporting
    from incast.udp import bench, files, guarding, host, measured, receiving, recorded
    from incast.udp import serving as udp_serving

# The names above: the modules of each room, then those that have another name here.
_ROOMS = {
    "api": "advising batch checking expecting imports result running saturation study sweep "
    "sweeping tuning tuning_plan",
    "base": "pool",
    "cli": "observing serving",
    "figures": "canvas gallery loads look network",
    "lab": "attach bed carriers measure plan predict",
    "reproduce": "driver say",
    "results": "changes described differences store",
    "terminal": "advice catalogue expectations pages progress report sweeps tunings writing",
    "traces": "exporting",
    "udp": "bench files guarding host measured receiving recorded",
}
_HOMES = {name: f"{room}.{name}" for room, names in _ROOMS.items() for name in names.split()}
_HOMES |= {
    "lab_report": "lab.report",
    "lab_result": "lab.result",
    "over_udp": "lab.udp",
    "sweep_records": "results.sweeps",
    "udp_serving": "udp.serving",
}

# The rooms that need packages beside those that are always installed.
_EXTRAS: dict[str, extras.Extra] = {"figures": "figures", "reproduce": "reproduce"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if extra := _EXTRAS.get(home.partition(".")[0]):
        extras.need(extra)
    if why := machine.prepare():
        raise IncastError(why)
    with leaving.at_once():
        return loading.module(f"incast.{home}")
