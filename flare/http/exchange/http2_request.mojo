"""A request on a stream of HTTP/2: its fields, and content as it comes."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.exchange.http1_request import Http1Request
from flare.http.exchange.request_phase import RequestEvent
from flare.http.exchange.supply import Supply
from flare.http.h1.error import LocalProtocolError
from flare.http.h1.serialiser import RequestFraming, RequestStart
from flare.http.message.header_map import HeaderMap
from flare.http.message.trailers import Trailers

comptime PIECE_LEN = 65_536
"""Most content that goes out at once, in bytes."""

comptime KEPT_LEN_MAX = 65_536
"""How much content that goes on arriving is kept to be sent once more, in bytes.
"""


trait RequestStream:
    """A stream as requests see it: it takes content as far as windows go, and
    never waits."""

    def is_congested(mut self) -> Bool:
        """Tells whether the connection takes no more now."""
        ...

    def has_sent_end(self) -> Bool:
        """Tells whether nothing may follow.

        Returns:
            True once all is sent, or no more is wanted.
        """
        ...

    def sendable_len(self) -> Int:
        """Tells how much content may be sent now.

        Returns:
            Bytes; 0 if a window is shut.
        """
        ...

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        """Sends a piece of content.

        Args:
            octets: The piece, no more than `sendable_len`; there may be none.
            ends: True if it is the last one.
        """
        ...

    def send_trailers(mut self, fields: HeaderMap):
        """Ends the request with trailer fields (RFC 9113 section 8.1)."""
        ...


def send_piece[
    S: RequestStream
](mut stream: S, content: Span[UInt8, _], *, ends: Bool) -> Int:
    """Sends what a stream takes of content, and its end behind all of it.

    Args:
        stream: The stream, which has not sent its end.
        content: The content; there may be none.
        ends: True if nothing follows it.

    Returns:
        How many octets were sent; -1 if the stream takes nothing now.
    """
    if stream.is_congested():
        return -1
    var count = min(len(content), stream.sendable_len(), PIECE_LEN)
    if count == 0 and (len(content) > 0 or not ends):
        return -1
    var is_last = ends and count == len(content)
    stream.send_content(content.before(count), is_last)
    return count


struct Http2Request(Movable):
    """What is sent on a stream, and what is left of it.

    Who finds out that the server speaks HTTP/1.1 writes it to an `Http1Request`.
    """

    var _padding: Padding[128]
    var target: String
    var headers: HeaderMap
    var framing: RequestFraming
    """How long the content is, if that is known."""
    var content: Buffer
    """Content that is here."""
    var supply: Supply
    var trailers: Trailers
    """What is sent behind it."""
    var _sent_len: Int
    # True until the content may go, if it is to wait for 100.
    var _asks: Bool

    def __init__(
        out self,
        target: StringSpan,
        headers: HeaderMap,
        framing: RequestFraming,
        supply: Supply,
    ):
        """Takes a request without its content.

        Args:
            framing: How the content is framed.
            supply: ALL if it is appended before the first attempt, ARRIVING if
                it goes on arriving.
        """
        self._padding = {}
        self.target = String(target)
        self.headers = headers.copy()
        self.framing = framing
        self.content = Buffer(0)
        self.supply = supply
        self.trailers = Trailers()
        self._sent_len = 0
        self._asks = False

    def is_empty(self) -> Bool:
        """Tells whether nothing follows the fields."""
        return (
            self.supply == Supply.ALL
            and len(self.content) == 0
            and not self.trailers
        )

    def begin_attempt(mut self):
        """Sends it from its start."""
        self._sent_len = 0
        self._asks = self.framing.expects_continue

    def push[S: RequestStream](mut self, mut stream: S) -> RequestEvent:
        """Sends what windows and connection take.

        Returns:
            BLOCKED, ASKED (once, if the content is to wait for 100), DRY or
            SENT.
        """
        while not stream.has_sent_end():
            if stream.is_congested():
                return RequestEvent.BLOCKED
            if self._asks:
                self._asks = False
                return RequestEvent.ASKED
            var left = self.content.span().after(self._sent_len)
            if len(left) == 0 and not self.supply.has_all():
                return RequestEvent.DRY
            var ends = self.supply.has_all()
            if len(left) == 0 and self.trailers:
                stream.send_trailers(self.trailers.box.held()[])
                continue
            var count = send_piece(
                stream, left, ends=ends and not self.trailers
            )
            if count < 0:
                return RequestEvent.BLOCKED
            self._sent_len += count
        return RequestEvent.SENT

    def make_room(mut self):
        """Drops what was sent if that is too much to be kept, before more is
        taken: from then on the request cannot be sent once more."""
        if len(self.content) >= KEPT_LEN_MAX or not self.supply.is_kept():
            self.supply = self.supply.after_drop()
            self.content.clear()
            self._sent_len = 0

    def has_unsent(self) -> Bool:
        """Tells whether content waits to be sent."""
        return len(self.content) > self._sent_len

    def end(mut self, var trailers: Trailers):
        """Notes that all content is here.

        Args:
            trailers: What is sent behind it.
        """
        self.trailers = trailers^
        self.supply = self.supply.after_end()

    def write_to(
        mut self,
        mut request: Http1Request,
        method: StringSpan,
        host: StringSpan,
    ) raises LocalProtocolError:
        """Writes it as HTTP/1.1 has it, with the content that is here; it has no
        content then.

        Args:
            request: Where to; nothing was written there.
            host: Host and port that are asked for.

        Raises:
            LocalProtocolError: If a part must not be sent.
        """
        request.supply = Supply.ARRIVING
        request.write_head(
            RequestStart(method, StringSpan(self.target), host, 1),
            self.headers,
            self.framing,
        )
        request.append(self.content.span())
        if self.supply.has_all():
            request.append_end(self.trailers)
        self.content = Buffer(0)
