"""A request on its way to a stream: its fields, and content as it comes."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.error import ClientError
from flare.http.client.http2_flight import Http2Flight
from flare.http.client.http2_link import Http2Link
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.h1.serialiser import RequestFraming, RequestStart
from flare.http.message.body_reader import BodyError, owned_fields
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Request
from flare.http.proxy.forwarding import ForwardedRequest
from flare.http.proxy.upstream_content import trailers_of
from flare.http.handler.later import RequestContent
from std.memory import ArcPointer

comptime _PIECE_LEN = 65_536

comptime KEPT_LEN_MAX = 65_536
"""How much content that goes on arriving is kept to be sent once more, in bytes.
"""


struct SendState(Equatable, TrivialRegisterPassable):
    """What sending waits for."""

    var number: UInt8
    """The case."""

    comptime DONE = SendState(0)
    """For nothing: all is sent, or not wanted any more."""
    comptime WINDOW = SendState(1)
    """For the upstream, to take more."""
    comptime CONTENT = SendState(2)
    """For more content of the client."""
    comptime ANSWER = SendState(3)
    """For 100 (Continue)."""
    comptime FAILED = SendState(4)
    """For nothing: the connection is broken."""

    def __init__(out self, number: UInt8):
        """Makes a case.

        Args:
            number: The case.
        """
        self.number = number


struct StreamRequest(Movable):
    """What is sent on a stream."""

    var target: String
    """The request target."""
    var headers: HeaderMap
    """The fields."""
    var framing: RequestFraming
    """How long the content is, if that is known."""
    var content: Buffer
    """Content that is here; from its start while `is_kept`."""
    var trailers: HeaderMap
    """What is sent behind it."""
    var has_all: Bool
    """True once all of it is here."""
    var is_kept: Bool
    """True if it could be sent once more."""
    var has_taken: Bool
    """True once some of it was taken that had not come with the head."""
    var is_tunnel: Bool
    """True for an extended CONNECT: the stream stays open."""
    var _asks: Bool
    var _sent_len: Int

    def __init__(
        out self,
        req: Request,
        forwarded: ForwardedRequest,
        framing: RequestFraming,
        *,
        has_all: Bool,
    ):
        """Takes a request.

        Args:
            req: The request as it was received.
            forwarded: What is sent of it.
            framing: How its content is framed.
            has_all: True if its content has come with it, if there is any.
        """
        self.target = String(forwarded.target())
        self.headers = forwarded.headers.copy()
        self.framing = framing
        self.content = Buffer(0)
        self.trailers = HeaderMap()
        self.has_all = has_all
        self.is_kept = True
        self.has_taken = False
        self.is_tunnel = False
        self._asks = framing.expects_continue
        self._sent_len = 0
        if has_all and len(req.body) > 0:
            self.content.append(req.body)
        if has_all and len(req.trailers) > 0:
            self.trailers = trailers_of(owned_fields(req.trailers)).fields()

    def become_tunnel(mut self):
        """Makes the handshake of a WebSocket an extended CONNECT (RFC 8441
        section 5)."""
        self.is_tunnel = True
        _ = self.headers.remove("Sec-WebSocket-Key")

    def collect(
        mut self, mut link: Http2Link, method: StringSpan, host: StringSpan
    ) raises ClientError:
        """Hands the fields to a connection, for `open`.

        Args:
            link: The connection.
            method: The request's method.
            host: Host and port that are asked for.

        Raises:
            ClientError: If they are more than the upstream takes.
        """
        var start = RequestStart(method, StringSpan(self.target), host, 1)
        var is_tls = link.connection[].endpoint.is_tls
        if self.is_tunnel:
            link.fields.collect_forwarded_tunnel(start, is_tls, self.headers)
        else:
            link.fields.collect_forwarded(
                start, is_tls, self.headers, self.framing
            )
        link.fields.check_size(link.session.state.remote.max_header_list_size)

    def open(
        mut self, mut link: Http2Link, number: Int, is_head: Bool
    ) -> Optional[ArcPointer[Http2Flight]]:
        """Begins a stream with the fields that were collected.

        Args:
            link: The connection.
            number: Who is woken when there is news.
            is_head: True if the method is HEAD.

        Returns:
            The stream; nothing if the connection has no more numbers.
        """
        self._sent_len = 0
        self._asks = self.framing.expects_continue
        var is_empty = len(self.content) == 0 and len(self.trailers) == 0
        var flight = link.open(
            number,
            is_head,
            self.has_all and is_empty and not self.is_tunnel,
            is_tunnel=self.is_tunnel,
        )
        if flight:
            flight.held()[].is_lent = True
            flight.held()[].is_passed_on = True
        return flight^

    def send(
        mut self, mut link: Http2Link, mut flight: Http2Flight
    ) -> SendState:
        """Sends what windows and connection take.

        Args:
            link: The connection.
            flight: The stream.

        Returns:
            What it waits for.
        """
        while not flight.has_sent_end:
            if link.is_congested():
                link.flush()
                if link.is_congested():
                    return SendState.WINDOW
            if self._asks:
                self._asks = False
                return SendState.ANSWER
            var left_len = len(self.content) - self._sent_len
            if left_len == 0 and not self.has_all:
                return SendState.CONTENT
            var count = min(left_len, link.sendable_len(flight), _PIECE_LEN)
            if count == 0 and left_len > 0:
                return SendState.WINDOW
            self._send_piece(link, flight, count, count == left_len)
        return SendState.DONE

    def _send_piece(
        mut self,
        mut link: Http2Link,
        mut flight: Http2Flight,
        count: Int,
        takes_all: Bool,
    ):
        """Sends a piece, with the end of the request if that is behind it."""
        var ends = self.has_all and takes_all
        var has_trailers = len(self.trailers) > 0
        if count > 0 or not has_trailers:
            var end = self._sent_len + count
            var piece = self.content.span().between(self._sent_len, end)
            link.send_content(flight, piece, ends and not has_trailers)
            self._sent_len = end
        if ends and has_trailers:
            link.send_trailers(flight, self.trailers)

    def write_plain(self, mut out: Buffer, is_chunked: Bool):
        """Writes content as HTTP/1.1 frames it behind the head, unless it has
        come with that.

        Args:
            out: Has the head.
            is_chunked: True if chunks frame it.
        """
        if not self.has_taken:
            return
        if not is_chunked:
            out.append(self.content.span())
            return
        if len(self.content) > 0:
            append_chunk(out, self.content.span())
        if self.has_all:
            append_last_chunk(out, trailers_of(self.trailers))

    def take(mut self, mut arriving: RequestContent) raises BodyError -> Bool:
        """Takes what has come of the content, in place of what was sent if that
        is too much to be kept.

        Args:
            arriving: Brings it.

        Returns:
            False if there is none now, and more will come.

        Raises:
            BodyError: If no more will come.
        """
        if len(self.content) >= KEPT_LEN_MAX or not self.is_kept:
            self.is_kept = False
            self.content.clear()
            self._sent_len = 0
        self.has_all = arriving.take(self.content)
        var has_some = len(self.content) > self._sent_len
        self.has_taken = self.has_taken or has_some or self.has_all
        if self.has_all:
            self.trailers = trailers_of(arriving.trailers()).fields()
        return has_some or self.has_all

    def push(
        mut self,
        mut link: Http2Link,
        mut flight: Http2Flight,
        mut arriving: Optional[RequestContent],
    ) raises BodyError -> SendState:
        """Sends what there is, and takes more of the content.

        Args:
            link: The connection.
            flight: The stream.
            arriving: Brings content that goes on arriving.

        Returns:
            What it waits for.

        Raises:
            BodyError: If no more will come.
        """
        while True:
            var state = self.send(link, flight)
            if state != SendState.CONTENT or not arriving:
                return state
            if not self.take(arriving.held()):
                return state

    def send_on(
        mut self,
        mut link: Http2Link,
        mut flight: Http2Flight,
        mut arriving: Optional[RequestContent],
    ):
        """Sends what there is behind the head of the response.

        Args:
            link: The connection.
            flight: The stream.
            arriving: Brings content that goes on arriving; nothing afterwards
                once all is sent, the upstream wants no more, or the client has
                broken it off.
        """
        try:
            var state = self.push(link, flight, arriving)
            if state == SendState.WINDOW:
                return
            if state == SendState.CONTENT and arriving:
                return
        except:
            # Its connection or stream ends, and says so.
            pass
        arriving = None
