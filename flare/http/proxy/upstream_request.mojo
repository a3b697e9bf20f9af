"""A request to an upstream, over whichever version that speaks, with what carries
it."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.exchange.http2_flight import Http2Flight
from flare.http.exchange.forwarded_request import (
    Http1Request,
    Http2Request,
    READ_LEN,
)
from flare.http.exchange.idle_pool import keep_alive_ms
from flare.http.exchange.request_phase import RequestEvent
from flare.http.exchange.retry_rules import is_idempotent
from flare.http.exchange.outgoing_request import Supply
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseProgress
from flare.http.handler.later import RequestContent
from flare.http.message.body import Poll
from flare.http.message.body_reader import BodyError, owned_fields
from flare.http.message.method import Method
from flare.http.message.status import Status
from flare.http.message.trailers import Trailers
from flare.http.proxy.proxy_worker import ProxyWorker
from flare.http.proxy.stream_tunnel import StreamHandshake
from flare.http.proxy.upstream_content import trailers_of
from flare.http.proxy.upstream_link import UpstreamLink
from flare.http.proxy.upstream_stream import UpstreamStream
from std.memory import ArcPointer, OwnedPointer

comptime _PIECE_LEN = 65_536
# Most content that goes to the client at once, in bytes; about that much.

comptime _CROSSING_MS = 1_000
# How long the end of a connection and a request on it may have passed each other:
# more than a round trip.


struct StreamSide(Movable):
    """A request as long as it may go over HTTP/2."""

    var request: Http2Request
    var handshake: Optional[StreamHandshake]
    """Of a WebSocket, if the request asks for one."""
    var stream: Optional[UpstreamStream]
    """Its part in a connection."""

    def __init__(
        out self,
        var request: Http2Request,
        var handshake: Optional[StreamHandshake],
    ):
        """Takes a request, with the handshake of a WebSocket if it asks for
        one."""
        self.request = request^
        self.handshake = handshake^
        self.stream = None


@fieldwise_init
struct UpstreamHead(Copyable, Movable):

    var status: Int
    var length: Optional[Int]
    """How long the content is by Content-Length, in bytes."""
    var has_content: Bool
    """True if content may follow."""


struct UpstreamRequest(Movable):
    """What is left to send of a request, what has come of its response, and the
    connection or stream that both are on."""

    var method: Method
    var http1: Http1Request
    var http2: Optional[OwnedPointer[StreamSide]]
    """The request as long as the upstream may speak HTTP/2; nothing is written for
    HTTP/1.1 then."""
    var content: Optional[RequestContent]
    """Content that goes on arriving."""
    var link: Optional[ArcPointer[UpstreamLink]]
    """The connection, over HTTP/1.1."""
    # When a connection that had served others was taken; -1 for a new one.
    var _reused_ms: Int
    var keep_ms: Int
    """How long the upstream keeps the connection after its response; negative if
    it does not say."""
    var progress_ms: Int
    """When sending has last got further: it began, or the upstream has taken
    some."""

    def __init__(out self, method_name: StringSpan, var output: Buffer):
        """Makes one without a request; `output` is room for what is sent."""
        self.method = Method(method_name)
        self.http1 = Http1Request(output^)
        self.http2 = None
        self.content = None
        self.link = None
        self._reused_ms = -1
        self.keep_ms = -1
        self.progress_ms = 0

    def take_connection(mut self, *, is_new: Bool, now_ms: Int):
        """Takes note that the attempt at hand has a connection, or a stream, from
        now on, of its own if it `is_new`."""
        self._reused_ms = -1 if is_new else now_ms

    def was_idle(self, now_ms: Int) -> Bool:
        """Tells whether a connection that ends now may have been closed, or dead,
        before the request came. That it was closed is known within a round trip:
        what ends later has ended beneath the request."""
        return self._reused_ms >= 0 and (
            now_ms - self._reused_ms <= _CROSSING_MS or self.is_silent()
        )

    def is_silent(self) -> Bool:
        """Tells whether the connection is over since nothing has answered PING."""
        return (
            self.http2.__bool__()
            and self.http2.held()[].stream.__bool__()
            and self.http2.held()[].stream.held().upstream[].is_silent()
        )

    def supply(self) -> Supply:
        """Tells how much of the request is here, as its version does."""
        if self.http2:
            return self.http2.held()[].request.outgoing.supply
        return self.http1.outgoing.supply

    def is_dry(self) -> Bool:
        """Tells whether the upstream has taken all of the request that has come,
        and more is to come."""
        var supply = self.supply()
        if supply.has_all() or supply == Supply.CUT:
            return False
        if self.http2:
            return self.http2.held()[].request.outgoing.left_len() == 0
        return self.http1.outgoing.left_len() == 0

    def flight(self) -> ArcPointer[Http2Flight]:
        """Lends the stream, which there is."""
        return self.http2.held()[].stream.held().flight.held().copy()

    def has_stream(self) -> Bool:
        return (
            self.http2.__bool__()
            and self.http2.held()[].stream.__bool__()
            and self.http2.held()[].stream.held().flight.__bool__()
        )

    def has_failed(self) -> Bool:
        """Tells whether the stream is known to have failed; never over
        HTTP/1.1, where `push` says it."""
        return self.has_stream() and self.flight()[].failure.__bool__()

    def may_have_been_sent(self) -> Bool:
        """Tells whether any octet may have reached the upstream in this
        attempt."""
        return self.http1.outgoing.sent_count > 0 or self.has_stream()

    def push(
        mut self, mut scratch: Buffer, now_ms: Int
    ) raises BodyError -> RequestEvent:
        """Sends what is there, and takes more of the content; `scratch` is
        empty before and after. Returns what `OutgoingRequest.push` says. Raises
        if no more of the content will come."""
        while True:
            var event: RequestEvent
            if self.http2:
                ref side = self.http2.held()[]
                event = side.request.push(side.stream.held())
                if self.has_stream():
                    self.progress_ms = max(
                        self.progress_ms, self.flight()[].progress_ms
                    )
            else:
                var sent_count = self.http1.outgoing.sent_count
                event = self.http1.outgoing.push(self.link.held()[])
                if self.http1.outgoing.sent_count > sent_count:
                    self.progress_ms = now_ms
            if event != RequestEvent.DRY or not self._take_content(scratch):
                return event

    def _take_content(mut self, mut scratch: Buffer) raises BodyError -> Bool:
        """Takes what has come of the content; False if there is none now."""
        if not self.content:
            return False
        ref content = self.content.held()
        if self.http2:
            ref request = self.http2.held()[].request
            request.outgoing.make_room()
            if content.take(request.outgoing.output):
                request.end(trailers_of(content.trailers()))
                return True
            return request.outgoing.left_len() > 0
        var is_last: Bool
        try:
            is_last = content.take(scratch)
        except error:
            scratch.clear()
            raise error^
        if len(scratch) == 0 and not is_last:
            return False
        if is_idempotent(self.method.name()):
            self.http1.outgoing.make_room()
        else:
            # After its head it is never sent once more.
            self.http1.outgoing.replace_sent()
        self.http1.outgoing.append(scratch.span())
        if is_last:
            self.http1.outgoing.append_end(trailers_of(content.trailers()))
        scratch.clear()
        if scratch.capacity() > 4 * READ_LEN:
            scratch = Buffer(0)
        return True

    def end_sending(mut self) -> Buffer:
        """Lets go the room of what was sent: the response may go on for long."""
        self.content = None
        if self.http2:
            _ = self.http2.held()[].request.outgoing.take_output()
        return self.http1.outgoing.take_output()

    def advance(mut self, limits: HeadLimits) raises -> ResponseProgress:
        """Goes on with a response over HTTP/1.1, receiving what is there.
        Raises if the connection or the response fails."""
        return self.http1.receive(self.link.held()[], limits)

    def head(mut self) -> UpstreamHead:
        if self.http2:
            var flight = self.flight()
            return UpstreamHead(
                flight[].status,
                flight[].announced_len(),
                self.method != Method.HEAD
                and Status(flight[].status).allows_content(),
            )
        ref parser = self.http1.parser.held()[]
        parser.body.max_body_size = Int.MAX
        self.keep_ms = keep_alive_ms(parser.fields())
        return UpstreamHead(
            parser.head.status,
            self.http1.announced_len(),
            parser.has_content(),
        )

    def may_want_rest(self) -> Bool:
        """Tells whether an upstream that has begun to answer may still want the
        rest of the request: not if the connection ends with its error."""
        return self.http2.__bool__() or self.http1.wants_rest()

    def take_here(
        mut self, mut out: List[UInt8], limits: HeadLimits
    ) raises -> Bool:
        """Appends content that has come with the head; True if that is all.
        What may stay on a stream stays there, so that its window holds the
        upstream."""
        if self.http2:
            var flight = self.flight()
            if flight[].has_ended():
                out.extend(flight[].content.span())
            return flight[].has_ended()
        ref parser = self.http1.parser.held()[]
        while True:
            var progress = parser.advance(limits)
            if progress != ResponseProgress.CONTENT:
                return progress == ResponseProgress.END
            out.extend(parser.content())

    def pull(mut self, mut out: Buffer, limits: HeadLimits) raises -> Poll:
        """Appends what has come of the content, and lets the upstream send
        more."""
        if self.http2:
            return self.http2.held()[].stream.held().take(out, _PIECE_LEN)
        while len(out) < _PIECE_LEN:
            var progress = self.advance(limits)
            if progress == ResponseProgress.CONTENT:
                out.append(self.http1.parser.held()[].content())
            elif progress == ResponseProgress.END:
                return Poll.DONE
            else:
                return Poll.PENDING
        return Poll.READY

    def trailers(self) -> Trailers:
        """Takes what has followed the content of a response that is complete,
        as far as it may be sent on."""
        if self.http2:
            return trailers_of(self.flight()[].trailers)
        ref parser = self.http1.parser.held()[]
        if len(parser.trailers()) == 0:
            return Trailers()
        return trailers_of(owned_fields(parser.trailers()))

    def keep_link(mut self) -> Optional[ArcPointer[UpstreamLink]]:
        """Takes the connection, which nobody has, out after a response that is
        complete, if it is good for another request."""
        if self.http2 or not self.http1.end_response():
            return None
        ref link = self.link.held()[]
        # The upstream may have closed after the response, which no other event
        # will say.
        if not link.is_open() or link.may_have_more:
            return None
        var kept = self.link.take()
        kept[].release()
        return kept^

    def give_up(mut self, mut worker: ProxyWorker):
        """Closes the connection, or ends the stream, complete or not.

        A response that is under way is broken off by a reset. The upstream has
        the request then; before, a reset might take octets of it along.
        """
        self._reused_ms = -1
        var is_amid_response = self.http1.is_amid_response()
        if self.http1.parser:
            worker.give_parser(self.http1.parser.take())
        if self.link:
            var link = self.link.take()
            if is_amid_response:
                link[].break_off()
            else:
                link[].close()
        if self.http2 and self.http2.held()[].stream:
            var stream = self.http2.held()[].stream.take()
            stream^.give_back()
