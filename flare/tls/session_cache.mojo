"""Tickets to go on from, by server."""

from flare.sys.random import KeyedHasher
from std.memory import ArcPointer
from std.utils import BlockingScopedLock, BlockingSpinLock

comptime TICKET_COUNT_MAX = 256
"""Most tickets that a cache holds; each has a few KiB."""


struct _Tickets(Movable):
    var lock: BlockingSpinLock
    var by_peer: Dict[String, List[UInt8], KeyedHasher]

    def __init__(out self):
        self.lock = BlockingSpinLock()
        self.by_peer = {}


struct TlsSessionCache(ImplicitlyCopyable):
    """The last ticket of each server; copies share it, also between threads.

    Only sessions with the same configuration may share a cache, which is why
    each `TlsClientContext` has its own.
    """

    var _tickets: ArcPointer[_Tickets]

    def __init__(out self):
        """Makes an empty cache."""
        self._tickets = ArcPointer(_Tickets())

    def put(self, peer: String, var ticket: List[UInt8]):
        """Keeps a ticket; the oldest server's goes if there are too many.

        Args:
            peer: The server: host and port.
            ticket: The ticket; an empty one is not kept.
        """
        if len(ticket) == 0:
            return
        ref tickets = self._tickets[]
        with BlockingScopedLock(tickets.lock):
            # Taken out first, so that the server counts as the newest.
            _ = tickets.by_peer.pop(peer, [])
            if len(tickets.by_peer) >= TICKET_COUNT_MAX:
                _drop_oldest(tickets.by_peer)
            tickets.by_peer[peer] = ticket^

    def take(self, peer: String) -> List[UInt8]:
        """Takes a ticket out: each is used once (RFC 8446 appendix C.4).

        Args:
            peer: The server: host and port.

        Returns:
            The ticket; empty if there is none.
        """
        ref tickets = self._tickets[]
        with BlockingScopedLock(tickets.lock):
            return tickets.by_peer.pop(peer, [])


def _drop_oldest(mut by_peer: Dict[String, List[UInt8], KeyedHasher]):
    var oldest = String()
    for peer in by_peer.keys():
        oldest = peer
        break
    _ = by_peer.pop(oldest, [])
