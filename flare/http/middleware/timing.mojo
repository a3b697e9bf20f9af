"""How long requests take (Server-Timing), and how long they may."""

from flare.bytes.checked import *
from flare.bytes.ranges import range_problem
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.failure import note_failure_fields
from flare.http.handler.handler import (
    DEFAULT_TIMEOUT_MS,
    Handler,
    RequestPolicy,
    TIMEOUT_MS_MAX,
)
from flare.http.handler.later import LaterStep, finish_later, is_later
from flare.http.routing.stack import Layer
from flare.sys.clock import monotonic_ns

comptime _PREFIX = StaticString("total;dur=")
# Milliseconds with three decimals in 64 bits, and the prefix.
comptime _VALUE_LEN_MAX = 40


@fieldwise_init
struct Timing[H: Handler](Layer):
    """Sets Server-Timing to the milliseconds spent in the inner handler.

    Browsers show the field (`total;dur=1.204`) among the request's times. It
    tells strangers about the server: leave it out where that matters.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Timing[I]
    var handler: Self.H
    """What answers."""

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and times it.

        Raises:
            Error: What the inner handler raises. The answer to it has the
                field, too.
        """
        var began_ns = monotonic_ns()
        try:
            var response = self.handler.serve(req)
            if is_later(req, response):
                finish_later(req, response, _LateTime(began_ns))
                return response^
            _add_time(response.headers, began_ns)
            return response^
        except error:
            var fields = HeaderMap()
            _add_time(fields, began_ns)
            note_failure_fields(req, fields)
            raise error^


@fieldwise_init
struct _LateTime(LaterStep):
    """Tells how long a response took that is made later."""

    var began_ns: Int

    def finish(mut self, var response: Response) raises -> Response:
        _add_time(response.headers, self.began_ns)
        return response^


def _add_time(mut headers: HeaderMap, began_ns: Int) raises HeaderError:
    var room = Array[UInt8, _VALUE_LEN_MAX](uninitialized=True)
    var start = _write_ms(room, (monotonic_ns() - began_ns) // 1_000)
    headers.append(
        "Server-Timing", StringSpan(unsafe_from_utf8=Span(room)[start:])
    )


def _write_ms(mut room: Array[UInt8, _VALUE_LEN_MAX], elapsed_us: Int) -> Int:
    """Writes milliseconds with three decimals after the prefix, from the end
    of the room; gives the place where it starts."""
    var place = _VALUE_LEN_MAX
    var rest = max(elapsed_us, 0)
    var digit_count = 0
    while rest > 0 or digit_count < 4:
        place -= 1
        if digit_count == 3:
            room.at(place) = 46
            place -= 1
        room.at(place) = UInt8(48 + rest % 10)
        rest //= 10
        digit_count += 1
    place -= _PREFIX.byte_length()
    for index in range(_PREFIX.byte_length()):
        room.at(place + index) = _PREFIX.as_bytes().at(index)
    return place


struct Timeout[H: Handler](Layer):
    """Gives handlers on handler threads a time of their own.

    In place of `ServerConfig.handler_timeout_ms`, which counts from when the
    request is complete, waiting for a thread included. At its end the client
    gets a 503, and the connection ends; `Request.cancelled` is true from then
    on, and what the handler answers later is dropped. The innermost `Timeout`
    around a handler holds.

    A handler cannot be interrupted, so this needs threads: with
    `handler_threads=0`, for a route with `may_block=False`, and by default
    until a route has held the loop (`ServerConfig.handler_threads`), nothing is
    held to the time. While content arrives that is read meanwhile
    (`Streamed`), the time counts for each of the handler's turns, as
    `handler_timeout_ms` does.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Timeout[I]
    var handler: Self.H
    """What answers."""
    var _timeout_ms: Int

    def __init__(out self, var handler: Self.H, *, timeout_ms: Int) raises:
        """Wraps a handler.

        Args:
            timeout_ms: How long it may take, 1 to 86,400,000 (a day).

        Raises:
            Error: If the time is out of range.
        """
        var problem = range_problem("timeout_ms", timeout_ms, 1, TIMEOUT_MS_MAX)
        if problem.byte_length() > 0:
            raise Error("Timeout: ", problem)
        self.handler = handler^
        self._timeout_ms = timeout_ms

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer."""
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, with its time or else this one's."""
        var policy = self.handler.policy_for(req)
        if policy.timeout_ms == DEFAULT_TIMEOUT_MS:
            policy.timeout_ms = self._timeout_ms
        return policy
