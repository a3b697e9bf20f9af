"""How many tiny WINDOW_UPDATEs give back what a peer was sent."""

comptime _UPDATES = 2
"""A frame of content is given back to its stream and to the connection."""


struct UpdateAllowance(Movable):
    """What a peer may give back in tiny pieces without making work for nothing
    (CVE-2019-9511): two WINDOW_UPDATEs for each frame of content that its own
    windows have not cut short, and two for each stream, since what ends one may
    be short.

    Streams 1 and 3 were begun, and one frame was sent on the first: six updates
    are free, the seventh costs a token.
    """

    var _count: Int
    # Up to this stream each has been counted. Numbers of one side's streams go up
    # by two (RFC 9113 section 5.1.1).
    var _counted_id: Int

    def __init__(out self, before_id: Int):
        """Begins with nothing, before the stream that follows this one."""
        self._count = 0
        self._counted_id = before_id

    def earn_for_data(mut self):
        """Notes a frame of content that the peer may give back at once."""
        self._count += _UPDATES

    def earn_for_streams(mut self, last_id: Int):
        """Notes that all streams up to this one have begun."""
        self._count += _UPDATES * ((last_id - self._counted_id) // 2)
        self._counted_id = last_id

    def spend(mut self) -> Bool:
        """Takes one WINDOW_UPDATE; False if it gives nothing back."""
        if self._count <= 0:
            return False
        self._count -= 1
        return True
