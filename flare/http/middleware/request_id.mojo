"""A name for each request, to find it in the logs of several programs."""

from flare.bytes.lend import lend_text
from flare.bytes.octet_class import TCHAR
from flare.http.message.request import Request
from flare.http.message.request_notes import NoteLoan
from flare.http.message.response import Response
from flare.http.routing.handler import Handler, Middleware
from flare.sys.errno import OsError
from flare.sys.random import fill_random
from flare.sys.shared_memory import SharedCounters
from std.bit import byte_swap
from std.memory import bitcast

comptime REQUEST_ID_LEN_MAX = 128
"""Longest id that is taken over from a client, in bytes.

Ids stand in every line of a log; those in use have 16 to 55 bytes.
"""

comptime _OWN_LEN = 32


struct RequestIdNote(TrivialRegisterPassable):
    """The id of a request, as it is lent to inner handlers."""

    var text: StringSpan[ImmUntrackedOrigin]
    """The id; good for the length of the handler's call."""

    def __init__(out self, text: StringSpan[ImmUntrackedOrigin]):
        """Makes a note.

        Args:
            text: The id.
        """
        self.text = text


def request_id(req: Request) -> String:
    """Reads the id that a `RequestId` gave to a request.

    Args:
        req: The request that is being handled.

    Returns:
        The id; empty if there is no `RequestId` around the handler.
    """
    # SAFETY: the RequestId that lends its note is in the midst of a call.
    var found = req.notes()[].find[RequestIdNote]()
    return String(found.value()[].text) if found else String()


struct RequestId[H: Handler](Middleware):
    """Gives each request an id, and sends it back as X-Request-Id.

    An id that the request brings (1 to 128 token characters, RFC 9110 section
    5.6.2) is kept, so that it names the same request in the logs of a proxy;
    with `takes_over=False` it is replaced. Own ids are 32 hex digits, distinct
    over all worker threads and processes.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
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

        Args:
            handler: What answers.
            takes_over: Whether ids of clients are kept.

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

        Args:
            req: The request.

        Returns:
            The response, with the id.

        Raises:
            Error: What the inner handler raises.
        """
        if self.takes_over:
            var brought = req.headers.get("x-request-id")
            if brought and _is_fit(brought.value()):
                return self._answer(req, brought.value())
        var room = Array[UInt8, _OWN_LEN](uninitialized=True)
        self._make(room)
        return self._answer(req, StringSpan(unsafe_from_utf8=Span(room)))

    @always_inline
    def _answer(self, req: Request, id: StringSpan) raises -> Response:
        # SAFETY: the id outlives this call, within which the loan ends.
        var note = RequestIdNote(
            lend_text[ImmUntrackedOrigin](id.unsafe_ptr(), id.byte_length())
        )
        var loan = NoteLoan(req.notes(), note)
        var response = self.handler.serve(req)
        loan^.end()
        response.headers.set("X-Request-Id", id)
        return response^

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
    var octets = bitcast[DType.uint8, 8](byte_swap(number))
    var nibbles = (octets >> 4).interleave(octets & 15)
    var letters = nibbles.gt(9).select(
        SIMD[DType.uint8, 16](39), SIMD[DType.uint8, 16](0)
    )
    room.unsafe_ptr().unsafe_store(start, nibbles + 48 + letters)


def _is_fit(id: StringSpan) -> Bool:
    if id.byte_length() == 0 or id.byte_length() > REQUEST_ID_LEN_MAX:
        return False
    for octet in id.as_bytes():
        if not materialize[TCHAR]().contains(octet):
            return False
    return True
