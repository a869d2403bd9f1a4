"""The simulator in a page, served on this machine alone."""

from typing import Annotated

import typer

from incast._core import IncastError
from incast.base import links
from incast.cli import late


def ui(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="N", help="The port, if not a free one."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Say the address, and open no browser.")
    ] = False,
) -> None:
    """Serve the simulator as a page, and open it in the browser.

    The page runs the simulator itself. It is reached from this machine alone; Ctrl-C ends it.
    """
    try:
        page = links.PAGE.read_bytes()
    except OSError:
        raise IncastError(
            f"the page is not built: there is no {links.PAGE}; build it with `make page` in a "
            "checkout, which needs Node.js and the compiler's target wasm32-unknown-unknown"
        ) from None
    try:
        server = late.serving.PageServer(page, port or 0)
    except OSError as error:
        raise IncastError(
            f"--port {port}: {error.strerror}; choose another, or none for a free one"
        ) from None
    with server:
        print(f"{server.address}  (Ctrl-C ends it)", flush=True)
        if not no_browser:
            server.open()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
