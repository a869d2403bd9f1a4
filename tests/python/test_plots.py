"""The figures: labelled, with units, and with everything in them."""

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import colors
from matplotlib.figure import Figure

import incast
from incast import plots


@pytest.fixture(scope="module")
def figures(result: incast.Result) -> dict[str, Figure]:
    return result.plot()


def lines(figure: Figure) -> list[str]:
    return [str(line.get_label()) for axes in figure.axes for line in axes.get_lines()]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for item in figure.legends for text in item.get_texts()]


def test_each_figure_can_be_had_by_itself(result: incast.Result) -> None:
    for figure in (result.plot_rtt_cdf(), result.plot_queue(), result.plot_rates()):
        assert isinstance(figure, Figure)


def test_axes_have_labels_with_units(figures: dict[str, Figure]) -> None:
    assert figures["rtt_cdf"].axes[0].get_xlabel() == "RTT (us)"
    assert figures["queue"].axes[0].get_xlabel() == "time (ms)"
    assert figures["queue"].axes[0].get_ylabel().endswith("(KB)")
    assert figures["rates"].axes[-1].get_xlabel() == "time (ms)"
    assert figures["rates"].get_supylabel().endswith("(Gb/s)")
    for figure in figures.values():
        assert figure.get_suptitle()


def test_rtt_cdf_has_every_scheme_and_the_published_points(figures: dict[str, Figure]) -> None:
    labels = legend(figures["rtt_cdf"])
    for scheme in ("timely", "line-rate"):
        assert scheme in labels
        assert f"{scheme}: published mean" in labels
        assert f"{scheme}: published p99" in labels


def test_rtt_cdf_agrees_with_the_summary(result: incast.Result, figures: dict[str, Figure]) -> None:
    for line in figures["rtt_cdf"].axes[0].get_lines():
        scheme = str(line.get_label())
        if scheme not in result.runs:
            continue
        rtt_us, below = line.get_xdata(), line.get_ydata()
        assert below[-1] == pytest.approx(1)
        at_p99 = next(x for x, y in zip(rtt_us, below, strict=True) if y >= 0.99)
        assert at_p99 == pytest.approx(result.runs[scheme].summary["rtt_p99_us"], rel=0.1)


def test_rtt_axis_is_logarithmic_when_schemes_are_far_apart(figures: dict[str, Figure]) -> None:
    assert figures["rtt_cdf"].axes[0].get_xscale() == "log"


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
        assert len(axes.get_lines()) == 41  # and the equal share


def test_schemes_differ_without_colour(figures: dict[str, Figure]) -> None:
    curves = figures["queue"].axes[0].get_lines()
    assert len({str(curve.get_linestyle()) for curve in curves}) == len(curves)
    assert len({colors.to_hex(curve.get_color()) for curve in curves}) == len(curves)


def test_a_stopped_result_says_so_in_its_figures(stopped: incast.Result) -> None:
    for figure in stopped.plot().values():
        assert "incomplete" in figure.get_suptitle()


def test_no_rows_give_an_empty_figure_that_says_so(short: incast.Scenario) -> None:
    nothing = incast.Result(short, ("timely",), 1, {})
    for figure in nothing.plot().values():
        assert figure.axes[0].texts[0].get_text().startswith("no ")


def test_files_are_written_in_both_formats(result: incast.Result, tmp_path: Path) -> None:
    plots.save(result.plot_queue(), tmp_path / "queue.png")
    plots.save(result.plot_queue(), tmp_path / "queue.svg")
    assert (tmp_path / "queue.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "queue.svg").read_text()


def test_pyplot_is_left_alone() -> None:
    code = "import sys, incast.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
