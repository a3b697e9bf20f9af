"""Telling the client how long its answer took."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import Handler, Middleware
from flare.sys.clock import monotonic_ns

comptime _PREFIX = StaticString("total;dur=")
# Milliseconds with three decimals in 64 bits, and the prefix.
comptime _VALUE_LEN_MAX = 40


struct Timing[H: Handler](Middleware):
    """Sets Server-Timing to the milliseconds spent in the inner handler.

    Browsers show the field (`total;dur=1.204`) among the request's times. It
    tells strangers about the server: leave it out where that matters.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
    var handler: Self.H
    """What answers."""

    def __init__(out self, var handler: Self.H):
        """Wraps a handler.

        Args:
            handler: What answers.
        """
        self.handler = handler^

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and times it.

        Args:
            req: The request.

        Returns:
            The response, with the field.

        Raises:
            Error: What the inner handler raises.
        """
        var began_ns = monotonic_ns()
        var response = self.handler.serve(req)
        var room = Array[UInt8, _VALUE_LEN_MAX](uninitialized=True)
        var start = _write_ms(room, (monotonic_ns() - began_ns) // 1_000)
        response.headers.append(
            "Server-Timing", StringSpan(unsafe_from_utf8=Span(room)[start:])
        )
        return response^


def _write_ms(mut room: Array[UInt8, _VALUE_LEN_MAX], elapsed_us: Int) -> Int:
    """Writes milliseconds with three decimals behind the prefix, from the end
    of the room; gives the place where it starts."""
    var place = _VALUE_LEN_MAX
    var rest = max(elapsed_us, 0)
    var digit_count = 0
    while rest > 0 or digit_count < 4:
        place -= 1
        if digit_count == 3:
            room[place] = 46
            place -= 1
        room[place] = UInt8(48 + rest % 10)
        rest //= 10
        digit_count += 1
    place -= _PREFIX.byte_length()
    for index in range(_PREFIX.byte_length()):
        room[place + index] = _PREFIX.as_bytes()[index]
    return place
