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
from flare.http.client.http2_flight import Http2Flight
from flare.http.message.body import Body, Poll, StreamWaker, UpgradedProtocol
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.proxy.http2_upstream import (
    Http2Upstream,
    StreamUser,
    leave,
    settle,
    take_content,
)
from flare.http.proxy.tunnel import IdleClock
from flare.http.proxy.upstream_content import PIECE_LEN
from flare.runtime.worker_loop import WorkerLoop
from flare.ws.core.handshake import answer_to_key
from std.memory import ArcPointer

comptime _REDIRECTION = 300
comptime _WEBSOCKET = StaticString("websocket")


def asks_for_websocket(req: Request, upgrade: StringSpan) -> Bool:
    """Tells whether a request may be an extended CONNECT of HTTP/2, too.

    Args:
        req: The request.
        upgrade: The protocol that it asks for.

    Returns:
        False for another protocol, and for a request with content, which has no
        place there.
    """
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
        """Answers the key of a request.

        Args:
            req: The request.
        """
        self.accept = String()
        self.fault = String()
        if req.version.major >= 2:
            return
        try:
            self.accept = answer_to_key(req.headers)
        except error:
            self.fault = String(error, "\n")

    def answer(self, mut headers: HeaderMap) raises HeaderError:
        """Adds what says that the protocol has changed.

        Args:
            headers: The upstream's fields.

        Raises:
            HeaderError: If they are longer than a header block may be.
        """
        # It says nothing of a tunnel (RFC 9110 section 9.3.6).
        _ = headers.remove("Content-Length")
        _ = headers.remove("Sec-WebSocket-Accept")
        headers.append("Connection", "upgrade")
        headers.append("Upgrade", _WEBSOCKET)
        if self.accept.byte_length() > 0:
            headers.append("Sec-WebSocket-Accept", self.accept)


struct TunnelStream(StreamUser):
    """The upstream's end of a tunnel."""

    var _padding: Padding[200]
    var upstream: ArcPointer[Http2Upstream]
    """The connection."""
    var flight: ArcPointer[Http2Flight]
    """The stream."""
    var loop: ArcPointer[WorkerLoop]
    """The worker's."""
    var waker: Optional[StreamWaker]
    """Rings for the client's connection."""
    var unsent: Buffer
    """What the upstream has not taken yet."""
    var number: Int
    """By what the connection knows it."""
    var ends: Bool
    """True once nothing follows what has not been sent."""
    var clock: IdleClock
    """Ends it when nothing moves."""

    def __init__(
        out self,
        upstream: ArcPointer[Http2Upstream],
        flight: ArcPointer[Http2Flight],
        number: Int,
        loop: ArcPointer[WorkerLoop],
    ):
        """Takes a stream that the upstream has opened.

        Args:
            upstream: The connection.
            flight: The stream.
            number: By which the connection knows its user.
            loop: The worker's.
        """
        self._padding = {}
        self.upstream = upstream.copy()
        self.flight = flight.copy()
        self.loop = loop.copy()
        self.waker = None
        self.unsent = Buffer(0)
        self.number = number
        self.ends = False
        self.clock = IdleClock(Int.MAX - 1)

    @staticmethod
    def on_news(user: ArcPointer[Self]):
        """Lets the client's connection go on.

        Args:
            user: The tunnel.
        """
        user[].flight[].has_news = False
        if user[].waker:
            user[].loop[].woken.append(user[].waker.held().place())

    def send(mut self):
        """Sends what windows and connection take. What goes wrong is said when the
        stream is read."""
        if not self.upstream[].http2:
            self.unsent.clear()
            return
        ref link = self.upstream[].http2.held()[]
        ref flight = self.flight[]
        if flight.failure or flight.has_sent_end:
            # Nobody reads it.
            self.unsent.clear()
        while len(self.unsent) > 0:
            if link.is_congested():
                link.flush()
                if link.is_congested():
                    break
            var room = link.sendable_len(flight)
            var count = min(len(self.unsent), room, PIECE_LEN)
            if count == 0:
                break
            link.send_content(flight, self.unsent.span().before(count), False)
            self.unsent.consume(count)
            self.clock.note()
        if len(self.unsent) > 0:
            return
        if self.unsent.capacity() > 0:
            self.unsent = Buffer(0)
        if self.ends and not flight.failure and not flight.has_sent_end:
            link.send_content(flight, "".as_bytes(), True)

    def take(mut self, mut out: Buffer) raises -> Poll:
        """Takes what has come, and lets the upstream send more.

        Args:
            out: Where to append it.

        Returns:
            What follows.

        Raises:
            Error: If the upstream has reset the stream, or its connection is
                gone.
        """
        var had_len = len(out)
        var poll = take_content(self.upstream, self.flight[], out, PIECE_LEN)
        if len(out) > had_len:
            self.clock.note()
        return poll

    def close(mut self):
        """Ends the stream: in good order if the upstream has ended its direction,
        else by a reset."""
        if self.flight[].has_ended:
            self.ends = True
            self.send()
        if self.upstream[].http2:
            self.upstream[].http2.held()[].release(self.flight[])


struct StreamTunnel(UpgradedProtocol):
    """A tunnel, for the client's connection."""

    var _end: ArcPointer[TunnelStream]

    def __init__(out self, end: ArcPointer[TunnelStream]):
        """Takes the upstream's end.

        Args:
            end: The end, which has the stream.
        """
        self._end = end.copy()

    def __deinit__(deinit self):
        """Gives the stream back."""
        self._end[].close()
        var upstream = self._end[].upstream.copy()
        leave(upstream, self._end[].number)
        settle(upstream)

    def begin(mut self, var waker: StreamWaker):
        """Hears how to say that there is something.

        Args:
            waker: The connection's.
        """
        self._end[].waker = waker^

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        """Sends the client's octets on.

        Args:
            input: The octets.
            out: Stays as it is.

        Returns:
            That what follows is made by `fill`.

        Raises:
            Error: Never.
        """
        self._end[].unsent.append(input.span())
        self._send()
        return Poll.PENDING

    def _send(self):
        self._end[].send()
        var upstream = self._end[].upstream.copy()
        settle(upstream)

    def end_input(mut self) -> Bool:
        """Ends the direction to the upstream, too, behind what waits for it.

        Returns:
            True: the upstream's own goes on.
        """
        self._end[].ends = True
        # Nothing else may move for long.
        self._send()
        return True

    def is_full(self) -> Bool:
        """Tells whether the upstream has to take something first.

        Returns:
            True if so.
        """
        return len(self._end[].unsent) > 0

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Takes what the upstream has sent, and sends it what waits.

        Args:
            out: Where to append.

        Returns:
            What follows.

        Raises:
            Error: If the upstream has reset the stream, its connection is
                gone, or nothing moves for too long.
        """
        self._send()
        var poll = self._end[].take(out)
        if poll == Poll.PENDING:
            self._end[].clock.check()
        return poll

    def poll_interval_ms(self) -> Int:
        """Tells when to look whether anything has moved.

        Returns:
            Milliseconds.
        """
        return self._end[].clock.interval_ms()


def opens_tunnel(
    upstream: ArcPointer[Http2Upstream], mut flight: Http2Flight
) -> Bool:
    """Tells whether an upstream has opened the tunnel; if not, the request ends
    there (RFC 9110 section 9.3.6).

    Args:
        upstream: The connection.
        flight: The stream, whose head has come.

    Returns:
        True for a status of success.
    """
    if flight.status < _REDIRECTION:
        return True
    if not flight.has_sent_end:
        ref link = upstream[].http2.held()[]
        link.send_content(flight, "".as_bytes(), True)
    return False


def begin_stream_tunnel(
    upstream: ArcPointer[Http2Upstream],
    flight: ArcPointer[Http2Flight],
    number: Int,
    loop: ArcPointer[WorkerLoop],
    idle_timeout_ms: Int,
) -> Body:
    """Makes a tunnel of a stream that the upstream has opened.

    Args:
        upstream: The connection.
        flight: The stream.
        number: By which the connection knows its user, who has it no longer.
        loop: The worker's.
        idle_timeout_ms: Longest time in which nothing moves.

    Returns:
        The body of the response with 101.
    """
    var end = ArcPointer(TunnelStream(upstream, flight, number, loop))
    end[].clock = IdleClock(idle_timeout_ms)
    upstream[].hand_over(number, end)
    return Body.conversing(StreamTunnel(end))
