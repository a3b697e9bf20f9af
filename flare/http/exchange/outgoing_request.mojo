"""A request under way: what is left of it to send, over either version."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.exchange.lent_content import LentContent
from flare.http.exchange.octet_stream import OctetStream
from flare.http.exchange.request_phase import RequestEvent
from flare.http.exchange.request_stream import RequestStream, send_piece
from flare.http.exchange.supply import Supply
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.trailers import Trailers
from flare.sys.errno import EAGAIN

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
        """Sends it from its start."""
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
