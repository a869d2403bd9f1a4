"""The simulator in a page, opened in chromium: results, mistakes, links, keyboard, looks."""

import base64
import io
import json
import re
import shlex
import socket
import time
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import polars
import pytest

import incast
from browsing import Browser, choose, ended, fits, link, looks, reaches_all, shows, until
from conftest import Command
from incast import _core
from incast.api import scenarios
from incast.base import links
from incast.cli import page
from test_inputs import FLOWS, SCENARIO, SIZES, TOPOLOGY

ROOT = Path(__file__).parents[2]
# Short runs of scenarios that ship: rates, windows, several schemes, large networks, messages.
RUNS = {
    "incast": (["timely", "line-rate"], ["run.duration=30ms", "run.warmup=10ms"]),
    "tcp-incast": (["newreno", "cubic"], []),
    "fat-tree-web-search": (
        ["hpcc"],
        ["run.duration=1ms", "run.warmup=300us", "run.cooldown=100us"],
    ),
    "timely-storage": (["timely"], ["run.duration=4ms", "run.warmup=1ms", "run.cooldown=1ms"]),
    "parking-lot": (["dctcp"], []),
}


CAPTIONS = "[...document.querySelectorAll('#charts figcaption')].map(one => one.textContent)"

# Saves the table of a number, where the page itself would hand it to the user.
SAVE = """
const [number, format, done] = arguments;
const made = URL.createObjectURL;
URL.createObjectURL = blob => {
  // The script of a worker is none of the tables.
  if (blob.type === "text/javascript") return made(blob);
  URL.createObjectURL = made;
  blob.arrayBuffer().then(bytes => {
    let text = "";
    for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
    done(btoa(text));
  });
  return "data:,";
};
const table = document.getElementById("table-name");
table.value = String(number);
table.dispatchEvent(new Event("change"));
document.getElementById("table-" + format).click();
"""


def saved(browser: Browser, number: int, format: str) -> io.BytesIO:  # noqa: A002
    text = browser.execute_async_script(SAVE, number, format)
    return io.BytesIO(base64.b64decode(text))


@pytest.mark.parametrize("name", RUNS)
def test_every_table_is_that_of_a_native_run_to_the_last_bit(
    browser: Browser, address: str, name: str
) -> None:
    schemes, changes = RUNS[name]
    shows(browser, address, link(name, schemes, changes, seed=7))
    ended(browser)
    slowdowns = f"{CAPTIONS}.filter(one => one.startsWith('Slowdown by size of message'))"
    if name in {"fat-tree-web-search", "timely-storage"}:
        until(browser, f"{slowdowns}.length")
    else:
        assert browser.execute_script(f"return {slowdowns}") == []
    for place, scheme in enumerate(schemes):
        if len(schemes) > 1:
            choose(browser, "table-scheme", str(place))
        run = _core.run(scenarios.load(name).with_set(*changes), scheme, seed=7)
        for number, table in enumerate(run.tables):
            found = polars.read_ipc(saved(browser, number, "arrow"))
            expected: Any = table
            assert found.equals(polars.DataFrame(expected)), (scheme, table.name)


def test_tables_are_saved_as_parquet_too(browser: Browser, address: str) -> None:
    """Values, types and missing values are those of `incast run`; so are units and meanings."""
    changes = ["run.duration=1ms", "run.warmup=300us", "run.cooldown=100us"]
    shows(browser, address, link("fat-tree-web-search", ["hpcc"], changes, seed=7))
    ended(browser)
    run = _core.run(scenarios.load("fat-tree-web-search").with_set(*changes), "hpcc", seed=7)
    types = set()
    for number, table in enumerate(run.tables):
        file = saved(browser, number, "parquet")
        expected: Any = table
        native = polars.DataFrame(expected)
        found = polars.read_parquet(file)
        assert found.schema == native.cast({polars.Categorical: polars.String}).schema, table.name
        assert found.equals(native.cast({polars.Categorical: polars.String})), table.name
        types |= set(found.dtypes)
        meaning = json.loads(polars.read_parquet_metadata(file)["incast"])
        assert meaning == table.info
    assert types == {polars.Float64, polars.UInt64, polars.String}


def test_the_first_figure_is_there_at_once(browser: Browser, address: str) -> None:
    """Within 2 s on a machine with nothing else to do (docs/guide/page.md); here others work."""
    shows(browser, address, "")
    milliseconds = float(until(browser, "document.body.dataset.first"))
    assert milliseconds < 20_000


def test_a_run_is_paused_goes_on_and_is_looked_back_at(browser: Browser, address: str) -> None:
    shows(browser, address, link("incast", ["timely"], ["run.duration=200ms", "run.warmup=5ms"]))
    ended(browser)
    choose(browser, "pace", "30")
    browser.find_element("id", "run").click()
    until(browser, "Number(document.getElementById('time').value) > 3")
    browser.find_element("id", "pause").click()
    until(browser, "document.getElementById('message').textContent === 'Paused.'")
    time.sleep(0.2)
    before = browser.find_element("id", "moment").text
    time.sleep(0.5)
    assert browser.find_element("id", "moment").text == before
    browser.find_element("id", "pause").click()
    choose(browser, "pace", "0")
    ended(browser)
    assert browser.find_element("id", "moment").text == "200 ms of 200 ms"
    browser.execute_script(
        "const time = document.getElementById('time'); time.value = 100;"
        "time.dispatchEvent(new Event('input'))"
    )
    until(browser, "document.getElementById('moment').textContent === '50 ms of 200 ms'")


BROKEN = {
    "a name": ('duration = "1s"', 'duraton = "1s"'),
    "a quantity": ('rate = "20Gbps"', 'rate = "20Gbq"'),
    "TOML": ("[run]", "[run"),
    "a host": ('to = "server"', 'to = "sever"'),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_gets_the_sentence_of_the_command_line(
    browser: Browser,
    address: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    text = (ROOT / "scenarios/incast.toml").read_text(encoding="utf-8").replace(*BROKEN[what])
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text, encoding="utf-8")
    done = command("run", "mine.toml")
    assert done.code == 2
    shows(browser, address, "#" + links.fragment("mine", text=text))
    said = until(browser, "!document.getElementById('error').hidden && "
                 "document.getElementById('error').textContent")  # fmt: skip
    assert f"error: {said}" == done.err.strip()
    line = re.match(r"mine\.toml:(\d+):", said)
    assert line, said
    # The editor marks it at its place.
    until(browser, "document.querySelector('.cm-lintRange-error')")


def test_a_wrong_change_gets_the_sentence_of_the_command_line(
    browser: Browser, address: str, command: Command
) -> None:
    shows(browser, address, link("incast", [], ["run.duration=1sec"]))
    done = command("run", "incast", "--set", "run.duration=1sec")
    said = until(browser, "!document.getElementById('error').hidden && "
                 "document.getElementById('error').textContent")  # fmt: skip
    assert f"error: --set {said}" == done.err.strip()


def sets(browser: Browser, assignment: str) -> None:
    browser.execute_script(
        "document.getElementById('assignment').value = arguments[0];"
        "document.querySelector('#assign button').click()",
        assignment,
    )


WARNINGS = "[...document.querySelectorAll('#warnings li')].map(one => one.textContent)"


def controls(browser: Browser, key: str, value: str) -> None:
    """Writes a value into the field of a control."""
    browser.execute_script(
        "const label = [...document.querySelectorAll('.control label')]"
        ".find(one => one.lastChild.textContent === arguments[0]);"
        "const field = document.getElementById(label.htmlFor); field.value = arguments[1];"
        "field.dispatchEvent(new Event('change'))",
        key,
        value,
    )


def test_a_wrong_value_is_said_at_its_field_and_not_kept(browser: Browser, address: str) -> None:
    shows(browser, address, link("incast", ["timely"], ["run.duration=20ms", "run.warmup=5ms"]))
    ended(browser)
    kept = browser.current_url
    sets(browser, "run.duration=1sec")
    said = until(browser, "!document.getElementById('assign-error').hidden && "
                 "document.getElementById('assign-error').textContent")  # fmt: skip
    assert '"1sec" has the wrong unit' in said
    # No other change is blamed.
    assert said.startswith("run.duration=1sec: ")
    assert said.endswith("run.duration stays 20ms.")
    sets(browser, "run.duraton=1ms")
    until(browser, "document.getElementById('assign-error').textContent.includes('duraton')")
    said = browser.find_element("id", "assign-error").text
    assert said.endswith('did you mean "duration"? run.duraton stays as it is.')
    assert browser.current_url == kept
    drawn = "document.querySelectorAll('#charts canvas, #networks canvas').length"
    assert browser.execute_script(f"return {drawn}") > 4
    # A value that is right, and for which the command line has a warning.
    sets(browser, "switch.pfc.enabled=false")
    until(browser, "location.hash.includes('enabled%3Dfalse')")
    ended(browser)
    scenario = scenarios.load("incast").with_set(
        "run.duration=20ms", "run.warmup=5ms", "switch.pfc.enabled=false"
    )
    first, *_ = scenarios.warnings(scenario, ["timely"])
    assert first in browser.execute_script(f"return {WARNINGS}")
    assert browser.execute_script("return document.querySelector('#warnings li').checkVisibility()")
    # A control, and the field of the seed, do as that one does.
    kept, command = browser.current_url, browser.find_element("id", "command").text
    controls(browser, "traffic.0.start_spread", "1sec")
    wrong = "document.querySelector('.control .error:not([hidden])')"
    said = until(browser, f"{wrong}?.textContent")
    assert said.startswith('traffic.0.start_spread=1sec: "1sec" has the wrong unit')
    assert said.endswith("traffic.0.start_spread stays 100us.")
    field = f"{wrong}.parentElement.querySelector('[aria-invalid=true]')"
    assert browser.execute_script(f"return {field}.getAttribute('aria-describedby')"
                                  f" === {wrong}.id")  # fmt: skip
    choose(browser, "seed", "many")
    said = until(browser, "document.getElementById('seed-error').textContent")
    assert said.startswith('seed "many": expected a whole number from 0 to')
    assert said.endswith("The seed stays 1.")
    assert browser.execute_script("return document.getElementById('error').hidden")
    assert browser.execute_script(f"return {drawn}") > 4
    assert browser.find_element("id", "run").is_enabled()
    assert browser.current_url == kept
    assert browser.find_element("id", "command").text == command
    controls(browser, "traffic.0.start_spread", "1ms")
    until(browser, "location.hash.includes('start_spread%3D1ms')")
    until(browser, f"{wrong} === null && document.getElementById('seed-error').hidden")
    ended(browser)
    # A scenario that is refused leaves nothing of the one before.
    choose(browser, "scenario", "fat-tree-1024")
    until(browser, "!document.getElementById('error').hidden")
    left = "document.querySelectorAll('figure, #summary td, #tables td').length"
    assert browser.execute_script(f"return {left}") == 0
    assert not browser.find_element("id", "run").is_enabled()


# Runs that are doubted: not at rest, not finished, and a class that PFC protects and that drops.
DOUBTED = {
    "has not come to rest": (
        "incast",
        ["timely", "line-rate"],
        ["run.duration=60ms", "run.warmup=20ms"],
    ),
    "had not finished": (
        "fat-tree-web-search",
        ["hpcc", "dctcp"],
        ["run.duration=1ms", "run.warmup=300us", "run.cooldown=100us", "run.drain=100us"],
    ),
    "PFC protects it": (
        "incast",
        ["line-rate"],
        ["switch.pfc.headroom=3KB", "run.duration=5ms", "run.warmup=1ms"],
    ),
}


@pytest.mark.parametrize("what", DOUBTED)
def test_the_warnings_of_a_run_are_those_of_the_command_line(
    browser: Browser, address: str, what: str
) -> None:
    name, schemes, changes = DOUBTED[what]
    shows(browser, address, link(name, schemes, changes))
    ended(browser)
    result = incast.run(scenarios.load(name).with_set(*changes), schemes)
    assert any(what in text for text in result.doubts)
    until(browser, f"{WARNINGS}.length === {len(result.warnings)}")
    assert browser.execute_script(f"return {WARNINGS}") == result.warnings
    # Those of another run are gone.
    shows(browser, address, link("parking-lot", ["dctcp"]))
    ended(browser)
    result = incast.run("parking-lot", "dctcp")
    until(browser, f"{WARNINGS}.length === {len(result.warnings)}")
    assert browser.execute_script(f"return {WARNINGS}") == result.warnings


def test_what_is_too_large_is_refused_with_its_cost_and_the_command(
    browser: Browser, address: str
) -> None:
    shows(browser, address, link("fat-tree-1024"))
    said = until(browser, "!document.getElementById('error').hidden && "
                 "document.getElementById('error').textContent")  # fmt: skip
    assert re.search(r"would take about \d+ s and \d+ MB of memory here", said), said
    # It is the packets that take the time, and not the hosts.
    assert "run it natively, or shorten run.duration. The command" in said
    assert browser.find_element("id", "command").text == "incast run fat-tree-1024"


def test_a_link_holds_the_whole_state_and_the_command_repeats_it(
    browser: Browser, address: str, tmp_path: Path, command: Command
) -> None:
    shows(browser, address, link("incast", ["timely"], ["run.duration=20ms", "run.warmup=5ms"]))
    ended(browser)
    # A change by a control, another scheme, and another seed.
    browser.execute_script(
        "const label = [...document.querySelectorAll('#parameters label')]"
        ".find(one => one.lastChild.textContent === 't_high');"
        "if (!label.textContent.startsWith('Above this RTT the rate falls')) throw new Error();"
        "const field = document.getElementById(label.htmlFor); field.value = '77us';"
        "field.dispatchEvent(new Event('change'))"
    )
    until(browser, "location.hash.includes('t_high%3D77us')")
    choose(browser, "add-scheme", "line-rate")
    until(browser, "location.hash.includes('line-rate')")
    choose(browser, "seed", "9")
    until(browser, "location.hash.includes('seed=9')")
    until(browser, "document.querySelectorAll('[data-digest]').length === 2")
    ended(browser)
    digests = "[...document.querySelectorAll('[data-digest]')].map(one => one.textContent)"
    first = browser.execute_script(f"return {digests}")
    held = browser.current_url
    shows(browser, held, "")
    ended(browser)
    assert browser.execute_script(f"return {digests}") == first
    assert browser.find_element("id", "seed").get_attribute("value") == "9"
    line = browser.find_element("id", "command").text.replace("\\\n", "")
    words = shlex.split(line)
    assert words[:3] == ["incast", "run", "incast"]
    assert "cc.timely.t_high=77us" in words
    done = command(*words[1:], "--json", "--out", str(tmp_path / "out"))
    assert done.code == 0, done.err
    shown = browser.execute_script(
        "return [...document.querySelector('#summary tbody tr').children]"
        ".map(one => one.firstChild.textContent)"
    )
    runs = json.loads(done.out)["runs"]
    assert shown[0] == "Throughput"
    assert [float(one) for one in shown[1:]] == [
        pytest.approx(run["measured"]["throughput_gbps"], rel=1e-3) for run in runs
    ]


def test_a_link_that_python_makes_is_the_state_that_the_page_has(
    browser: Browser, address: str
) -> None:
    files = {"topology.txt": TOPOLOGY, "flow.txt": FLOWS, "mine.cdf": SIZES}
    changes = ["run.duration=3ms", "cc.timely.t_high=70us", "run.duration=2ms"]
    made = links.fragment(
        "my sizes & more",
        text=SCENARIO,
        files=files,
        changes=changes,
        schemes=["timely:zhu", "dctcp"],
        seed=2**64 - 1,
    )
    shows(browser, address, "#" + made)
    ended(browser)
    state = parse_qs(browser.current_url.partition("#")[2])
    mine = parse_qs(made)
    for own in (state, mine):
        (packed,) = own.pop("t")
        whole = zlib.decompress(base64.urlsafe_b64decode(packed + "=="), wbits=-15)
        own["text"] = json.loads(whole)
    assert state == mine
    assert mine["set"] == ["cc.timely.t_high=70us", "run.duration=2ms"]
    scenario = _core.restore_scenario(
        SCENARIO, "some.toml", {f"data/{name}": text for name, text in files.items()}
    ).with_set(*changes)
    names = [table.name for table in _core.run(scenario, "dctcp", seed=2**64 - 1).tables]
    for place, scheme in enumerate(("timely:zhu", "dctcp")):
        choose(browser, "table-scheme", str(place))
        flows = _core.run(scenario, scheme, seed=2**64 - 1).tables[names.index("flows")]
        expected: Any = flows
        found = polars.read_ipc(saved(browser, names.index("flows"), "arrow"))
        assert found.equals(polars.DataFrame(expected)), scheme


def test_a_page_refuses_what_python_gives_no_link_to() -> None:
    """The limits of the page, which `incast reproduce` knows, too."""
    source = (ROOT / "crates/front/wasm/src/opened.rs").read_text(encoding="utf-8")
    limits = dict(re.findall(r"const (\w+): f64 = ([\d.e]+);", source))
    assert float(limits["SLOWER"]) == links.SLOWER
    assert float(limits["MOST_SECONDS"]) == links.MOST_SECONDS
    assert float(limits["MOST_BYTES"]) == links.MOST_BYTES


def test_every_control_is_reached_by_keyboard(browser: Browser, address: str) -> None:
    shows(browser, address, link("tcp-incast", ["newreno"]))
    ended(browser)
    until(browser, "document.getElementById('table-rows').children.length")
    assert reaches_all(browser) > 40


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_axe_finds_no_violation(
    browser: Browser, address: str, width: int, theme: str
) -> None:
    looks(browser, theme, still=True)
    part = link("incast", [], ["run.duration=20ms", "run.warmup=5ms"])
    shows(browser, address, part, width)
    ended(browser)
    until(browser, "document.getElementById('table-rows').children.length")
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )
    moving = browser.execute_script(
        "return [...document.querySelectorAll('*')].filter(one => {"
        "  const style = getComputedStyle(one);"
        "  return style.transitionDuration !== '0s' || style.animationName !== 'none'"
        "}).filter(one => !one.closest('.cm-editor')).length"
    )
    assert moving == 0
    if width < 500:
        has_sliders_beside_a_figure(browser)
    fits(browser, width)


def has_sliders_beside_a_figure(browser: Browser) -> None:
    """On a phone the settings are a sheet, above which a whole figure is in view."""
    browser.find_element("id", "show-settings").click()
    seen = browser.execute_script(
        "const sliders = [...document.querySelectorAll('#sheet [type=range]')];"
        "return sliders.map(slider => {"
        "  slider.scrollIntoView({block: 'nearest'});"
        "  return [slider, ...document.querySelectorAll('#charts canvas')].map(one => {"
        "    const {left, right, top, bottom} = one.getBoundingClientRect();"
        "    const middle = (left + right) / 2;"
        "    return [top + 2, bottom - 2].every(y => {"
        "      const at = document.elementFromPoint(middle, y);"
        "      return at && (one === at || one.closest('.plot')?.contains(at));"
        "    });"
        "  });"
        "}).map(([slider, ...figures]) => slider && figures.includes(true))"
    )
    assert len(seen) > 5
    assert all(seen), seen


# Times each picture that the page draws.
TIMED = """
window.pictures = [];
const next = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = draw => next(time => {
  const before = performance.now();
  draw(time);
  window.pictures.push(performance.now() - before);
});
"""


def test_pictures_of_a_run_are_drawn_in_less_than_50_ms(browser: Browser, address: str) -> None:
    """Half of them at least: here, workers and other tests take the processors (guide/page.md)."""
    source = {"source": TIMED}
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    shows(browser, address, link("timely-network-imbalance", changes=["run.duration=10ms"]))
    ended(browser)
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    times = sorted(browser.execute_script("return window.pictures"))
    assert len(times) > 10
    assert times[len(times) // 2] < 50


def test_a_page_from_disk_is_the_same(browser: Browser, address: str) -> None:
    part = link("incast", ["timely"], ["run.duration=20ms", "run.warmup=5ms"])
    digest = "document.querySelector('[data-digest]').textContent"
    found = []
    for place in (address, links.PAGE.as_uri()):
        shows(browser, place, part)
        ended(browser)
        found.append(browser.execute_script(f"return {digest}"))
    assert found[0] == found[1]


def test_nothing_but_the_page_is_served(address: str) -> None:
    with urllib.request.urlopen(address) as answer:  # noqa: S310
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address + "../pyproject.toml")  # noqa: S310


def test_a_page_that_is_not_built_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(links, "PAGE", tmp_path / "index.html")
    with pytest.raises(incast.IncastError, match=r"the page is not built: .* `make page`"):
        page.ui(no_browser=True)


def test_a_port_that_is_taken_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = tmp_path / "index.html"
    built.write_text("<!doctype html>")
    monkeypatch.setattr(links, "PAGE", built)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(incast.IncastError, match=f"--port {port}: .*; choose another"):
            page.ui(port=port, no_browser=True)
