"""A class on TIMELY: the algorithm, its incast, a parameter, a flow, and Table 1 of the paper."""

from pathlib import Path

from steps import as_json, check_png, incast, measured

about = incast("algorithms", "timely")
assert "t_low" in about
assert "SIGCOMM 2015" in about
assert "gradient" in incast("docs", "timely")

short = ("--set", "run.duration=200ms", "--set", "run.warmup=100ms")
table = incast("run", "incast", *short)
assert "(61)" in table, "the published mean RTT stands beside the measured one"
rows = measured("results/incast")
assert 18 < rows["timely"]["throughput_gbps"] < 20
assert 40 < rows["timely"]["rtt_mean_us"] < 100
assert rows["line-rate"]["rtt_mean_us"] > 5 * rows["timely"]["rtt_mean_us"]
assert rows["line-rate"]["pfc_pauses"] > 0

# One parameter: a higher T_high allows longer RTTs.
variants = [f"timely[t_high={value}]" for value in ("60us", "1ms")]
incast(
    "run",
    "incast",
    *short,
    *(part for one in variants for part in ("--cc", one)),
    "--out",
    "t-high",
)
rtts = [row["rtt_mean_us"] for row in measured("t-high").values()]
assert len(rtts) == 2
assert rtts[0] < rtts[1], rtts

# One flow over time.
incast("run", "incast", "--cc", "timely", *short, "--trace", "flows", "--out", "one")
incast("plot", "one", "--figure", "state", "--flow", "0", "--out", "drawn")
check_png(Path("drawn/state.png"))

# The paper's table: the quick form has one seed, which keeps or misses the bounds of each claim.
said = as_json("reproduce", "timely/table-1", "--quick", "--out", "report")
text = str(said)
assert "keeps the bounds" in text, text
assert "Table 1" in Path("report/index.html").read_text(encoding="utf-8")
report = Path("report/timely/table-1/index.html").read_text(encoding="utf-8")
assert "keeps the bounds" in report
