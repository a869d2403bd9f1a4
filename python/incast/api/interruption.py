"""Ctrl-C, which ends a run and keeps what there is."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # they import Polars, and commands name the exception before anything is run
    from incast.api.result import Result, Results
    from incast.api.sweep import Sweep
    from incast.api.tuned import Tuning
    from incast.results.saturation import Saturation


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation. `result` has what there is, and says that it is not complete.

    It is a KeyboardInterrupt and no Exception: who does not catch it is ended by it.
    """

    result: "Result | Results | Saturation | Sweep | Tuning"
    """The result of what was simulated, of the kind that the call would have returned."""

    def __init__(self, result: "Result | Results | Saturation | Sweep | Tuning") -> None:
        super().__init__()
        self.result = result
