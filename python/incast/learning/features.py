"""The observation of a monitoring interval: its features by name, in a fixed order."""

from dataclasses import dataclass

from incast import _core
from incast._core import ParameterError
from incast.base.words import nearest


@dataclass(frozen=True)
class Feature:
    """A feature of an observation."""

    name: str
    """The name, which `place`, trees and `info` know it by."""
    unit: str
    """The unit of the measured value; empty of a share."""
    scale: str
    """The quantity that the measured value is divided by, or the change that is made to it."""
    low: float
    """The least value of the feature."""
    high: float
    """The greatest value of the feature."""
    doc: str
    """The definition of the measured value."""


FEATURES = tuple(Feature(*one) for one in _core.observation_features())
"""The features of an observation, in its order."""

_PLACES = {feature.name: place for place, feature in enumerate(FEATURES)}


def place(name: str) -> int:
    """The place of a feature in an observation.

    Raises:
        ParameterError: There is no such feature.

    Example:
        ```python
        from incast.learning import FEATURES, place

        FEATURES[place("rtt_mean")].unit  # us
        ```
    """
    if name not in _PLACES:
        raise ParameterError(f"{name!r}: no feature of an observation; {nearest(name, _PLACES)}")
    return _PLACES[name]
