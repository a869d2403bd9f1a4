"""The server of `incast udp serve`: loads, files, messages, and bare sockets for a bench."""

from collections.abc import Callable

from incast.udp import bench, files
from incast.udp.guarding import guarded, printable
from incast.udp.host import Host, Request
from incast.udp.receiving import Receiver

_SHOWN = 200


class Server:
    """The answers to the requests that a host does not answer by itself.

    Loads are answered by the host's threads, files by the receiver's, a bench by one of its own. So
    no request keeps others waiting, and none ends the server.
    """

    def __init__(
        self,
        host: Host,
        receiver: Receiver,
        *,
        has_bench: bool = False,
        tell: Callable[[str], None] = print,
        warn: Callable[[str], None] = print,
    ) -> None:
        """Answers the requests of a host's peers.

        Args:
            host: The host.
            receiver: Takes files.
            has_bench: Whether bare sockets are opened for peers that ask.
            tell: Gets a line for each message that wants no reply.
            warn: Gets a line for each fault of the server's own.
        """
        self._host, self._receiver, self._has_bench = host, receiver, has_bench
        self._tell, self._warn = tell, warn

    def answer(self, request: Request) -> None:
        """Answers a request, or hands it to the thread that does."""
        guarded(lambda: self._answer(request), self._warn, request)

    def _answer(self, request: Request) -> None:
        body = request.body
        if not request.wants_reply:
            self._tell(said(request.peer.address, body))
        elif files.is_of_file(body):
            self._receiver.take(request, body)
        elif not bench.is_of_bench(body):
            request.refuse("this server answers loads and takes files")
        elif self._has_bench:
            bench.answer(request, body, self._host)
        else:
            request.refuse("this server offers no bench; start it with --bench")


def said(sender: str, body: bytes) -> str:
    """A message of a peer in a line: its text, or its length if it is none."""
    start = body[: 4 * _SHOWN]
    # A character may be cut at the end.
    text = start.decode("utf-8", "ignore")
    if len(start) - len(text.encode()) > (3 if len(body) > len(start) else 0):
        return f"message from {sender}: {len(body)} B"
    more = f" ... ({len(body)} B)" if len(text) > _SHOWN or len(body) > len(start) else ""
    return f"message from {sender}: {printable(text[:_SHOWN])}{more}"
