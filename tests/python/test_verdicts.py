"""All experiments in their quick form: verdicts as before, and a report that works in a browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from incast.reproduce import driver
from incast.reproduce.outcome import Outcome
from incast.reproduce.spec import known, load

WORDS = ("holds", "one seed only", "falls short", "not comparable", "open question")
GOLDEN = Path(__file__).parent.parent / "golden" / "verdicts.txt"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def outcomes(report: Path) -> list[Outcome]:
    """Every experiment, run and written; minutes."""
    found = driver.reproduce([load(name) for name in known()], report, quick=True)
    return sorted(found, key=lambda of: list(known()).index(of.experiment.name))


def test_verdicts_are_as_before(outcomes: list[Outcome]) -> None:
    """A claim that changes its verdict does so in a commit of its own, with the reason.

    A line for each experiment: of each verdict, the numbers of the claims in the order of its file.
    """
    table = "".join(f"{of.experiment.name:<32} {_verdicts(of)}\n" for of in outcomes)
    if os.environ.get("INCAST_UPDATE_GOLDEN"):
        GOLDEN.write_text(table, encoding="utf-8")
    assert table.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def _verdicts(of: Outcome) -> str:
    numbers: dict[str, list[str]] = {}
    for number, verdict in enumerate(of.verdicts, 1):
        numbers.setdefault(verdict.word, []).append(str(number))
    return "; ".join(f"{word} {' '.join(numbers[word])}" for word in WORDS if word in numbers)


def test_nothing_published_is_left_out(outcomes: list[Outcome]) -> None:
    """Each published number stands beside a measured one."""
    for of in outcomes:
        for one in of.experiment.published:
            at = one.at if of.experiment.case_of(one.case).axis else None
            if at in (of.axis or [None]):
                assert of.spread(one.case, at, one.column), (of.experiment.name, one)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_path):
        pytest.skip("the report is not opened: chromium and chromium-driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    yield opened
    opened.quit()


@pytest.mark.parametrize("width", [390, 1200])
def test_the_report_works_in_a_browser(
    outcomes: list[Outcome],
    report: Path,
    browser: Any,  # noqa: ANN401
    width: int,
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get((report / "index.html").as_uri())
    assert browser.get_log("browser") == []
    seen = browser.execute_script(
        """
        const hrefs = [...document.querySelectorAll("a")].map(a => a.getAttribute("href"));
        return {
          figures: [...document.images].map(one => [one.alt, one.complete, one.naturalWidth]),
          broken: hrefs.filter(h => h.startsWith("#") && !document.getElementById(h.slice(1))),
          files: hrefs.filter(h => !h.startsWith("#")),
          ids: [...document.querySelectorAll("[id]")].map(node => node.id),
          wide: document.documentElement.scrollWidth,
          resources: performance.getEntriesByType("resource").map(entry => entry.name),
        };
        """
    )
    figures = sum(len(of.experiment.figure) for of in outcomes)
    assert len(seen["figures"]) == figures
    assert all(alt and loaded and natural > 100 for alt, loaded, natural in seen["figures"])
    assert seen["broken"] == []
    assert len(set(seen["ids"])) == len(seen["ids"])
    assert all((report / href).is_file() for href in seen["files"]), seen["files"]
    assert seen["wide"] <= width  # nothing is cut or scrolls sideways but tables in their frames
    assert [name for name in seen["resources"] if not name.startswith("data:")] == []
    rows = browser.execute_script(
        "return document.querySelectorAll('#summary ~ * tbody tr').length"
    )
    assert rows == sum(len(of.verdicts) for of in outcomes)
