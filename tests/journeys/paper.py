"""A paper's figures: three schemes over three seeds, as files for a column of 3.3 inches."""

from pathlib import Path

from steps import as_json, check_pdf, incast, measured

assert "tcp-incast" in incast("scenario", "list")
incast("scenario", "copy", "tcp-incast", "mine.toml")
assert "bandwidth-delay" in incast("scenario", "check", "mine.toml")
settings = (
    "--set", "switch.ecn_threshold=96850B",
    "--set", "run.duration=60ms", "--set", "run.warmup=20ms",
)  # fmt: skip
schemes = ("--cc", "newreno", "--cc", "dctcp", "--cc", "swift")
seeds = ("--seed", "1", "--seed", "2", "--seed", "3")
table = incast("run", "mine.toml", *schemes, *settings, *seeds, "--baseline", "newreno")
assert "dctcp" in table
assert "±" in table
assert "%" in table

results = [f"results/mine/seed-{seed}" for seed in (1, 2, 3)]
for directory in results:
    of = measured(directory)
    assert set(of) == {"newreno", "dctcp", "swift"}
    assert all(8 < row["throughput_gbps"] < 10 for row in of.values()), of
    # NewReno fills the queue, DCTCP keeps it at the threshold.
    assert of["newreno"]["rtt_mean_us"] > 3 * of["dctcp"]["rtt_mean_us"]
    assert of["newreno"]["drops"] > 0 == of["dctcp"]["drops"]
    assert 80 < of["dctcp"]["queue_mean_kb"] < 130

said = as_json(
    "plot", *results, "--width", "3.3in", "--no-title", "--format", "pdf", "--out", "figures",
    "--cc", "newreno=NewReno", "--cc", "dctcp=DCTCP", "--cc", "swift=Swift",
)  # fmt: skip
figures = [Path(one) for one in said["written"]]
assert len(figures) >= 4, figures
assert {"rtt-cdf.pdf", "queue.pdf", "bars.pdf"} <= {one.name for one in figures}
for figure in figures:
    check_pdf(figure, 3.3)
assert said["remarks"], "nothing for the captions"

# The numbers of the text, as means with intervals, and what they are.
assert "queue_mean_kb" in incast("tables")
assert "±" in incast("show", *results)
said = as_json("show", *results, "--baseline", "newreno")
[difference] = [one for one in said["differences"] if one["scheme"] == "dctcp"]
low, high = (difference["values"]["rtt_mean_us"][key] for key in ("low", "high"))
assert low < high < 0, difference
