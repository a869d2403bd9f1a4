"""Tasks on their way to other processes: scenarios, which several tasks share, travel once."""

import hashlib
import io
import pickle
from collections.abc import Mapping
from typing import Any

from incast._core import Scenario


class Packer:
    """Makes parcels, in which scenarios are named by a digest of all that they hold."""

    def __init__(self) -> None:
        self._named: dict[int, tuple[Scenario, str]] = {}
        self._of_name: dict[str, Scenario] = {}

    def pack(self, value: object) -> tuple[bytes, set[str]]:
        """A value as bytes, and the names of the scenarios in it."""
        found: set[str] = set()

        def name(one: object) -> str | None:
            if not isinstance(one, Scenario):
                return None
            found.add(self._name(one))
            return self._name(one)

        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = name  # type: ignore[method-assign]
        pickler.dump(value)
        return stream.getvalue(), found

    def scenario(self, name: str) -> bytes:
        """The scenario of that name: its text, and the files that it names."""
        return pickle.dumps(self._of_name[name])

    def _name(self, one: Scenario) -> str:
        # By identity: it is kept here, so that no other one has its place in memory.
        if id(one) not in self._named:
            digest = hashlib.sha256(pickle.dumps(one)).hexdigest()
            self._named[id(one)] = one, digest
            self._of_name[digest] = one
        return self._named[id(one)][1]


class Unpacker:
    """Opens parcels; keeps the scenarios that came."""

    def __init__(self) -> None:
        self._scenarios: dict[str, Scenario] = {}

    def learn(self, scenarios: Mapping[str, bytes]) -> None:
        """Takes scenarios by their names."""
        for name, text in scenarios.items():
            if name not in self._scenarios:
                self._scenarios[name] = pickle.loads(text)  # noqa: S301 - by the process that waits

    def unpack(self, parcel: bytes) -> Any:  # noqa: ANN401
        """The value of a parcel whose scenarios are known."""
        unpickler = pickle.Unpickler(io.BytesIO(parcel))  # noqa: S301
        unpickler.persistent_load = lambda name: self._scenarios[name]  # type: ignore[method-assign]
        return unpickler.load()
