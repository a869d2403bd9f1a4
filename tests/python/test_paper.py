"""Figures for papers: fonts, width, titles that are true, labels, style sheets, nothing empty."""

import contextlib
import json
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

import incast
from conftest import Command
from incast.api.result import Results
from incast.figures import gallery
from incast.figures.look import Look
from incast.results.titles import title
from synthetic import everything, made_up


@pytest.fixture(scope="module")
def written(result: incast.Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(result.write(tmp_path_factory.mktemp("results") / "incast", figures=False).directory)


@pytest.fixture(scope="module")
def several(short: incast.Scenario) -> Results:
    """Every table, of two seeds and schemes with names of some length."""
    schemes = ("timely", "dctcp:rfc8257", "integral-timely", "hpcc:sigcomm19")
    return Results(tuple(everything(short, *schemes, seed=seed, messages=300) for seed in (1, 2)))


def objects(pdf: bytes) -> bytes:
    """A PDF with its streams unpacked, as far as they are packed."""
    parts = [pdf]
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, flags=re.DOTALL):
        with contextlib.suppress(zlib.error):
            parts.append(zlib.decompress(packed))
    return b"\n".join(parts)


@pytest.mark.parametrize("figure", ["rtt-cdf", "rtt-ccdf", "rates", "bars"])
def test_fonts_of_a_pdf_are_truetype(command: Command, written: str, figure: str) -> None:
    assert command("plot", written, "--figure", figure, "--format", "pdf").code == 0
    found = objects(Path(f"figures/{figure}.pdf").read_bytes())
    assert b"/FontFile2" in found
    assert b"/CIDFontType2" in found or b"/TrueType" in found
    assert b"/Type3" not in found


def test_fonts_are_the_same_from_python(result: incast.Result, tmp_path: Path) -> None:
    result.figure("queue", width="3.3in").savefig(tmp_path / "queue.pdf")
    assert b"/Type3" not in objects((tmp_path / "queue.pdf").read_bytes())
    result.figure("queue", width="3.3in").savefig(tmp_path / "queue.png")
    width = int.from_bytes((tmp_path / "queue.png").read_bytes()[16:20], "big")
    assert width == pytest.approx(3.3 * 300, abs=1)


def test_text_of_an_svg_is_text(command: Command, written: str) -> None:
    command("plot", written, "--figure", "rtt-cdf", "--format", "svg")
    assert re.search(r"<text[^>]*>RTT \(us\)</text>", Path("figures/rtt-cdf.svg").read_text())


@pytest.mark.parametrize(
    ("width", "points"),
    [("3.3in", 237.6), ("8.4cm", 238.11), ("84mm", 238.11), (None, 504.0), ("7in", 504.0)],
)
def test_a_page_is_as_wide_as_asked(
    command: Command, written: str, width: str | None, points: float
) -> None:
    asked = ("--width", width) if width else ()
    command("plot", written, "--figure", "queue", "--format", "pdf", *asked)
    box = re.search(
        rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", Path("figures/queue.pdf").read_bytes()
    )
    assert box
    assert float(box[1]) == pytest.approx(points, abs=0.1)
    assert float(box[2]) < 0.9 * points


@pytest.mark.parametrize("width", ["3.3", "3.3ft", "wide", "0.5in", "900in", "-3in", "nanin"])
def test_no_width_is_refused(command: Command, written: str, width: str) -> None:
    error = command("plot", written, f"--width={width}").error
    assert f"width {width}: expected a length such as 3.3in, 8.4cm or 84mm" in error
    assert not Path("figures").exists()


def test_inches_may_be_a_number_in_python(result: incast.Result) -> None:
    assert result.figure("queue", width=3.3).get_figwidth() == pytest.approx(3.3)
    with pytest.raises(incast.FigureError, match=r"width 0\.2: expected"):
        result.figure("queue", width=0.2)


def boxes(texts: Sequence[Artist], figure: Figure) -> list[Bbox]:
    return [text.get_window_extent() for text in texts if text.figure is figure]


@pytest.mark.parametrize("name", gallery.DRAWINGS)
@pytest.mark.parametrize("width", ["3.3in", "7in"])
def test_nothing_overlaps_or_is_cut_off(several: Results, name: str, width: str) -> None:
    figure = several.figure(name, width=width)
    figure.canvas.draw()
    page = figure.bbox.padded(2)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [
                tick.label1
                for tick in axis.get_major_ticks()
                if tick.label1.get_visible()
                and tick.label1.get_text()
                and low <= tick.get_loc() <= high
                and tick.label1.get_rotation() == 0
            ]
            found = boxes(ticks, figure)
            assert not [one for one, other in pairwise(found) if one.overlaps(other)], name
        for box in boxes([axes.xaxis.label, axes.yaxis.label], figure):
            assert page.contains(box.x0, box.y0), (name, box)
            assert page.contains(box.x1, box.y1), (name, box)
        # A panel has room beside what is written around it.
        assert axes.get_window_extent().height > 0.08 * figure.bbox.height
        assert axes.get_window_extent().width > 0.3 * figure.bbox.width / 2
    for text in figure.findobj(lambda one: one is getattr(figure, "_suptitle", None)):
        (box,) = boxes([text], figure)
        assert page.contains(box.x0, box.y0)
        assert page.contains(box.x1, box.y1)


def test_without_a_title_its_remarks_are_for_the_caption(
    command: Command, several: Results
) -> None:
    plain = several.figure("rtt-cdf", title=False)
    assert plain.get_suptitle() == ""
    assert plain.get_label() == "bands: from the least to the greatest of the seeds"
    for number, one in enumerate(several.members):
        one.write(f"seed-{number}", figures=False)
    done = command(
        "plot", "seed-0", "seed-1", "--no-title", "--figure", "queue", "--figure", "jain"
    )
    assert "note: for the caption of queue: bands: from the" in done.err
    assert "note: for the caption of jain: bands: from the" in done.err
    read = json.loads(command("plot", "seed-0", "--no-title", "--figure", "bars", "--json").out)
    assert read["remarks"] == {"bars": "one seed each: no confidence intervals"}


@pytest.mark.parametrize(
    ("text", "schemes", "said"),
    [
        ("Ten into one: TIMELY against PFC alone", ("timely", "line-rate"), None),
        ("Ten into one: TIMELY against PFC alone", ("line-rate", "timely"), None),
        ("Ten into one: TIMELY against PFC alone", ("timely",), "Ten into one: timely"),
        ("Ten into one: TIMELY against PFC alone", ("hpcc", "swift"), "Ten into one: hpcc, swift"),
        ("A parking lot: a flow over three links", ("hpcc",), None),
        ("DCTCP in our cluster", ("hpcc",), "incast: hpcc"),
        ("TIMELY, ten into one: its rates", ("hpcc",), "incast: hpcc"),
        ("Ten into one: TIMELY against PFC alone", (), None),  # nothing was run
    ],
)
def test_a_title_names_no_scheme_that_was_not_run(
    short: incast.Scenario, text: str, schemes: tuple[str, ...], said: str | None
) -> None:
    titled = incast.Scenario.parse(
        re.sub(r"^title = .*$", f'title = "{text}"', short.toml(), flags=re.MULTILINE),
        "incast.toml",
    )
    assert title(titled, schemes) == (said or text)


def test_titles_of_figures_and_tables_are_true(command: Command, short: incast.Scenario) -> None:
    arguments = ("--set", "run.duration=3ms", "--set", "run.warmup=1ms", "--cc", "swift")
    done = command("run", "incast", *arguments, "--out", "out")
    assert done.out.startswith("Ten clients send into one server: swift (seed 1)\n")
    again = incast.Result.read("out")
    assert again.title == "Ten clients send into one server: swift"
    assert again.figure("queue").get_suptitle() == again.title
    both = made_up(short, "timely", "line-rate")
    assert both.title == short.title


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


def test_schemes_have_the_labels_and_the_order_that_are_asked_for(several: Results) -> None:
    wanted = {"hpcc:sigcomm19": "HPCC", "timely": "TIMELY"}
    figure = several.figure("fct-cdf", schemes=wanted)
    assert labels(figure) == ["HPCC", "TIMELY"]
    assert figure.get_suptitle().startswith("Ten clients send into one server: HPCC, TIMELY (2 se")
    ordered = several.of_schemes(["dctcp:rfc8257", "timely=TIMELY"])
    assert [case.label for case in ordered.cases] == ["dctcp:rfc8257", "TIMELY"]
    bars = several.figure("bars", "timely", schemes=["hpcc:sigcomm19=HPCC", "timely=TIMELY"])
    assert [text.get_text() for text in bars.axes[0].get_yticklabels()] == ["HPCC"]


def test_labels_of_several_scenarios(short: incast.Scenario) -> None:
    other = incast.load("tcp-incast")
    results = Results((made_up(short, "timely", "dctcp"), made_up(other, "dctcp")))
    both = results.of_schemes(["dctcp=DCTCP"])
    assert [case.label for case in both.cases] == ["DCTCP, incast", "DCTCP, tcp-incast"]
    named = results.of_schemes({"dctcp, tcp-incast": "drop-tail", "timely, incast": "PFC"})
    assert [case.label for case in named.cases] == ["drop-tail", "PFC"]
    assert named.title == "incast and tcp-incast"
    one = results.of_schemes({"dctcp, tcp-incast": "drop-tail"})
    assert one.title == "Ten TCP senders into one receiver: dctcp"
    assert one.summary.height == results.summary.height


@pytest.mark.parametrize(
    ("schemes", "said"),
    [
        (("tmely=TIMELY",), "tmely: none of the schemes; did you mean timely?"),
        (("timely", "timely=T"), "timely: named twice"),
        (("timely=T", "line-rate=T"), "line-rate=T: expected a label that no other scheme has"),
        (("timely=",), "timely=: expected a label"),
    ],
)
def test_labels_that_do_not_fit_are_refused(
    command: Command, written: str, schemes: tuple[str, ...], said: str
) -> None:
    arguments = [word for one in schemes for word in ("--cc", one)]
    assert said in command("plot", written, *arguments).error
    assert not Path("figures").exists()


def test_a_style_sheet_comes_on_top(command: Command, written: str, result: incast.Result) -> None:
    Path("mine.mplstyle").write_text(
        "figure.figsize: 3.5, 2\nfont.size: 6\naxes.prop_cycle: cycler('color', ['k', 'r'])\n"
    )
    figure = result.figure("queue", style="mine.mplstyle")
    assert figure.get_figwidth() == pytest.approx(3.5)
    assert [line.get_color() for line in figure.axes[0].get_lines()] == ["k", "r"]
    assert figure.axes[0].xaxis.label.get_fontsize() == 6
    assert Look.of("5cm", style="mine.mplstyle").width == pytest.approx(5 / 2.54)
    assert result.figure("queue", style="grayscale").axes[0].get_lines()[0].get_color() == "0.00"
    assert command("plot", written, "--style", "mine.mplstyle", "--figure", "queue").code == 0
    # Nothing is left behind for the next figure.
    assert result.figure("queue").axes[0].xaxis.label.get_fontsize() == 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("font.sise: 3\n", "Bad key font.sise in file bad.mplstyle, line 1"),
        ("font.size: big\n", "style bad.mplstyle: Key font.size: Could not convert 'big' to float"),
        ("font.size\n", "Missing colon in file 'bad.mplstyle', line 1"),
    ],
)
def test_a_bad_style_sheet_is_refused(command: Command, written: str, text: str, said: str) -> None:
    Path("bad.mplstyle").write_text(text)
    assert said in command("plot", written, "--style", "bad.mplstyle").error


def test_a_missing_style_sheet_is_refused(command: Command, written: str) -> None:
    said = command("plot", written, "--style", "none.mplstyle").error
    assert "style none.mplstyle: neither a file nor a style sheet of matplotlib" in said


def without(short: incast.Scenario, table: str, column: str) -> incast.Result:
    """A result with every table, of which one column is zero."""
    of = everything(short, "timely", messages=300).runs["timely"].tables
    tables = {one.name: one.frame() for one in of}  # type: ignore[union-attr]
    tables[table] = tables[table].with_columns(pl.lit(0.0).alias(column))
    return made_up(short, "timely", **tables)


@pytest.mark.parametrize(
    ("name", "table", "column", "why"),
    [
        ("pauses", "links", "paused_share", "PFC paused no link"),
        ("queue", "series_queues", "queue_max_kb", "no packet waited at any port"),
    ],
)
def test_a_figure_with_nothing_in_it_is_not_made(
    short: incast.Scenario, command: Command, name: str, table: str, column: str, why: str
) -> None:
    result = without(short, table, column)
    with pytest.raises(incast.FigureError, match=f"{name}: {why}"):
        result.figure(name)
    assert name not in result.plot()
    result.write("out", figures=False)
    done = command("plot", "out", "--out", "drawn")
    assert done.code == 0
    assert not Path(f"drawn/{name}.png").exists()
    assert f"note: not drawn: {name}: {why}\n" in done.err
    assert f"{name}: {why}" in command("plot", "out", "--figure", name).error


def test_a_point_is_drawn_only_if_it_is_named(short: incast.Scenario, command: Command) -> None:
    result = without(short, "links", "paused_share")
    one_bin = result.table("fct").drop("scheme").filter(pl.col("posted") > 0).head(1)
    tables = {name: result.table(name).drop("scheme") for name in result.tables}
    made_up(short, "timely", **{**tables, "fct": one_bin}).write("out", figures=False)
    said = "note: not drawn: slowdown-by-size, fct-by-size: messages of one size make a point"
    assert said in command("plot", "out").err
    assert command("plot", "out", "--figure", "fct-by-size").code == 0


@pytest.mark.parametrize("name", ["utilisation", "pauses", "rpc-latency"])
def test_bars_of_several_seeds_have_whiskers(several: Results, name: str) -> None:
    note = "whiskers: from the least to the greatest of the seeds"
    figure = several.figure(name)
    assert note in str(figure.get_label())
    assert any(axes.collections for axes in figure.axes)
    one = Results((several.members[0],)).figure(name)
    assert note not in str(one.get_label())
    assert not any(axes.collections for axes in one.axes)


def test_whiskers_are_at_the_bar_of_their_layer(short: incast.Scenario) -> None:
    def links(up: float, down: float) -> pl.DataFrame:
        return pl.DataFrame({"layer": ["a->b", "b->a"], "utilisation": [up, down]})

    seeds = [
        made_up(short, "timely", seed=seed, links=links(*both))
        for seed, both in ((1, (0.2, 0.6)), (2, (0.4, 0.9)))
    ]
    (axes,) = Results(tuple(seeds)).figure("utilisation").axes
    segments = [one.get_segments()[0].tolist() for one in axes.collections]
    assert segments == [[[0, pytest.approx(20)], [0, pytest.approx(40)]],
                        [[1, pytest.approx(60)], [1, pytest.approx(90)]]]  # fmt: skip
