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
        """Tells whether nothing may follow: all is sent, or no more is
        wanted."""
        ...

    def sendable_len(self) -> Int:
        """Tells how many bytes of content may be sent now; 0 if a window is
        shut."""
        ...

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        """Sends a piece of content, perhaps empty, of no more than
        `sendable_len`; `ends` if it is the last one."""
        ...

    def send_trailers(mut self, fields: HeaderMap):
        """Ends the request with trailer fields (RFC 9113 section 8.1)."""
        ...


def send_piece[
    S: RequestStream
](mut stream: S, content: Span[UInt8, _], *, ends: Bool) -> Int:
    """Sends what a stream, which has not sent its end, takes of content,
    perhaps none, and its end after all of it, if it `ends`. Returns how many
    octets were sent; -1 if the stream takes nothing now."""
    if stream.is_congested():
        return -1
    var count = min(len(content), stream.sendable_len(), PIECE_LEN)
    if count == 0 and (len(content) > 0 or not ends):
        return -1
    var is_last = ends and count == len(content)
    stream.send_content(content.before(count), is_last)
    return count
