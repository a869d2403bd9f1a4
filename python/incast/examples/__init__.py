"""Algorithms in Python, to read, to run and to begin one of your own with."""
