"""A WebSocket's stream of HTTP/2 (RFC 8441), with calls that wait until a deadline."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.exchange.attempt import PIECE_LEN
from flare.http.client.exchange.timeout_policy import shorter
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import (
    ClientError,
    NoResponse,
    Phase,
    TruncatedResponse,
)
from flare.http.client.exchange.http2_flight import Http2Flight
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.client.connect.connection import ClientConnection
from flare.http.h1.field_section import HeadLimits
from flare.http.message.header_map import HeaderMap
from flare.sys.clock import Deadline
from flare.sys.errno import EINTR, OsError
from flare.sys.poll import (
    POLL_READ,
    POLL_WRITE,
    PollEntry,
    poll_descriptors,
    wait_for,
)
from flare.url.url import Url
from flare.ws.error import WsError
from std.memory import ArcPointer, OwnedPointer


struct StreamWire(Movable):
    """A stream of a connection that speaks HTTP/2; it ends when its owner goes.

    The end of the stream is that of a TCP connection (RFC 8441 section 5).
    """

    var _link: ArcPointer[Http2Link]
    var _flight: ArcPointer[Http2Flight]

    def __init__(
        out self, link: ArcPointer[Http2Link], flight: ArcPointer[Http2Flight]
    ):
        """Takes a stream, on which CONNECT was sent."""
        self._link = link
        self._flight = flight
        link[].user_count += 1

    def __deinit__(deinit self):
        """Ends our direction if the server has ended its own, else resets the
        stream."""
        var link = self._link
        var flight = self._flight
        if flight[].has_ended() and not flight[].has_sent_end:
            link[].send_content(flight[], "".as_bytes(), True)
        link[].release(flight[])
        link[].user_count -= 1
        link[].flush()

    def status(self) -> Int:
        return self._flight[].status

    def is_bare(self) -> Bool:
        """Tells whether the server has ended the stream with its answer, so that
        there never was one for a WebSocket. An end after it is that of a
        connection, however soon it comes."""
        return self._flight[].is_bare

    def take_headers(mut self) -> HeaderMap:
        var headers = HeaderMap()
        swap(headers, self._flight[].headers)
        return headers^

    def receive(
        mut self, mut input: Buffer, deadline: Deadline, bell: Int32 = -1
    ) raises WsError -> Optional[Int]:
        """Takes what is there, waiting for the first octet, or until the bell
        can be read, if there is one. Returns how many octets; 0 at the end of
        the stream, or of the connection, nothing if the bell rings and nothing
        is there. Raises if one of them fails, or the time is over."""
        var is_late = False
        while True:
            var count = len(self._flight[].content)
            if count > 0:
                input.append(self._flight[].content.span())
                self._link[].take_content(self._flight[], count)
                self._link[].flush()
                return count
            if self._flight[].has_ended():
                return 0
            if self._flight[].failure:
                ref failure = self._flight[].failure.value()
                if failure.kind == TruncatedResponse:
                    return 0
                raise WsError(failure.copy())
            if is_late:
                raise WsError.timeout("receive", deadline.timeout_ms)
            if bell >= 0 and rings(bell):
                return None
            is_late = not _wait(self._link[], deadline, bell)

    def send(mut self, mut output: Buffer, deadline: Deadline) raises WsError:
        """Sends all that is in a buffer, and consumes it. What arrives
        meanwhile is kept, as far as the stream's window goes. If the stream or
        the connection fails or the time is over, the rest is still in `output`.
        """
        var is_late = False
        while True:
            self._check_open()
            self._write(output)
            self._link[].flush()
            if len(output) == 0 and not self._link[].wants_write():
                return
            if is_late:
                raise WsError.timeout("send", deadline.timeout_ms)
            is_late = not _wait(self._link[], deadline)

    def _write(mut self, mut output: Buffer):
        """Sends as far as windows and connection take it."""
        ref link = self._link[]
        while len(output) > 0:
            if link.stays_congested():
                return
            var room = link.sendable_len(self._flight[])
            var count = min(len(output), room, PIECE_LEN)
            if count == 0:
                return
            link.send_content(
                self._flight[], output.span().before(count), False
            )
            output.consume(count)

    def _check_open(self) raises WsError:
        """Refuses to send on a stream that the server does not read."""
        ref flight = self._flight[]
        if flight.failure:
            raise WsError(flight.failure.value().copy())
        if self._link[].failure:
            raise WsError(self._link[].failure.value().copy())
        if flight.has_sent_end:
            # Reset after the end of what the server had to say.
            raise WsError(
                ClientError(
                    materialize[Phase.WRITE](),
                    materialize[NoResponse](),
                    "the server has ended the stream; open another one",
                )
            )


def open_stream(
    var connection: OwnedPointer[ClientConnection],
    url: Url,
    headers: HeaderMap,
    limits: HeadLimits,
    deadline: Deadline,
) raises WsError -> Optional[StreamWire]:
    """Begins to speak HTTP/2, and asks for a stream for a WebSocket (RFC 8441
    section 4), whose response is there by the deadline. Nothing if the server
    takes no WebSocket over HTTP/2, or wants this one over HTTP/1.1. Raises if
    the server fails, refuses the stream, or says nothing."""
    var config = ClientConfig()
    config.head_limits = limits
    # WebSocket has pings of its own, and the program decides on them.
    config.http2_ping_after_ms = -1
    var link = ArcPointer(Http2Link(connection^, config))
    # Not before the server has said that it takes it (section 3).
    _await_room(link[], deadline)
    ref remote = link[].session.state.remote
    if not remote.enable_connect_protocol:
        return None
    link[].fields.collect_tunnel(url, headers)
    link[].fields.check_size(remote.max_header_list_size)
    var flight = link[].open(-1, False, False, is_tunnel=True)
    if not flight:
        raise _closing_error()
    var wire = StreamWire(link, flight.value())
    if _await_answer(link[], flight.value(), deadline):
        return wire^
    return None


def _await_room(mut link: Http2Link, deadline: Deadline) raises WsError:
    """Waits until the server has said what it takes, and takes a stream."""
    var is_late = False
    while True:
        if link.failure:
            raise WsError(link.failure.value().copy())
        if link.is_closing():
            raise _closing_error()
        ref state = link.session.state
        if state.has_settings:
            if link.room() > 0 or not state.remote.enable_connect_protocol:
                return
        if is_late:
            raise WsError.timeout("HTTP/2 SETTINGS", deadline.timeout_ms)
        is_late = not _wait(link, deadline)


def _await_answer(
    mut link: Http2Link, flight: ArcPointer[Http2Flight], deadline: Deadline
) raises WsError -> Bool:
    """Waits for the response; False if the server wants HTTP/1.1."""
    # Not lent: the link changes it.
    var is_late = False
    while flight[].status == 0:
        if flight[].failure:
            if flight[].needs_http1():
                return False
            raise WsError(flight[].failure.value().copy())
        if is_late:
            raise WsError.timeout("WebSocket handshake", deadline.timeout_ms)
        is_late = not _wait(link, deadline)
    return True


def _closing_error() -> WsError:
    return WsError(
        ClientError(
            materialize[Phase.WRITE](),
            materialize[NoResponse](),
            "the server takes no streams on this connection (GOAWAY)",
        )
    )


def rings(bell: Int32) -> Bool:
    """Tells whether a descriptor can be read now."""
    return wait_for(bell, POLL_READ, Deadline(0)) > 0


def _wait(
    mut link: Http2Link, deadline: Deadline, bell: Int32 = -1
) raises WsError -> Bool:
    """Waits for the connection, or the bell, and takes what has arrived; False
    if the time was over before."""
    link.flush()
    var left_ms = deadline.left_ms()
    if not link.has_more:
        var wanted = POLL_READ
        if link.wants_write():
            wanted |= POLL_WRITE
        # The system passes over an entry with a negative number.
        var entries = Array[PollEntry, 2](fill=PollEntry(bell, POLL_READ, 0))
        entries[0] = PollEntry(link.fd(), wanted, 0)
        var wait_ms = shorter(left_ms, link.wait_ms())
        var result = poll_descriptors(Span(entries), wait_ms)
        if result < 0 and result != -EINTR:
            raise WsError(OsError("poll", -result))
    link.pump()
    link.check_time()
    link.flush()
    return left_ms != 0
