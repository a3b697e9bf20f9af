"""What comes to sockets: which of several can be read or written, however many
descriptors this process has (`select.select` fails at 1,024), and the connections of
a listener."""

import selectors
import socket
from collections.abc import Iterable, Iterator


def ready(
    sockets: Iterable[socket.socket], timeout_s: float, writes: bool = False
) -> list[socket.socket]:
    """Waits until one can be read, or also written if that is wanted; those that
    can be."""
    events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writes else 0)
    with selectors.PollSelector() as selector:
        for sock in sockets:
            selector.register(sock, events)
        return [key.fileobj for key, _ in selector.select(timeout_s)]


def accepted(listener: socket.socket) -> Iterator[socket.socket]:
    """The connections that come to a listener, until it is closed."""
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        yield sock
