"""Whether the kernel paces UDP sends, by `SO_MAX_PACING_RATE` or by the time of each (`SO_TXTIME`).

Sends 200 datagrams of 1,250 B at once, asks for 100 us between them (100 Mb/s), and prints the time
between the first and the last arrival: 19.9 ms if they are paced. A device paces only under a
queueing discipline that knows the option: `fq`, or `etf` for times.
"""

import argparse
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

DATAGRAMS, SIZE, SPACING_NS = 200, 1_250, 100_000
RATE = SIZE * 1_000_000_000 // SPACING_NS
SO_TXTIME = SCM_TXTIME = 61
SO_MAX_PACING_RATE = 47
WAIT_S = 2.0


def plain(sender: socket.socket) -> None:
    """Sends at once."""
    for _ in range(DATAGRAMS):
        sender.send(bytes(SIZE))


def rated(sender: socket.socket) -> None:
    """Sends at once from a socket that has a rate."""
    sender.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", RATE))
    plain(sender)


def timed(sender: socket.socket) -> None:
    """Sends datagrams at once that each have a time, by the monotonic clock."""
    sender.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
    start = time.monotonic_ns() + 1_000_000
    for number in range(DATAGRAMS):
        at = struct.pack("Q", start + number * SPACING_NS)
        sender.sendmsg([bytes(SIZE)], [(socket.SOL_SOCKET, SCM_TXTIME, at)])


def spread_ms(sends: Callable[[socket.socket], None], here: str, to: str) -> float | None:
    """The time between the first and the last arrival; None if some do not arrive."""
    times: list[int] = []
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.bind((to, 0))
        receiver.settimeout(WAIT_S)
        sender.bind((here, 0))
        sender.connect(receiver.getsockname())

        def receive() -> None:
            while len(times) < DATAGRAMS:
                try:
                    receiver.recv(SIZE)
                except TimeoutError:
                    return
                times.append(time.monotonic_ns())

        thread = threading.Thread(target=receive)
        thread.start()
        sends(sender)
        thread.join()
    return (times[-1] - times[0]) / 1e6 if len(times) == DATAGRAMS else None


def main() -> None:
    """Prints the spread of each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", default="127.0.0.1", help="the address to send from")
    parser.add_argument("--to", default="127.0.0.1", help="the address to send to, of this machine")
    chosen = parser.parse_args()
    ways = {"nothing asked": plain, "SO_MAX_PACING_RATE": rated, "SO_TXTIME": timed}
    for name, sends in ways.items():
        try:
            spread = spread_ms(sends, chosen.here, chosen.to)
        except OSError as error:
            sys.exit(f"{name}: {error.strerror or error}")
        print(f"{name}: {'not all arrived' if spread is None else f'{spread:.2f} ms'}")


if __name__ == "__main__":
    main()
