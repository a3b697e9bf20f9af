"""Whether a connection of HTTP/2 takes more requests, and those it has go on."""


@fieldwise_init
struct LinkEnd(Equatable, TrivialRegisterPassable):
    """Whether and why a connection takes no more requests; it never does again."""

    var _number: UInt8

    comptime OPEN = LinkEnd(0)
    """It takes more."""
    comptime CLOSING = LinkEnd(1)
    """Those under way may go on."""
    comptime FAILED = LinkEnd(2)
    """None goes on."""
    comptime SILENT = LinkEnd(3)
    """The same, since the server has not answered PING in time."""

    comptime COUNT = 4

    def close(mut self):
        """It takes no more requests."""
        if self == Self.OPEN:
            self = Self.CLOSING

    def fail(mut self, is_silent: Bool):
        """It is over; the first reason counts."""
        if self._number < Self.FAILED._number:
            self = Self.SILENT if is_silent else Self.FAILED

    def has_failed(self) -> Bool:
        return self._number >= Self.FAILED._number
