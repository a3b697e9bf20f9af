"""Octets both ways between a client and an upstream that have changed their
protocol (RFC 9110 section 7.8), such as WebSocket: nobody looks at them."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.copy import list_of
from flare.bytes.padding import Padding
from flare.http.h1.response_parser import ResponseParser
from flare.http.message.body import (
    Body,
    Poll,
    StreamWaker,
    UpgradedProtocol,
)
from flare.http.message.response import Response
from flare.http.proxy.upstream_link import LinkUser, UpstreamLink
from flare.runtime.event import Event
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import EAGAIN
from flare.ws.core.handshake import only_value
from std.memory import ArcPointer

comptime _PIECE_LEN = 16_384
comptime _ROOM_LEN_MIN = 4_096


trait TunnelSide(Deinitable, Movable):
    """The upstream's end of a tunnel."""

    def set_waker(mut self, var waker: StreamWaker):
        """Hears how to say that there is something."""
        ...

    def send(mut self, mut unsent: Buffer, ends: Bool):
        """Sends what the upstream takes, and takes it out of `unsent`; nothing
        follows if `ends`. What goes wrong is said when the upstream is read."""
        ...

    def take(mut self, mut out: Buffer) raises -> Poll:
        """Appends what the upstream has sent. Raises if it has gone."""
        ...

    def holds_octets(self) -> Bool:
        """Tells whether octets that `send` has taken have not left."""
        ...

    def close(mut self, unsent: Span[UInt8, _]):
        """Ends it, whatever is under way. If the upstream still does not take
        what is unsent, it must not take what it got for all."""
        ...


struct Tunnel[S: TunnelSide](UpgradedProtocol):

    var _side: ArcPointer[Self.S]
    # What the upstream has not taken yet.
    var _unsent: Buffer
    var _ends: Bool
    # Longest time in which nothing may move, and when something has last moved.
    var _idle_timeout_ms: Int
    var _moved_ms: Int

    def __init__(out self, side: ArcPointer[Self.S], idle_timeout_ms: Int):
        self._side = side.copy()
        self._unsent = Buffer(0)
        self._ends = False
        self._idle_timeout_ms = idle_timeout_ms
        self._moved_ms = coarse_monotonic_ms()

    def __deinit__(deinit self):
        """Closes the upstream's end."""
        self._side[].close(self._unsent.span())

    def begin(mut self, var waker: StreamWaker):
        """Hears how to say that there is something."""
        self._side[].set_waker(waker^)

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        """Sends the client's octets on; what follows is made by `fill`."""
        self._moved_ms = coarse_monotonic_ms()
        self._unsent.append(input.span())
        self._send()
        return Poll.PENDING

    def _send(mut self):
        var had_len = len(self._unsent)
        self._side[].send(self._unsent, self._ends)
        if len(self._unsent) < had_len:
            self._moved_ms = coarse_monotonic_ms()
        if len(self._unsent) == 0 and self._unsent.capacity() > 0:
            self._unsent = Buffer(0)

    def end_input(mut self) -> Bool:
        """Ends the direction to the upstream, too, after what waits for it; the
        upstream's own goes on. Returns True."""
        self._ends = True
        # Nothing else may move for long.
        self._send()
        return True

    def is_full(self) -> Bool:
        """Tells whether the upstream has to take something first."""
        return len(self._unsent) > 0 or self._side[].holds_octets()

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Takes what the upstream has sent, and sends it what waits. Raises if
        it has gone, or nothing moves for too long."""
        self._send()
        var had_len = len(out)
        var poll = self._side[].take(out)
        if len(out) > had_len:
            self._moved_ms = coarse_monotonic_ms()
        elif poll == Poll.PENDING and (
            coarse_monotonic_ms() - self._moved_ms >= self._idle_timeout_ms
        ):
            raise Error("nothing has moved for ", self._idle_timeout_ms, " ms")
        return poll

    def poll_interval_ms(self) -> Int:
        """Tells when to look whether anything has moved."""
        return self._idle_timeout_ms + 1


struct _LinkEnd(LinkUser, TunnelSide):
    """A connection that has changed its protocol."""

    var _padding: Padding[200]
    var link: ArcPointer[UpstreamLink]
    var loop: ArcPointer[WorkerLoop]
    var waker: Optional[StreamWaker]
    # What the upstream has sent with its answer.
    var first: List[UInt8]
    # True while it takes no more.
    var is_blocked: Bool
    # True if it never will.
    var is_broken: Bool
    # True once it knows that nothing follows.
    var has_ended: Bool

    def __init__(
        out self,
        link: ArcPointer[UpstreamLink],
        loop: ArcPointer[WorkerLoop],
        var first: List[UInt8],
    ):
        self._padding = {}
        self.link = link.copy()
        self.loop = loop.copy()
        self.waker = None
        self.first = first^
        self.is_blocked = False
        self.is_broken = False
        self.has_ended = False

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        var may_send = user[].is_blocked or user[].link[].wants_write()
        if event.is_readable or may_send:
            user[].wake()

    def set_waker(mut self, var waker: StreamWaker):
        self.waker = waker^

    def wake(mut self):
        if self.waker:
            self.loop[].woken.append(self.waker.held().place())

    def send(mut self, mut unsent: Buffer, ends: Bool):
        if self.is_broken or not self.link[].is_open():
            unsent.clear()
            return
        var count = 0
        while len(unsent) > 0 and count >= 0:
            count = self.link[].send(unsent.span())
            if count > 0:
                unsent.consume(count)
        if count >= 0:
            count = self.link[].flush()
        if count >= 0 and ends and not self.has_ended:
            self.has_ended = True
            self.link[].finish_sending()
        self.is_blocked = count == -EAGAIN
        if count < 0 and not self.is_blocked:
            # What it has said before that is still to be read.
            self.is_broken = True
            self.link[].look_again()
            self.wake()

    def take(mut self, mut out: Buffer) raises -> Poll:
        if not self.link[].is_open():
            return Poll.DONE
        var start = len(out)
        if len(self.first) > 0:
            out.append(self.first)
            self.first = []
        while len(out) < _PIECE_LEN:
            if len(out.spare()) < _ROOM_LEN_MIN:
                out.reserve(_PIECE_LEN)
            var count = self.link[].receive(out.spare())
            if count == -EAGAIN and not self.is_broken:
                return Poll.PENDING
            if count < 0 and len(out) > start:
                # What has come goes to the client first.
                return Poll.READY
            if count < 0:
                raise Error("the upstream has broken the connection off")
            if count == 0:
                return Poll.DONE
            out.commit(count)
        return Poll.READY

    def holds_octets(self) -> Bool:
        return self.link[].is_open() and self.link[].wants_write()

    def close(mut self, unsent: Span[UInt8, _]):
        self.link[].close()


def agree_on_protocol(
    parser: ResponseParser,
    wanted: String,
    accept: String,
    mut response: Response,
) raises:
    """Checks to which protocol the upstream changes with its 101, and tells the
    client. Raises if it is not the one asked for, or does not answer the
    gateway's own key for a WebSocket with `accept`, if that is not empty.

    Source: RFC 9110 section 7.8, RFC 6455 section 4.1.
    """
    var named = parser.fields().get("upgrade")
    var protocol = String(named.held()) if named else String()
    if not equals_ignore_case(protocol.as_bytes(), wanted.as_bytes()):
        raise Error("it changes to a protocol that nobody has asked for")
    if accept.byte_length() > 0 and not same_octets(
        only_value(parser.fields(), "sec-websocket-accept"), accept.as_bytes()
    ):
        raise Error("its Sec-WebSocket-Accept is not that of the key")
    response.headers.append("Connection", "upgrade")
    response.headers.append("Upgrade", protocol)


def begin_tunnel(
    link: ArcPointer[UpstreamLink],
    loop: ArcPointer[WorkerLoop],
    first: Span[UInt8, _],
    idle_timeout_ms: Int,
) -> Body:
    """Makes a tunnel of a connection that has changed its protocol, lent to it
    from now on: the body of the response with 101. `first` is what the upstream
    has sent already; the tunnel ends when nothing moves for `idle_timeout_ms`.
    """
    var end = ArcPointer(_LinkEnd(link, loop, list_of(first)))
    link[].set_deadline(-1)
    link[].lend(end)
    return Body.conversing(Tunnel(end, idle_timeout_ms))
