"""What is on its way to a server: a slow one takes octets long before the connection
takes more."""

from flare.http.client.connection import ClientConnection
from flare.sys.clock import coarse_monotonic_ms


struct Delivery(TrivialRegisterPassable):
    """How much was on its way when it was last looked at, and since when the server
    has taken nothing of it."""

    var _left_len: Int
    var _moved_ms: Int

    def __init__(out self):
        """Knows of nothing on its way."""
        self._left_len = 0
        self._moved_ms = 0

    def is_going_on(self) -> Bool:
        """Tells whether octets are on their way to the server, for all that is
        known. If so, look again before all of the time is over: what the server
        takes now is seen only then."""
        return self._left_len > 0

    def look(mut self, connection: ClientConnection) -> Bool:
        """Tells whether the server has taken octets, so that less is on its
        way, since this was asked last, or since the connection took no more."""
        var left_len = connection.transport.undelivered_len()
        var is_progress = left_len < self._left_len
        self._left_len = left_len
        if is_progress:
            self._moved_ms = coarse_monotonic_ms()
        return is_progress

    def note(mut self, connection: ClientConnection, has_sent: Bool = False):
        """Notes how much is on its way, for `look`, when the connection takes
        no more; `has_sent` if it has just taken some."""
        var was_idle = not self.is_going_on()
        if not self.look(connection) and (has_sent or was_idle):
            self._moved_ms = coarse_monotonic_ms()

    def note_answer(mut self):
        """Notes that the server has answered while octets are on their way: whoever
        answers is there, and from now on its silence counts."""
        if self.is_going_on():
            self._moved_ms = coarse_monotonic_ms()

    def stalled_ms(self) -> Int:
        """Tells for how many milliseconds the server has taken nothing of what
        is on its way, as far as was looked."""
        return coarse_monotonic_ms() - self._moved_ms

    def look_again_ms(self, timeout_ms: Int) -> Int:
        """Tells in how many milliseconds to look what the server has taken: an
        eighth of the time that it may take nothing, or what is left of it. That
        is in milliseconds, too; negative for ever."""
        if timeout_ms < 0:
            return timeout_ms
        var left_ms = max(timeout_ms - self.stalled_ms(), 0)
        return min(left_ms, max(timeout_ms // 8, 1))
