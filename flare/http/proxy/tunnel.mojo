"""Octets both ways between a client and an upstream that have changed their
protocol (RFC 9110 section 7.8), such as WebSocket: nobody looks at them."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.error import ClientError
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
from std.memory import ArcPointer

comptime _PIECE_LEN = 16_384
comptime _ROOM_LEN_MIN = 4_096


struct IdleClock(TrivialRegisterPassable):
    """How long nothing has moved in a tunnel."""

    var timeout_ms: Int
    """Longest time in which nothing may."""
    var _last_ms: Int

    def __init__(out self, timeout_ms: Int):
        """Begins now.

        Args:
            timeout_ms: Longest time in which nothing moves.
        """
        self.timeout_ms = timeout_ms
        self._last_ms = coarse_monotonic_ms()

    def note(mut self):
        """Begins anew, since something has moved."""
        self._last_ms = coarse_monotonic_ms()

    def check(self) raises:
        """Ends a tunnel in which nothing moves.

        Raises:
            Error: If that has lasted for too long.
        """
        if coarse_monotonic_ms() - self._last_ms >= self.timeout_ms:
            raise Error("nothing has moved for ", self.timeout_ms, " ms")

    def interval_ms(self) -> Int:
        """Tells when to look.

        Returns:
            Milliseconds.
        """
        return self.timeout_ms + 1


struct TunnelEnd(LinkUser):
    """The upstream's end of a tunnel."""

    var _padding: Padding[200]
    var link: ArcPointer[UpstreamLink]
    """The connection to the upstream."""
    var loop: ArcPointer[WorkerLoop]
    """The worker's."""
    var waker: Optional[StreamWaker]
    """Rings for the client's connection."""
    var first: List[UInt8]
    """What the upstream has sent with its answer."""
    var unsent: Buffer
    """What the upstream has not taken yet."""
    var clock: IdleClock
    """Ends it when nothing moves."""

    def __init__(
        out self,
        link: ArcPointer[UpstreamLink],
        loop: ArcPointer[WorkerLoop],
        var first: List[UInt8],
        idle_timeout_ms: Int,
    ):
        """Takes a connection that has changed its protocol.

        Args:
            link: The connection.
            loop: The worker's.
            first: What the upstream has sent already.
            idle_timeout_ms: Longest time in which nothing moves.
        """
        self._padding = {}
        self.link = link.copy()
        self.loop = loop.copy()
        self.waker = None
        self.first = first^
        self.unsent = Buffer(0)
        self.clock = IdleClock(idle_timeout_ms)

    @staticmethod
    def on_open(user: ArcPointer[Self]):
        """Does nothing: it is open.

        Args:
            user: The tunnel.
        """
        return

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        """Does nothing: it is open.

        Args:
            user: The tunnel.
            error: Never.
        """
        return

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        """Lets the client's connection go on.

        Args:
            user: The tunnel.
            event: What is ready.
        """
        var has_unsent = len(user[].unsent) > 0 or user[].link[].wants_write()
        if user[].waker and (event.is_readable or has_unsent):
            user[].loop[].woken.append(user[].waker.held().place())

    @staticmethod
    def on_late(user: ArcPointer[Self]):
        """Does nothing: the client's connection has the times.

        Args:
            user: The tunnel.
        """
        return


struct Tunnel(UpgradedProtocol):
    """A tunnel, for the client's connection."""

    var _end: ArcPointer[TunnelEnd]

    def __init__(out self, end: ArcPointer[TunnelEnd]):
        """Takes the upstream's end.

        Args:
            end: The end, to which its connection is lent.
        """
        self._end = end.copy()

    def __deinit__(deinit self):
        """Closes the connection to the upstream."""
        self._end[].link[].close()

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
            What follows.

        Raises:
            Error: If the upstream has gone.
        """
        self._end[].clock.note()
        self._end[].unsent.append(input.span())
        self._send()
        return Poll.PENDING

    def _send(self) raises:
        """Sends what the upstream takes."""
        ref end = self._end[]
        while len(end.unsent) > 0:
            var count = end.link[].send(end.unsent.span())
            if count == -EAGAIN:
                return
            if count < 0:
                raise Error("the upstream takes no more")
            end.unsent.consume(count)
            end.clock.note()
        if end.unsent.capacity() > 0:
            end.unsent = Buffer(0)
        var flushed = end.link[].flush()
        if flushed < 0 and flushed != -EAGAIN:
            raise Error("the upstream takes no more")

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
            Error: If the upstream has gone, or nothing moves for too long.
        """
        ref end = self._end[]
        if not end.link[].is_open():
            return Poll.DONE
        self._send()
        if len(end.first) > 0:
            out.append(end.first)
            end.first = []
        while len(out) < _PIECE_LEN:
            if len(out.spare()) < _ROOM_LEN_MIN:
                out.reserve(_PIECE_LEN)
            var count = end.link[].receive(out.spare())
            if count == -EAGAIN:
                return self._pending(len(out))
            if count < 0:
                raise Error("the upstream has broken the connection off")
            if count == 0:
                return Poll.DONE
            out.commit(count)
        end.clock.note()
        return Poll.READY

    def _pending(self, made_len: Int) raises -> Poll:
        if made_len > 0:
            self._end[].clock.note()
        self._end[].clock.check()
        return Poll.PENDING

    def poll_interval_ms(self) -> Int:
        """Tells when to look whether anything has moved.

        Returns:
            Milliseconds.
        """
        return self._end[].clock.interval_ms()


def agree_on_protocol(
    parser: ResponseParser, wanted: String, mut response: Response
) raises:
    """Checks to which protocol an upstream changes, and tells the client.

    Source: RFC 9110 section 7.8.

    Args:
        parser: Has a head with 101.
        wanted: What the client has asked for.
        response: Gets the fields that say so.

    Raises:
        Error: If it is another one.
    """
    var named = parser.fields().get("upgrade")
    var protocol = String(named.held()) if named else String()
    if not equals_ignore_case(protocol.as_bytes(), wanted.as_bytes()):
        raise Error("it changes to a protocol that nobody has asked for")
    response.headers.append("Connection", "upgrade")
    response.headers.append("Upgrade", protocol)


def begin_tunnel(
    link: ArcPointer[UpstreamLink],
    loop: ArcPointer[WorkerLoop],
    first: Span[UInt8, _],
    idle_timeout_ms: Int,
) -> Body:
    """Makes a tunnel of a connection that has changed its protocol.

    Args:
        link: The connection; lent to the tunnel from now on.
        loop: The worker's.
        first: What the upstream has sent already.
        idle_timeout_ms: Longest time in which nothing moves.

    Returns:
        The body of the response with 101.
    """
    var octets = List[UInt8](capacity=len(first))
    octets.extend(first)
    var end = ArcPointer(TunnelEnd(link, loop, octets^, idle_timeout_ms))
    link[].set_deadline(-1)
    link[].lend(end)
    return Body.conversing(Tunnel(end))
