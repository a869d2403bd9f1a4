"""The exit codes of the command."""

FAILED = 1
"""Some runs of a sweep failed."""
UNEQUAL = 1
"""A comparison found a difference."""
USAGE = 2
"""Bad input."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT."""
TERMINATED = 143
"""SIGTERM: 128 + 15."""
