"""The Rust core: scenarios, runs and the algorithms' descriptions.

Types only; the code is in crates/front/python. Units are in the names: `_s`, `_us`, `_kb`, `_gbps`.
"""

from __future__ import annotations  # noqa: PYI044 - pdoc executes this file for its types

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict, final

__all__ = [
    "Ack",
    "Algorithm",
    "AlgorithmError",
    "Declared",
    "Delivery",
    "Demand",
    "Environments",
    "Flow",
    "Hop",
    "IncastError",
    "Limits",
    "Loss",
    "Parameter",
    "ParameterError",
    "Preset",
    "RttSample",
    "Run",
    "Scenario",
    "ScenarioError",
    "SecurityError",
    "Sent",
    "Spurious",
    "Table",
    "UdpCables",
    "UdpHost",
    "UdpNotices",
    "UdpOptions",
    "UdpPeer",
    "UdpPending",
    "UdpRequest",
    "Workload",
    "__version__",
    "algorithms",
    "build_profile",
    "check_tree",
    "described_stream",
    "doubt_sentences",
    "doubted_tables",
    "import_files",
    "import_job",
    "is_job",
    "know_algorithm",
    "know_compiled",
    "know_table",
    "know_tree",
    "most_threads",
    "native_fields",
    "observation_features",
    "read_results",
    "restore_scenario",
    "run",
    "run_doubts",
    "schema",
    "summary_figures",
    "trace_names",
    "udp_bare",
    "udp_lab",
    "udp_load",
    "udp_make_key",
    "udp_public_key",
    "udp_replay",
    "udp_settings",
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

doubted_tables: Final[list[str]]
"""The names of the tables that `run_doubts` looks at."""

class _Cost(TypedDict):
    hosts: int
    links: int
    connections: int
    messages: float
    packet_hops: float
    seconds: float
    faster: str
    """The setting that reduces the part of the time that is largest."""
    memory_bytes: float
    parts: list[tuple[str, float, str]]
    """Uses of memory, their bytes, and the setting that reduces them; the largest first."""

_Path = TypedDict(
    "_Path",
    {
        "from": str,
        "to": str,
        "hops": int,
        "base_rtt_us": float,
        "rate_gbps": float,
        "bdp_bytes": int,
    },
)

class _Oversubscription(TypedDict):
    switch: str
    ratio: float
    below_gbps: float
    """The rates of its links to hosts and to switches below, added up."""
    above_gbps: float
    """The rates of its links to switches above and beside it."""

class _Headroom(TypedDict):
    classes: int
    """The number of classes that PFC protects."""
    port_bytes: list[int]
    """The least and the most of a port, for one class."""
    total_bytes: int

class _Buffer(TypedDict):
    switch: str
    total_bytes: int
    shared_bytes: int
    """The part that is left for queues."""
    headroom: _Headroom | None
    """None where PFC protects no class."""

class _Facts(TypedDict):
    network: str
    """The kind, such as `star`."""
    hosts: int
    switches: int
    links: int
    paths: list[_Path]
    """The shortest and the longest path of the traffic; empty without traffic."""
    oversubscription: _Oversubscription | None
    """The most oversubscribed switch; None where no switch has links to other switches."""
    buffer: _Buffer | None
    """The switch with the least shared buffer."""

class _Topology(TypedDict):
    hosts: list[str]
    switches: list[tuple[str, str]]
    """Name and layer of each, such as leaf."""
    cables: list[tuple[str, str, float, float]]
    """Two nodes, rate in Gb/s, delay in us."""

class _Queue(TypedDict):
    limit_bytes: int
    """The most that it holds while the other queues of the switch are empty."""
    ecn_threshold_bytes: int | None
    management: str | None
    """The kind of its queue management, such as red."""
    discipline: str
    """The kind of its discipline, such as fifo."""
    protected: bool
    """Whether PFC keeps it from dropping."""

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
    class_number: int
    scheme: str | None
    """The scheme of its flows, or of a share of them; that of the run if None."""
    waits: bool
    """Whether some messages are posted when others have ended, at no time known before."""

class _Resolved(TypedDict):
    network: str
    """The kind, such as `star`."""
    hosts: list[_Host]
    burst_bytes: int | None
    """`switch.burst`, if it is set."""
    burst_time_us: float | None
    """`switch.burst_time`, if it is set."""
    routing: list[str]
    """The kinds of routing of all traffic, such as `ecmp`."""
    paths: int
    """The number of explicit paths."""
    own_links: bool
    """Whether links differ by direction, or lose packets."""
    receivers: bool
    """Whether hosts are slow receivers."""
    islands: bool
    """Whether hosts are on islands."""
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

class AlgorithmError(IncastError):
    """An algorithm of the user's own raised an exception, or returned what is no answer.

    The exception is the cause of this one. The message names flow and simulated time.
    """

class SecurityError(IncastError):
    """The ends of a connection do not fit: another secret, key, protection or version."""

@final
class Scenario:
    """A scenario: network, traffic, transport and measurement. Immutable.

    Example:
        ```python
        import incast

        scenario = incast.load("incast").with_set({"run.duration": "5ms", "run.warmup": "1ms"})
        scenario.facts("timely")["paths"]  # hops, RTT and rate of the shortest and the longest path
        scenario.cost("timely")["packet_hops"]
        scenario.toml()  # the text, which `Scenario.parse` reads
        ```
    """

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scenario:
        """Reads a TOML file; raises `ScenarioError` when it cannot be read or is not a scenario."""

    @staticmethod
    def parse(text: str, name: str = ...) -> Scenario:
        """Reads TOML text; `name` is what errors and results call it."""

    def with_set(self, *assignments: str | Mapping[str, object]) -> Scenario:
        """The scenario with values changed.

        Each is a text such as `transport.segment=16KB`, or a dictionary with keys such as
        `cc.timely.t_high`, or with dictionaries inside: `{"run": {"seed": 3}}`. Elements of lists
        have numbers: `traffic.0.load`. All are judged together, so their order does not matter.
        Raises `ParameterError`.
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
    def threads(self) -> str:
        """The number of threads of a run when none is asked for, or `auto`."""

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
    def drain_s(self) -> float | None:
        """The most time after `duration_s` for messages under way, in seconds; None without."""

    def job_connections(self, number: int) -> list[tuple[int, int, int]] | None:
        """The connections of the job that is this traffic, in the order of their flows.

        Each is the sending rank, the receiving rank, and the tag. None of any other traffic.
        """

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

    def facts(self, scheme: str) -> _Facts:
        """The facts that are known before a run: size, base RTTs, buffers, oversubscription.

        The base RTT is that of a full packet without queues, from its first bit to its ACK. The
        bandwidth-delay product is the rate of the slowest link times the base RTT.
        """

    def resolved(self) -> _Resolved:
        """The plan of a run, with defaults filled in and names of hosts resolved."""

    def cost(self, scheme: str, *, traces: Sequence[str] = ..., runs: int = 1) -> _Cost:
        """The estimated cost of a run, without building it.

        Bytes are those of the core and of the tables made of its results, right within a factor of
        two; of several runs, one after the other, the results stay. Seconds are of one core.
        """

    def topology(self) -> _Topology:
        """The network: names of hosts, switches with their layer, and cables.

        A cable has two nodes, and a link each way: the rate in Gb/s of the one out of its first
        node, and the delay in us.
        """

    def hosts_called(self, name: str) -> list[str]:
        """The hosts that traffic calls so, by name: a group, part of one, or one host."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Scenario: ...
    def __deepcopy__(self, memo: object) -> Scenario: ...

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

def run_doubts(
    tables: Sequence[tuple[str, object]],
    text: str,
    *,
    dropped: bool,
    simulated_s: float | None,
    duration_s: float,
    warmup_s: float,
    cooldown_s: float,
    drain_s: float | None,
) -> str:
    """The numbers by which a run that has come to its end is doubted, as a JSON text.

    `tables` are those in `doubted_tables` that the run has, with their names. One that is not of
    the core has `__arrow_c_stream__`, whose columns are numbers of 64 bits or text. `text` is that
    of the scenario.
    """

def doubt_sentences(points: str) -> list[str]:
    """A sentence for each cause of doubt.

    `points` is a JSON list of pairs: the name of a point, and a list of pairs of a scheme and the
    doubts of each of its seeds. Raises `ValueError` when it is none.
    """

def run(
    scenario: Scenario,
    scheme: str,
    *,
    seed: int | None = None,
    traces: Sequence[str] = ...,
    threads: str | None = None,
    progress: Callable[[float, int], bool] | None = None,
    only_posting: bool = False,
) -> Run:
    """Simulates one scheme.

    `threads` is `auto` or a number, in place of what the scenario says; results are the same.

    `progress(simulated_seconds, events)` is called some 20 to 50 times a second, and at the end;
    when it returns False, or at Ctrl-C, the run stops with what there is and says `complete` False.
    The GIL is released between calls. Ctrl-C while the network is built, or while results are made
    of what was simulated, raises `KeyboardInterrupt` at once.

    With `only_posting` no message is sent, which is enough for the ideal, and for the list of what
    is posted; where applications post, all is simulated.
    """

def summary_figures() -> list[tuple[str, str, str]]:
    """Name, unit and meaning of each figure of `Run.summary`."""

def import_files(
    files: Sequence[tuple[str, str]], formats: Sequence[str] = ..., simulator: str | None = ...
) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Makes a scenario from files of HPCC's simulator or of htsim, each a name and a text.

    `formats` says what each file is, in their order; without, their texts do. `simulator` says
    whose they are where a text may be of two. Returns the scenario as TOML, files to be stored
    beside it (name and text), and notes on what was not taken over. Raises `ScenarioError`.
    """

def read_results(file: str, text: str, kind: str | None = ...) -> Table | None:
    """The table in a file of results of HPCC's simulator; `file` names it in errors.

    Without a kind, `hpcc-fct` or `hpcc-pfc`, the first line tells. None if it is of no such file,
    or the kind is one of files for scenarios. Raises `ScenarioError`.
    """

def is_job(head: bytes) -> bool:
    """Whether a file that begins with these bytes may be the trace of a job."""

def import_job(
    path: str,
    *,
    format: str | None = None,  # noqa: A002
    groups: str | None = None,
    size: int | None = None,
    rate_bps: int | None = None,
    delay_ps: int | None = None,
    topology: tuple[str, str] | None = None,
    scheme: str | None = None,
    folder: os.PathLike[str] = ...,
) -> tuple[str, list[str]]:
    """Makes a scenario of the trace of a job.

    `path` is one file, or has `{rank}` in place of the number where each rank has one. `rate_bps`
    and `delay_ps` are of links around one switch, which `topology` takes the place of, a file of
    htsim: its path and its text. Paths count from `folder`. Returns the scenario as TOML and notes.
    Raises `ScenarioError`.
    """

def restore_scenario(text: str, file: str, inputs: Mapping[str, str]) -> Scenario:
    """The scenario of a pickle: its text, the name of its file, and the files that it names."""

def described_stream(
    rows: object, name: str, doc: str, columns: Mapping[str, _ColumnInfo]
) -> object:
    """The rows of another Arrow stream as an Arrow C stream, described as `Table` is.

    `rows` has `__arrow_c_stream__`; `columns` has `unit` and `doc` of each column.
    """

@final
class Flow:
    """The facts about a flow at its start."""

    @property
    def now(self) -> float:
        """The instant of the start, in seconds since the start of the run."""

    @property
    def mss(self) -> int:
        """The largest payload of one packet, in bytes."""

    @property
    def segment(self) -> int:
        """The unit of sending and of acknowledgement, in bytes.

        It is up to 64 KB in the message transport, the MSS in a stream.
        """

    @property
    def line_rate(self) -> float:
        """The rate of the sender's NIC, in bits per second. No pacing rate exceeds it."""

    @property
    def base_rtt(self) -> float | None:
        """The RTT without queues in seconds, where the operator knows it."""

    @property
    def active_flows(self) -> int:
        """The number of flows that the sender already has active."""

    @property
    def initial_window(self) -> int:
        """The window of a window-based algorithm before the first ACK, in bytes."""

    @property
    def slow_start_limit(self) -> int:
        """The number of segments by which one ACK may let a window grow in slow start."""

    @property
    def max_window(self) -> int | None:
        """The most that peer and buffers let be in flight, in bytes; None is no limit."""

    @property
    def seed(self) -> int:
        """The seed of random numbers: different for every flow, equal in every run."""

@final
class Ack:
    """An acknowledgement, as the sender sees it."""

    @property
    def now(self) -> float:
        """The instant of the event, in seconds since the start of the run."""

    @property
    def sent_at(self) -> float:
        """The instant at which the newest of the acknowledged data was sent, in seconds."""

    @property
    def bytes(self) -> int:
        """Newly acknowledged payload in bytes; each byte is counted once."""

    @property
    def ce_bytes(self) -> int:
        """Payload in bytes that arrived with a congestion mark since the receiver's last ACK."""

    @property
    def first(self) -> int:
        """The start of the oldest burst of the acknowledged data, in bytes sent since the start."""

    @property
    def end(self) -> int:
        """The end of the newest burst, in bytes sent since the start."""

    @property
    def next(self) -> int:
        """The start of the next transmission, in bytes sent since the start."""

    @property
    def rtt(self) -> RttSample | None:
        """The measured round trip; None where it would be ambiguous."""

    @property
    def srtt(self) -> float:
        """The carrier's smoothed RTT in seconds, with this sample in it; zero before the first."""

    @property
    def min_rtt(self) -> float:
        """The least RTT of the flow in seconds; infinite before the first sample."""

    @property
    def one_way(self) -> float | None:
        """The time from send to arrival in seconds, by the receiver's clock.

        The offset of that clock is constant: only differences mean something.
        """

    @property
    def in_flight(self) -> int:
        """Payload sent and neither acknowledged nor declared lost, in bytes, after this ACK."""

    @property
    def cwnd_limited(self) -> bool:
        """Whether the window held data back in this round or the last one.

        Where the application or the pacer did, it is False.
        """

    @property
    def in_recovery(self) -> bool:
        """Whether losses that were detected are still being repaired."""

    @property
    def round(self) -> int:
        """The number of round trips so far."""

    @property
    def delivered(self) -> int:
        """Payload acknowledged over the life of the flow, in bytes, this ACK included."""

    @property
    def remaining(self) -> int | None:
        """Payload posted and not acknowledged, in bytes; None of a message without an end."""

    @property
    def due(self) -> float | None:
        """The deadline that stands, in seconds since the start of the run.

        It is None without one, and where `reads` does not name `due`.
        """

    @property
    def due_bytes(self) -> int | None:
        """The payload up to that deadline that is not acknowledged, in bytes; None without one."""

    @property
    def delivery(self) -> Delivery | None:
        """The delivery-rate sample, where `reads` names `delivery`."""

    @property
    def nic_backlog(self) -> int:
        """Bytes that wait in the sender's own NIC, where `reads` names `nic_backlog`."""

    @property
    def hop_count(self) -> int:
        """The number of links that the acknowledged data crossed; zero where unknown."""

    @property
    def hops(self) -> list[Hop]:
        """The stamps of the switches in the data, first hop first; empty without telemetry."""

@final
class RttSample:
    """A measured round trip and the parts of it that are no network."""

    @property
    def total(self) -> float:
        """The time from handing the data to the NIC to its acknowledgement, in seconds."""

    @property
    def serialization(self) -> float:
        """The time in seconds that the NIC needs for the data alone."""

    @property
    def peer(self) -> float:
        """The peer's turnaround in seconds, where it reports it."""

    @property
    def network(self) -> float:
        """Propagation and queueing in both directions, in seconds: TIMELY's RTT."""

@final
class Delivery:
    """A delivery-rate sample, as Linux and BBR define it."""

    @property
    def rate(self) -> float:
        """Acknowledged payload per time, in bits per second.

        The time is the longer of the send and the ACK interval.
        """

    @property
    def in_flight_at_send(self) -> int:
        """Bytes in flight when the newest acknowledged data was sent."""

    @property
    def lost(self) -> int:
        """Payload in bytes declared lost between that instant and now."""

    @property
    def app_limited(self) -> bool:
        """Whether the application, not the network, set the rate."""

@final
class Hop:
    """The stamp of a switch port in a packet that leaves it. Bytes are wire bytes."""

    @property
    def port(self) -> int:
        """The number of the port: counters of two hops compare only where it is the same."""

    @property
    def at(self) -> float:
        """The instant at which the packet left the port, in seconds by the switch's clock."""

    @property
    def rate(self) -> float:
        """The rate of the link behind the port, in bits per second."""

    @property
    def queue(self) -> int:
        """Bytes in the queue that the packet left behind."""

    @property
    def sent(self) -> int:
        """Bytes that the port has sent since the start."""

@final
class Loss:
    """Data that was declared lost: a burst, or a part of it."""

    @property
    def now(self) -> float:
        """The instant of the event, in seconds since the start of the run."""

    @property
    def sent_at(self) -> float:
        """The instant at which the newest of the lost data was sent, in seconds."""

    @property
    def bytes(self) -> int:
        """Lost payload in bytes."""

    @property
    def first(self) -> int:
        """The start of the oldest burst of the lost data, in bytes sent since the start."""

    @property
    def end(self) -> int:
        """The end of the newest burst, in bytes sent since the start."""

    @property
    def next(self) -> int:
        """The start of the next transmission, in bytes sent since the start."""

    @property
    def in_flight(self) -> int:
        """Payload in flight in bytes, the lost bytes no longer counted."""

    @property
    def in_recovery(self) -> bool:
        """Whether an earlier loss is still being repaired."""

    @property
    def cause(self) -> str:
        """The sign by which the loss was found: "detected", "timeout" or "persistent".

        Persistent is a second timeout without an ACK in between.
        """

@final
class Spurious:
    """A false loss: data declared lost was acknowledged after all."""

    @property
    def now(self) -> float:
        """The instant of the event, in seconds since the start of the run."""

    @property
    def bytes(self) -> int:
        """Payload in bytes that was no loss."""

    @property
    def first(self) -> int:
        """The start of that data, in bytes sent since the start."""

    @property
    def end(self) -> int:
        """The end of that data, in bytes sent since the start."""

    @property
    def returned(self) -> int:
        """The part of it in bytes that is in flight again."""

@final
class Sent:
    """Data that was handed to the network."""

    @property
    def now(self) -> float:
        """The instant of the event, in seconds since the start of the run."""

    @property
    def bytes(self) -> int:
        """Payload in bytes."""

    @property
    def end(self) -> int:
        """The end of that payload, in bytes sent since the start."""

    @property
    def in_flight(self) -> int:
        """Payload in flight in bytes, this included."""

    @property
    def retransmission(self) -> bool:
        """Whether the data had been sent before."""

    @property
    def app_limited(self) -> bool:
        """Whether the flow has nothing more to send."""

@final
class Demand:
    """A message that the application has posted, and its terms."""

    @property
    def now(self) -> float:
        """The instant of the event, in seconds since the start of the run."""

    @property
    def size(self) -> int | None:
        """The size of the message in bytes, where it is known."""

    @property
    def deadline(self) -> float | None:
        """The deadline of this message alone, in seconds since the start of the run."""

    @property
    def weight(self) -> int:
        """The flow's share relative to others."""

@final
class Limits:
    """The limits on sending: a window, a rate, or both."""

    def __new__(
        cls,
        *,
        cwnd: float | None = ...,
        rate: float | None = ...,
        pacing_gain: float | None = ...,
        burst: float | None = ...,
        burst_rate: float | None = ...,
    ) -> Limits:
        """Limits on sending.

        `cwnd` is the most payload in flight in bytes, at least one packet's; None is no window.
        `rate` is the pacing rate of payload in bits per second, at most the line rate; None is no
        pacing. `pacing_gain` paces a window in place of `rate`: the window times the gain over the
        smoothed RTT. `burst` is the most payload in bytes that leaves at once, and `burst_rate` the
        rate of its packets; None leaves both to the carrier.

        Raises `ValueError` where a value is not above zero, or rate and gain are both given.
        """

    @property
    def cwnd(self) -> int | None:
        """The most payload in flight in bytes; None is no window."""

    @property
    def rate(self) -> float | None:
        """The pacing rate in bits per second; None without one."""

    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Declared:
    """A parameter of an algorithm in Python, which `incast.parameter` declares."""

    def __new__(
        cls,
        name: str,
        kind: str,
        default: str,
        *,
        doc: str,
        source: str,
        least: str | None = ...,
        most: str | None = ...,
        words: Sequence[str] = ...,
    ) -> Declared:
        """Declares a parameter; `kind` is time, rate, size, number, count or word.

        `least` and `most` are inclusive, and `words` are the values of a word. Raises
        `ParameterError` where a text is no such value, or the default is out of range.
        """

    @property
    def name(self) -> str:
        """The name of the parameter."""

    def read(self, text: str) -> float | int | str:
        """The value of a text such as `50us`: a number in its unit, or a word.

        Times are in seconds, rates in bits per second, sizes in bytes. Raises `ParameterError` with
        the mistake and what is expected.
        """

    def canonical(self, text: str) -> str:
        """The value of a text, as it is written in schemes. Raises `ParameterError`."""

def know_algorithm(
    template: object,
    about: Mapping[str, str],
    parameters: Sequence[Declared],
    methods: set[str],
    reads: set[str],
) -> Algorithm:
    """Makes an algorithm of Python known to all scenarios of this process; returns its description.

    It takes the place of one that had its name before.

    `about` has name, summary, kind, signal, needs, transport and source. Each flow gets what
    `template._of_a_flow(values)` returns; `methods` are the methods that its class overrides, and
    `reads` the reports that it wants.
    Raises `ParameterError` where a word is unknown, or the name is that of another algorithm.
    """

@final
class Environments:
    """Runs in which some flows are a learner's, which take a step side by side in threads.

    Arrays travel as bytes of native order. Each has an entry, or a row of features, for each flow
    of each environment: environment by environment, flow by flow.
    """

    def __new__(
        cls,
        count: int,
        *,
        threads: int,
        flows: Sequence[int | str],
        others: str,
        interval: str,
        action: str,
        step: float,
        initial: float,
        reward: Sequence[float],
    ) -> Environments:
        """Environments of the same settings.

        `flows` are numbers of flows or names of traffic; `reward` has the weights of throughput,
        latency and loss. Raises `ParameterError` where a setting cannot be.
        """

    def reset(self, number: int, scenario: Scenario, seed: int) -> list[int]:
        """Begins a run of an environment, and returns the numbers of the learner's flows.

        Raises `ParameterError` where the scenario has no such flows, or the scheme of the others is
        none, and `ScenarioError` where it has no flows at all.
        """

    def step(self, actions: bytes, takes: Sequence[bool]) -> None:
        """Simulates an interval in each environment that `takes` is true for.

        `actions` are 32-bit numbers, one for each flow of all environments. The GIL is released.
        Raises `ParameterError` where there are too few or too many, and `AlgorithmError` where the
        others' algorithm is of Python and has raised an exception.
        """

    def state(self) -> tuple[bytearray, bytearray, bytearray, bytearray, list[bool]]:
        """The arrays of the last step, and whether environments are over.

        Features are 32-bit numbers, measures and rewards 64-bit numbers; whether flows have ended
        are bytes.
        """

    def simulated(self) -> list[float]:
        """The time simulated in each environment, in seconds."""

    def finish(self, number: int) -> Run | None:
        """Simulates what is left of a run under the last actions, and reports the whole of it.

        None where no run has begun, or it was reported before.
        """

def observation_features() -> list[tuple[str, str, str, float, float, str]]:
    """Name, unit, scale, bounds and definition of each feature of an observation."""

def know_tree(name: str, text: str) -> Algorithm:
    """Makes a decision tree known as an algorithm by this name, and returns its description.

    `text` is JSON as `incast.learning.Tree` writes it. Raises `ParameterError` where it is none, or
    another algorithm has the name.
    """

def check_tree(text: str) -> None:
    """Raises `ParameterError` where the text is no decision tree."""

def know_compiled(
    about: Mapping[str, str],
    parameters: Sequence[Declared],
    functions: Mapping[str, int],
    state_size: int,
    gauges: Sequence[str],
    reads: set[str],
) -> Algorithm:
    """Makes an algorithm of compiled functions known to this process; returns its description.

    It takes the place of one that had its name before. `about` and `reads` are as in
    `know_algorithm`. `functions` has addresses of C functions by name, which stay there for good
    and take the structs of `native_fields`; each parameter is eight bytes, and the state of a flow
    `state_size` bytes. `gauges` are the names of gauges.
    Raises `ParameterError` where a word is unknown, or the name is that of another algorithm.
    """

def know_table(address: int) -> Algorithm:
    """Makes the algorithm of a crate of its own known to this process; returns its description.

    `address` is that of the table that `incast_algorithm` of the crate returns.
    Raises `ParameterError` where the crate was built with another version of the interface, or the
    name is that of another algorithm.
    """

def native_fields() -> dict[str, list[tuple[str, str]]]:
    """The structs that compiled functions take, by name: their fields, each of eight bytes.

    The type of a field is `f` for a float, `i` for an integer, `u` for an unsigned one, or the name
    of a struct.
    """

def schema() -> str:
    """The JSON Schema of a scenario, as a text.

    Example:
        ```python
        import json

        import incast

        json.loads(incast.schema())["properties"].keys()
        ```
    """

def algorithms() -> list[Algorithm]:
    """All algorithms, in the order of the registry.

    Example:
        ```python
        import incast

        timely = next(one for one in incast.algorithms() if one.name == "timely")
        timely.source  # the publication
        [(one.name, one.default, one.source) for one in timely.parameters]
        ```
    """

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
    """The distributions of flow sizes that ship.

    Example:
        ```python
        import incast

        {one.name: one.mean_bytes for one in incast.workloads()}
        ```
    """

@final
class UdpOptions:
    """The settings of hosts, checked when they are made."""

    def __new__(
        cls,
        address: str,
        *,
        secret: os.PathLike[str] | str | None = None,
        identity: os.PathLike[str] | str | None = None,
        peers: os.PathLike[str] | str | None = None,
        plaintext: bool = False,
        cc: str = "timely:auto",
        settings: Sequence[str] = ...,
        line_rate: str = "40Gbps",
        nic_rate: str | None = None,
        mtu: int = 1500,
        spin_us: float = 60.0,
        always_spin: bool = False,
        patience_s: float = 15.0,
        threads: int = 1,
        listens: bool = True,
        max_message_bytes: int = ...,
        answers_loads: bool = False,
    ) -> UdpOptions: ...

@final
class UdpCables:
    """Cables with a delay between devices of a network namespace, until they are closed."""

    def __new__(
        cls,
        namespace: os.PathLike[str] | str,
        cpu: int,
        cables: Sequence[tuple[str, str, float]],
    ) -> UdpCables: ...
    def close(self) -> None:
        """Ends the cables."""

@final
class UdpHost:
    """A host that sends and receives messages on threads of its own."""

    def __new__(cls, options: UdpOptions) -> UdpHost: ...
    @property
    def address(self) -> str:
        """The address of the host, with its port."""

    @property
    def missing_features(self) -> list[str]:
        """A sentence for each feature of the kernel that is missing, which says what is lost."""

    def connect(self, address: str, key: str | None = None) -> UdpPending:
        """Connects to a host, which has the public key `key` if keys protect connections."""

    def accept(self, timeout_s: float) -> UdpRequest | None:
        """The next message of any peer, or None if there is none within a time."""

    def accepting(self) -> UdpPending:
        """The next request, which is still to come; for an event loop, which polls it."""

    def peers(self) -> list[dict[str, Any]]:
        """The state of each peer whose connection is open."""

    def rejected(self) -> list[tuple[str, str]]:
        """The hosts refused or dropped since the last call: the address of each, and the reason."""

    def counters(self) -> dict[str, int]:
        """Counts of the host's datagrams since it was opened."""

    def bare(self, here: str, there: str, kind: str, spin: bool, most_s: float) -> int | None:
        """Opens a bare socket at an address, which answers another one for some seconds at most.

        Returns its port; None if another one answers. It has a thread of its own.
        """

@final
class UdpPeer:
    """A peer of a host."""

    @property
    def address(self) -> str:
        """The address of the peer."""

    def call(
        self, body: bytes, patience_s: float | None = None, priority: str = "by-size"
    ) -> UdpPending:
        """Calls the peer; the reply is the result. Priorities are `by-size`, `high` and `low`."""

    def note(
        self, body: bytes, patience_s: float | None = None, priority: str = "by-size"
    ) -> UdpPending:
        """Sends a message that wants no reply; the result tells that the peer has it."""

    def statistics(self) -> dict[str, Any] | None:
        """The state of the connection; None if the peer is gone."""

    def close(self) -> None:
        """Ends the connection. What is under way fails."""

@final
class UdpRequest:
    """A message of a peer."""

    @property
    def body(self) -> bytes:
        """The body of the message."""

    @property
    def peer(self) -> UdpPeer:
        """The sender."""

    @property
    def wants_reply(self) -> bool:
        """Whether the message is a call, which wants a reply."""

    @property
    def timeout_s(self) -> float | None:
        """The seconds that the sender waits, counted from the sending; None if not bounded."""

    def reply(self, body: bytes) -> None:
        """Replies to the call."""

    def refuse(self, reason: str) -> None:
        """Refuses the call, for a reason that the caller reads."""

@final
class UdpPending:
    """A result that is still to come."""

    def wait(self, timeout_s: float | None = None) -> Any:  # noqa: ANN401
        """Waits for the result, up to a time."""

    def poll_with(self, notices: UdpNotices, number: int) -> tuple[Any] | None:
        """The result in a tuple if it is there; otherwise a notice of this number will come."""

    def cancel(self) -> None:
        """Stops waiting: a call or a note is cancelled."""

@final
class UdpNotices:
    """The notices by which an event loop hears of results.

    A descriptor becomes readable, and there are the numbers of those that are to be polled.
    """

    def __new__(cls) -> UdpNotices: ...
    def fileno(self) -> int:
        """The descriptor that becomes readable."""

    def take(self) -> list[int]:
        """The numbers of the results that are to be polled."""

def udp_load(
    options: UdpOptions,
    address: str,
    *,
    key: str | None = None,
    size: int = 64000,
    reply: int = 0,
    rate: float | None = None,
    in_flight: int = 1,
    peers: int = 1,
    duration_s: float = 1.0,
    warmup_s: float = 0.0,
    seed: int = 1,
    record_bytes: int | None = None,
    progress: Callable[[float, int], bool] | None = None,
) -> dict[str, Any]:
    """Makes the calls of a load, and returns what became of them.

    `progress` gets the seconds and the number of replies some times a second; it ends the load
    where it returns false. With several `peers` there are so many connections to the server, which
    have equal parts of the calls. With `record_bytes` there is a recording of at most so many
    bytes.
    """

def udp_lab(
    scenario: Scenario,
    scheme: str,
    hosts: Sequence[tuple[str, os.PathLike[str] | str, str, int, str]],
    flows: Sequence[tuple[int, int]],
    requests: Sequence[tuple[float, int, Sequence[int], int]],
    *,
    duration_s: float,
    measured_s: tuple[float, float],
    interval_s: float,
    progress: Callable[[float], object] | None = None,
) -> dict[str, Any]:
    """Carries traffic between hosts of this machine, each in a network namespace of its own.

    Those of one CPU share a thread. Hosts are their names, namespaces, addresses, CPUs and rates;
    flows the numbers of sending and receiving hosts; requests their times in seconds, clients,
    servers, and the bytes of each answer. `progress` gets the seconds some times a second; it ends
    the traffic where it raises.
    """

def udp_replay(path: os.PathLike[str] | str) -> dict[str, Any]:
    """Makes the calls of a recording again, and returns what was compared."""

def udp_settings() -> list[dict[str, Any]]:
    """The descriptions of the settings of hosts, with their defaults."""

def udp_make_key(path: os.PathLike[str] | str, shared: bool) -> str | None:
    """Makes a key pair, or a secret that all hosts share, in a new file; returns the public key."""

def udp_public_key(path: os.PathLike[str] | str) -> str:
    """The public key of a key pair's file."""

def udp_bare(
    address: str, kind: str, size: int, in_flight: int, spin: bool, time_s: float
) -> dict[str, Any]:
    """Measures a bare socket's echo, as `udp_load` measures a server, and ends it.

    Of `calls` of a size, with some in flight, and of `rtts` there are the times in microseconds; of
    a `stream`, and of a stream that is `written` by hand, the bytes that came.
    """
