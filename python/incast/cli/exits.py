"""The exit codes of the command; one that a signal ended is in `incast.base.leaving`."""

FAILED = 1
"""Some runs of a sweep failed."""
UNEQUAL = 1
"""A comparison found a difference."""
USAGE = 2
"""Bad input."""
