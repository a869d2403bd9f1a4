"""The simulator in a page, opened in chromium: results, mistakes, links, keyboard, looks."""

import base64
import io
import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars
import pytest

import incast
from conftest import Finished
from incast import _core
from incast.api import scenarios
from incast.cli import page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The page as `incast ui` serves it."""
    if not page.FILE.is_file():
        pytest.skip("the page is not tested: it is not built (make page)")
    command = [sys.executable, "-m", "incast", "ui", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        yield served.stdout.readline().split()[0]
        served.send_signal(signal.SIGINT)
        assert served.wait(10) == 0


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_path):
        pytest.skip("the page is not opened: chromium and chromium-driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option(
        "prefs", {"download.default_directory": str(tmp_path_factory.mktemp("downloads"))}
    )
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    opened.set_script_timeout(120)
    yield opened
    assert [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"] == []
    opened.quit()


def fragment(
    name: str, schemes: Sequence[str] = (), changes: Sequence[str] = (), seed: str = ""
) -> str:
    parts = [("s", name), *(("cc", one) for one in schemes), *(("set", one) for one in changes)]
    if seed:
        parts.append(("seed", seed))
    return "#" + "&".join(f"{key}={quote(value)}" for key, value in parts)


def shows(browser: Any, address: str, part: str, width: int = 1280) -> None:  # noqa: ANN401
    """Opens the page anew with a fragment."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get("about:blank")
    browser.get(address + part)


def until(browser: Any, condition: str, seconds: float = 60.0) -> Any:  # noqa: ANN401
    """Waits until an expression is true in the page."""
    end = time.monotonic() + seconds
    while not (value := browser.execute_script(f"return {condition}")):
        assert time.monotonic() < end, condition
        time.sleep(0.05)
    return value


def ended(browser: Any) -> None:  # noqa: ANN401
    error = "document.getElementById('error')"
    until(browser, f"document.body.dataset.state === 'ended' || !{error}.hidden")
    assert browser.execute_script(f"return {error}.textContent") == ""


# Saves the table of a number as Arrow, where the page itself would hand it to the user.
SAVE = """
const [number, done] = arguments;
const made = URL.createObjectURL;
URL.createObjectURL = blob => {
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
document.getElementById("save-arrow").click();
"""


@pytest.mark.parametrize("name", RUNS)
def test_every_table_is_that_of_a_native_run_to_the_last_bit(
    browser: Any,  # noqa: ANN401
    address: str,
    name: str,
) -> None:
    schemes, changes = RUNS[name]
    shows(browser, address, fragment(name, schemes, changes, seed="7"))
    ended(browser)
    for place, scheme in enumerate(schemes):
        browser.execute_script(
            "const of = document.getElementById('table-scheme'); of.value = arguments[0];"
            "of.dispatchEvent(new Event('change'))",
            str(place),
        )
        run = _core.run(scenarios.load(name).with_set(*changes), scheme, seed=7)
        for number, table in enumerate(run.tables):
            text = browser.execute_async_script(SAVE, number)
            found = polars.read_ipc(io.BytesIO(base64.b64decode(text)))
            expected: Any = table
            assert found.equals(polars.DataFrame(expected)), (scheme, table.name)


def test_the_first_figure_is_there_at_once(browser: Any, address: str) -> None:  # noqa: ANN401
    """Within 2 s on a machine with nothing else to do (docs/guide/page.md); here others work."""
    shows(browser, address, "")
    milliseconds = float(until(browser, "document.body.dataset.first"))
    assert milliseconds < 20_000


def test_a_run_is_paused_goes_on_and_is_looked_back_at(browser: Any, address: str) -> None:  # noqa: ANN401
    shows(
        browser, address, fragment("incast", ["timely"], ["run.duration=200ms", "run.warmup=5ms"])
    )
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


def choose(browser: Any, menu: str, value: str) -> None:  # noqa: ANN401
    browser.execute_script(
        "const of = document.getElementById(arguments[0]); of.value = arguments[1];"
        "of.dispatchEvent(new Event('change'))",
        menu,
        value,
    )


BROKEN = {
    "a name": ('duration = "1s"', 'duraton = "1s"'),
    "a quantity": ('rate = "20Gbps"', 'rate = "20Gbq"'),
    "TOML": ("[run]", "[run"),
    "a host": ('to = "server"', 'to = "sever"'),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_gets_the_sentence_of_the_command_line(
    browser: Any,  # noqa: ANN401
    address: str,
    command: Callable[..., Finished],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    text = (ROOT / "scenarios/incast.toml").read_text(encoding="utf-8").replace(*BROKEN[what])
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text, encoding="utf-8")
    done = command("run", "mine.toml")
    assert done.code == 2
    packing = zlib.compressobj(wbits=-15)
    packed = packing.compress(json.dumps([text, {}]).encode()) + packing.flush()
    own = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    shows(browser, address, f"#s=mine&t={own}")
    said = until(browser, "!document.getElementById('error').hidden && "
                 "document.getElementById('error').textContent")  # fmt: skip
    assert f"error: {said}" == done.err.strip()
    line = re.match(r"mine\.toml:(\d+):", said)
    assert line, said
    # The editor marks it at its place.
    until(browser, "document.querySelector('.cm-lintRange-error')")


def test_a_wrong_change_gets_the_sentence_of_the_command_line(
    browser: Any,  # noqa: ANN401
    address: str,
    command: Callable[..., Finished],
) -> None:
    shows(browser, address, fragment("incast", [], ["run.duration=1sec"]))
    done = command("run", "incast", "--set", "run.duration=1sec")
    said = until(browser, "!document.getElementById('error').hidden && "
                 "document.getElementById('error').textContent")  # fmt: skip
    assert f"error: {said}" == done.err.strip()


def test_what_is_too_large_is_refused_with_its_cost_and_the_command(
    browser: Any,  # noqa: ANN401
    address: str,
) -> None:
    shows(browser, address, fragment("fat-tree-1024"))
    said = until(browser, "!document.getElementById('error').hidden && "
                 "document.getElementById('error').textContent")  # fmt: skip
    assert re.search(r"would take about \d+ s and \d+ MB of memory here", said), said
    assert browser.find_element("id", "command").text == "incast run fat-tree-1024"


def test_a_link_holds_the_whole_state_and_the_command_repeats_it(
    browser: Any,  # noqa: ANN401
    address: str,
    tmp_path: Path,
    command: Callable[..., Finished],
) -> None:
    shows(browser, address, fragment("incast", ["timely"], ["run.duration=20ms", "run.warmup=5ms"]))
    ended(browser)
    # A change by a control, another scheme, and another seed.
    browser.execute_script(
        "const label = [...document.querySelectorAll('#parameters label')]"
        ".find(one => one.textContent === 't_high');"
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
    link = browser.current_url
    shows(browser, link, "")
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
    assert shown[0] == "throughput_gbps"
    assert [float(one) for one in shown[1:]] == [
        pytest.approx(run["measured"]["throughput_gbps"], rel=1e-3) for run in runs
    ]


def test_every_control_is_reached_by_keyboard(browser: Any, address: str) -> None:  # noqa: ANN401
    shows(browser, address, fragment("tcp-incast", ["newreno"]))
    ended(browser)
    until(browser, "document.getElementById('rows').children.length")
    every = """
      return [...document.querySelectorAll(
        "a[href], button, select, input, summary, [tabindex='0'], [contenteditable]")]
        .filter(one => !one.disabled && one.checkVisibility({visibilityProperty: true}))
        .filter(one => one.tabIndex >= 0)
        .map((one, number) => { one.dataset.place = number; return one.outerHTML.slice(0, 120); })
    """
    names = browser.execute_script(every)
    assert len(names) > 40
    reached = set()
    browser.execute_script("document.activeElement.blur()")
    for _ in range(len(names) + 5):
        press(browser, "Tab", 9)
        reached.add(browser.execute_script("return document.activeElement.dataset.place"))
    missing = [name for place, name in enumerate(names) if str(place) not in reached]
    assert missing == []


def press(browser: Any, key: str, code: int) -> None:  # noqa: ANN401
    for kind in ("keyDown", "keyUp"):
        event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", event)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_axe_finds_no_violation(
    browser: Any,  # noqa: ANN401
    address: str,
    width: int,
    theme: str,
) -> None:
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    part = fragment("incast", [], ["run.duration=20ms", "run.warmup=5ms"])
    shows(browser, address, part, width)
    ended(browser)
    until(browser, "document.getElementById('rows').children.length")
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(
        "return performance.getEntriesByType('resource').map(one => one.name)"
        ".filter(name => !name.startsWith('blob:') && !name.startsWith('data:'))"
    ) == []  # fmt: skip
    moving = browser.execute_script(
        "return [...document.querySelectorAll('*')].filter(one => {"
        "  const style = getComputedStyle(one);"
        "  return style.transitionDuration !== '0s' || style.animationName !== 'none'"
        "}).filter(one => !one.closest('.cm-editor')).length"
    )
    assert moving == 0
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci --prefix web)")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then(found => done(found.violations.map(one =>"
        " [one.id, one.nodes.map(node => node.html.slice(0, 200))])))"
    )
    assert found == []


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


def test_pictures_of_a_run_are_drawn_in_less_than_50_ms(browser: Any, address: str) -> None:  # noqa: ANN401
    """Half of them at least: here, workers and other tests take the processors (guide/page.md)."""
    source = {"source": TIMED}
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    shows(browser, address, fragment("timely-network-imbalance"))
    ended(browser)
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    times = sorted(browser.execute_script("return window.pictures"))
    assert len(times) > 10
    assert times[len(times) // 2] < 50


def test_a_page_from_disk_is_the_same(browser: Any, address: str) -> None:  # noqa: ANN401
    part = fragment("incast", ["timely"], ["run.duration=20ms", "run.warmup=5ms"])
    digest = "document.querySelector('[data-digest]').textContent"
    found = []
    for place in (address, page.FILE.as_uri()):
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
    monkeypatch.setattr(page, "FILE", tmp_path / "index.html")
    with pytest.raises(incast.IncastError, match=r"the page is not built: .* `make page`"):
        page.ui(no_browser=True)


def test_a_port_that_is_taken_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = tmp_path / "index.html"
    built.write_text("<!doctype html>")
    monkeypatch.setattr(page, "FILE", built)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(incast.IncastError, match=f"--port {port}: .*; choose another"):
            page.ui(port=port, no_browser=True)
