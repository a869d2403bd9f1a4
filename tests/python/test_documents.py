"""Tables as LaTeX, Markdown and CSV, which `show` and `compare` print."""

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import incast
from conftest import Finished
from incast.terminal.documents import Document
from synthetic import everything

Command = Callable[..., Finished]


@pytest.fixture(scope="module")
def places(short: incast.Scenario, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    into = tmp_path_factory.mktemp("documents")
    for seed in (1, 2):
        everything(short, "timely", "dctcp", seed=seed, messages=300).write(
            into / str(seed), figures=False
        )
    return [str(into / "1"), str(into / "2")]


def test_latex_is_booktabs_and_sentences_are_comments(command: Command, places: list[str]) -> None:
    lines = command("show", *places, "--table", "latex").out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(r"\begin{tabular}"))
    assert lines[begin].startswith(r"\begin{tabular}{lr")
    assert lines[begin + 1] == r"\toprule"
    assert r"p99 RTT ($\mu$s)" in lines[begin + 2]
    assert lines[begin + 4].startswith("timely & 2 & ")
    assert r"$\pm$" in lines[begin + 4]
    assert all(line.startswith(("%", "\\", "timely", "dctcp", "scheme")) for line in lines if line)


def test_csv_has_numbers_that_a_program_reads(command: Command, places: list[str]) -> None:
    done = command("show", *places, "--table", "csv")
    rows = pl.read_csv(io.StringIO(done.out.split("\n\n")[0]))
    assert rows["scheme"].to_list() == ["timely", "dctcp"]
    assert rows["p99 RTT (us)"].dtype.is_numeric()
    assert any(name.endswith(", half of the 95 % interval") for name in rows.columns)
    assert "Mean over the seeds" in done.err


def test_markdown_is_a_table(command: Command, places: list[str]) -> None:
    lines = command("show", places[0], "--table", "markdown").out.splitlines()
    rule = next(at for at, line in enumerate(lines) if line.startswith("| ---"))
    assert "| p99 RTT (us) |" in lines[rule - 1]
    assert len({line.count("|") for line in lines[rule - 1 : rule + 3]}) == 1
    compared = command("compare", places[0], places[0], "--all", "--table", "markdown").out
    assert "| case | figure | first |" in compared


@pytest.mark.parametrize(
    ("form", "row"),
    [
        ("latex", r"timely[t\_high=1ms] & $-$2 $\pm$ 1 ($-$5\%) \\"),
        ("markdown", "| timely[t_high=1ms] | -2 ± 1 (-5%) |"),
        ("csv", "timely[t_high=1ms],-2,± 1 (-5%)"),
    ],
)
def test_signs_are_those_of_the_form(
    capsys: pytest.CaptureFixture[str], form: str, row: str
) -> None:
    Document(form).table([("scheme", ["timely[t_high=1ms]"]), ("queue\nKB", ["-2\n± 1 (-5%)"])])
    lines = capsys.readouterr().out.splitlines()
    assert row in lines
    assert any("queue (KB)" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--table", "html"], "--table html: expected latex, markdown, csv"),
        (["--table", "csv", "--json"], "leave one of the two out"),
    ],
)
def test_other_forms_are_refused(
    command: Command, places: list[str], arguments: list[str], why: str
) -> None:
    assert why in command("show", places[0], *arguments).error
    assert not Path("results").exists()
