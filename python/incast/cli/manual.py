"""The manual in the terminal."""

import json
from typing import Annotated

import typer

from incast.base import manual
from incast.cli import completing, late


def docs(
    topic: Annotated[
        str | None,
        typer.Argument(
            help="Show this page, such as guide/switches, or switches.",
            autocompletion=completing.topics,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; of a page, with its Markdown.")
    ] = False,
) -> None:
    """List the pages of the manual, or show one.

    The pages describe this version, and need no network.
    """
    known = manual.pages()
    if topic is None:
        if as_json:
            items = [{"topic": one.topic, "title": one.title} for one in known.values()]
            print(json.dumps(items))
        else:
            late.pages.print_topics(late.writing.console(), known.values())
        return
    page = manual.page(topic)
    if as_json:
        print(json.dumps({"topic": page.topic, "title": page.title, "text": page.text}))
    else:
        late.pages.print_page(late.writing.console(), page, known)
