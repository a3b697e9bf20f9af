"""A part in a connection to an upstream that speaks HTTP/2, and the stream that
goes with it."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.connect.error import ClientError
from flare.http.client.exchange.http2_flight import (
    Http2Flight,
    StreamUse,
)
from flare.http.exchange.forwarded_request import Http2Request
from flare.http.exchange.outgoing_request import RequestStream
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.h1.serialiser import RequestStart
from flare.http.message.body import Poll
from flare.http.message.header_map import HeaderMap
from flare.http.proxy.http2_upstream import Http2Upstream, leave, settle
from std.memory import ArcPointer


struct UpstreamStream(Movable, RequestStream):
    """Somebody's part in a connection, until `give_back`."""

    var upstream: ArcPointer[Http2Upstream]
    var flight: Optional[ArcPointer[Http2Flight]]
    """The stream, once there is one."""
    var number: Int
    """By what the connection knows who has it."""

    def __init__(out self, upstream: ArcPointer[Http2Upstream], number: Int):
        """Takes a part that was joined under a number."""
        self.upstream = upstream.copy()
        self.flight = None
        self.number = number

    def is_open(self) -> Bool:
        """Tells whether there is a stream, on a connection that is not closed."""
        return self.flight.__bool__() and self.upstream[].http2.__bool__()

    def collect(
        self,
        request: Http2Request,
        method: StringSpan,
        host: StringSpan,
        *,
        is_tunnel: Bool,
    ) raises ClientError:
        """Hands the fields of a request, or of the handshake of a WebSocket
        (RFC 8441), to the connection, for `open`. Raises if they are more than
        the upstream takes."""
        ref link = self.upstream[].http2.held()[]
        var start = RequestStart(method, StringSpan(request.target), host, 1)
        var is_tls = link.connection[].endpoint.is_tls
        if is_tunnel:
            link.fields.collect_forwarded_tunnel(start, is_tls, request.headers)
        else:
            link.fields.collect_forwarded(
                start, is_tls, request.headers, request.framing
            )
        link.fields.check_size(link.session.state.remote.max_header_list_size)

    def open(mut self, is_head: Bool, *, ends: Bool, is_tunnel: Bool) -> Bool:
        """Begins a stream with the fields that were collected; `ends` if
        nothing follows them. False if the connection has no more numbers."""
        ref link = self.upstream[].http2.held()[]
        self.flight = link.open(self.number, is_head, ends, is_tunnel=is_tunnel)
        if not self.flight:
            return False
        self.flight.held()[].use = StreamUse.PASSED_ON
        return True

    def is_congested(mut self) -> Bool:
        """Tells whether the connection takes no more now."""
        return self.upstream[].http2.held()[].stays_congested()

    def has_sent_end(self) -> Bool:
        """Tells whether nothing may follow: all is sent, no more is wanted, or
        the stream has failed."""
        if not self.is_open():
            return True
        ref flight = self.flight.held()[]
        return flight.has_sent_end or flight.failure.__bool__()

    def sendable_len(self) -> Int:
        """Tells how many bytes of content may be sent now; 0 if a window is
        shut."""
        return self.upstream[].http2.held()[].sendable_len(self.flight.held()[])

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        """Sends a piece of content, no more than `sendable_len`; the last one
        if `ends`."""
        self.upstream[].http2.held()[].send_content(
            self.flight.held()[], octets, ends
        )

    def send_trailers(mut self, fields: HeaderMap):
        self.upstream[].http2.held()[].send_trailers(
            self.flight.held()[], fields
        )

    def take(mut self, mut out: Buffer, length_max: Int) raises -> Poll:
        """Appends content that has come, up to `length_max` bytes, and lets the
        upstream send more, which `settle` of the connection tells it. Raises if
        nothing more comes, since the stream or its connection has failed."""
        ref flight = self.flight.held()[]
        flight.has_news = False
        var count = min(len(flight.content), length_max - len(out))
        if count > 0 and self.upstream[].http2:
            out.append(flight.content.span().before(count))
            self.upstream[].http2.held()[].take_content(flight, count)
        if len(flight.content) > 0:
            return Poll.READY
        if flight.failure:
            if count > 0:
                # What has come goes to the client first.
                return Poll.READY
            raise Error(flight.failure.held().reason)
        return Poll.DONE if flight.has_ended() else Poll.PENDING

    def end(self) -> AttemptEnd:
        """Tells what has come of the request, whose stream has failed."""
        var fate = self.flight.held()[].fate
        # Interim responses do not bind the final one to the upstream.
        return AttemptEnd.SPOILED if fate == AttemptEnd.BEGUN else fate

    def give_back(deinit self):
        """Gives the part back, its stream complete or not."""
        var upstream = self.upstream.copy()
        if self.flight and upstream[].http2:
            upstream[].http2.held()[].release(self.flight.held()[])
        leave(upstream, self.number)
        settle(upstream)
