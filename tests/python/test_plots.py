"""The figures: labelled, with units, and with everything in them."""

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib import colors
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import incast
from incast.api.result import Results
from incast.figures import distributions, gallery, latency, sizes
from incast.figures.canvas import save, save_as
from incast.figures.look import Look
from incast.results.seeds import spread
from synthetic import everything, made_up


@pytest.fixture(scope="module")
def figures(result: incast.Result) -> dict[str, Figure]:
    return result.plot()


def lines(figure: Figure) -> list[str]:
    return [str(line.get_label()) for axes in figure.axes for line in axes.get_lines()]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for item in figure.legends for text in item.get_texts()]


def test_each_figure_can_be_had_by_itself(result: incast.Result) -> None:
    for figure in map(result.figure, result.plot()):
        assert isinstance(figure, Figure)


def test_axes_have_labels_with_units(figures: dict[str, Figure]) -> None:
    assert figures["rtt-cdf"].axes[0].get_xlabel() == "RTT (us)"
    assert figures["queue"].axes[0].get_xlabel() == "time (ms)"
    assert figures["queue"].axes[0].get_ylabel().endswith("(KB)")
    assert figures["rates"].axes[-1].get_xlabel() == "time (ms)"
    assert figures["rates"].get_supylabel().endswith("(Gb/s)")
    for figure in figures.values():
        assert figure.get_suptitle()


def test_rtt_cdf_has_every_scheme_and_the_published_points(figures: dict[str, Figure]) -> None:
    labels = legend(figures["rtt-cdf"])
    for scheme in ("timely", "line-rate"):
        assert scheme in labels
        assert f"{scheme}: published mean" in labels
        assert f"{scheme}: published p99" in labels


def test_rtt_cdf_agrees_with_the_summary(result: incast.Result, figures: dict[str, Figure]) -> None:
    for line in figures["rtt-cdf"].axes[0].get_lines():
        scheme = str(line.get_label())
        if scheme not in result.runs:
            continue
        rtt_us, below = line.get_xdata(), line.get_ydata()
        assert below[-1] == pytest.approx(1)
        at_p99 = next(x for x, y in zip(rtt_us, below, strict=True) if y >= 0.99)
        assert at_p99 == pytest.approx(result.runs[scheme].summary["rtt_p99_us"], rel=0.1)


def test_rtt_axis_is_logarithmic_when_schemes_are_far_apart(figures: dict[str, Figure]) -> None:
    assert figures["rtt-cdf"].axes[0].get_xscale() == "log"


def test_queue_has_a_mean_and_a_band_for_every_scheme(figures: dict[str, Figure]) -> None:
    assert lines(figures["queue"]) == ["timely: mean", "line-rate: mean"]
    assert len(figures["queue"].axes[0].collections) == 2


def test_rates_has_a_panel_per_scheme_and_a_line_per_flow(figures: dict[str, Figure]) -> None:
    panels = figures["rates"].axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        "timely: 40 flows",
        "line-rate: 40 flows",
    ]
    for axes in panels:
        (flows,) = axes.collections
        assert len(flows.get_paths()) == 40
        assert len(axes.get_lines()) == 1  # the equal share


def test_schemes_differ_without_colour(figures: dict[str, Figure]) -> None:
    curves = figures["queue"].axes[0].get_lines()
    assert len({str(curve.get_linestyle()) for curve in curves}) == len(curves)
    assert len({colors.to_hex(curve.get_color()) for curve in curves}) == len(curves)


def test_a_stopped_result_says_so_in_its_figures(stopped: incast.Result) -> None:
    for figure in stopped.plot().values():
        assert "incomplete" in figure.get_suptitle()


def test_nothing_run_gives_no_figures(short: incast.Scenario) -> None:
    nothing = incast.Result(short, ("timely",), 1, {})
    assert nothing.plot() == {}
    with pytest.raises(incast.FigureError, match="rtt-cdf: nothing was run"):
        nothing.figure("rtt-cdf")


def test_files_are_written_in_all_formats(result: incast.Result, tmp_path: Path) -> None:
    paths = save_as(result.figure("queue"), tmp_path / "q.1", ["png", "svg"])
    assert [path.name for path in paths] == ["q.1.png", "q.1.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text()


@pytest.mark.parametrize("name", ["queue", "rates", "rtt-cdf"])
def test_a_picture_is_the_same_whether_it_is_laid_out_once_or_when_it_is_drawn(
    result: incast.Result, tmp_path: Path, name: str
) -> None:
    save_as(result.figure(name), tmp_path / "once", ["png"])
    save(result.figure(name), tmp_path / "drawn.png")
    assert (tmp_path / "once.png").read_bytes() == (tmp_path / "drawn.png").read_bytes()


def test_pyplot_is_left_alone() -> None:
    code = "import sys, incast.figures.gallery; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_figure_has_labels_with_units(short: incast.Scenario) -> None:
    results = Results((everything(short, "timely", "dctcp", messages=300),))
    assert gallery.available(results) == list(gallery.DRAWINGS)
    for name in gallery.DRAWINGS:
        figure = gallery.draw(name, results)
        assert figure.get_suptitle().startswith("Ten clients"), name
        for axes in figure.axes:
            said = [axes.get_xlabel(), axes.get_ylabel(), figure.get_supylabel()]
            assert any(said), name
            for text in said:
                if "time" in text or "RTT" in text or "delay" in text:
                    assert text.endswith(("(us)", "(ms)", "(%)")) or "samples" in text, name


def words(figure: Figure) -> list[tuple[str, Bbox]]:
    """The texts of a figure that are seen, with their places."""
    figure.set_dpi(300)  # as it is saved; letters are wider at 100
    figure.canvas.draw()
    outside = set()
    for axes in figure.axes:
        for axis, least, most, at in (
            (axes.xaxis, axes.bbox.x0, axes.bbox.x1, 0),
            (axes.yaxis, axes.bbox.y0, axes.bbox.y1, 1),
        ):
            for label in axis.get_ticklabels() + axis.get_ticklabels(minor=True):
                box = label.get_window_extent()
                middle = (box.min[at] + box.max[at]) / 2
                if not least - 1 <= middle <= most + 1:
                    outside.add(label)
    found = [one for one in figure.findobj(Text) if one.get_visible() and one not in outside]
    boxes = [(one.get_text(), one.get_window_extent()) for one in found if one.get_text().strip()]
    return [(text, box) for text, box in boxes if box.width > 0]


def check_words(name: str, figure: Figure) -> None:
    found, edges = words(figure), figure.bbox
    for text, box in found:
        assert edges.x0 - 2 <= box.x0 < box.x1 <= edges.x1 + 2, (name, text)
        assert edges.y0 - 2 <= box.y0 < box.y1 <= edges.y1 + 2, (name, text)
    for (one, box), (other, beside) in combinations(found, 2):
        common = Bbox.intersection(box.padded(-1), beside.padded(-1))
        # Panels that share an axis have a text twice at the same place.
        same = one == other and np.allclose(box.extents, beside.extents)
        assert same or common is None or 0 in (common.width, common.height), (name, one, other)


@pytest.mark.parametrize("width", ["7in", "3.3in"])
def test_no_words_of_a_figure_overlap_or_leave_it(short: incast.Scenario, width: str) -> None:
    schemes = ("timely:authors-snippet", "integral-timely", "dctcp", "swift", "line-rate")
    results = Results((everything(short, *schemes, messages=300),))
    for name in gallery.DRAWINGS:
        check_words(name, gallery.draw(name, results, look=Look.of(width)))


def test_words_beside_a_narrow_panel_with_keys_stay_apart(short: incast.Scenario) -> None:
    result = incast.run(short.with_set("run.warmup=1ms"), ["timely", "swift"], traces=["flows"])
    check_words("state", result.figure("state", width="3.3in"))


def test_a_distribution_has_no_slope_where_no_bucket_is() -> None:
    # Half of the samples between 1 and 2 us, none up to 5, the others between 5 and 6.
    rows = pl.DataFrame({"low_us": [5.0, 1.0], "high_us": [6.0, 2.0], "count": [7, 7]})
    values, below = distributions.of_histogram(rows)
    assert values.tolist() == [1, 2, 5, 6]
    assert below.tolist() == [0, 0.5, 0.5, 1]


def test_each_traffic_has_a_panel_of_its_own(short: incast.Scenario) -> None:
    # Messages of "small" take 1 to 4 us, those of "large" a hundred times as long.
    small = pl.DataFrame({"traffic": "small", "completion_us": [1.0, 2.0, 3.0, 4.0]})
    large = small.with_columns(pl.lit("large").alias("traffic"), pl.col("completion_us") * 100)
    rows = pl.concat([small, large]).with_columns(posted_us=pl.lit(2000.0))
    parts = rows.with_columns(host_us=pl.lit(0.5), network_us=pl.col("completion_us") - 0.5)
    result = made_up(short, "timely", "dctcp", messages=parts)
    panels = result.figure("fct-cdf").axes
    assert [axes.get_title(loc="left") for axes in panels] == ["traffic small", "traffic large"]
    for axes, factor in zip(panels, (1, 100), strict=True):
        assert [line.get_label() for line in axes.get_lines()] == ["timely", "dctcp"]
        for line in axes.get_lines():
            assert line.get_xdata().tolist() == [factor * us for us in (1, 1, 2, 3, 4)]
    assert legend(result.figure("fct-cdf")) == ["timely", "dctcp"]
    titles = [axes.get_title(loc="left") for axes in result.figure("rpc-latency").axes]
    assert titles == [
        f"traffic {name}: {at}" for name in ("small", "large") for at in ("median", "p99")
    ]


def test_the_equal_share_is_that_of_the_connections_that_stay(short: incast.Scenario) -> None:
    # Two of them, 1 and 3 Gb/s while it is measured (1 to 5 ms), 9 before; all traffic has 9 Gb/s.
    time = [500.0, 2000.0, 4000.0]
    series = pl.DataFrame(
        {"time_us": time * 2, "flow": [0] * 3 + [1] * 3, "goodput_gbps": [9.0, 1, 1, 9, 3, 3]}
    )
    (axes,) = made_up(short, "timely", series_flows=series).figure("rates").axes
    assert [text.get_text() for text in axes.texts][-1] == "equal share\n2 Gb/s"


def test_seeds_are_pooled_in_a_distribution() -> None:
    rows = pl.DataFrame({"low_us": [1.0, 1.0, 2.0], "high_us": [2.0, 2.0, 4.0], "count": [1, 2, 1]})
    values, below = distributions.of_histogram(rows)
    assert values.tolist() == [1, 2, 2, 4]
    assert below.tolist() == [0, 0.75, 0.75, 1]


def test_a_tail_ends_at_the_greatest_value(short: incast.Scenario) -> None:
    rows = pl.DataFrame({"completion_us": [4.0, 1.0, 2.0, 3.0], "posted_us": 2000.0})
    result = made_up(short, "timely", messages=rows)
    (curve,) = result.figure("fct-ccdf").axes[0].get_lines()
    assert curve.get_xdata().tolist() == [1, 1, 2, 3, 4]
    # Above each: 3 of 4, then 2, then 1; at 4 itself, where there is none above, the height stays.
    assert curve.get_ydata().tolist() == [1, 0.75, 0.5, 0.25, 0.25]


def test_many_samples_keep_their_quantiles_and_their_tail() -> None:
    rows = pl.DataFrame({"completion_us": np.arange(1.0, 100_001)})
    values, below = distributions.of_samples(rows)
    assert len(values) < 2500
    assert values[-1] == 100_000
    assert values[-2] == 99_999
    for fraction in (0.01, 0.5, 0.99, 0.9999):
        assert np.interp(fraction, below, values) == pytest.approx(fraction * 1e5, rel=1e-2)


def test_a_density_has_the_area_one(short: incast.Scenario) -> None:
    rows = pl.DataFrame(
        {"low_us": [1.0, 2.0, 40.0], "high_us": [2.0, 3.0, 45.0], "count": [3, 4, 1]}
    )
    result = made_up(short, "timely", delay_histogram=rows)
    (curve,) = result.figure("delay-pdf").axes[0].get_lines()
    x, y = curve.get_xdata(), curve.get_ydata()
    assert float((np.diff(x) * y[:-1]).sum()) == pytest.approx(1)


def test_parts_are_those_of_the_messages_around_the_percentile() -> None:
    # Message n of 1,001 takes n us, a tenth of it in the host: the median is 500, p99 is 990.
    whole = np.arange(1001.0)
    messages = pl.DataFrame(
        {"completion_us": whole, "host_us": whole / 10, "network_us": whole * 0.9}
    ).sample(fraction=1, shuffle=True, seed=1)
    for fraction, at in ((0.5, 500.0), (0.99, 990.0)):
        found = latency.parts(messages, fraction)
        assert found.host == pytest.approx(at / 10)
        assert found.network == pytest.approx(at * 0.9)


def test_parts_of_a_single_message_are_its_own() -> None:
    one = pl.DataFrame({"completion_us": [5.0], "host_us": [2.0], "network_us": [3.0]})
    assert latency.parts(one, 0.99) == latency.Parts(2.0, 3.0)


def test_paused_share_is_that_of_the_links(short: incast.Scenario) -> None:
    links = pl.DataFrame({"link": ["a", "b"], "layer": "leaf", "paused_share": [0.25, 0.75]})
    axes = made_up(short, "timely", links=links).figure("pauses").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [pytest.approx(50)]
    assert [line.get_ydata()[0] for line in axes.get_lines()] == [pytest.approx(75)]


def test_bars_of_several_seeds_have_intervals_and_those_of_one_have_none(
    short: incast.Scenario,
) -> None:
    seeds = [everything(short, "timely", seed=seed, messages=300) for seed in (1, 2, 3)]
    one, three = Results(tuple(seeds[:1])).figure("bars"), Results(tuple(seeds)).figure("bars")
    assert "no confidence intervals" in one.get_suptitle()
    assert "means over 3 seeds, 95 % confidence intervals" in three.get_suptitle()
    assert not one.axes[0].containers[1:]
    values = [result.runs["timely"].summary["throughput_gbps"] for result in seeds]
    expected = spread(values)
    assert expected is not None
    (interval,) = three.axes[0].containers[1].get_children()[-1].get_segments()
    assert expected.half_width is not None
    assert interval[:, 0].tolist() == pytest.approx(
        [expected.mean - expected.half_width, expected.mean + expected.half_width]
    )


@pytest.mark.parametrize(
    ("name", "bands"),
    [
        *((name, 2) for name in ("rtt-cdf", "rtt-ccdf", "delay-pdf", "delay-cdf", "delay-ccdf")),
        *((name, 2) for name in ("fct-cdf", "fct-ccdf", "request-cdf", "queue", "jain")),
        *((name, 4) for name in ("slowdown-by-size", "fct-by-size")),  # median and p99
        ("rates", 2),  # a panel for each scheme, with the flows of a seed
    ],
)
def test_curves_of_several_seeds_have_bands(short: incast.Scenario, name: str, bands: int) -> None:
    seeds = [everything(short, "timely", "dctcp", seed=seed, messages=300) for seed in (1, 2, 3)]
    figure = Results(tuple(seeds)).figure(name)
    assert "bands: from the" in figure.get_suptitle()
    assert {len(axes.collections) for axes in figure.axes} == {bands}
    one = Results(tuple(seeds[:1])).figure(name)
    assert "bands: from the" not in one.get_suptitle()
    # Of `queue` a band reaches to the maximum, `rates` has the flows.
    rest = {"queue": 2, "rates": 1}.get(name, 0)
    assert {len(axes.collections) for axes in one.axes} == {rest}


def test_a_band_reaches_from_the_least_to_the_greatest_of_the_seeds(
    short: incast.Scenario,
) -> None:
    # Two messages under each seed, 1 and 3 us, 2 and 3 us: at 1 us none or half of them is there.
    seeds = [
        made_up(
            short, "timely", seed=seed,
            messages=pl.DataFrame({"completion_us": times, "posted_us": 2000.0}),
        )
        for seed, times in ((1, [1.0, 3.0]), (2, [2.0, 3.0]))
    ]  # fmt: skip
    axes = Results(tuple(seeds)).figure("fct-cdf").axes[0]
    (band,) = axes.collections
    (outline,) = band.get_paths()
    at_one = {y for x, y in outline.vertices.tolist() if x == 1}
    assert at_one == {0.0, 0.5}
    (line,) = axes.get_lines()
    assert line.get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_slowdown_by_size_is_usual_where_there_are_several_sizes(short: incast.Scenario) -> None:
    def usual(sizes: list[int]) -> list[str]:
        fct = pl.DataFrame(
            {
                "traffic": "rpc", "size_from_bytes": sizes, "size_to_bytes": 10**6, "posted": 5,
                "slowdown_p50": 1.0, "slowdown_p99": 2.0,
            }
        )  # fmt: skip
        results = Results((made_up(short, "timely", "dctcp", fct=fct),))
        assert "slowdown-by-size" in gallery.available(results)
        return [*gallery.draw_usual(results)]

    assert usual([1000]) == []
    assert usual([1000, 10_000]) == ["slowdown-by-size"]


@pytest.mark.parametrize(
    ("times", "label", "ticks"),
    [
        ([2e3, 9e3], "completion time (us)", {"0", "2000", "8000"}),
        ([2e5, 9e5], "completion time (ms)", {"0", "200", "800"}),
        ([300.0, 2e6], "completion time (ms)", {"1", "10", "100", "1000"}),
    ],
)
def test_long_times_are_in_milliseconds(
    short: incast.Scenario, times: list[float], label: str, ticks: set[str]
) -> None:
    rows = pl.DataFrame({"completion_us": times, "posted_us": 2000.0})
    figure = made_up(short, "timely", requests=rows).figure("request-cdf")
    figure.canvas.draw()
    (axes,) = figure.axes
    assert axes.get_xlabel() == label
    assert ticks <= {tick.get_text() for tick in axes.get_xticklabels()}


def test_a_case_without_rows_is_named_in_the_legend(short: incast.Scenario) -> None:
    rows = pl.DataFrame({"completion_us": [4.0, 1.0], "posted_us": 2000.0})
    results = Results((made_up(short, "timely", requests=rows), made_up(short, "dctcp")))
    assert "dctcp: none" in legend(results.figure("request-cdf"))


@pytest.mark.parametrize(
    ("name", "tables", "said"),
    [
        ("delay-cdf", {}, "there is no table delay_histogram"),
        ("jain", {"series_jain": {"time_us": [1.0]}}, "has no column jain_index"),
        (
            "request-cdf",
            {"requests": {"completion_us": [None], "posted_us": [2e3]}},
            "has nothing in it",
        ),
        ("rtt-cfd", {}, "no such figure; did you mean rtt-cdf"),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_why(
    short: incast.Scenario, name: str, tables: dict[str, dict[str, list[float | None]]], said: str
) -> None:
    frames = {key: pl.DataFrame(rows) for key, rows in tables.items()}
    with pytest.raises(incast.FigureError, match=said) as error:
        made_up(short, "timely", **frames).figure(name)
    if "no such" not in said:
        assert "of these results there is bars" in str(error.value)


def test_sizes_are_written_with_their_unit() -> None:
    written = [sizes.in_bytes(size) for size in (1, 999, 1e3, 65536, 1e6, 2e9)]
    assert written == ["1 B", "999 B", "1 KB", "65.536 KB", "1 MB", "2 GB"]


def test_each_scenario_shows_its_own_busiest_queue(short: incast.Scenario) -> None:
    def series(port: str, kb: float) -> pl.DataFrame:
        rows = {"time_us": [10.0, 20.0], "queue_mean_kb": kb, "queue_max_kb": kb}
        return pl.DataFrame({"port": port, **rows})

    here = made_up(short, "timely", series_queues=pl.concat([series("a", 1), series("b", 2)]))
    there = made_up(incast.load("tcp-incast"), "cubic", series_queues=series("c", 9))
    assert here.figure("queue").axes[0].get_ylabel() == "queue at b (KB)"
    axes = Results((here, there)).figure("queue").axes[0]
    assert axes.get_ylabel() == "busiest queue (KB)"
    assert [line.get_ydata().max() for line in axes.get_lines()] == [2, 9]


def test_only_what_was_posted_while_measured_is_drawn(short: incast.Scenario) -> None:
    # Measured from 1 ms to 5 ms: the first message came too early, the last too late.
    rows = pl.DataFrame(
        {"completion_us": [9.0, 1.0, 2.0, 8.0], "posted_us": [999.0, 1000.0, 4999.0, 5000.0]}
    )
    (curve,) = made_up(short, "timely", messages=rows).figure("fct-cdf").axes[0].get_lines()
    assert curve.get_xdata().tolist() == [1, 1, 2]


def test_a_bin_stands_between_its_ends() -> None:
    bins = pl.DataFrame(
        {"size_from_bytes": [0, 1000, 10_000], "size_to_bytes": [1000, 10_000, 10**12]}
    )
    # The middle of 1 KB and 10 KB on a logarithmic axis is 1 KB times the root of 10.
    assert sizes.middle(bins).tolist() == pytest.approx([500, 1000 * 10**0.5, 10_000])


@pytest.mark.parametrize("name", ["bars", "rpc-latency"])
def test_long_labels_leave_narrow_panels_their_room(name: str) -> None:
    long = "timely[t_high=300us,beta=0.5]"
    short = ("run.duration=2ms", "run.warmup=200us", "run.cooldown=500us")
    result = incast.run(incast.load("timely-storage").with_set(*short), cc=["timely", long])
    figure = result.figure(name, width="3.3in")
    figure.set_dpi(300)  # as it is saved; letters are wider at 100
    figure.canvas.draw()
    labels = [axes.xaxis.label.get_window_extent() for axes in figure.axes]
    labels = [box for box in labels if box.width > 0]
    assert len(labels) > 1
    for number, box in enumerate(labels):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other) for other in labels[number + 1 :])
    panels = [axes.get_window_extent().width for axes in figure.axes]
    assert min(panels) > figure.bbox.width / 5


@pytest.mark.parametrize("name", ["fct-cdf", "queue", "rates", "slowdown-by-size", "utilisation"])
def test_each_load_has_a_panel_and_a_scheme_looks_the_same_in_all(
    short: incast.Scenario, name: str
) -> None:
    loads = [short.with_set(f"traffic.0.connections={count}") for count in (1, 2)]
    figure = Results(
        tuple(everything(load, "timely", "dctcp", messages=300) for load in loads)
    ).figure(name)
    assert [part.get_suptitle() for part in figure.subfigs] == ["connections=1", "connections=2"]
    panels = [part.axes for part in figure.subfigs]
    looks = [
        [(line.get_color(), str(line.get_linestyle())) for axes in one for line in axes.get_lines()]
        for one in panels
    ]
    assert looks[0] == looks[1]
    for first, second in zip(*panels, strict=True):
        assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())
    assert len(legend(figure)) == len(set(legend(figure)))
    assert not [item for part in figure.subfigs for item in part.legends]


def test_one_scheme_at_several_loads_is_drawn_in_one_panel(short: incast.Scenario) -> None:
    loads = [short.with_set(f"traffic.0.connections={count}") for count in (1, 2)]
    figure = Results(tuple(everything(load, "timely", messages=300) for load in loads)).figure(
        "fct-cdf"
    )
    assert not figure.subfigs
    assert legend(figure) == ["timely, connections=1", "timely, connections=2"]


def test_a_figure_by_size_shows_the_percentile_that_is_asked_for(short: incast.Scenario) -> None:
    result = everything(short, "timely", "dctcp", messages=300)
    axes = result.figure("slowdown-by-size", only="p99").axes[0]
    assert [line.get_label() for line in axes.get_lines()] == ["timely", "dctcp"]
    assert axes.get_ylabel() == "p99 of slowdown"
    both = {line.get_label() for line in result.figure("slowdown-by-size").axes[0].get_lines()}
    assert both == {f"{cc}: {of}" for cc in ("timely", "dctcp") for of in ("p99", "median")}
