"""The Rust core: scenarios, runs and the algorithms' descriptions.

Types only; the code is in crates/python. Units are in the names: `_s`, `_us`, `_kb`, `_gbps`.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final, TypedDict, final

__all__ = [
    "Algorithm",
    "IncastError",
    "Parameter",
    "ParameterError",
    "Preset",
    "Run",
    "Scenario",
    "ScenarioError",
    "Table",
    "Workload",
    "__version__",
    "algorithms",
    "build_profile",
    "import_files",
    "most_threads",
    "read_results",
    "run",
    "schema",
    "summary_figures",
    "trace_names",
    "workloads",
]

__version__: Final[str]
"""The version of Cargo.toml."""

build_profile: Final[str]
"""`release` or `debug`: a debug build simulates the same, many times slower."""

most_threads: Final[int]
"""The most threads of one run."""

trace_names: Final[list[str]]
"""The names of what can be recorded event by event."""

class _Cost(TypedDict):
    hosts: int
    links: int
    connections: int
    messages: float
    packet_hops: float
    seconds: float
    memory_bytes: float
    parts: list[tuple[str, float, str]]
    """Uses of memory, their bytes, and the setting that reduces them; the largest first."""

class _Queue(TypedDict):
    limit_bytes: int
    """The most that it holds while the other queues of the switch are empty."""
    ecn_threshold_bytes: int | None
    management: str | None
    """The kind of its queue management, such as red."""
    discipline: str
    """The kind of its discipline, such as fifo."""

class _Host(TypedDict):
    name: str
    rate_gbps: float
    delay_us: float
    """The delay of its link, each way."""
    queues: list[_Queue]
    """The queues of the switch port to it, one for each class, the lowest first."""

class _Traffic(TypedDict):
    name: str
    kind: str
    """The kind of traffic, such as `connections` or `poisson`."""
    sources: list[str]
    destinations: list[str]
    class_number: int
    endless: bool
    """Whether each of its flows sends all the time."""
    single: bool
    """Whether each of its messages has a connection of its own."""
    draws_sizes: bool
    """Whether the sizes of its messages are drawn."""
    connections: int
    """The number for each pair of hosts."""
    picks: int | None
    """Destinations that each source picks for its connections, if not all."""
    message_bytes: int | None
    """The size of messages on connections that stay; None is one message without end."""
    load: float | None
    size_table: Workload | None
    size_bytes: int | None
    """The size, if all have the same; None, like the table, where a formula gives sizes."""
    reads: float
    """The share of transfers that read."""
    fan_out: list[tuple[int, float]]
    """Numbers of servers that a request asks, with weights."""
    split: bool
    """Whether the servers of a request share its size."""

class _Resolved(TypedDict):
    network: str
    """The kind, such as `star`."""
    hosts: list[_Host]
    traffic: list[_Traffic]
    parameters: dict[str, list[tuple[str, str]]]
    """Names and values that each section `[cc.NAME]` sets."""

class _ColumnInfo(TypedDict):
    unit: str
    """The unit, empty for a pure number or a name."""
    doc: str
    """The meaning of a value."""

class _TableInfo(TypedDict):
    doc: str
    """The meaning of a row."""
    columns: dict[str, _ColumnInfo]

class IncastError(Exception):
    """The base of every exception of this package."""

class ScenarioError(IncastError):
    """A scenario that cannot be read or run; the message names file, line and column."""

class ParameterError(IncastError):
    """An unknown algorithm, preset or parameter, or a value that it does not take."""

@final
class Scenario:
    """A scenario: network, traffic, transport and measurement. Immutable."""

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scenario:
        """Reads a TOML file; raises `ScenarioError` when it cannot be read or is not a scenario."""

    @staticmethod
    def parse(text: str, name: str = ...) -> Scenario:
        """Reads TOML text; `name` is what errors and results call it."""

    def with_set(self, *assignments: str) -> Scenario:
        """The scenario with values changed.

        For example `transport.segment=16KB` or `cc.timely.t_high=200us`. Assignments are judged
        together, so their order does not matter. Raises `ParameterError`.
        """

    @property
    def name(self) -> str:
        """The name of the file without its suffix."""

    @property
    def title(self) -> str:
        """The title, in one line."""

    @property
    def description(self) -> str:
        """A description of the run and its reason, in some sentences."""

    @property
    def schemes(self) -> list[str]:
        """The schemes that are compared when none is asked for."""

    @property
    def seed(self) -> int:
        """The seed that is used when none is asked for."""

    @property
    def duration_s(self) -> float:
        """Simulated time of one run in seconds, the warm-up included."""

    @property
    def warmup_s(self) -> float:
        """The part of it at the beginning that is not measured, in seconds."""

    @property
    def cooldown_s(self) -> float:
        """The part of it at the end that is not measured, in seconds."""

    @property
    def inputs(self) -> dict[str, str]:
        """The texts of the files that it names, by their names without folder."""

    @property
    def published(self) -> dict[str, dict[str, float | str]]:
        """Published values by scheme.

        `throughput_gbps`, `rtt_mean_us` and `rtt_p99_us` where there are any, always `source`.
        """

    def toml(self) -> str:
        """The exact scenario as TOML, assignments included: enough to run it again."""

    def check(self, scheme: str) -> None:
        """Raises what `run` would refuse before simulating anything."""

    def warnings(self, scheme: str) -> list[str]:
        """Needs of the scheme that the network lacks, and the settings that would meet them."""

    def open_loops(self) -> list[tuple[int, str, str]]:
        """Number, name in results and kind of each traffic with a load.

        The kind is `poisson`, `requests` or `incast`: `traffic.<number>.<kind>.load` sets the load.
        """

    def load_warnings(self) -> list[str]:
        """Links that are asked for more than they carry, and time series that would be too long."""

    def resolved(self) -> _Resolved:
        """The plan of a run, with defaults filled in and names of hosts resolved."""

    def cost(self, scheme: str, *, traces: Sequence[str] = ..., runs: int = 1) -> _Cost:
        """The estimated cost of a run, without building it.

        Bytes are those of the core and of the tables made of its results, right within a factor of
        two; of several runs, one after the other, the results stay. Seconds are of one core.
        """

@final
class Table:
    """A table of a run, or of another simulator's results.

    `polars.DataFrame(table)` has its rows, and so has whatever else reads Arrow streams. The
    metadata of each Arrow field has `unit` and `doc`, those of the schema `name` and `doc`.
    """

    @property
    def name(self) -> str:
        """The name, such as `flows`."""

    @property
    def info(self) -> _TableInfo:
        """The meaning of a row, and unit and meaning of each column."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream; a value that does not exist is null."""

@final
class Run:
    """The run of one scheme in one scenario."""

    @property
    def scheme(self) -> str:
        """`algorithm` or `algorithm:preset`."""

    @property
    def seed(self) -> int:
        """The seed that was used."""

    @property
    def complete(self) -> bool:
        """Whether the simulation reached its end."""

    @property
    def summary(self) -> dict[str, float | int]:
        """The figures of the whole run, units in the keys."""

    @property
    def series_interval_us(self) -> float:
        """The interval of the time series in microseconds."""

    @property
    def tables(self) -> list[Table]:
        """All tables of the run, traces included."""

def run(
    scenario: Scenario,
    scheme: str,
    *,
    seed: int | None = None,
    traces: Sequence[str] = ...,
    threads: str | None = None,
    progress: Callable[[float, int], bool] | None = None,
) -> Run:
    """Simulates one scheme.

    `threads` is `auto` or a number, in place of what the scenario says; results are the same.

    `progress(simulated_seconds, events)` is called some 20 to 50 times a second; when it returns
    False, or at Ctrl-C, the run stops with what there is and says `complete` False. The GIL is
    released between calls. Ctrl-C while the network is built, or while results are made of what was
    simulated, raises KeyboardInterrupt at once.
    """

def summary_figures() -> list[tuple[str, str, str]]:
    """Name, unit and meaning of each figure of `Run.summary`."""

def import_files(
    files: Sequence[tuple[str, str]], formats: Sequence[str] = ...
) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Makes a scenario from files of HPCC's simulator or of htsim, each a name and a text.

    `formats` says what each file is, in their order; without, their texts do. Returns the scenario
    as TOML, files to be stored beside it (name and text), and notes on what was not taken over.
    Raises `ScenarioError`.
    """

def read_results(file: str, text: str, kind: str | None = ...) -> Table | None:
    """The table in a file of results of HPCC's simulator; `file` names it in errors.

    Without a kind, `hpcc-fct` or `hpcc-pfc`, the first line tells. None if it is of no such file,
    or the kind is one of files for scenarios. Raises `ScenarioError`.
    """

def schema() -> str:
    """The JSON Schema of a scenario."""

def algorithms() -> list[Algorithm]:
    """All algorithms, in the order of the registry."""

@final
class Algorithm:
    """The description of an algorithm."""

    @property
    def name(self) -> str:
        """The name that `--cc` takes."""

    @property
    def summary(self) -> str:
        """A summary in one sentence."""

    @property
    def kind(self) -> str:
        """The controlled quantity: a rate or a window."""

    @property
    def signal(self) -> str:
        """The congestion signal that it reacts to."""

    @property
    def needs(self) -> str:
        """Requirements on the network or the hosts."""

    @property
    def source(self) -> str:
        """The publication."""

    @property
    def presets(self) -> list[Preset]:
        """Named sets of parameters, the default one first."""

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters in the order of the publication."""

@final
class Preset:
    """A named set of parameters."""

    @property
    def name(self) -> str:
        """The name that follows the colon in `algorithm:preset`."""

    @property
    def source(self) -> str:
        """The source of the values."""

    @property
    def values(self) -> dict[str, str]:
        """Values by parameter, as they are written in a scenario."""

@final
class Parameter:
    """A parameter of an algorithm."""

    @property
    def name(self) -> str:
        """The name in `cc.<algorithm>.<name>`."""

    @property
    def doc(self) -> str:
        """The effect of the parameter."""

    @property
    def unit(self) -> str:
        """The unit, empty for a pure number."""

    @property
    def default(self) -> str:
        """The default as it is written in a scenario."""

    @property
    def source(self) -> str:
        """The source of the default."""

    @property
    def range(self) -> str:
        """The accepted values."""

@final
class Workload:
    """A distribution of flow sizes: one that ships, or a file of your own."""

    @staticmethod
    def parse(text: str, name: str, *, packets: bool = False, step: bool = False) -> Workload:
        """A table of two columns, sizes and cumulative probabilities; `name` is for errors.

        Sizes are in bytes, or in packets of 1,460 B; between two points all sizes are equally
        likely, or with `step` only the upper one is there. Raises `ScenarioError`.
        """

    @property
    def name(self) -> str:
        """The name in scenarios: `sizes = "web-search"`."""

    @property
    def what(self) -> str:
        """The measured workload."""

    @property
    def source(self) -> str:
        """Repository, commit and path of the file with these points; empty for one of your own."""

    @property
    def note(self) -> str:
        """A further note; empty where there is none."""

    @property
    def interpolation(self) -> str:
        """The interpolation between two points: `linear` or `step`."""

    @property
    def mean_bytes(self) -> float:
        """The mean, with the interpolation of its source."""

    @property
    def points(self) -> list[tuple[float, float]]:
        """Sizes in bytes and the probability that a flow is not larger."""

    def quantile(self, probability: float) -> float:
        """The size in bytes that a flow does not exceed with this probability."""

def workloads() -> list[Workload]:
    """The distributions of flow sizes that ship."""
