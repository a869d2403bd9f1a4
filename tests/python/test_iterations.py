"""Iterations of a collective: a line for each scheme says how long they took and who was last."""

import io

import polars as pl
import pytest
from rich.console import Console

import incast
from incast.results import iterations
from incast.terminal import report
from synthetic import made_up


def rows(*took: float | None) -> pl.DataFrame:
    """Iterations that began while measured; the last host is called after the iteration."""
    table = pl.DataFrame({"duration_us": took}, schema={"duration_us": pl.Float64})
    known = pl.col("duration_us").is_not_null()
    return table.with_row_index("iteration").with_columns(
        traffic=pl.lit("training"),
        start_us=pl.lit(2000.0),
        finished=known.cast(pl.UInt64),
        elapsed_us=pl.when(~known).then(3000.0),
        last_host=pl.format("h{}", "iteration"),
        after_median_us=pl.when(known).then(300.0),
    )


def line(result: incast.Result) -> str:
    out = Console(width=140, record=True, file=io.StringIO())
    report.print_comparison(out, result)
    (found,) = (one for one in out.export_text().splitlines() if one.startswith("iterations"))
    return found


@pytest.mark.parametrize(
    ("took", "said"),
    [
        ((4000, 4900, 500), "3, p50 4.00 ms, max 4.90 ms, last host h1 (+300 us after the median)"),
        (
            (4900, 4000, None),
            (
                "2 of 3, p50 4.90 ms, max ≥ 4.90 ms; of the longest that ended, last host h0 "
                "(+300 us after the median)"
            ),
        ),
        ((None,), "0 of 1, p50 ≥ 3.00 ms, max ≥ 3.00 ms"),
    ],
)
def test_a_line_says_how_long_they_took(
    short: incast.Scenario, took: tuple[float | None, ...], said: str
) -> None:
    result = made_up(short, "timely", iterations=rows(*took))
    assert line(result) == f"iterations  training, timely: {said}"


def test_iterations_before_the_measurement_do_not_count(short: incast.Scenario) -> None:
    early = rows(4000, 9000).with_columns(start_us=pl.Series([2000.0, 0.0]))
    (row,) = iterations.by_traffic(early.with_columns(scheme=pl.lit("x")), short).to_dicts()
    assert (row["begun"], row["max_us"]) == (1, 4000)


def test_a_run_of_a_collective_says_its_iterations(short: incast.Scenario) -> None:
    text = short.toml() + (
        '[[traffic]]\nname = "training"\nkind = "collective"\nfrom = "client"\n'
        'collective = "ring-all-reduce"\nsize = "10KB"\nrounds = 2\nstart = "2ms"\n'
    )
    result = incast.run(incast.Scenario.parse(text, "ring.toml"), "timely")
    assert result.table("iterations")["finished"].to_list() == [1, 1]
    assert line(result).startswith("iterations  training, timely: 2, p50 ")
