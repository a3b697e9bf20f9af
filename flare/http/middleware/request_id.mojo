"""Ids of requests, taken over from clients and sent back."""

from flare.bytes.ascii import hex_digits
from flare.bytes.scan import TCHAR
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.request import REQUEST_ID_LEN_MAX, Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler
from flare.http.middleware.late_response import SetsFields, serve_with_fields
from flare.http.routing.stack import Layer
from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters
from flare.sys.random import fill_random

comptime _OWN_LEN = 32


struct RequestId[H: Handler](Layer, SetsFields):
    """Gives each request an id, and sends it back as X-Request-Id.

    Whoever asks for the id before (`request_id`) makes it, and it is kept; so
    this one stands outside of what asks, if ids of clients are to count.

    An id that the request brings (1 to 128 token characters, RFC 9110 section
    5.6.2) is kept, so that it names the same request in the logs of a proxy;
    with `takes_over=False` it is replaced. Own ids are 32 hex digits, distinct
    over all worker threads and processes.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = RequestId[I]
    var handler: Self.H
    """What answers."""
    var takes_over: Bool
    """Whether ids of clients are kept."""
    var _seed: UInt64
    var _count: SharedCounters

    def __init__(
        out self, var handler: Self.H, *, takes_over: Bool = True
    ) raises OsError:
        """Wraps a handler.

        Raises:
            OsError: If the system gives no random octets or no memory.
        """
        self.handler = handler^
        self.takes_over = takes_over
        var octets = Array[UInt8, 8](fill=0)
        fill_random(octets)
        self._seed = 0
        for octet in octets:
            self._seed = self._seed << 8 | UInt64(octet)
        self._count = SharedCounters(1)

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, which finds the id by `request_id`.

        Raises:
            Error: What the inner handler raises. The answer to it has the id,
                too.
        """
        self._name(req)
        return serve_with_fields(self.handler, req, self)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Adds the id to an answer of the server's own."""
        self._name(req)
        response = self.handler.refuse(req, response^)
        self._set_fields(req, response.headers)
        return response^

    def _set_fields(
        self, req: Request, mut headers: HeaderMap
    ) raises HeaderError:
        """Sends the request's id back."""
        headers.set("X-Request-Id", req.route_params()[].record.id())

    def _name(self, req: Request):
        """Gives the request an id, unless somebody asked for it before."""
        ref record = req.route_params()[].record
        if record.has_id():
            return
        if self.takes_over:
            var brought = req.headers.get("x-request-id")
            if brought and _is_fit(brought.value()):
                record.set_id(brought.value().as_bytes())
                return
        var room = Array[UInt8, _OWN_LEN](uninitialized=True)
        self._make(room)
        record.set_id(room)

    def _make(self, mut room: Array[UInt8, _OWN_LEN]):
        """Writes the seed, and the next number mixed so that ids spread."""
        var number = UInt64(self._count.take(0)) * 0x9E3779B97F4A7C15
        var mixed = number + self._seed
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
        mixed = mixed ^ (mixed >> 31)
        _write_hex(room, 0, self._seed)
        _write_hex(room, 16, mixed)


@always_inline
def _write_hex(mut room: Array[UInt8, _OWN_LEN], start: Int, number: UInt64):
    """Writes sixteen digits; `start` is 0 or 16."""
    # SAFETY: sixteen octets from either start lie within the room.
    room.unsafe_ptr().unsafe_store(start, hex_digits(number))


def _is_fit(id: StringSpan) -> Bool:
    if id.byte_length() == 0 or id.byte_length() > REQUEST_ID_LEN_MAX:
        return False
    for octet in id.as_bytes():
        if not materialize[TCHAR]().contains(octet):
            return False
    return True
