"""Requests that are passed on: over HTTP/1.1 with the response to it, as octets,
and on a stream of HTTP/2."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.exchange.outgoing_request import (
    OctetStream,
    OutgoingRequest,
    RequestStream,
    Supply,
)
from flare.http.h1.error import LocalProtocolError
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import HAS_LENGTH, IS_CHUNKED
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    write_forwarded_head,
    write_request_head,
)
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.sys.errno import EAGAIN, errno_text
from std.memory import OwnedPointer
from flare.http.exchange.request_phase import RequestEvent
from flare.http.message.trailers import Trailers

comptime READ_LEN = 65_536
"""Room for octets of a response that comes fast, in bytes."""

comptime _ERROR_MIN = 400
comptime _ROOM_LEN_MIN = 4_096


struct Http1Request(Movable):
    """What is left to send of a request, and what has come of its response.

        write_head --> as `OutgoingRequest` has it
        begin_response --> receive --> what the parser has found --> end_response

    It has no connection: who has one lends it for each call. Requests on one
    connection follow each other, each with a value of its own.
    """

    var _padding: Padding[200]
    var outgoing: OutgoingRequest
    """What is sent: the head, and content."""
    var parser: Optional[OwnedPointer[ResponseParser]]
    """The response, once something of it is looked for."""
    # Where the value of Host stands in the output.
    var _host_offset: Int
    var _host_len: Int

    def __init__(out self, var output: Buffer):
        """Makes one without a request; the output is empty room for what is
        sent."""
        self._padding = {}
        self.outgoing = OutgoingRequest(output^)
        self.parser = None
        self._host_offset = 0
        self._host_len = 0

    def write_head(
        mut self,
        start: RequestStart,
        headers: HeaderMap,
        framing: RequestFraming,
    ) raises LocalProtocolError:
        """Writes the head into the output (RFC 9112 sections 3 and 6), with
        method, target and host of `start`, and fields without Host. Raises if a
        part must not be sent."""
        write_request_head(
            self.outgoing.output, start, headers, HeaderMap(), framing
        )
        self._note_head(start, framing)

    def forward_head(
        mut self,
        start: RequestStart,
        headers: HeaderMap,
        framing: RequestFraming,
    ) raises LocalProtocolError:
        """Writes the same of fields that are known to be without Host and
        framing."""
        write_forwarded_head(self.outgoing.output, start, headers, framing)
        self._note_head(start, framing)

    def _note_head(mut self, start: RequestStart, framing: RequestFraming):
        self.outgoing.framing = framing
        self._host_offset = start.host_offset()
        self._host_len = start.host.byte_length()

    def replace_host(mut self, host: StringSpan):
        """Asks for another host, before the next attempt."""
        ref output = self.outgoing.output
        var behind = List[UInt8](capacity=len(output))
        behind.extend(output.span().after(self._host_offset + self._host_len))
        output.truncate(self._host_offset)
        output.append(host.as_bytes())
        output.append(behind)
        self._host_len = host.byte_length()

    def begin_response(
        mut self,
        var parser: OwnedPointer[ResponseParser],
        method: Method,
        *,
        expects_switching: Bool = False,
    ) raises:
        """Begins to look for the response, with a parser without octets, so
        that this never raises. `expects_switching` makes 101 an answer."""
        parser[].begin(method, expects_switching=expects_switching)
        self.parser = parser^

    def has_response(self) -> Bool:
        """Tells whether anything of a response has come."""
        return self.parser.__bool__() and self.parser.held()[].has_begun()

    def is_amid_response(self) -> Bool:
        """Tells whether all of the request has left, and the response is under
        way: its head has come and its end has not."""
        return (
            self.parser.__bool__()
            and self.parser.held()[].is_amid_content()
            and self.outgoing.has_sent_all()
        )

    def receive[
        S: OctetStream
    ](mut self, mut stream: S, limits: HeadLimits) raises -> ResponseProgress:
        """Goes on with the response, receiving what is there. Returns what was
        found, `NEEDS_OCTETS` to wait; raises if the connection or the response
        fails."""
        ref parser = self.parser.held()[]
        while True:
            var progress = parser.advance(limits)
            if progress != ResponseProgress.NEEDS_OCTETS:
                return progress
            var count = fill(parser, stream)
            if count == -EAGAIN:
                return progress
            if count < 0:
                raise Error(reason_of(count))

    def announced_len(self) -> Optional[Int]:
        """Tells how many bytes the content of the response has by
        Content-Length; nothing without such a field, or if chunks say it."""
        ref framing = self.parser.held()[].head.framing
        if framing.has(HAS_LENGTH) and not framing.has(IS_CHUNKED):
            return framing.content_length
        return None

    def wants_rest(self) -> Bool:
        """Tells whether a server that has begun to answer may still want the
        rest of the request: not after an error with which the connection ends
        (RFC 9112 section 9.5)."""
        ref head = self.parser.held()[].head
        return head.status < _ERROR_MIN or head.framing.keeps_alive(
            head.minor_version
        )

    def end_response(mut self) -> Bool:
        """Takes note of a response that is complete, and tells whether the
        connection may carry another request (RFC 9112 section 9.3)."""
        ref parser = self.parser.held()[]
        if self.outgoing.has_sent_all():
            parser.end_request()
        return parser.is_reusable()


def fill[S: OctetStream](mut parser: ResponseParser, mut stream: S) -> Int:
    """Gives a parser what has come, once; the end of the stream is noted.
    Returns how many octets, 0 at the end, or a negative number."""
    if len(parser.input.spare()) < _ROOM_LEN_MIN:
        # It has filled what it had, so it comes fast.
        parser.input.reserve(READ_LEN)
    var count = stream.receive(parser.input.spare())
    if count > 0:
        parser.input.commit(count)
    elif count == 0:
        parser.close_input()
    return count


def reason_of(number: Int) -> String:
    """Explains for the log what a call of a connection has answered."""
    # What is no errno is TLS's own.
    if number < -4_096:
        return String("TLS has failed")
    return String(errno_text(-number))


struct Http2Request(Movable):
    """What is sent on a stream, and what is left of it.

    Who finds out that the server speaks HTTP/1.1 writes it to an `Http1Request`.
    """

    var _padding: Padding[128]
    var target: String
    var headers: HeaderMap
    var framing: RequestFraming
    """How long the content is, if that is known."""
    var outgoing: OutgoingRequest
    """Content that is here."""
    var trailers: Trailers
    """What is sent after it."""

    def __init__(
        out self,
        target: StringSpan,
        headers: HeaderMap,
        framing: RequestFraming,
        supply: Supply,
    ):
        """Takes a request without its content. The supply is ALL if that is
        appended before the first attempt, ARRIVING if it goes on arriving."""
        self._padding = {}
        self.target = String(target)
        self.headers = headers.copy()
        self.framing = framing
        self.outgoing = OutgoingRequest(Buffer(0))
        self.outgoing.framing = RequestFraming(0, framing.expects_continue)
        self.outgoing.supply = supply
        self.trailers = Trailers()

    def is_empty(self) -> Bool:
        """Tells whether nothing follows the fields."""
        return (
            self.outgoing.supply == Supply.ALL
            and len(self.outgoing.output) == 0
            and not self.trailers
        )

    def push[S: RequestStream](mut self, mut stream: S) -> RequestEvent:
        """Sends what windows and connection take. Returns what
        `OutgoingRequest.push_content` has answered."""
        return self.outgoing.push_content(stream, self.trailers)

    def end(mut self, var trailers: Trailers):
        """Notes that all content is here; the trailers are sent after it."""
        self.trailers = trailers^
        self.outgoing.end_content()

    def write_to(
        mut self,
        mut request: Http1Request,
        method: StringSpan,
        host: StringSpan,
    ) raises LocalProtocolError:
        """Writes it as HTTP/1.1 has it, into a request where nothing was
        written, with the content that is here; it has no content then. `host`
        is the host and port that are asked for. Raises if a part must not be
        sent."""
        request.outgoing.supply = Supply.ARRIVING
        request.write_head(
            RequestStart(method, StringSpan(self.target), host, 1),
            self.headers,
            self.framing,
        )
        request.outgoing.append(self.outgoing.output.span())
        if self.outgoing.supply.has_all():
            request.outgoing.append_end(self.trailers)
        self.outgoing.output = Buffer(0)
