"""Reading a response off the connection to an upstream."""

from flare.bytes.checked import *
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import HAS_LENGTH, IS_CHUNKED
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.proxy.upstream_link import UpstreamLink, reason_of
from flare.sys.errno import EAGAIN
from std.memory import ArcPointer

comptime READ_LEN = 65_536
"""Room for octets of a response that comes fast, in bytes."""

comptime _ERROR_MIN = 400
comptime _ROOM_LEN_MIN = 4_096


def advance_response(
    mut parser: ResponseParser,
    link: ArcPointer[UpstreamLink],
    limits: HeadLimits,
) raises -> ResponseProgress:
    """Goes on with a response, receiving what is there.

    Args:
        parser: The response.
        link: Where it comes from.
        limits: Bounds of its head.

    Returns:
        What was found; `NEEDS_OCTETS` to wait.

    Raises:
        Error: If the connection or the response fails.
    """
    while True:
        var progress = parser.advance(limits)
        if progress != ResponseProgress.NEEDS_OCTETS:
            return progress
        if len(parser.input.spare()) < _ROOM_LEN_MIN:
            # It has filled what it had, so it comes fast.
            parser.input.reserve(READ_LEN)
        var count = link[].receive(parser.input.spare())
        if count > 0:
            parser.input.commit(count)
        elif count == 0:
            parser.close_input()
        elif count == -EAGAIN:
            return progress
        else:
            raise Error(reason_of(count))


def announced_len(parser: ResponseParser) -> Optional[Int]:
    """Tells how long the content is by Content-Length.

    Args:
        parser: Has the response's head.

    Returns:
        The length in bytes; nothing without such a field, or if chunks say it.
    """
    ref framing = parser.head.framing
    if framing.has(HAS_LENGTH) and not framing.has(IS_CHUNKED):
        return framing.content_length
    return None


def wants_rest(parser: ResponseParser) -> Bool:
    """Tells whether an upstream that has begun to answer may still want the rest
    of the request.

    Args:
        parser: Has the response's head.

    Returns:
        False for an error with which the connection ends (RFC 9112 section 9.5).
    """
    ref head = parser.head
    return head.status < _ERROR_MIN or head.framing.keeps_alive(
        head.minor_version
    )
