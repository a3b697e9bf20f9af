"""Reading a response off the connection to an upstream."""

from flare.bytes.checked import *
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.proxy.upstream_link import UpstreamLink, reason_of
from flare.sys.errno import EAGAIN
from std.memory import ArcPointer

comptime READ_LEN = 65_536
"""Room for octets of a response that comes fast, in bytes."""

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
