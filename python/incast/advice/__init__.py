"""Thresholds of switches and algorithms for a network, each with its formula and source."""
