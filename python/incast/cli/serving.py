"""The server of the page of `incast ui`."""

import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PageServer(ThreadingHTTPServer):
    """A server of one page, on the loopback interface."""

    daemon_threads = True

    def __init__(self, page: bytes, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.page = page

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/"

    def open(self) -> None:
        """Opens the page in the browser of the user."""
        webbrowser.open(self.address)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Sends the page."""
        if self.path not in {"/", "/index.html"}:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, *_: object) -> None:
        """Prints nothing for a request."""
