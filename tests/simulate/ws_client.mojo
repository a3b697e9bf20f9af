"""A simulated client of WebSocket, polite or not, and what it must be told."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.errno import EAGAIN
from tests.simulate.actor import Asking
from tests.simulate.dice import Dice
from tests.simulate.http1_client import Manner, spoil
from tests.simulate.kernel import Kernel, NOBODY
from tests.simulate.message_reader import MessageReader
from tests.simulate.requests import (
    Asked,
    AskedKind,
    Way,
    content_of,
    may_fail,
)
from tests.simulate.seat import Seat
from tests.simulate.ws_frames import (
    BINARY,
    BYE_CODE,
    BYE_REASON,
    CLOSE,
    PING,
    PONG,
    SAMPLE_ACCEPT,
    SAMPLE_KEY,
    TEXT,
    WsMessage,
    WsReader,
    close_payload,
    mask_of,
    more_request,
    write_frame,
    write_message,
    ws_answers,
)

comptime _READ_LEN = 4_096

comptime _PAUSE_NS_MAX = 20_000_000

comptime _SLEEP_NS_MAX = 200_000_000_000
# Longer than a server waits for one that answers no pings.

comptime _MORE_LEN_MAX = 500_000
# How much content is asked for by one message, in bytes: half of what may wait for
# a client by default.

comptime NO_STATUS = 1_005
comptime _PROTOCOL_ERROR = 1_002
# RFC 6455 section 7.4.1.


struct WsTold(Movable):
    """What a handler has heard of openings and ends."""

    var open_count: Int
    var close_count: Int
    var codes: Dict[Int, Int]
    """With which code each has ended, by the id that its client asked for."""
    var _ids: Dict[Int, Int]

    def __init__(out self):
        self.open_count = 0
        self.close_count = 0
        self.codes = {}
        self._ids = {}

    def note_open(mut self, number: Int, id: Int):
        self.open_count += 1
        self._ids[number] = id

    def note_close(mut self, number: Int, code: Int):
        self.close_count += 1
        self.codes[self._ids.get(number, 0)] = code


comptime _IS_BARE = Manner(Manner.COUNT)
# One more manner: it sends a frame without a mask, and then nothing. One that stalls
# does not even send what answers a ping.


struct _Step(Movable):
    """What is sent at a time."""

    var octets: Buffer
    var ping: Optional[List[UInt8]]
    """What a pong has to say then."""
    var wanted_count: Int
    """How many answers have to be there before."""
    var pause_ns: Int

    def __init__(out self, wanted_count: Int):
        self.octets = Buffer(0)
        self.ping = None
        self.wanted_count = wanted_count
        self.pause_ns = 0


struct WsClient(Asking):
    """One connection's client: what it says, and how far it is."""

    var manner: Manner
    var _seat: Seat
    var _asked: Asked
    var _is_excused: Bool
    # Whether it may be too slow through no fault of its own, or its upstream fails.
    var _steps: List[_Step]
    var _next_step: Int
    var _turn_step: Int
    # Where one that is not polite does what it does.
    var _has_turned: Bool
    var _resume_ns: Int
    # Until when it pauses.
    var _leaves_ns: Int
    # When one that is deaf leaves.
    var _head: MessageReader
    var _is_open: Bool
    var _reader: WsReader
    var _outbox: Buffer
    var _expected: List[WsMessage]
    var _answered_count: Int
    var _pings: List[List[UInt8]]
    # Those that are not answered.
    var _close_code: Int
    # Which one the server has to close with.
    var _has_closed: Bool
    # Whether it has sent its close frame.
    var _was_closed: Bool
    # Whether the server has.

    def __init__(out self, mut kernel: Kernel, id: Int, asked_max: Int):
        ref dice = kernel.dice
        self._seat = Seat(NOBODY, kernel.now_ns + dice.below(100_000_000))
        self._is_excused = kernel.weather.is_slow
        self.manner = Manner.POLITE
        var way = Way.SERVER
        if dice.one_in(2):
            self.manner = Manner(UInt8(dice.below(Int(Manner.COUNT) + 1)))
        elif dice.one_in(2):
            way = Way.PROXIED
        self._asked = Asked(id, AskedKind.STREAM, 0, False, False, way)
        self._steps = []
        self._next_step = 0
        self._turn_step = 0
        self._has_turned = False
        self._resume_ns = 0
        self._leaves_ns = Int.MAX
        self._head = MessageReader(reads_requests=False)
        self._is_open = False
        self._reader = WsReader(is_masked=False)
        self._outbox = Buffer(0)
        self._expected = []
        self._answered_count = 0
        self._pings = []
        self._close_code = NO_STATUS
        self._has_closed = False
        self._was_closed = False
        var length_max = kernel.weather.length_max
        self._write(dice, min(dice.below(8), asked_max), length_max)
        # Behind the opening handshake.
        self._turn_step = dice.between(1, len(self._steps) - 1)
        if self.manner == Manner.SPEAKS_ILL:
            ref octets = self._steps.at(self._turn_step).octets
            spoil(octets, dice.below(len(octets)), dice)
            # It may have begun something that it does not end.
            self._leaves_ns = self._seat.start_ns + dice.below(1 << 38)

    def _write(mut self, mut dice: Dice, count: Int, length_max: Int):
        """Makes all that it will say."""
        self._steps.append(_Step(0))
        self._steps.at(0).octets.write_string(
            String(
                "GET ",
                self._asked.way.prefix(),
                "/ws/",
                self._asked.id,
                " HTTP/1.1\r\nHost: simulated\r\nUpgrade: websocket\r\n",
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
                "Sec-WebSocket-Key: ",
                SAMPLE_KEY,
                "\r\n\r\n",
            )
        )
        var waits = dice.one_in(2)
        for index in range(count):
            var step = _Step(len(self._expected) if waits else 0)
            if dice.one_in(8):
                step.pause_ns = dice.below(_SLEEP_NS_MAX)
            var between = Buffer(0)
            if dice.one_in(3):
                step.ping = content_of(index, dice.below(126))
                write_frame(between, PING, step.ping.value(), mask_of(dice))
            var message = _choose_message(
                dice, self._asked.id + index, length_max
            )
            write_message(
                step.octets,
                message,
                dice,
                is_masked=True,
                behind_first=between.span(),
            )
            self._expected.extend(ws_answers(message.opcode, message.payload))
            self._steps.append(step^)
        self._write_end(dice, len(self._expected) if waits else 0)

    def _write_end(mut self, mut dice: Dice, wanted_count: Int):
        """Closes the connection, or has it closed."""
        var step = _Step(wanted_count)
        if dice.one_in(2):
            self._close_code = BYE_CODE
            var bye = WsMessage(TEXT, List(BYE_REASON.as_bytes()))
            write_message(
                step.octets,
                bye,
                dice,
                is_masked=True,
                behind_first=Span(List[UInt8]()),
            )
        else:
            comptime CODES: List[Int] = [NO_STATUS, 1_000, 1_001, 3_000, 4_999]
            self._close_code = materialize[CODES]()[dice.below(5)]
            write_frame(
                step.octets,
                CLOSE,
                close_payload(self._close_code),
                mask_of(dice),
            )
        self._steps.append(step^)

    # What others ask.

    def seat(self) -> Seat:
        return self._seat.copy()

    def excuse(mut self):
        self._is_excused = True

    def is_judged(self) -> Bool:
        return not self._is_excused and self.manner == Manner.POLITE

    def is_content(self) -> Bool:
        return self._was_closed and self._answered_count == len(self._expected)

    def speaks_ill(self) -> Bool:
        return False

    def asked(self, id: Int) -> Optional[Asked]:
        if id != self._asked.id:
            return None
        return self._asked.copy()

    def request_count(self) -> Int:
        return len(self._expected)

    def answered_count(self) -> Int:
        return self._answered_count

    def compare(mut self, told: WsTold):
        """Looks at what the handler was told of a connection that has ended as it
        should."""
        if not self.is_judged() or self._asked.way != Way.SERVER:
            return
        var code = told.codes.get(self._asked.id, 0)
        if self._seat.problem.byte_length() == 0 and code != self._close_code:
            self._seat.problem = String(
                "the handler heard ", code, " for ", self._close_code
            )

    # What it does.

    def act(mut self, mut kernel: Kernel):
        self._seat.next_ns = Int.MAX
        if self._seat.end == NOBODY:
            if not self._seat.dial(kernel):
                return
        self._seat.next_ns = self._leaves_ns
        if kernel.now_ns >= self._leaves_ns:
            self._seat.leave(kernel, is_reset=kernel.dice.one_in(2))
            return
        self._send(kernel)
        if self._seat.is_over:
            return
        self._receive(kernel)
        if self._seat.problem.byte_length() > 0:
            self._seat.leave(kernel, is_reset=True)

    def _send(mut self, mut kernel: Kernel):
        while not self._is_silent():
            if len(self._outbox) == 0 and not self._take_step(kernel):
                return
            var length = len(self._outbox)
            if kernel.dice.one_in(2):
                length = kernel.dice.between(1, length)
            var count = kernel.write(
                self._seat.end, self._outbox.span()[:length]
            )
            if count == -EAGAIN:
                return
            if count < 0:
                # What came before may still be read.
                self._outbox.clear()
                self._next_step = len(self._steps)
                return
            self._outbox.consume(count)
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                return

    def _is_silent(self) -> Bool:
        return self._has_turned and (
            self.manner == Manner.STALLS
            or self.manner == Manner.ENDS
            or self.manner == _IS_BARE
            or self._seat.is_over
        )

    def _take_step(mut self, mut kernel: Kernel) -> Bool:
        """Goes on with what it has to say, if it is time."""
        if self._next_step == len(self._steps) or self._has_closed:
            return False
        if self._next_step > 0 and not self._is_open:
            # RFC 6455 section 4.1.
            return False
        ref step = self._steps.at(self._next_step)
        if step.wanted_count > self._answered_count:
            return False
        if step.pause_ns > 0:
            self._resume_ns = kernel.now_ns + step.pause_ns
            step.pause_ns = 0
        if kernel.now_ns < self._resume_ns:
            self._seat.next_ns = min(self._seat.next_ns, self._resume_ns)
            return False
        if step.ping:
            self._pings.append(step.ping.value().copy())
        if self._turns() and self._next_step == self._turn_step:
            self._turn(kernel)
            if self._is_silent():
                return False
        self._outbox.append(self._steps.at(self._next_step).octets.span())
        self._next_step += 1
        if self._next_step == len(self._steps):
            self._has_closed = self._close_code != BYE_CODE
        return True

    def _turns(self) -> Bool:
        return (
            self.manner != Manner.POLITE
            and self.manner != Manner.SPEAKS_ILL
            and not self._has_turned
        )

    def _turn(mut self, mut kernel: Kernel):
        """Does what it does, within what it was about to say."""
        self._has_turned = True
        var octets = self._steps.at(self._turn_step).octets.span()
        if self.manner == _IS_BARE:
            var out = Buffer(0)
            write_frame(out, TEXT, "bare".as_bytes(), 0)
            _ = kernel.write(self._seat.end, out.span())
        elif self.manner != Manner.IS_DEAF:
            var count = kernel.dice.below(len(octets))
            _ = kernel.write(self._seat.end, octets[:count])
        if self.manner == Manner.LEAVES:
            self._seat.leave(kernel, is_reset=False)
        elif self.manner == Manner.RESETS:
            self._seat.leave(kernel, is_reset=True)
        elif self.manner == Manner.ENDS:
            _ = kernel.end_writing(self._seat.end)
        elif self.manner == Manner.IS_DEAF:
            # It will be gone some time, whatever the server does.
            self._leaves_ns = kernel.now_ns + kernel.dice.below(1 << 38)

    def _receive(mut self, mut kernel: Kernel):
        if self.manner == Manner.IS_DEAF and self._has_turned:
            self._seat.next_ns = min(self._seat.next_ns, self._leaves_ns)
            return
        while True:
            var count: Int
            if self._is_open:
                count = self._seat.receive(
                    kernel, self._reader.inbox, _READ_LEN
                )
            else:
                count = self._seat.receive(kernel, self._head.inbox, _READ_LEN)
            if count == -EAGAIN:
                return
            if count <= 0:
                self._on_end(kernel, was_reset=count < 0)
                return
            if not self._is_open:
                self._open()
            if self._is_open:
                self._take_messages(kernel)
            if self._seat.problem.byte_length() > 0:
                return
            # It may go on now.
            self._seat.wake_later(kernel, _PAUSE_NS_MAX)
            if kernel.dice.one_in(3):
                return

    def _open(mut self):
        """Looks at the response to the opening handshake (section 4.1)."""
        var read = self._head.next()
        if not read:
            self._seat.problem = self._head.problem
            return
        ref response = read.value()
        var status = response.status()
        if status == 101:
            if response.websocket != SAMPLE_ACCEPT:
                self._seat.problem = "the key is not accepted"
            self._is_open = True
            self._reader.inbox.append(self._head.inbox.span())
        elif self.is_judged() and not (
            self._asked.is_proxied() and may_fail(status)
        ):
            self._seat.problem = String("status ", status)
        else:
            self._is_excused = True

    def _take_messages(mut self, mut kernel: Kernel):
        while self._seat.problem.byte_length() == 0:
            var read = self._reader.next()
            if not read:
                self._seat.problem = self._reader.problem
                return
            ref message = read.value()
            if self._was_closed:
                # Section 5.5.1.
                self._seat.problem = "a frame behind the close frame"
            elif message.opcode == CLOSE:
                self._on_close(message, kernel)
            elif message.opcode == PING:
                if not self._has_closed:
                    write_frame(
                        self._outbox,
                        PONG,
                        message.payload,
                        mask_of(kernel.dice),
                    )
            elif message.opcode == PONG:
                self._on_pong(message)
            elif self.manner != Manner.SPEAKS_ILL:
                self._compare_answer(message)

    def _compare_answer(mut self, message: WsMessage):
        if self._answered_count == len(self._expected):
            self._seat.problem = "more answers than there are"
        elif not message.is_same(self._expected.at(self._answered_count)):
            self._seat.problem = String("a wrong answer ", self._answered_count)
        else:
            self._answered_count += 1

    def _on_pong(mut self, message: WsMessage):
        """Takes an answer to a ping, which may stand for those before (section
        5.5.3)."""
        for index in range(len(self._pings)):
            if self._pings.at(index) == message.payload:
                for _ in range(index + 1):
                    _ = self._pings.pop(0)
                return
        if self.manner != Manner.SPEAKS_ILL:
            self._seat.problem = String(
                "a pong of ",
                len(message.payload),
                " octets that answers no ping of ",
                len(self._pings),
                " that are open; manner ",
                self.manner._number,
            )

    def _on_close(mut self, message: WsMessage, mut kernel: Kernel):
        self._was_closed = True
        var code = NO_STATUS
        if len(message.payload) >= 2:
            code = Int(message.payload[0]) << 8 | Int(message.payload[1])
        elif len(message.payload) == 1:
            self._seat.problem = "a close frame of an octet"
        if self.manner == _IS_BARE and self._has_turned:
            # Section 5.1.
            if code != _PROTOCOL_ERROR and not self._is_excused:
                self._seat.problem = String("closed with ", code)
        elif self.is_judged():
            if code != self._close_code:
                self._seat.problem = String(
                    "closed with ", code, " for ", self._close_code
                )
            elif self._answered_count < len(self._expected):
                self._seat.problem = "closed before all was answered"
            elif len(self._pings) > 0 and self._close_code == BYE_CODE:
                # Behind a close frame of its own it is owed none (section 5.5.2).
                self._seat.problem = "a ping was not answered"
        if not self._has_closed and not self._is_silent():
            self._has_closed = True
            write_frame(
                self._outbox, CLOSE, close_payload(code), mask_of(kernel.dice)
            )

    def _on_end(mut self, mut kernel: Kernel, was_reset: Bool):
        """Judges the end of the connection."""
        if self.is_judged() and (was_reset or not self.is_content()):
            if self._asked.is_proxied():
                # What breaks off at an upstream breaks off here.
                self._is_excused = True
            else:
                self._seat.problem = String(
                    "the connection ended behind ",
                    self._answered_count,
                    " of ",
                    len(self._expected),
                    " answers",
                    ", by a reset" if was_reset else "",
                    ", behind the close frame" if self._was_closed else "",
                )
        self._seat.leave(kernel, is_reset=False)


def _choose_message(mut dice: Dice, id: Int, length_max: Int) -> WsMessage:
    """Makes a message by chance: some ask for more than one."""
    var length = dice.length(length_max)
    if dice.one_in(4):
        var count = dice.below(20)
        return WsMessage(
            TEXT,
            more_request(
                count, id, min(length, _MORE_LEN_MAX // max(count, 1))
            ),
        )
    return WsMessage(TEXT if dice.one_in(2) else BINARY, content_of(id, length))
