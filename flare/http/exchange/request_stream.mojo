"""A stream of HTTP/2 as requests see it: content, and never a wait."""

from flare.bytes.checked import *
from flare.http.message.header_map import HeaderMap

comptime PIECE_LEN = 65_536
"""Most content that goes out at once, in bytes."""


trait RequestStream:
    """A stream as requests see it: it takes content as far as windows go, and
    never waits."""

    def is_congested(mut self) -> Bool:
        """Tells whether the connection takes no more now."""
        ...

    def has_sent_end(self) -> Bool:
        """Tells whether nothing may follow.

        Returns:
            True once all is sent, or no more is wanted.
        """
        ...

    def sendable_len(self) -> Int:
        """Tells how much content may be sent now.

        Returns:
            Bytes; 0 if a window is shut.
        """
        ...

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        """Sends a piece of content.

        Args:
            octets: The piece, no more than `sendable_len`; there may be none.
            ends: True if it is the last one.
        """
        ...

    def send_trailers(mut self, fields: HeaderMap):
        """Ends the request with trailer fields (RFC 9113 section 8.1)."""
        ...


def send_piece[
    S: RequestStream
](mut stream: S, content: Span[UInt8, _], *, ends: Bool) -> Int:
    """Sends what a stream takes of content, and its end behind all of it.

    Args:
        stream: The stream, which has not sent its end.
        content: The content; there may be none.
        ends: True if nothing follows it.

    Returns:
        How many octets were sent; -1 if the stream takes nothing now.
    """
    if stream.is_congested():
        return -1
    var count = min(len(content), stream.sendable_len(), PIECE_LEN)
    if count == 0 and (len(content) > 0 or not ends):
        return -1
    var is_last = ends and count == len(content)
    stream.send_content(content.before(count), is_last)
    return count
