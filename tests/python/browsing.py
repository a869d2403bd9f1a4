"""Chromium and the page of the simulator: opening it, waiting for it, pressing keys, axe."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from incast.base import links

Browser = Any
"""A driver of Selenium, which has types only where it is installed."""

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"


def link(
    name: str, schemes: Sequence[str] = (), changes: Sequence[str] = (), seed: int | None = None
) -> str:
    """The part of an address that names a run of a scenario that ships."""
    return "#" + links.fragment(name, schemes=schemes, changes=changes, seed=seed)


def shows(browser: Browser, address: str, part: str, width: int = 1280) -> None:
    """Opens the page anew with a fragment."""
    resized(browser, width)
    browser.get("about:blank")
    browser.get(address + part)


def resized(browser: Browser, width: int) -> None:
    """Gives the window a width: that of a phone, or of a desktop."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def until(browser: Browser, condition: str, seconds: float = 60.0) -> Any:  # noqa: ANN401
    """Waits until an expression is true in the page."""
    end = time.monotonic() + seconds
    while not (value := browser.execute_script(f"return {condition}")):
        assert time.monotonic() < end, condition
        time.sleep(0.05)
    return value


def ended(browser: Browser) -> None:
    error = "document.getElementById('error')"
    until(browser, f"document.body.dataset.state === 'ended' || !{error}.hidden")
    assert browser.execute_script(f"return {error}.textContent") == ""


def choose(browser: Browser, menu: str, value: str) -> None:
    browser.execute_script(
        "const of = document.getElementById(arguments[0]); of.value = arguments[1];"
        "of.dispatchEvent(new Event('change'))",
        menu,
        value,
    )


def press(browser: Browser, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", event)


def looks(browser: Browser, theme: str = "light", *, still: bool = False) -> None:
    """Sets what the reader prefers."""
    motion = "reduce" if still else "no-preference"
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": motion},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def fits(browser: Browser, width: int) -> None:
    """Nothing is wider than the window, comes from elsewhere, or breaks a rule of axe."""
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(
        "return performance.getEntriesByType('resource').map(one => one.name)"
        ".filter(name => !name.startsWith('blob:') && !name.startsWith('data:'))"
    ) == []  # fmt: skip
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci --prefix web)")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then(found => done(found.violations.map(one =>"
        " [one.id, one.nodes.map(node => node.html.slice(0, 200))])))"
    )
    assert found == [], found


def reaches_all(browser: Browser) -> int:
    """Whether Tab comes to every control; their number."""
    every = """
      return [...document.querySelectorAll(
        "a[href], button, select, input, summary, [tabindex='0'], [contenteditable]")]
        .filter(one => !one.disabled && one.checkVisibility({visibilityProperty: true}))
        .filter(one => one.tabIndex >= 0)
        .map((one, number) => { one.dataset.place = number; return one.outerHTML.slice(0, 120); })
    """
    names = browser.execute_script(every)
    reached = set()
    browser.execute_script("document.activeElement.blur()")
    for _ in range(len(names) + 5):
        press(browser, "Tab", 9)
        reached.add(browser.execute_script("return document.activeElement.dataset.place"))
    missing = [name for place, name in enumerate(names) if str(place) not in reached]
    assert missing == [], missing
    return len(names)
