"""How the content of a response ends."""

from flare.http.h1.framing import HAS_LENGTH, IS_CHUNKED
from flare.http.h1.protocol_error import RemoteProtocolError, Rule
from flare.http.h1.response_head import ResponseHead
from flare.http.message.method import Method

comptime SWITCHING_PROTOCOLS = 101
"""The status behind which another protocol begins (RFC 9110 section 15.2.2)."""


struct ContentEnd(Equatable, TrivialRegisterPassable):
    """Where the content of a response ends."""

    var number: UInt8
    """The case."""

    comptime NONE = ContentEnd(0)
    """With the head: there is no content."""
    comptime SIZED = ContentEnd(1)
    """After as many octets as Content-Length says."""
    comptime CHUNKED = ContentEnd(2)
    """With the last chunk and its trailers."""
    comptime CLOSE = ContentEnd(3)
    """With the connection."""
    comptime OTHER_PROTOCOL = ContentEnd(4)
    """With the head, and what follows is not HTTP: a tunnel, or 101."""

    @always_inline
    def __init__(out self, number: UInt8):
        """Makes a case.

        Args:
            number: The case.
        """
        self.number = number

    def __eq__(self, other: Self) -> Bool:
        """Compares two cases.

        Args:
            other: A case.

        Returns:
            True if they are the same.
        """
        return self.number == other.number


def content_end(
    request_method: Method, head: ResponseHead
) raises RemoteProtocolError -> ContentEnd:
    """Decides how a response's content ends, in RFC 9112 section 6.3 order.

    Args:
        request_method: The method of the request that is answered.
        head: The complete head.

    Returns:
        Where the content ends.

    Raises:
        RemoteProtocolError: If Content-Length stands beside
            Transfer-Encoding, or HTTP/1.0 has a transfer coding.
    """
    var status = head.status
    if request_method == Method.HEAD:
        return ContentEnd.NONE
    if status == SWITCHING_PROTOCOLS:
        return ContentEnd.OTHER_PROTOCOL
    if status < 200 or status == 204 or status == 304:
        return ContentEnd.NONE
    if request_method == Method.CONNECT and status < 300:
        return ContentEnd.OTHER_PROTOCOL
    ref framing = head.framing
    # The RFC lets a client drop the length of this pair. Peers that choose the
    # other one see another end of the response, so we trust neither.
    if framing.has(IS_CHUNKED) and framing.has(HAS_LENGTH):
        raise RemoteProtocolError(
            materialize[Rule.LENGTH_AND_CODING](), head.head_len
        )
    if framing.has(IS_CHUNKED) and head.minor_version == 0:
        raise RemoteProtocolError(
            materialize[Rule.CODING_VERSION](), head.head_len
        )
    if framing.has(IS_CHUNKED):
        return ContentEnd.CHUNKED
    if framing.has(HAS_LENGTH):
        return ContentEnd.SIZED
    return ContentEnd.CLOSE
