"""A test bed of network namespaces on this machine, for the scenarios that are simulated.

`plan` reads what a scenario asks for, `carriers` what may carry it here, `bed` makes and removes
the namespaces, `measure` and `udp` run one scheme in them, `predict` in the simulator, `report` and
`result` say what came of it.
"""
