"""Messages between real hosts over UDP, under any of the algorithms: TIMELY's own system.

Blocking::

    with incast.udp.Host(secret="secret") as host:
        peer = host.connect("10.0.0.2:7000")
        reply = peer.call(b"how are you?", timeout_s=1.0)

Asynchronous::

    async with incast.udp.connect("10.0.0.2:7000", secret="secret") as peer:
        reply = await peer.call(b"how are you?")

Connections are encrypted: both ends have the same `secret`, a file that `incast udp key` makes, or
each has an `identity`, and a file with the public keys of its `peers`. `plaintext=True` turns that
off, for networks on which everybody is trusted. Linux only.
"""

import sys

if sys.platform != "linux":
    raise ImportError("incast.udp needs Linux: it uses UDP_SEGMENT, sendmmsg and SO_TIMESTAMPING")

from incast._core import SecurityError
from incast.udp.asynchronous import AsyncHost, AsyncPeer, connect, serve
from incast.udp.host import Host, Peer, Priority, Request, Settings, make_key, options, public_key

__all__ = [
    "AsyncHost",
    "AsyncPeer",
    "Host",
    "Peer",
    "Priority",
    "Request",
    "SecurityError",
    "Settings",
    "connect",
    "make_key",
    "options",
    "public_key",
    "serve",
]
