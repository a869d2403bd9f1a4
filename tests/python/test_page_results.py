"""Directories that `incast run` wrote, opened in the page in chromium."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import incast
from browsing import Browser, ended, fits, looks, reaches_all, shows, until
from incast import _core
from test_inputs import FLOWS, SCENARIO, SIZES, TOPOLOGY


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with files that its scenario names in a folder of theirs."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "data").mkdir()
    for name, text in (("topology.txt", TOPOLOGY), ("flow.txt", FLOWS), ("mine.cdf", SIZES)):
        (folder / "data" / name).write_bytes(text.encode())
    (folder / "mine.toml").write_text(SCENARIO)
    incast.run(folder / "mine.toml", seed=2**60 + 1).write(folder / "result", figures=False)
    return folder / "result"


def opens(browser: Browser, address: str, directory: Path, width: int = 1280) -> None:
    """Chooses a directory, as the button does."""
    shows(browser, address, "#result", width)
    until(browser, "document.body.dataset.view === 'result'")
    browser.find_element("id", "directory").send_keys(str(directory))


def said(browser: Browser) -> str:
    error = "document.getElementById('result-error')"
    return str(until(browser, f"!{error}.hidden && {error}.textContent"))


def test_a_result_is_shown_with_its_summary_and_every_table(
    browser: Browser, address: str, stored: Path
) -> None:
    looks(browser)
    opens(browser, address, stored)
    until(browser, "document.querySelector('#stored-rows tbody')")
    about = browser.find_element("id", "result-about").text
    assert about == f"timely, dctcp; seed {2**60 + 1}; incast {_core.__version__}."
    shown = browser.execute_script(
        "return [...document.querySelector('#result-summary tbody tr').children]"
        ".map(one => one.firstChild.textContent)"
    )
    runs = json.loads((stored / "run.json").read_text())["runs"]
    assert shown[0] == "Throughput"
    assert [float(one) for one in shown[1:]] == [
        pytest.approx(run["measured"]["throughput_gbps"], rel=1e-3) for run in runs
    ]
    names = browser.execute_script(
        "return [...document.getElementById('stored-name').options].map(one => one.text)"
    )
    files = {path.stem: pl.read_parquet(path) for path in stored.glob("*.parquet")}
    assert {name.split(" ")[0] for name in names} == set(files)
    for place, name in enumerate(names):
        browser.execute_script(
            "const of = document.getElementById('stored-name'); of.value = arguments[0];"
            "of.dispatchEvent(new Event('change'))",
            str(place),
        )
        table = name.split(" ")[0]
        rows = files[table]
        until(browser, f"document.querySelector('#stored-rows .hint').textContent"
                       f".startsWith('{table}:')")  # fmt: skip
        assert name == f"{table} ({len(rows):,})"
        head, cells = browser.execute_script(
            "return [[...document.querySelectorAll('#stored-rows th')].map(one => one.textContent),"
            " [...document.querySelectorAll('#stored-rows tbody tr')].map(row =>"
            " [...row.cells].map(cell => cell.textContent))]"
        )
        assert head == rows.columns
        for row, values in zip(cells, rows.head(20).rows(), strict=True):
            for cell, value in zip(row, values, strict=True):
                if isinstance(value, str):
                    assert cell == value
                elif value is None:
                    assert cell == "\N{EN DASH}"
                else:
                    assert float(cell.replace(",", "")) == pytest.approx(value, rel=1e-5, abs=1e-9)
    fits(browser, 1280)
    assert reaches_all(browser) > 8


def test_its_scenario_runs_again_with_the_same_tables(
    browser: Browser, address: str, stored: Path
) -> None:
    looks(browser)
    opens(browser, address, stored)
    until(browser, "document.querySelector('#result-again a')")
    browser.execute_script("document.querySelector('#result-again a').click()")
    ended(browser)
    assert browser.find_element("id", "seed").get_attribute("value") == str(2**60 + 1)
    samples = browser.execute_script(
        "return [...document.querySelectorAll('#summary tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
        ".find(cells => cells[0].startsWith('RTT samples'))"
    )
    runs = json.loads((stored / "run.json").read_text())["runs"]
    assert samples[1:] == [f"{run['measured']['rtt_samples']:,}" for run in runs]


def test_results_of_several_seeds_are_chosen_from(
    browser: Browser, address: str, result: incast.Result, short: incast.Scenario, tmp_path: Path
) -> None:
    result.write(tmp_path / "out" / "seed-1", figures=False)
    incast.run(short, seed=2).write(tmp_path / "out" / "seed-2", figures=False)
    looks(browser, "dark", still=True)
    opens(browser, address, tmp_path / "out", 390)
    until(browser, "document.querySelectorAll('#stored-result option').length === 2")
    until(browser, "document.getElementById('result-about').textContent.includes('seed 1;')")
    browser.execute_script(
        "const of = document.getElementById('stored-result'); of.selectedIndex = 1;"
        "of.dispatchEvent(new Event('change'))"
    )
    until(browser, "document.getElementById('result-about').textContent.includes('seed 2;')")
    fits(browser, 390)


DAMAGED = {
    "no JSON": ("run.json", b"{", r"run.json: is no JSON"),
    "no result": ("run.json", b"[]", r"run.json: has no runs and tables"),
    "a table": ("flows.parquet", b"PAR1 and no more", r"flows.parquet: is no Parquet file"),
    "no tables": (None, b"", r"none of its tables is there"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_damaged_is_said_in_a_sentence(
    browser: Browser, address: str, stored: Path, tmp_path: Path, what: str
) -> None:
    name, content, sentence = DAMAGED[what]
    shutil.copytree(stored, tmp_path / "damaged")
    if name:
        (tmp_path / "damaged" / name).write_bytes(content)
    else:
        for path in (tmp_path / "damaged").glob("*.parquet"):
            path.unlink()
    opens(browser, address, tmp_path / "damaged")
    assert sentence in said(browser)


# Drops files on the page, which has no directories to ask for then.
DROP = """
const data = new DataTransfer();
for (const [name, text] of Object.entries(arguments[0])) data.items.add(new File([text], name));
document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
"""


def test_files_are_dropped_on_the_page(browser: Browser, address: str, stored: Path) -> None:
    """A scenario with the files that it names goes to the simulator, a result to the results."""
    looks(browser)
    shows(browser, address, "#guides")
    until(browser, "document.querySelectorAll('.contents a').length")
    texts = {"topology.txt": TOPOLOGY, "flow.txt": FLOWS, "mine.cdf": SIZES, "my.toml": SCENARIO}
    browser.execute_script(DROP, texts)
    ended(browser)
    assert browser.find_element("id", "title").text == "From files"
    browser.execute_script(DROP, {"run.json": (stored / "run.json").read_text()})
    assert "none of its tables is there" in said(browser)
