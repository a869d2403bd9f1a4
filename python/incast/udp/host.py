"""Hosts and peers for threads that wait."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from typing_extensions import Unpack

from incast import _core
from incast._core import IncastError

Path = PathLike[str] | str
Priority = Literal["by-size", "high", "low"]
"""The place of a message among others to the same peer, and in the queues on its way.

`by-size` is high for messages of up to 8 KB. Messages of one place arrive in order, and a reply has
the place of its call.
"""


class Settings(TypedDict, total=False):
    """The settings of a host. Exactly one of `secret`, `identity` and `plaintext` is needed."""

    secret: Path | None
    """The file of the secret that all hosts have (`incast udp key FILE --shared`)."""
    identity: Path | None
    """The file of this host's key pair (`incast udp key FILE`)."""
    peers: Path | None
    """The file of the public keys that may connect, beside a key pair."""
    plaintext: bool
    """No encryption: only where everybody is trusted."""
    cc: str
    """The algorithm of what is sent from here, such as `timely:auto` (the default) or `dctcp`."""
    settings: Sequence[str]
    """Parameters of the algorithm, such as `t_low=100us`."""
    line_rate: str
    """The most that a connection sends; `40Gbps` by default."""
    nic_rate: str | None
    """The rate of a real NIC, with which the algorithm's constants scale; None on a virtual link.

    RTTs leave out a segment's time on its wire.
    """
    mtu: int
    """The largest IP packet in bytes that the path takes for certain; 1,500 by default.

    Longer ones are tried and used by themselves.
    """
    spin_us: float
    """The microseconds of spinning before each send time and before a sleep; 60 by default."""
    always_spin: bool
    """No sleep at all: shorter delays for a CPU of its own."""
    patience_s: float
    """The seconds of silence after which a peer counts as gone; 15 by default."""
    threads: int
    """The threads, each with its own socket; 1 by default."""
    listens: bool
    """Whether other hosts may connect; they may by default."""
    max_message_bytes: int
    """The longest message in bytes that is received; 64 MiB by default."""
    answers_loads: bool
    """Whether the host answers the calls of `incast udp call` by itself."""


def options(address: str = "0.0.0.0:0", **settings: Unpack[Settings]) -> _core.UdpOptions:
    """The settings of a host, checked.

    Args:
        address: The address to bind to, HOST:PORT; port 0 is any free one.
        **settings: The `Settings`, each a keyword argument.

    Raises:
        IncastError: A setting cannot work; the message says which and why.
    """
    return _core.UdpOptions(address, **settings)


def make_key(path: Path, *, shared: bool = False) -> str | None:
    """Makes a key pair in a new file and returns its public key; or a secret that hosts share."""
    return _core.udp_make_key(path, shared)


def public_key(path: Path) -> str:
    """The public key of a key pair's file."""
    return _core.udp_public_key(path)


class Request:
    """A message from a peer."""

    def __init__(self, request: _core.UdpRequest) -> None:
        self._request = request

    @property
    def body(self) -> bytes:
        """The body of the message."""
        return self._request.body

    @property
    def peer(self) -> "Peer":
        """The sender."""
        return Peer(self._request.peer)

    @property
    def timeout_s(self) -> float | None:
        """The seconds that the sender waits, from when it sent the message; None if not bounded.

        It waits for the reply to a call, or for the news that a note was delivered.
        """
        return self._request.timeout_s

    @property
    def wants_reply(self) -> bool:
        """Whether the message is a call. One that is never answered is refused."""
        return self._request.wants_reply

    def reply(self, body: bytes) -> None:
        """Replies to the call."""
        self._request.reply(body)

    def refuse(self, reason: str) -> None:
        """Refuses the call, for a reason that the caller reads."""
        # Half of a surrogate pair, as names of files may have it, is no text.
        self._request.refuse(reason.encode("utf-8", "replace").decode())


class Peer:
    """A host at the other end of a connection."""

    def __init__(self, peer: _core.UdpPeer) -> None:
        self._peer = peer

    @property
    def address(self) -> str:
        """The address, HOST:PORT."""
        return self._peer.address

    def call(
        self, body: bytes, timeout_s: float | None = None, *, priority: Priority = "by-size"
    ) -> bytes:
        """Calls the peer, and waits for the reply.

        Raises:
            IncastError: The peer is gone, has refused the call, or takes none of this length.
            TimeoutError: No reply came in time. The message says whether the peer may have done
                what it was called for, or the call could not leave.
        """
        return bytes(self._peer.call(body, timeout_s, priority).wait())

    def note(
        self, body: bytes, timeout_s: float | None = None, *, priority: Priority = "by-size"
    ) -> None:
        """Sends a message that wants no reply, and waits until the peer has it.

        Raises:
            IncastError: The peer is gone, or takes no message of this length.
            TimeoutError: The peer did not have it in time. The message says whether it may still
                get it, or the note could not leave and never will.
        """
        self._peer.note(body, timeout_s, priority).wait()

    def statistics(self) -> dict[str, Any] | None:
        """The state of the connection; None if the peer is gone."""
        return self._peer.statistics()

    def close(self) -> None:
        """Ends the connection. What is under way fails."""
        self._peer.close()


class Host:
    """A host with a thread of its own, which connects and accepts connections."""

    def __init__(self, address: str = "0.0.0.0:0", **settings: Unpack[Settings]) -> None:
        """Opens the host at an address, HOST:PORT; the `Settings` are keyword arguments.

        Raises:
            IncastError: The address is taken, or a setting cannot work.
        """
        self._open: _core.UdpHost | None = _core.UdpHost(options(address, **settings))

    @property
    def _host(self) -> _core.UdpHost:
        if self._open is None:
            raise IncastError("the host is closed; open another one")
        return self._open

    @property
    def address(self) -> str:
        """The address, with its port."""
        return self._host.address

    @property
    def missing_features(self) -> list[str]:
        """A sentence for each feature of the kernel that is missing, which says what is lost."""
        return self._host.missing_features

    def connect(self, address: str, key: str | None = None, timeout_s: float | None = None) -> Peer:
        """Connects to a host, which has the public key `key` if connections are protected by keys.

        Raises:
            SecurityError: The two ends do not fit; the message says why.
            IncastError: Nothing answers there.
            TimeoutError: The connection was not open in time.
        """
        return Peer(self._host.connect(address, key).wait(timeout_s))

    def accept(self, timeout_s: float) -> Request | None:
        """The next message of any peer, or None if there is none in time."""
        request = self._host.accept(timeout_s)
        return None if request is None else Request(request)

    def peers(self) -> list[dict[str, Any]]:
        """The state of each peer whose connection is open."""
        return self._host.peers()

    def rejected(self) -> list[tuple[str, str]]:
        """The hosts refused or dropped since the last call: the address of each, and the reason.

        A peer is dropped if it holds memory and its messages do not go on. Of more than 64 hosts
        they are the last.
        """
        return self._host.rejected()

    def bare(self, here: str, there: str, kind: str, *, spin: bool, most_s: float) -> int | None:
        """Opens a bare socket, which answers one other address: `incast udp bench` compares.

        Returns its port; None if another one answers. It has a thread of its own, for `most_s`
        seconds at most.

        Raises:
            IncastError: No socket can be opened.
        """
        return self._host.bare(here, there, kind, spin, most_s)

    def counters(self) -> dict[str, int]:
        """Counts of datagrams since the host was opened."""
        return self._host.counters()

    def close(self) -> None:
        """Ends all connections, and the host's thread."""
        self._open = None

    def __enter__(self) -> "Host":  # noqa: PYI034 - Python 3.10 has no Self
        """The host itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the host."""
        self.close()
