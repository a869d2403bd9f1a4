"""A test bed of network namespaces on this machine: the same scenarios as simulated, on Linux TCP.

`plan` reads what a scenario asks for, `bed` makes and removes the namespaces, `measure` runs one
scheme in them, `report` says what was measured, and what the simulator predicts.
"""
