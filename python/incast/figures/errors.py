"""Errors of figures: apart from the figures, so that nothing imports matplotlib for them."""

from incast._core import IncastError


class FigureError(IncastError):
    """A figure that does not exist, or that there is nothing to draw in."""
