"""Files of other simulators go in; a run and a comparison come out."""

from pathlib import Path

from steps import as_json, incast, measured

import incast as api

# Two racks of two hosts, as HPCC's simulator and its relatives write them.
links = [
    *(f"{host} {4 + host // 2} 100Gbps 1us 0" for host in range(4)),
    *(f"{tor} 6 100Gbps 1us 0" for tor in (4, 5)),
]
Path("topology.txt").write_text("\n".join([f"7 3 {len(links)}", "4 5 6", *links, ""]))
flows = ["0 3 3 100 500000 2.0", "1 3 3 100 500000 2.0", "2 3 3 100 500000 2.00001"]
Path("flow.txt").write_text("\n".join([str(len(flows)), *flows, ""]))
Path("config.txt").write_text("CC_MODE 3\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n")
said = incast("import", "config.txt", "topology.txt", "flow.txt", "--out", "hpcc.toml")
assert "hpcc.toml" in said, said
scenario = Path("hpcc.toml").read_text()
assert "hpcc:hpcc-simulator" in scenario
incast("scenario", "check", "hpcc.toml")
incast("run", "hpcc.toml", "--out", "here")
messages = api.open_result("here").table("messages")
assert messages.height == 3
# Three times 500 KB at 100 Gb/s, and headers.
last = messages["completed_us"].max() - messages["posted_us"].min()
assert 120 < last < 200, messages

# Its results stand beside ours.
lines = [
    f"0b000{a}01 0b000{b}01 10000 100 500000 {start} {fct} 50000"
    for a, b, start, fct in (
        (0, 3, 2000000000, 110000),
        (1, 3, 2000000000, 125000),
        (2, 3, 2000010000, 128000),
    )
]
Path("fct.txt").write_text("\n".join([*lines, ""]))
incast("import", "fct.txt", "--out", "there.parquet")
there = api.read_foreign("fct.txt")
both = there.join(messages, on=["source", "destination", "bytes"], suffix="_here")
assert both.height == 3
assert (both["completion_us_here"] > 40).all(), both

# A permutation of htsim, on the fat tree that it takes where no file names one.
matrix = [
    "Nodes 16",
    "Connections 8",
    *(f"{i}->{15 - i} id {i + 1} start 0 size 200000" for i in range(8)),
]
Path("some.cm").write_text("\n".join([*matrix, ""]))
incast("import", "some.cm", "--out", "htsim.toml")
incast("run", "htsim.toml", "--cc", "dctcp", "--cc", "timely", "--out", "permutation")
for row in measured("permutation").values():
    assert row["messages"] == 8, row
assert as_json("show", "permutation")
