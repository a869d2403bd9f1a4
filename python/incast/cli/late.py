"""Modules that import Polars, NumPy, matplotlib or Rich, each imported where it is first used.

They take up to a second, which versions, help, lists and completion need not wait for. A command
says `late.store.check(...)`, and type checkers see the module itself. Ctrl-C during an import ends
the process: a command names what it needs before it begins what it would have to clean up.
"""

import importlib

from incast._core import IncastError
from incast.base import extras, leaving, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from incast.api import (
        batch,
        checking,
        imports,
        result,
        running,
        saturation,
        study,
        sweeping,
        tuning,
        tuning_plan,
    )
    from incast.cli import observing, serving
    from incast.figures import canvas, gallery, look, network
    from incast.lab import attach, bed, carriers, measure, plan, predict
    from incast.lab import report as lab_report
    from incast.lab import result as lab_result
    from incast.lab import udp as over_udp
    from incast.reproduce import driver, say
    from incast.results import changes, described, differences, store
    from incast.results import sweeps as sweep_records
    from incast.terminal import catalogue, pages, progress, report, sweeps, tunings, writing
    from incast.traces import exporting

_HOMES = {
    "attach": "lab.attach",
    "batch": "api.batch",
    "bed": "lab.bed",
    "canvas": "figures.canvas",
    "carriers": "lab.carriers",
    "catalogue": "terminal.catalogue",
    "changes": "results.changes",
    "checking": "api.checking",
    "described": "results.described",
    "differences": "results.differences",
    "driver": "reproduce.driver",
    "exporting": "traces.exporting",
    "gallery": "figures.gallery",
    "imports": "api.imports",
    "lab_report": "lab.report",
    "lab_result": "lab.result",
    "look": "figures.look",
    "measure": "lab.measure",
    "network": "figures.network",
    "observing": "cli.observing",
    "over_udp": "lab.udp",
    "pages": "terminal.pages",
    "plan": "lab.plan",
    "predict": "lab.predict",
    "progress": "terminal.progress",
    "report": "terminal.report",
    "result": "api.result",
    "running": "api.running",
    "saturation": "api.saturation",
    "say": "reproduce.say",
    "serving": "cli.serving",
    "store": "results.store",
    "study": "api.study",
    "sweep_records": "results.sweeps",
    "sweeping": "api.sweeping",
    "sweeps": "terminal.sweeps",
    "tuning": "api.tuning",
    "tuning_plan": "api.tuning_plan",
    "tunings": "terminal.tunings",
    "writing": "terminal.writing",
}

# The extras that modules need beside the packages that are always installed.
_EXTRAS: dict[str, extras.Extra] = {
    "canvas": "figures",
    "driver": "reproduce",
    "gallery": "figures",
    "look": "figures",
    "network": "figures",
    "say": "reproduce",
}

__all__ = [
    "attach",
    "batch",
    "bed",
    "canvas",
    "carriers",
    "catalogue",
    "changes",
    "checking",
    "described",
    "differences",
    "driver",
    "exporting",
    "gallery",
    "imports",
    "lab_report",
    "lab_result",
    "look",
    "measure",
    "network",
    "observing",
    "over_udp",
    "pages",
    "plan",
    "predict",
    "progress",
    "report",
    "result",
    "running",
    "saturation",
    "say",
    "serving",
    "store",
    "study",
    "sweep_records",
    "sweeping",
    "sweeps",
    "tuning",
    "tuning_plan",
    "tunings",
    "writing",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _EXTRAS:
        extras.need(_EXTRAS[name])
    if why := machine.prepare():
        raise IncastError(why)
    with leaving.at_once():
        return importlib.import_module(f"incast.{_HOMES[name]}")
