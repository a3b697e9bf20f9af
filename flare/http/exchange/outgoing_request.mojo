"""A request under way: what is left of it to send, over either version, how much of
it is here, and the streams that take it."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.http.exchange.request_phase import RequestEvent
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.trailers import Trailers
from flare.sys.errno import EAGAIN
from flare.http.message.header_map import HeaderMap

comptime KEPT_LEN_MAX = 65_536
"""How much content that goes on arriving is kept to be sent once more, in bytes.
"""


struct OutgoingRequest(Movable):
    """What is left to send of a request.

        append --> push --> BLOCKED: again when the stream takes more
                       \\--> ASKED: again after 100 (Continue)
                       \\--> DRY: make_room or replace_sent, append --> push
                       \\--> SENT

    It has no connection: who has one lends it for each call, as octets of
    HTTP/1.1 or as a stream of HTTP/2, for which the output holds content alone.
    """

    var output: Buffer
    """What is sent: over HTTP/1.1 the head, then content."""
    var lent: LentContent
    """What is sent after it, over HTTP/1.1."""
    var supply: Supply
    """How much of the request both hold."""
    var framing: RequestFraming
    """How the content is framed; on a stream, by nothing."""
    var sent_count: Int
    """How many octets have left in this attempt; the fields of a stream count as
    one."""
    var error_number: Int
    """What the stream has answered when it was `BROKEN`."""
    # How many octets of output and lent content have left.
    var _sent_len: Int
    # True until the content may go in this attempt, if it is to wait for 100.
    var _asks: Bool

    def __init__(out self, var output: Buffer):
        """Makes one without a request; the output is empty room for what is
        sent."""
        self.output = output^
        self.lent = LentContent()
        self.supply = Supply.ALL
        self.framing = RequestFraming.none()
        self.sent_count = 0
        self.error_number = 0
        self._sent_len = 0
        self._asks = False

    def begin(mut self, framing: RequestFraming):
        """Begins with another request, in the same room, whose content arrives."""
        self.drop_unsent()
        self.supply = Supply.ARRIVING
        self.framing = framing
        self.begin_attempt()

    def append(mut self, octets: Span[UInt8, _]):
        """Appends content, perhaps none, to the output, in its framing. It stands
        after the head in each attempt, so that none waits for 100: a server that
        has content need not send that (RFC 9110 section 10.1.1)."""
        if len(octets) > 0:
            self.framing.expects_continue = False
            self._asks = False
        if self.framing.is_chunked():
            append_chunk(self.output, octets)
        else:
            self.output.append(octets)

    def append_end(mut self, trailers: Trailers):
        """Notes that all content is here; the trailers are sent after it, if
        chunks frame it."""
        if self.framing.is_chunked():
            append_last_chunk(self.output, trailers)
        self.end_content()

    def end_content(mut self):
        """Notes that all content is here, with what frames it."""
        self.supply = self.supply.after_end()

    def replace_sent(mut self):
        """Makes room for more content in place of what was sent: from now on the
        request cannot be sent once more."""
        self.output.clear()
        self._sent_len = 0
        self.supply = self.supply.after_drop()

    def make_room(mut self):
        """Drops what was sent if that is too much to be kept, before more is
        taken."""
        if len(self.output) >= KEPT_LEN_MAX or not self.supply.is_kept():
            self.replace_sent()

    def begin_attempt(mut self):
        self._sent_len = 0
        self.sent_count = 0
        self._asks = self.framing.expects_continue

    def push[S: OctetStream](mut self, mut stream: S) -> RequestEvent:
        """Sends what is there over HTTP/1.1. Returns BLOCKED, BROKEN, ASKED
        (once, if the content is to wait for 100), DRY or SENT."""
        while self.left_len() > 0:
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

    def push_content[
        S: RequestStream
    ](mut self, mut stream: S, trailers: Trailers) -> RequestEvent:
        """Sends what windows and connection of HTTP/2 take, and the trailers
        after all of the content. Returns BLOCKED, ASKED (once, if the content
        is to wait for 100), DRY or SENT."""
        while not stream.has_sent_end():
            if stream.is_congested():
                return RequestEvent.BLOCKED
            if self._asks:
                self._asks = False
                return RequestEvent.ASKED
            var left = self.output.span().after(self._sent_len)
            var ends = self.supply.has_all()
            if len(left) == 0 and not ends:
                return RequestEvent.DRY
            if len(left) == 0 and trailers:
                stream.send_trailers(trailers.box.held()[])
                continue
            var count = send_piece(stream, left, ends=ends and not trailers)
            if count < 0:
                return RequestEvent.BLOCKED
            self._sent_len += count
            self.sent_count += count
        return RequestEvent.SENT

    def left_len(self) -> Int:
        """Counts the octets that are here and have not left."""
        return len(self.output) + len(self.lent) - self._sent_len

    def has_sent_all(self) -> Bool:
        """Tells whether all of the request has left."""
        return self.supply.has_all() and self.left_len() == 0

    def drop_unsent(mut self):
        """Drops what is not sent, which nobody wants any more."""
        self.output.clear()
        self.lent.end()
        self._sent_len = 0

    def end_loan(mut self):
        """Ends the loan of content: what is not sent of it never will be."""
        if len(self.lent) == 0:
            return
        if self.left_len() > 0:
            self.supply = Supply.CUT
        self._sent_len = min(self._sent_len, len(self.output))
        self.lent.end()

    def copy_loan(mut self):
        """Ends the loan with a copy: what is not sent goes on."""
        self.lent.move_to(self.output)

    def take_output(mut self) -> Buffer:
        """Gives the room for what is sent away: what is not sent, or has not come
        yet, never will be."""
        self.end_loan()
        if not self.has_sent_all():
            self.supply = Supply.CUT
        var output = Buffer(0)
        swap(output, self.output)
        self._sent_len = 0
        return output^


trait OctetStream:
    """A connection that takes and gives octets as far as it can at once.

    What goes wrong is a negative number: that of the system's error, `-EAGAIN` to
    wait, or a smaller one of TLS. A signal ends no call.
    """

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets, which are not empty. Returns how many were taken, or a
        negative number."""
        ...

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        """Writes two pieces, neither empty, without joining them. Returns how
        many octets of both were taken, or a negative number."""
        ...

    def flush(mut self) -> Int:
        """Sends what was taken and has not left yet. Returns 0 if all has left,
        or a negative number."""
        ...

    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets. Returns how many, 0 at the end of the stream, or a
        negative number."""
        ...


comptime PIECE_LEN = 65_536
"""Most content that goes out at once, in bytes."""


trait RequestStream:
    """A stream as requests see it: it takes content as far as windows go, and
    never waits."""

    def is_congested(mut self) -> Bool:
        """Tells whether the connection takes no more now."""
        ...

    def has_sent_end(self) -> Bool:
        """Tells whether nothing may follow: all is sent, or no more is
        wanted."""
        ...

    def sendable_len(self) -> Int:
        """Tells how many bytes of content may be sent now; 0 if a window is
        shut."""
        ...

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        """Sends a piece of content, perhaps empty, of no more than
        `sendable_len`; `ends` if it is the last one."""
        ...

    def send_trailers(mut self, fields: HeaderMap):
        """Ends the request with trailer fields (RFC 9113 section 8.1)."""
        ...


def send_piece[
    S: RequestStream
](mut stream: S, content: Span[UInt8, _], *, ends: Bool) -> Int:
    """Sends what a stream, which has not sent its end, takes of content,
    perhaps none, and its end after all of it, if it `ends`. Returns how many
    octets were sent; -1 if the stream takes nothing now."""
    if stream.is_congested():
        return -1
    var count = min(len(content), stream.sendable_len(), PIECE_LEN)
    if count == 0 and (len(content) > 0 or not ends):
        return -1
    var is_last = ends and count == len(content)
    stream.send_content(content.before(count), is_last)
    return count


@fieldwise_init
struct Supply(Equatable, TrivialRegisterPassable):
    """How much of a request's content is here: all, or more will come; from its
    start, so that it may be sent once more, or what was sent is gone."""

    var number: UInt8

    comptime ALL = Supply(0)
    """All, from its start."""
    comptime ARRIVING = Supply(1)
    """What has come so far, from its start."""
    comptime REST_ARRIVING = Supply(2)
    """What has come so far and was not sent before."""
    comptime REST = Supply(3)
    """The last of it; what was sent before is gone."""
    comptime CUT = Supply(4)
    """Not all, and no more will be sent."""

    def has_all(self) -> Bool:
        """Tells whether no more will come."""
        return self == Self.ALL or self == Self.REST

    def is_kept(self) -> Bool:
        """Tells whether the request is here from its start, so that it could be
        sent once more."""
        return self == Self.ALL or self == Self.ARRIVING

    def after_drop(self) -> Self:
        """Tells what is left when what was sent is dropped: the same without
        the start."""
        if self == Self.CUT:
            return self
        return Self.REST if self.has_all() else Self.REST_ARRIVING

    def after_end(self) -> Self:
        """Tells what is left when the last of the content has come: the same
        with the end."""
        if self == Self.CUT:
            return self
        return Self.ALL if self.is_kept() else Self.REST


comptime LENT_LEN_MIN = 4_096
"""The least content that is worth two pieces, in bytes."""


struct LentContent(Movable, Sized):
    """Content of a request that goes out from where it was received.

    The worker keeps it there until the errand has given its response or was
    cancelled; what is sent on after that has to be copied before.
    """

    # SAFETY: whoever calls `unsafe_begin` says how long the octets stay, and calls
    # `end` or `move_to` before they go.
    var _octets: Span[UInt8, ImmUntrackedOrigin]

    def __init__(out self):
        self._octets = {}

    def __len__(self) -> Int:
        return len(self._octets)

    def unsafe_begin(mut self, octets: Span[UInt8, _]):
        """Begins a loan of octets, which stay until it ends."""
        self._octets = unsafe_lend[ImmUntrackedOrigin](
            octets.unsafe_ptr(), len(octets)
        )

    def span(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the octets on."""
        # SAFETY: the octets stay until the loan ends, which changes this.
        return unsafe_lend[ImmOrigin(origin_of(self))](
            self._octets.unsafe_ptr(), len(self._octets)
        )

    def end(mut self):
        """Ends the loan: the octets may go."""
        self._octets = {}

    def move_to(mut self, mut output: Buffer):
        """Ends the loan with a copy after what the output has."""
        output.append(self._octets)
        self._octets = {}
