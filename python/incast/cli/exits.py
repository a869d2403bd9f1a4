"""The exit codes of the command."""

USAGE = 2
"""Bad input."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT."""
