"""A test bed of network namespaces on this machine, for the scenarios that are simulated.

`plan` reads what a scenario asks for, `carriers` what may carry it here, `bed` makes and removes
the namespaces, `measure` and `udp` run one scheme in them, `ping` probes their queue. `predict`
runs a scheme in the simulator; `report` and `result` say what came of it.
"""
