"""The guides of the page, opened in chromium: every live figure runs, answers, and is reachable."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from browsing import Browser, ended, fits, looks, press, reaches_all, resized, shows, until
from incast import _core
from incast.api import scenarios

ROOT = Path(__file__).parents[2]
GUIDES = {
    path.stem[2:]: re.findall(r'data-live="([\w-]+)"', path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "web/guides").glob("*.html"))
}


def figure(name: str) -> str:
    return f"document.getElementById('{name}')"


def ran(browser: Browser, name: str) -> None:
    """Scrolls to a live figure, and waits until it has run."""
    until(browser, f"!!{figure(name)}")
    browser.execute_script(f"{figure(name)}.scrollIntoView()")
    until(browser, f"{figure(name)}.dataset.state === 'ended'")
    error = f"{figure(name)}.querySelector('.error')"
    assert browser.execute_script(f"return {error}.hidden"), (name, error)


def rows(browser: Browser, name: str) -> dict[str, list[str]]:
    """The table of a live figure: what was measured and what was published, by its lines."""
    found = browser.execute_script(
        f"return [...{figure(name)}.querySelectorAll('tbody tr')].map(row =>"
        " [row.cells[0].textContent, ...[...row.cells].slice(1).map(cell => cell.textContent)])"
    )
    return {label: cells for label, *cells in found}


def native(browser: Browser, name: str, place: int = 0) -> list[dict[str, float | int]]:
    """The summaries of what a link of a live figure opens, run natively."""
    links = browser.execute_script(
        f"return [...{figure(name)}.querySelectorAll('.links a')].map(one => one.hash)"
    )
    state = parse_qs(links[place][1:])
    scenario = scenarios.load(state["s"][0]).with_set(*state.get("set", ()))
    return [_core.run(scenario, scheme, seed=scenario.seed).summary for scheme in state["cc"]]


def test_the_contents_lead_to_every_guide(browser: Browser, address: str) -> None:
    looks(browser)
    shows(browser, address, "#guides")
    until(browser, "document.querySelectorAll('.contents a').length")
    found = browser.execute_script(
        "return [...document.querySelectorAll('.contents a')].map(one => one.hash)"
    )
    assert found == [f"#guide={name}" for name in GUIDES]
    assert len(GUIDES) == 4
    fits(browser, 1280)


@pytest.mark.parametrize("name", GUIDES)
def test_every_figure_of_a_guide_runs_and_fits_any_reader(
    browser: Browser, address: str, name: str
) -> None:
    looks(browser)
    shows(browser, address, f"#guide={name}")
    for one in GUIDES[name]:
        ran(browser, one)
        drawn = browser.execute_script(
            f"return [...{figure(one)}.querySelectorAll('.plot')].map(plot =>"
            " plot.querySelector('canvas')?.width ?? 0)"
        )
        cells = [cell for line in rows(browser, one).values() for cell in line]
        assert drawn or cells, one
        assert all(width > 300 for width in drawn), one
        assert all(re.match(r"[\d.,]+", cell) for cell in cells), (one, cells)
        assert browser.execute_script(f"return {figure(one)}.querySelectorAll('input').length") >= 1
    fits(browser, 1280)
    has_one_colour_for_each_scheme(browser)
    if "table-1" in GUIDES[name]:
        has_table_1(browser)
    if "lossless" in GUIDES[name]:
        has_the_swing_of_pfc_alone(browser)
    labels = "[...document.querySelectorAll('.guide .plot')].map(one => one.ariaLabel)"
    wide = browser.execute_script(f"return {labels}")
    looks(browser, "dark")
    resized(browser, 390)
    fits(browser, 390)
    until(browser, "document.querySelector('.guide .plot canvas').width < 390")
    assert browser.execute_script(f"return {labels}") == wide, "texts are of the data"
    cut = browser.execute_script(
        "return [...document.querySelectorAll('.guide .scroll')]"
        ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"
    )
    assert cut == [], "tables that are wider than their boxes"


# Tells, at each change of a figure, whether it runs and has been drawn.
WATCHED = """
window.moved = [];
new MutationObserver(() => {
  for (const one of document.querySelectorAll(".live"))
    if (one.dataset.state === "running" && one.querySelector("canvas")) window.moved.push(one.id);
}).observe(document, {subtree: true, childList: true, attributes: true});
"""


def test_who_wants_no_motion_sees_a_run_when_it_has_ended(browser: Browser, address: str) -> None:
    source = {"source": WATCHED}
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    for still in (False, True):
        looks(browser, still=still)
        shows(browser, address, "#guide=rtt")
        ran(browser, "rtt-queue")
        moved = browser.execute_script("return window.moved")
        assert ("rtt-queue" in moved) is not still
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def has_one_colour_for_each_scheme(browser: Browser) -> None:
    """The same one in all figures of a guide, and another for another scheme."""
    found = browser.execute_script(
        "return [...document.querySelectorAll('.live tbody th, .live figcaption > span')]"
        ".filter(one => one.querySelector('.key'))"
        ".map(one => [one.textContent, one.querySelector('.key').style.background])"
    )
    assert found
    assert len({label for label, _ in found}) == len({colour for _, colour in found})
    assert len({(label, colour) for label, colour in found}) == len({one for one, _ in found})


def has_the_swing_of_pfc_alone(browser: Browser) -> None:
    """The queue of PFC alone goes from 77 to 2,096 KB and back in two intervals."""
    plot = f"{figure('lossless')}.querySelector('.plot')"
    label = browser.execute_script(f"return {plot}.getAttribute('aria-label')")
    found = re.search(r"PFC alone ([\d.]+) to ([\d,]+)", label)
    assert found, label
    least, greatest = found.groups()
    assert 70 < float(least) < 250
    assert float(greatest.replace(",", "")) == pytest.approx(2096, rel=0.01)


def has_table_1(browser: Browser) -> None:
    """TIMELY's Table 1: what was published, beside what a native run gives."""
    found = rows(browser, "table-1")
    papers = {
        label: [float(cell.split("paper: ")[1].replace(",", "")) for cell in cells]
        for label, cells in found.items()
    }
    assert papers == {
        "TIMELY": [19.4, 61, 116], "PFC alone": [19.5, 658, 1036], "DCTCP": [19.5, 598, 1490],
    }  # fmt: skip
    timely, alone = native(browser, "table-1")
    for label, summary in (("TIMELY", timely), ("PFC alone", alone)):
        for cell, key in zip(found[label], ("throughput_gbps", "rtt_mean_us", "rtt_p99_us"),
                             strict=True):  # fmt: skip
            shown = float(cell.split(" paper")[0].replace(",", ""))
            assert shown == pytest.approx(summary[key], rel=6e-3), (label, key)


def test_a_slider_runs_the_figure_again_and_its_link_opens_that(
    browser: Browser, address: str
) -> None:
    looks(browser)
    shows(browser, address, "#guide=price")
    ran(browser, "tolerated")
    before = rows(browser, "tolerated")
    answer = f"{figure('tolerated')}.querySelector('details')"
    seen = f"return {answer}.querySelector('p').checkVisibility()"
    assert not browser.execute_script(seen), "the answer is folded"
    browser.execute_script(f"{answer}.querySelector('summary').click()")
    assert browser.execute_script(seen)
    slider = f"{figure('tolerated')}.querySelector('input')"
    browser.execute_script(f"{slider}.focus()")
    press(browser, "ArrowLeft", 37)
    until(browser, f"{figure('tolerated')}.dataset.state === 'running'")
    until(browser, f"{figure('tolerated')}.dataset.state === 'ended'")
    assert browser.execute_script(f"return {slider}.getAttribute('aria-valuetext')") == "300"
    after = rows(browser, "tolerated")
    assert after["NewReno"] == before["NewReno"]
    assert after["RTCP"] != before["RTCP"]
    throughputs = [one["throughput_gbps"] for one in native(browser, "tolerated")]
    shown = [float(after[label][0]) for label in ("NewReno", "RTCP")]
    assert shown == [pytest.approx(value, rel=6e-3) for value in throughputs]
    browser.execute_script(f"{figure('tolerated')}.querySelector('.links a').click()")
    ended(browser)
    assert "cc.rtcp.alpha=300" in browser.find_element("id", "changes").text
    assert browser.find_element("id", "command").text.startswith("incast run tcp-incast")


def test_every_control_of_a_guide_is_reached_by_keyboard(browser: Browser, address: str) -> None:
    looks(browser)
    shows(browser, address, "#guide=gradient")
    until(browser, f"!!{figure('rest')}")
    assert reaches_all(browser) > 15
