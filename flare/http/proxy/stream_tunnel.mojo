"""A WebSocket between a client and a stream of an upstream's connection (RFC 8441):
octets both ways at which nobody looks.

What the upstream sends stays within the stream's window until the client takes it,
and what it does not take holds the client. The ends of the two directions are those
of the stream; a client that goes resets it with CANCEL.
"""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.exchange.outgoing_request import PIECE_LEN, send_piece
from flare.http.message.body import Body, Poll, StreamWaker
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.proxy.http2_upstream import settle
from flare.http.proxy.tunnel import Tunnel, TunnelSide
from flare.http.proxy.upstream_link import LinkUser
from flare.http.proxy.upstream_stream import UpstreamStream
from flare.runtime.event import Event
from flare.runtime.worker_loop import WorkerLoop
from flare.ws.core.handshake import answer_to_key
from std.memory import ArcPointer

comptime _REDIRECTION = 300
comptime _WEBSOCKET = StaticString("websocket")


def asks_for_websocket(req: Request, upgrade: StringSpan) -> Bool:
    """Tells whether a request may be an extended CONNECT of HTTP/2, too: not
    for another protocol, nor with content, which has no place there."""
    return (
        equals_ignore_case(upgrade.as_bytes(), _WEBSOCKET.as_bytes())
        and req.method == Method.GET
        and len(req.body) == 0
        and len(req.trailers) == 0
    )


struct StreamHandshake(Movable):
    """What a client of HTTP/1.1 hears of a handshake that HTTP/2 has done without
    (RFC 8441 section 5)."""

    var accept: String
    """The value of Sec-WebSocket-Accept; empty for a client of HTTP/2."""
    var fault: String
    """What is wrong with the client's key; empty if nothing is."""

    def __init__(out self, req: Request):
        """Answers the key of a request."""
        self.accept = String()
        self.fault = String()
        if req.version.major >= 2:
            return
        try:
            self.accept = answer_to_key(req.headers)
        except error:
            self.fault = String(error, "\n")

    def answer(self, mut headers: HeaderMap) raises HeaderError:
        """Adds what says that the protocol has changed."""
        # It says nothing of a tunnel (RFC 9110 section 9.3.6).
        _ = headers.remove("Content-Length")
        _ = headers.remove("Sec-WebSocket-Accept")
        headers.append("Connection", "upgrade")
        headers.append("Upgrade", _WEBSOCKET)
        if self.accept.byte_length() > 0:
            headers.append("Sec-WebSocket-Accept", self.accept)


struct _StreamEnd(LinkUser, TunnelSide):

    var _padding: Padding[200]
    # Nothing once it is closed.
    var stream: Optional[UpstreamStream]
    var loop: ArcPointer[WorkerLoop]
    var waker: Optional[StreamWaker]

    def __init__(
        out self, var stream: UpstreamStream, loop: ArcPointer[WorkerLoop]
    ):
        self._padding = {}
        self.stream = stream^
        self.loop = loop.copy()
        self.waker = None

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        if user[].stream and user[].stream.held().flight:
            user[].stream.held().flight.held()[].has_news = False
        if user[].waker:
            user[].loop[].woken.append(user[].waker.held().place())

    def set_waker(mut self, var waker: StreamWaker):
        self.waker = waker^

    def send(mut self, mut unsent: Buffer, ends: Bool):
        """Sends what windows and connection take."""
        ref stream = self.stream.held()
        while not stream.has_sent_end():
            var count = send_piece(stream, unsent.span(), ends=ends)
            if count < 0:
                break
            unsent.consume(count)
        if stream.has_sent_end():
            # Nobody reads it.
            unsent.clear()
        settle(stream.upstream)

    def take(mut self, mut out: Buffer) raises -> Poll:
        ref stream = self.stream.held()
        var poll = stream.take(out, PIECE_LEN)
        settle(stream.upstream)
        return poll

    def holds_octets(self) -> Bool:
        # They are the connection's, which goes on.
        return False

    def close(mut self, unsent: Span[UInt8, _]):
        """Ends the stream: in good order if the upstream has ended its direction
        and takes all that is left, else by a reset."""
        var stream = self.stream.take()
        var has_ended = stream.flight.held()[].has_ended()
        var sent_len = 0
        while has_ended and not stream.has_sent_end():
            var count = send_piece(stream, unsent.after(sent_len), ends=True)
            if count < 0:
                break
            sent_len += count
        stream^.give_back()


def end_unless_tunnel(mut stream: UpstreamStream) -> Bool:
    """Tells whether the head of an upstream has opened the tunnel; if not, the
    request ends there (RFC 9110 section 9.3.6)."""
    if stream.flight.held()[].status < _REDIRECTION:
        return True
    if not stream.has_sent_end():
        stream.send_content("".as_bytes(), True)
    return False


def begin_stream_tunnel(
    var stream: UpstreamStream,
    loop: ArcPointer[WorkerLoop],
    idle_timeout_ms: Int,
) -> Body:
    """Makes a tunnel of a stream that the upstream has opened: the body of the
    response with 101. It ends when nothing moves for `idle_timeout_ms`."""
    var upstream = stream.upstream.copy()
    var number = stream.number
    var end = ArcPointer(_StreamEnd(stream^, loop))
    upstream[].hand_over(number, end)
    return Body.conversing(Tunnel(end, idle_timeout_ms))
