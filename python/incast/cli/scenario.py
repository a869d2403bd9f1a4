"""Commands about scenarios: those that ship, their keys, and checks before a run."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from incast import _core
from incast._core import ParameterError, Scenario
from incast.api import keys, keys_page, scenarios
from incast.base import staging
from incast.cli import completing, late, options
from incast.figures.catalogue import FORMATS

app = typer.Typer(help="The scenarios that ship, and checks of your own.")
app.callback(invoke_without_command=True)(options.commands)

_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_scenarios(
    as_json: _AsJson = False,
) -> None:
    """List the scenarios that ship with the package."""
    shipped = {path: Scenario.load(path) for path in scenarios.shipped().values()}
    if as_json:
        items = [
            {
                "name": one.name,
                "title": one.title,
                "schemes": list(one.schemes),
                "duration_s": one.duration_s,
                "file": str(path),
            }
            for path, one in shipped.items()
        ]
        print(json.dumps(items))
    else:
        late.catalogue.print_scenarios(late.writing.console(), shipped.values())


@app.command("show")
def show_scenario(
    name: options.ScenarioName,
    summary: Annotated[
        bool, typer.Option("--summary", help="Say what it is, in place of its text.")
    ] = False,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw its network to a file: .svg, .png or .pdf."),
    ] = None,
    result: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Colour its links by their utilisation in this result; with --svg."
        ),
    ] = None,
    cc: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="NAME[=LABEL]",
            autocompletion=completing.schemes,
            help="A scheme of the result to show; all if not given.",
        ),
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Print the text of a scenario, or a summary; or draw its network."""
    found = scenarios.load(name)
    if svg is not None:
        _draw(found, svg, result or [], cc or [])
        print(json.dumps({"written": [str(svg)]}) if as_json else f"Wrote {svg}")
    elif result or cc:
        raise typer.BadParameter(
            f"--{'result' if result else 'cc'}: only a picture shows results; name it with --svg"
        )
    elif as_json:
        print(json.dumps({**_said(found), "text": found.toml()}))
    elif summary:
        out = late.writing.console()
        late.writing.wrapped(out, "", f"{found.name}: {found.title}", style="bold")
        for paragraph in found.description.strip().split("\n\n"):
            if paragraph:
                late.writing.wrapped(out, "", " ".join(paragraph.split()))
        out.print()
        late.catalogue.print_facts(out, _summary(found))
    else:
        print(found.toml(), end="" if found.toml().endswith("\n") else "\n")


def _draw(scenario: Scenario, path: Path, directories: list[Path], cc: list[str]) -> None:
    """Draws the network of a scenario to a file."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise typer.BadParameter(f"--svg {path}: expected a file that ends in .svg, .png or .pdf")
    results = late.result.open_result(*directories) if directories else None
    if results is not None and cc:
        results = results.of_schemes(cc)
    figure = late.network.draw(scenario, results)
    try:
        late.canvas.save(figure, path)
    except OSError as error:
        raise late.store.unwritable(path, error) from None


@app.command("copy")
def copy_scenario(
    name: options.ScenarioName,
    to: Annotated[
        Path | None,
        typer.Argument(metavar="[TO]", help="A file, or a directory; NAME.toml here if not given."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: _AsJson = False,
) -> None:
    """Copy a scenario to a file of your own, to be changed.

    Files that it names are copied to the folder inputs beside it.
    """
    found = scenarios.load(name)
    file = f"{found.name}.toml"
    target = Path(file) if to is None else to / file if to.is_dir() else to
    inputs = {target.parent / "inputs" / one: text for one, text in found.inputs.items()}
    texts = {target: found.toml(), **inputs}
    for path in texts:
        if path.is_dir() or (path.exists() and not force):
            raise ParameterError(f"{path}: is there already; name another file, or add --force")
    for path, text in texts.items():
        _write(path, text)
    if as_json:
        print(json.dumps({"file": str(target), "inputs": [str(path) for path in inputs]}))
    else:
        names = ", ".join(found.inputs)
        more = f", with {names} in {target.parent / 'inputs'}{os.sep}" if inputs else ""
        print(f"copied to {target}{more}; `incast run {target}` runs it")


@app.command("explain")
def explain_key(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="[KEY]",
            help="Such as transport.segment; all sections if not given.",
            autocompletion=completing.keys,
        ),
    ] = None,
    as_json: _AsJson = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print all keys as a page of Markdown.")
    ] = False,
) -> None:
    """Explain a key of scenarios: its meaning, its type, its default.

    A name alone, such as load, is looked for in all sections.
    """
    if as_markdown:
        if key is not None:
            raise typer.BadParameter(f"--markdown: prints all keys; leave {key} out")
        print(keys_page.markdown(), end="")
        return
    found = keys.sections() if key is None else keys.explain(key)
    if as_json:
        print(json.dumps([one.to_dict() for one in found]))
    else:
        known = keys.keys()
        inside = {one: known[one].doc for of in found for one in of.inside}
        late.catalogue.print_keys(
            late.writing.console(), [one.to_dict() for one in found], inside, short=key is None
        )


@app.command("check")
def check_scenario(
    file: options.ScenarioName,
    cc: options.Schemes = None,
    assignments: options.Assignments = None,
    as_json: _AsJson = False,
) -> None:
    """Check a scenario and its schemes, without running it.

    It tells the base RTT, the bandwidth-delay product, oversubscription, PFC headroom, and what a
    run will take.
    """
    scenario = options.load(file, assignments)
    found = late.checking.check(scenario, cc or None)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    options.warn(scenario, found.schemes)
    print(f"{file}: good, {scenario.duration_s * 1e3:g} ms of {', '.join(found.schemes)}")
    late.catalogue.print_facts(late.writing.console(), found.rows())


@app.command("schema")
def scenario_schema() -> None:
    """Print the JSON Schema of a scenario, from which editors complete."""
    print(_core.schema())


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with staging.file(path) as place:
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        why = error.strerror or error
        raise ParameterError(f"{path}: cannot be written: {why}; name another file") from None


def _said(found: Scenario) -> dict[str, object]:
    return {
        "name": found.name,
        "title": found.title,
        "description": found.description,
        "schemes": list(found.schemes),
        "seed": found.seed,
        "duration_s": found.duration_s,
        "warmup_s": found.warmup_s,
        "cooldown_s": found.cooldown_s,
        "drain_s": found.drain_s,
    }


def _summary(found: Scenario) -> list[tuple[str, str]]:
    """The facts of a summary, each with its name."""
    plan = found.resolved()
    names = (f"{one['name']} ({one['kind']})" for one in plan["traffic"])
    return [
        ("schemes", ", ".join(found.schemes) or "none"),
        (
            "duration",
            f"{found.duration_s * 1e3:g} ms, the first {found.warmup_s * 1e3:g} ms warm-up",
        ),
        ("seed", str(found.seed)),
        ("network", f"{plan['network']}, {len(plan['hosts'])} hosts"),
        ("traffic", ", ".join(names)),
    ]
