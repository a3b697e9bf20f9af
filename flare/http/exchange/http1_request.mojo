"""A request over HTTP/1.1 and the response to it, as octets."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.exchange.lent_content import LentContent
from flare.http.exchange.octet_stream import OctetStream
from flare.http.exchange.request_phase import RequestEvent
from flare.http.exchange.supply import Supply
from flare.http.h1.error import LocalProtocolError
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import HAS_LENGTH, IS_CHUNKED
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    write_request_head,
)
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.trailers import Trailers
from flare.sys.errno import EAGAIN, errno_text
from std.memory import OwnedPointer

comptime READ_LEN = 65_536
"""Room for octets of a response that comes fast, in bytes."""

comptime _ERROR_MIN = 400
comptime _ROOM_LEN_MIN = 4_096


struct Http1Request(Movable):
    """What is left to send of a request, and what has come of its response.

        write_head, append --> push --> BLOCKED: again when the stream takes more
                                   \\--> ASKED: again behind 100 (Continue)
                                   \\--> DRY: replace_sent, append --> push
                                   \\--> SENT
        begin_response --> receive --> what the parser has found --> end_response

    It has no connection: who has one lends it for each call. Requests on one
    connection follow each other, each with a value of its own.
    """

    var _padding: Padding[200]
    var output: Buffer
    """What is sent: the head, and content."""
    var lent: LentContent
    """What is sent behind it."""
    var supply: Supply
    """How much of the request both hold."""
    var framing: RequestFraming
    """How the content is framed."""
    var parser: Optional[OwnedPointer[ResponseParser]]
    """The response, once something of it is looked for."""
    var sent_count: Int
    """How many octets have left in this attempt."""
    var error_number: Int
    """What the stream has answered when it was `BROKEN`."""
    # How many octets of output and lent content have left.
    var _sent_len: Int
    # True until the content may go in this attempt, if it is to wait for 100.
    var _asks: Bool
    # Where the value of Host stands in the output.
    var _host_offset: Int
    var _host_len: Int

    def __init__(out self, var output: Buffer):
        """Makes one without a request.

        Args:
            output: Room for what is sent; empty.
        """
        self._padding = {}
        self.output = output^
        self.lent = LentContent()
        self.supply = Supply.ALL
        self.framing = RequestFraming.none()
        self.parser = None
        self.sent_count = 0
        self.error_number = 0
        self._sent_len = 0
        self._asks = False
        self._host_offset = 0
        self._host_len = 0

    def write_head(
        mut self,
        start: RequestStart,
        headers: HeaderMap,
        framing: RequestFraming,
    ) raises LocalProtocolError:
        """Writes the head into the output.

        Source: RFC 9112 sections 3 and 6.

        Args:
            start: Method, target and host.
            headers: The header fields, without Host.
            framing: How the content is framed.

        Raises:
            LocalProtocolError: If a part must not be sent.
        """
        write_request_head(self.output, start, headers, HeaderMap(), framing)
        self.framing = framing
        self._host_offset = start.host_offset()
        self._host_len = start.host.byte_length()

    def replace_host(mut self, host: StringSpan):
        """Asks for another host, before the next attempt."""
        var behind = List[UInt8](capacity=len(self.output))
        behind.extend(
            self.output.span().after(self._host_offset + self._host_len)
        )
        self.output.truncate(self._host_offset)
        self.output.append(host.as_bytes())
        self.output.append(behind)
        self._host_len = host.byte_length()

    def append(mut self, octets: Span[UInt8, _]):
        """Appends content to the output, in its framing.

        Args:
            octets: The content; there may be none.
        """
        if self.framing.is_chunked():
            append_chunk(self.output, octets)
        else:
            self.output.append(octets)

    def append_end(mut self, trailers: Trailers):
        """Notes that all content is here.

        Args:
            trailers: What is sent behind it, if chunks frame it.
        """
        if self.framing.is_chunked():
            append_last_chunk(self.output, trailers)
        self.supply = self.supply.after_end()

    def replace_sent(mut self):
        """Makes room for more content in place of what was sent: from now on the
        request cannot be sent once more."""
        self.output.clear()
        self._sent_len = 0
        self.supply = self.supply.after_drop()

    def begin_attempt(mut self):
        """Sends it from its start."""
        self._sent_len = 0
        self.sent_count = 0
        self._asks = self.framing.expects_continue

    def push[S: OctetStream](mut self, mut stream: S) -> RequestEvent:
        """Sends what is there.

        Returns:
            BLOCKED, BROKEN, ASKED (once, if the content is to wait for 100),
            DRY or SENT.
        """
        while self._left_len() > 0:
            var count = self._send(stream)
            if count < 0:
                return self._stopped(count)
            self._sent_len += count
            self.sent_count += count
        var flushed = stream.flush()
        if flushed < 0:
            return self._stopped(flushed)
        if self.supply.has_all():
            return RequestEvent.SENT
        if self._asks:
            self._asks = False
            return RequestEvent.ASKED
        return RequestEvent.DRY

    def _send[S: OctetStream](self, mut stream: S) -> Int:
        if self._sent_len >= len(self.output):
            return stream.send(
                self.lent.span().after(self._sent_len - len(self.output))
            )
        var left = self.output.span().after(self._sent_len)
        if len(self.lent) == 0:
            return stream.send(left)
        return stream.send_two(left, self.lent.span())

    def _stopped(mut self, number: Int) -> RequestEvent:
        self.error_number = number
        if number == -EAGAIN:
            return RequestEvent.BLOCKED
        return RequestEvent.BROKEN

    def _left_len(self) -> Int:
        return len(self.output) + len(self.lent) - self._sent_len

    def has_sent_all(self) -> Bool:
        """Tells whether all of the request has left."""
        return self.supply.has_all() and self._left_len() == 0

    def end_loan(mut self):
        """Ends the loan of content: what is not sent of it never will be."""
        if len(self.lent) == 0:
            return
        if self._left_len() > 0:
            self.supply = Supply.REST_ARRIVING
        self._sent_len = min(self._sent_len, len(self.output))
        self.lent.end()

    def copy_loan(mut self):
        """Ends the loan with a copy: what is not sent goes on."""
        self.lent.move_to(self.output)

    def take_output(mut self) -> Buffer:
        """Gives the room for what is sent away: what is not sent never will be."""
        self.end_loan()
        if self._left_len() > 0:
            self.supply = Supply.REST_ARRIVING
        var output = Buffer(0)
        swap(output, self.output)
        self._sent_len = 0
        return output^

    def into_room(deinit self) -> Buffer:
        """Gives the room for what is sent away, with the request at its end."""
        return self.output^

    def begin_response(
        mut self,
        var parser: OwnedPointer[ResponseParser],
        method: Method,
        *,
        expects_switching: Bool = False,
    ) raises:
        """Begins to look for the response.

        Args:
            parser: A parser without octets.
            expects_switching: True if 101 is an answer.

        Raises:
            Error: Never; the parser has no octets.
        """
        parser[].begin(method, expects_switching=expects_switching)
        self.parser = parser^

    def has_response(self) -> Bool:
        """Tells whether anything of a response has come."""
        return self.parser.__bool__() and self.parser.held()[].has_begun()

    def receive[
        S: OctetStream
    ](mut self, mut stream: S, limits: HeadLimits) raises -> ResponseProgress:
        """Goes on with the response, receiving what is there.

        Args:
            limits: Bounds of the response's head.

        Returns:
            What was found; `NEEDS_OCTETS` to wait.

        Raises:
            Error: If the connection or the response fails.
        """
        ref parser = self.parser.held()[]
        while True:
            var progress = parser.advance(limits)
            if progress != ResponseProgress.NEEDS_OCTETS:
                return progress
            if len(parser.input.spare()) < _ROOM_LEN_MIN:
                # It has filled what it had, so it comes fast.
                parser.input.reserve(READ_LEN)
            var count = stream.receive(parser.input.spare())
            if count > 0:
                parser.input.commit(count)
            elif count == 0:
                parser.close_input()
            elif count == -EAGAIN:
                return progress
            else:
                raise Error(reason_of(count))

    def announced_len(self) -> Optional[Int]:
        """Tells how long the content of the response is by Content-Length.

        Returns:
            The length in bytes; nothing without such a field, or if chunks say it.
        """
        ref framing = self.parser.held()[].head.framing
        if framing.has(HAS_LENGTH) and not framing.has(IS_CHUNKED):
            return framing.content_length
        return None

    def wants_rest(self) -> Bool:
        """Tells whether a server that has begun to answer may still want the rest
        of the request.

        Returns:
            False for an error with which the connection ends (RFC 9112 section
            9.5).
        """
        ref head = self.parser.held()[].head
        return head.status < _ERROR_MIN or head.framing.keeps_alive(
            head.minor_version
        )

    def end_response(mut self) -> Bool:
        """Takes note of a response that is complete.

        Returns:
            True if the connection may carry another request (RFC 9112 section
            9.3).
        """
        ref parser = self.parser.held()[]
        if self.has_sent_all():
            parser.end_request()
        return parser.is_reusable()


def reason_of(number: Int) -> String:
    """Explains what a call of a connection has answered.

    Returns:
        A text for the log.
    """
    # What is no errno is TLS's own.
    if number < -4_096:
        return String("TLS has failed")
    return String(errno_text(-number))
