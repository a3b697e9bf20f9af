"""A connection of either version of HTTP that waits for a request."""

from flare.http.client.http2_link import Http2Link
from flare.http.client.connection import ClientConnection
from flare.http.client.shared_pool import Lendable
from std.memory import ArcPointer, OwnedPointer


struct IdleConnection(Lendable):
    """What waits in the pool: a connection of either version."""

    var connection: Optional[OwnedPointer[ClientConnection]]
    """One that speaks HTTP/1.1."""
    var link: Optional[ArcPointer[Http2Link]]
    """One that speaks HTTP/2."""

    def __init__(out self, var connection: OwnedPointer[ClientConnection]):
        """Takes one of HTTP/1.1."""
        self.connection = connection^
        self.link = None

    def __init__(out self, var link: ArcPointer[Http2Link]):
        """Takes one of HTTP/2."""
        self.connection = None
        self.link = link^

    @no_inline
    def __deinit__(deinit self):
        """Drops all of it, out of line."""
        return

    def another(self) -> Optional[Self]:
        """Makes another handle of a connection whose requests may be those of
        several threads; nothing for HTTP/1.1, and for a connection without a
        lock."""
        if not self.link or not self.link.value()[].crowd:
            return None
        return Self(self.link.value())

    def was_used(self) -> Bool:
        """Tells whether it had been used before a request got it: it was idle,
        or has carried a request."""
        if not self.link:
            return True
        ref link = self.link.value()[]
        return not link.is_in_use() or link.connection[].request_count > 0
