"""Advice on the thresholds of switches and algorithms, and the runs that check it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from incast._core import ParameterError, Scenario, Table
from incast.advice import dcqcn, dctcp, headroom, pfc, sonic, swift, timely, trial
from incast.advice.given import Given, given
from incast.advice.row import Row
from incast.api import running, scenarios
from incast.base.words import nearest
from incast.results.tables import FramedTable, SchemeRun, frame

KINDS = tuple(trial.ALGORITHMS)
"""The algorithms with thresholds that are known."""
_ROWS = (headroom, pfc)
_OF_KIND = {one.NAME: one for one in (dcqcn, dctcp, timely, swift)}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a short run at the values that are advised."""

    scheme: str
    """The algorithm; `line-rate` where PFC alone holds senders back."""
    link: str
    """The links of a run of PFC alone; empty for an algorithm."""
    lossless: bool
    """Whether PFC must keep all packets."""
    drops: int
    utilisation: float
    """The share of the receiver's link that was used."""
    queue_p99_kb: float
    marks: int
    pauses: int
    faults: tuple[str, ...]
    """The fault of the run, in words; empty if the run is good."""

    @property
    def name(self) -> str:
        """The run in words."""
        return f"PFC alone at {self.link}" if self.link else self.scheme


@dataclass(frozen=True)
class Advice:
    """The thresholds for a network, and what short runs at these values showed."""

    rows: tuple[Row, ...]
    """The values, each with formula and source; `given` first."""
    kinds: tuple[str, ...]
    """The algorithms that are advised on."""
    outcomes: tuple[Outcome, ...]
    """The runs that checked the values; empty if nothing was run."""
    _given: Given
    _settings: tuple[str, ...]

    @property
    def faults(self) -> list[str]:
        """The sentences on what the runs found wrong."""
        return [f"{one.name}: {fault}" for one in self.outcomes for fault in one.faults]

    def value(self, kind: str, name: str, link: str | None = None) -> float:
        """A value by its kind and name, such as `headroom` and `headroom`; the first of them.

        Raises:
            ParameterError: There is none.
        """
        for row in self.rows:
            if (row.kind, row.name) == (kind, name) and link in (None, row.link):
                return row.value
        raise ParameterError(f"{kind}, {name}: not advised; see the kinds and names of rows")

    @property
    def scenario(self) -> Scenario:
        """The run of the algorithms at these values, to run and change.

        Raises:
            ParameterError: DCTCP and another algorithm need different marks.
        """
        kinds = self.kinds
        if kinds == KINDS:
            kinds = tuple(kind for kind in kinds if kind != dctcp.NAME)
        if dctcp.NAME in kinds and len(kinds) > 1:
            others = ", ".join(kind for kind in kinds if kind != dctcp.NAME)
            raise ParameterError(
                f"dctcp beside {others}: one scenario has one kind of marks; ask for one of them"
            )
        return trial.of_algorithms(self._given, kinds).changed(self._settings).scenario

    def checked(self) -> "Advice":
        """The same advice, with the outcomes of short runs.

        Raises:
            Interrupted: Ctrl-C.
            ParameterError: A setting is none of a scenario.
        """
        found = trial.trials(self._given, self.kinds, self._settings)
        return replace(self, outcomes=tuple(outcome for one in found for outcome in _run(one)))

    def sonic(self, ports: Sequence[str] = ()) -> dict[str, object]:
        """The tables of SONiC's `config_db.json`, for these ports by name."""
        return sonic.config(self._given, self.kinds, ports)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; units are in the keys, or beside the values."""
        return {
            "values": [row.to_dict() for row in self.rows],
            "checks": [{**vars(one), "faults": list(one.faults)} for one in self.outcomes],
            "good": not self.faults if self.outcomes else None,
        }


def advise(
    scenario: Scenario | str | os.PathLike[str] | None = None,
    *,
    rate: str | None = None,
    cable: str | None = None,
    hosts: int | None = None,
    mtu: str | None = None,
    buffer: str | None = None,
    cell: str | None = None,
    small_packets: float | None = None,
    mac_phy_delay: str | None = None,
    pipeline: str | None = None,
    response: str | None = None,
    cc: str | Sequence[str] | None = None,
    settings: Sequence[str] = (),
    check: bool = True,
) -> Advice:
    """Finds thresholds for a network: PFC, marks for DCQCN and DCTCP, TIMELY's and Swift's delays.

    Each value has its formula and source. Short runs check them: all hosts of a switch send into
    one, with PFC alone and with each algorithm.

    Args:
        scenario: A scenario whose network it is, the path of one, or the name of one that ships;
            None for a star that the next arguments describe.
        rate: The rate of links, such as `100Gbps`.
        cable: The length of cables, such as `100m`, at 5 ns a metre.
        hosts: The number of hosts, or ports, of the switch.
        mtu: The largest packet.
        buffer: The buffer of the switch.
        cell: The unit in which the buffer is given out.
        small_packets: The percentage of bytes after a pause that may come in packets of 64 B.
        mac_phy_delay: The delay of MACs and PHYs, as a time, or as the bytes that they hold.
        pipeline: The delay of the switch's pipeline, likewise.
        response: The time that the peer takes to stop, likewise; as IEEE 802.3 allows if None.
        cc: The algorithms, of dcqcn, dctcp, timely and swift; all if None.
        settings: What to change in the runs of the check, such as `switch.pfc.headroom=20KB`.
        check: Whether to run the check.

    Raises:
        ParameterError: There is no network, a value is out of its range, or the buffer is too
            small for the headroom.
        ScenarioError: The scenario cannot be read.
        Interrupted: Ctrl-C.

    Example:
        ```python
        import incast

        advice = incast.advise(rate="100Gbps", cable="100m", hosts=8, cc="dcqcn")
        advice.value("headroom", "headroom")  # bytes of a port, in cells
        advice.faults  # what the runs found wrong: nothing
        advice.sonic()["WRED_PROFILE"]
        ```
    """
    if isinstance(scenario, (str, os.PathLike)):
        scenario = scenarios.load(scenario)
    kinds = _kinds([cc] if isinstance(cc, str) else cc)
    texts = {
        "rate": rate, "cable": cable, "hosts": _text(hosts), "mtu": mtu, "buffer": buffer,
        "cell": cell, "small_packets": _text(small_packets), "mac_phy_delay": mac_phy_delay,
        "pipeline": pipeline, "response": response,
    }  # fmt: skip
    network = given(texts, scenario)
    found = [row for one in _ROWS for row in one.rows(network)]
    found += [row for kind in kinds for row in _OF_KIND[kind].rows(network)]
    advice = Advice((*network.rows, *found), kinds, (), network, tuple(settings))
    return advice.checked() if check else advice


def _text(number: float | None) -> str | None:
    return None if number is None else f"{number:g}"


def _kinds(cc: Sequence[str] | None) -> tuple[str, ...]:
    for one in cc or ():
        if one not in KINDS:
            raise ParameterError(f"{one}: no thresholds are known for it; {nearest(one, KINDS)}")
    return KINDS if not cc else tuple(kind for kind in KINDS if kind in cc)


def _run(of: trial.Trial) -> list[Outcome]:
    result = running.run(of.scenario, of.schemes)
    return [_outcome(of, scheme, run) for scheme, run in result.runs.items()]


def _outcome(of: trial.Trial, scheme: str, run: SchemeRun) -> Outcome:
    tables = {one.name: one for one in run.tables}
    links = frame(tables["links"])
    used = float(links.filter(links["link"] == "switch->receiver")["utilisation"][0])
    drops, faults = int(run.summary["drops"] or 0), []
    if of.lossless and drops:
        faults.append(f"{drops} packets of the lossless class dropped{_lacking(tables)}")
    pauses = int(run.summary["pfc_pauses"] or 0)
    if of.name and not pauses:
        faults.append("no pause came, so the headroom was not needed")
    if not of.name and pauses:
        faults.append(f"{pauses} pauses: PFC holds the queue, not the algorithm")
    if used < trial.LEAST_UTILISATION:
        faults.append(f"the receiver's link is used at {used:.1%} only")
    return Outcome(
        scheme, of.name, of.lossless, drops, used,
        float(run.summary["queue_p99_kb"] or 0), int(run.summary["ecn_marks"] or 0),
        pauses, tuple(faults),
    )  # fmt: skip


def _lacking(tables: Mapping[str, Table | FramedTable]) -> str:
    """The headroom of the port that dropped most, and what it needs."""
    if (table := tables.get("lossless_drops")) is None:
        return ""
    worst = frame(table).sort("drops").row(-1, named=True)
    return f": headroom is {worst['headroom_kb']:.4g} KB, needed is {worst['needed_kb']:.4g} KB"
