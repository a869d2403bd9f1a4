"""The facts of a scenario before it is run: its network, its paths, and what a run will take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from incast._core import Scenario
from incast.api import costs, scenarios


@dataclass(frozen=True)
class Checked:
    """A scenario that can be run, with the facts about it."""

    scenario: Scenario
    schemes: tuple[str, ...]
    facts: dict[str, Any]
    """The facts of the network, and its paths under the first scheme."""
    paths: dict[str, list[dict[str, Any]]]
    """The shortest and the longest path of each scheme: message and stream packets differ."""
    estimates: dict[str, costs.Cost]
    """The estimate of each scheme, alone."""
    all: costs.Cost
    """The estimate of all schemes, one after the other, whose results are kept together."""

    def rows(self) -> list[tuple[str, str]]:
        """The facts in words, each with its name."""
        network, over, buffer = (
            self.facts[key] for key in ("network", "oversubscription", "buffer")
        )
        size = (
            f"{_count(self.facts['hosts'], 'host')}, {_count(self.facts['switches'], 'switch')}, "
            f"{_count(self.facts['links'], 'link')}"
        )
        rows = [("network", f"{network}: {size}")]
        for name, paths in _distinct(self.paths):
            label = f" ({name})" if name else ""
            ends = paths[:1] if paths[:1] == paths[1:] else paths
            rows += [
                (f"base RTT{label}", "; ".join(map(_rtt, ends)) or "no traffic"),
                (f"bandwidth-delay{label}", "; ".join(map(_product, ends)) or "no traffic"),
            ]
        rows.append(("oversubscription", _oversubscription(over)))
        if buffer is not None:
            rows.append(("PFC headroom", _headroom(buffer)))
        return [*rows, ("estimate", self._estimate())]

    def _estimate(self) -> str:
        cost = self.all
        return (
            f"{cost.packet_hops:.2g} packet-hops, {cost.time} of a core, {cost.memory} of memory"
            f"{' for all schemes' if len(self.schemes) > 1 else ''}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; units are in the keys."""
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "duration_s": self.scenario.duration_s,
            "schemes": list(self.schemes),
            "network": {key: value for key, value in self.facts.items() if key != "paths"},
            "paths": self.paths,
            "estimate": {
                **_estimate(self.all),
                "schemes": {name: _estimate(cost) for name, cost in self.estimates.items()},
            },
            "warnings": scenarios.warnings(self.scenario, self.schemes),
        }


def check(scenario: Scenario, cc: Sequence[str] | None = None) -> Checked:
    """Finds a scenario fit to run with these schemes, or its own, without running it.

    Raises:
        ScenarioError: It cannot be run.
        ParameterError: A scheme is unknown or named twice, or there is none.
    """
    schemes = scenarios.check_schemes(scenario, cc)
    facts: dict[str, Any] = {name: dict(scenario.facts(name)) for name in schemes}
    return Checked(
        scenario,
        schemes,
        facts[schemes[0]],
        {name: found["paths"] for name, found in facts.items()},
        {name: costs.estimate(scenario, [name]) for name in schemes},
        costs.estimate(scenario, schemes),
    )


def _estimate(cost: costs.Cost) -> dict[str, float]:
    return {
        "packet_hops": cost.packet_hops,
        "core_seconds": cost.seconds,
        "memory_bytes": cost.memory_bytes,
    }


def _distinct(
    paths: dict[str, list[dict[str, Any]]],
) -> list[tuple[str, list[dict[str, Any]]]]:
    """The paths of each scheme, or without a name those that all have."""
    found = list(paths.items())
    same = all(one == found[0][1] for _, one in found)
    return [("", found[0][1])] if same else found


def _rtt(path: dict[str, Any]) -> str:
    return f"{path['base_rtt_us']:.4g} us from {path['from']} to {path['to']}, {path['hops']} links"


def _product(path: dict[str, Any]) -> str:
    return f"{_bytes(path['bdp_bytes'])} at {path['rate_gbps']:g} Gb/s"


def _oversubscription(found: dict[str, Any] | None) -> str:
    if found is None:
        return "none: no links between switches"
    return (
        f"{found['ratio']:.3g}:1 at {found['switch']}, {found['below_gbps']:g} Gb/s below it and "
        f"{found['above_gbps']:g} Gb/s to other switches"
    )


def _headroom(buffer: dict[str, Any]) -> str:
    left = f"{_bytes(buffer['shared_bytes'])} of {_bytes(buffer['total_bytes'])} shared"
    headroom = buffer["headroom"]
    if headroom is None:
        return f"none: no class has PFC; {left}"
    least, most = map(_bytes, headroom["port_bytes"])
    port = least if least == most else f"{least} to {most}"
    return (
        f"{port} for each port and class, {_bytes(headroom['total_bytes'])} at "
        f"{buffer['switch']}; {left}"
    )


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{'' if number == 1 else plural}"


def _bytes(count: int) -> str:
    """An amount of a switch or a path, in three digits; 1 KB is 1,000 B."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
