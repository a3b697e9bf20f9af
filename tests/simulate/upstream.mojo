"""A simulated upstream of HTTP/1.1: one connection of it."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.errno import EAGAIN
from tests.simulate.actor import Answering
from tests.simulate.dice import Dice
from tests.simulate.kernel import Kernel
from tests.simulate.message_reader import MessageReader, ReadMessage
from tests.simulate.requests import answer_of, id_of, write_chunks
from tests.simulate.seat import Seat
from tests.simulate.ws_frames import accept_of
from tests.simulate.ws_host import WsHost

comptime _READ_LEN = 8_192

comptime _PAUSE_NS_MAX = 50_000_000


@fieldwise_init
struct UpstreamManner(Equatable, TrivialRegisterPassable):
    """How an upstream behaves on a connection."""

    var _number: UInt8

    comptime POLITE = UpstreamManner(0)
    comptime CLOSES = UpstreamManner(1)
    """It ends the connection behind some response, and does not say so."""
    comptime BREAKS_OFF = UpstreamManner(2)
    """It ends the connection within a response."""
    comptime RESETS = UpstreamManner(3)
    """It resets it there."""
    comptime IS_SILENT = UpstreamManner(4)
    """It does not answer."""
    comptime IS_HASTY = UpstreamManner(5)
    """It answers before it has the content."""

    comptime COUNT = 6


struct Upstream(Answering):
    """What it has read, and what it is about to say."""

    var _seat: Seat
    var begun: List[Int]
    """Ids of requests whose heads have come since this was looked at last."""
    var manner: UpstreamManner
    var _reader: MessageReader
    var _outbox: Buffer
    var _left_count: Int
    # How many requests it still answers as it should.
    var _talk: Optional[WsHost]
    # What comes behind an opening handshake of WebSocket.
    var _is_told: Bool
    # Whether the head at hand was taken note of.

    def __init__(out self, mut dice: Dice, end: Int):
        # It acts as soon as it is there.
        self._seat = Seat(end, 0)
        self.begun = []
        self.manner = UpstreamManner.POLITE
        if dice.one_in(3):
            self.manner = UpstreamManner(
                UInt8(dice.below(Int(UpstreamManner.COUNT)))
            )
        self._reader = MessageReader(reads_requests=True)
        self._outbox = Buffer(0)
        self._left_count = dice.below(4)
        self._talk = None
        self._is_told = False

    def seat(self) -> Seat:
        return self._seat.copy()

    def take_begun(mut self) -> List[Int]:
        var begun = List[Int]()
        swap(begun, self.begun)
        return begun^

    def act(mut self, mut kernel: Kernel):
        """Does what it can do now, and says when it does more."""
        self._seat.next_ns = Int.MAX
        self._receive(kernel)
        if not self._seat.is_over:
            self._send(kernel)

    def _receive(mut self, mut kernel: Kernel):
        while True:
            var count = self._seat.receive(
                kernel, self._reader.inbox, _READ_LEN
            )
            if count == -EAGAIN:
                break
            if count <= 0:
                self._seat.leave(kernel, is_reset=False)
                return
            if kernel.dice.one_in(4):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                break
        if self._talk:
            self._take_messages(kernel)
            return
        self._note_head(kernel)
        while not self._talk:
            var read = self._reader.next()
            if not read:
                if self._reader.problem.byte_length() > 0:
                    self._seat.problem = self._reader.problem
                return
            self._is_told = False
            self._answer(kernel, read.value())
            self._note_head(kernel)
        self._take_messages(kernel)

    def _note_head(mut self, mut kernel: Kernel):
        """Takes note of a request once, when its head is there."""
        var line = self._reader.start_line()
        if self._is_told or line.byte_length() == 0:
            return
        self._is_told = True
        var id = id_of(line)
        self.begun.append(id)
        if self._reader.waits_to_be_asked():
            if self.manner != UpstreamManner.IS_SILENT:
                self._outbox.write_string("HTTP/1.1 100 Continue\r\n\r\n")
        if self.manner == UpstreamManner.IS_HASTY and line.startswith("POST"):
            self._outbox.write_string(
                "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                "Content-Length: 0\r\n\r\n"
            )
            self._left_count = -1

    def _answer(mut self, mut kernel: Kernel, request: ReadMessage):
        """Writes the answer to a request that is complete."""
        if self._left_count < 0 or self.manner == UpstreamManner.IS_SILENT:
            return
        if request.websocket.byte_length() > 0:
            self._outbox.write_string(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Accept: "
            )
            self._outbox.write_string(accept_of(request.websocket))
            self._outbox.write_string("\r\n\r\n")
            self._talk = WsHost(
                Int.MAX if self.manner
                == UpstreamManner.POLITE else self._left_count
            )
            return
        var content = answer_of(request.start, request.content)
        var head = String("HTTP/1.1 200 OK\r\n")
        if request.start.startswith("GET /cached"):
            var fields = _freshness(kernel.dice, id_of(request.start))
            if request.has_validator and kernel.dice.one_in(2):
                self._outbox.write_string(
                    "HTTP/1.1 304 Not Modified\r\n" + fields + "\r\n"
                )
                return
            head += fields
        if self._left_count == 0 and self.manner != UpstreamManner.POLITE:
            self._left_count = -1
            if self.manner != UpstreamManner.CLOSES:
                # Some of it.
                head += String("Content-Length: ", len(content) + 1, "\r\n\r\n")
                self._outbox.write_string(head)
                self._outbox.append(
                    Span(content)[: kernel.dice.below(len(content) + 1)]
                )
                return
        elif self._left_count > 0:
            self._left_count -= 1
        if kernel.dice.one_in(2):
            head += String("Content-Length: ", len(content), "\r\n\r\n")
            self._outbox.write_string(head)
            self._outbox.append(Span(content))
            return
        self._outbox.write_string(head + "Transfer-Encoding: chunked\r\n\r\n")
        write_chunks(self._outbox, content, kernel.dice)

    def _take_messages(mut self, mut kernel: Kernel):
        """Answers what is said over WebSocket."""
        ref talk = self._talk.value()
        talk.reader.inbox.append(self._reader.inbox.span())
        self._reader.inbox.clear()
        talk.answer(self._outbox, kernel.dice)
        self._seat.problem = talk.reader.problem
        if talk.is_over:
            self._left_count = -1

    def _send(mut self, mut kernel: Kernel):
        var is_sent = self._seat.send(kernel, self._outbox, _PAUSE_NS_MAX)
        if is_sent and self._left_count < 0:
            if self.manner == UpstreamManner.RESETS:
                kernel.reset_end(self._seat.end)
            self._seat.leave(kernel, is_reset=False)


def _freshness(mut dice: Dice, id: Int) -> String:
    """Says how long an answer may be kept, in some of the ways that there are."""
    var choice = dice.below(6)
    var fields = String()
    if choice > 0:
        fields += String('ETag: "', id, '"\r\n')
    if choice < 3:
        fields += "Cache-Control: max-age=60\r\n"
    elif choice == 3:
        fields += "Cache-Control: max-age=0\r\n"
    elif choice == 4:
        fields += "Cache-Control: no-store\r\n"
    return fields^
