"""Traces of a result, as files that other tools open."""
