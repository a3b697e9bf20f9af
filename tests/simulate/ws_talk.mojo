"""What a simulated client says over WebSocket, and what it must be told: a
conversation behind its opening, whatever carries its octets."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from tests.simulate.dice import Dice
from tests.simulate.requests import content_of
from tests.simulate.ws_frames import (
    BINARY,
    BYE_CODE,
    BYE_REASON,
    CLOSE,
    PING,
    PONG,
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

comptime _SLEEP_NS_MAX = 200_000_000_000
# Longer than a server waits for one that answers no pings.

comptime _MORE_LEN_MAX = 500_000
# How much content is asked for by one message, in bytes: half of what may wait for
# a client by default.

comptime NO_STATUS = 1_005
comptime ABNORMAL = 1_006
comptime _PROTOCOL_ERROR = 1_002
# RFC 6455 section 7.4.1.


@fieldwise_init
struct Judging(Equatable, TrivialRegisterPassable):
    """What of a conversation is compared with what it has to be."""

    var _number: UInt8

    comptime FRAMES = Judging(0)
    """Whether frames are well-formed: an octet was changed."""
    comptime ANSWERS = Judging(1)
    """What is answered, as long as it is."""
    comptime ALL = Judging(2)
    """That all is answered, and the end."""
    comptime BARE = Judging(3)
    """That it ends because of a frame without a mask."""


struct WsTold(Defaultable, Movable):
    """What a handler has heard of openings and ends."""

    var open_count: Int
    var close_count: Int
    var codes: Dict[Int, Int]
    """With which code each has ended, by the id that its client asked for."""
    var _ids: Dict[Int, Int]

    def note_open(mut self, number: Int, id: Int):
        self.open_count += 1
        self._ids[number] = id

    def note_close(mut self, number: Int, code: Int):
        self.close_count += 1
        self.codes[self._ids.get(number, 0)] = code


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


struct WsTalk(Movable):
    """What is said, and how far that is."""

    var reader: WsReader
    """Whose inbox takes what comes."""
    var outbox: Buffer
    """What is to be sent now."""
    var judging: Judging
    """By what `take_messages` judges."""
    var problem: String
    """What was wrong with what it was told; empty if nothing was."""
    var answered_count: Int
    var expected: List[WsMessage]
    var close_code: Int
    """Which one the server has to close with."""
    var has_closed: Bool
    """True if it has said that it closes."""
    var was_closed: Bool
    """True if the server has."""
    var resume_ns: Int
    """Until when it pauses."""
    var next_step: Int
    var _steps: List[_Step]
    var _pings: List[List[UInt8]]
    # Those that are not answered.

    def __init__(
        out self, mut dice: Dice, id: Int, count: Int, length_max: Int
    ):
        """Makes all that it will say: so many messages, and the end."""
        self.reader = WsReader(is_masked=False)
        self.outbox = Buffer(0)
        self.judging = Judging.ALL
        self.problem = String()
        self.answered_count = 0
        self.expected = []
        self.close_code = NO_STATUS
        self.has_closed = False
        self.was_closed = False
        self.resume_ns = 0
        self.next_step = 0
        self._steps = []
        self._pings = []
        var waits = dice.one_in(2)
        for index in range(count):
            var step = _Step(len(self.expected) if waits else 0)
            if dice.one_in(8):
                step.pause_ns = dice.below(_SLEEP_NS_MAX)
            var between = Buffer(0)
            if dice.one_in(3):
                step.ping = content_of(index, dice.below(126))
                write_frame(between, PING, step.ping.value(), mask_of(dice))
            var message = _choose_message(dice, id + index, length_max)
            write_message(
                step.octets,
                message,
                dice,
                is_masked=True,
                behind_first=between.span(),
            )
            self.expected.extend(ws_answers(message.opcode, message.payload))
            self._steps.append(step^)
        self._write_end(dice, len(self.expected) if waits else 0)

    def _write_end(mut self, mut dice: Dice, wanted_count: Int):
        """Closes the connection, or has it closed."""
        var step = _Step(wanted_count)
        if dice.one_in(2):
            self.close_code = BYE_CODE
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
            self.close_code = materialize[CODES]()[dice.below(5)]
            write_frame(
                step.octets,
                CLOSE,
                close_payload(self.close_code),
                mask_of(dice),
            )
        self._steps.append(step^)

    def step_count(self) -> Int:
        return len(self._steps)

    def step(mut self, index: Int) -> ref[self._steps[0].octets] Buffer:
        """Gives what one step sends."""
        return self._steps[index].octets

    def is_content(self) -> Bool:
        """Tells whether it has all that it has asked for."""
        return self.was_closed and self.answered_count == len(self.expected)

    def begins_step(mut self, now_ns: Int) -> Bool:
        """Tells whether it is time for the next step; if it pauses, until
        `resume_ns`."""
        if self.next_step == len(self._steps) or self.has_closed:
            return False
        ref step = self._steps.at(self.next_step)
        if step.wanted_count > self.answered_count:
            return False
        if step.pause_ns > 0:
            self.resume_ns = now_ns + step.pause_ns
            step.pause_ns = 0
        if now_ns < self.resume_ns:
            return False
        if step.ping:
            self._pings.append(step.ping.take())
        return True

    def take_step(mut self):
        """Says what `begins_step` has told of."""
        self.outbox.append(self._steps.at(self.next_step).octets.span())
        self.next_step += 1
        if self.next_step == len(self._steps):
            self.has_closed = self.close_code != BYE_CODE

    def give_up(mut self):
        """Says nothing more: nobody takes it."""
        self.outbox.clear()
        self.next_step = len(self._steps)

    def fall_silent(mut self):
        """Says nothing behind what it has said, whatever it is told."""
        self.has_closed = True

    def take_messages(mut self, mut dice: Dice):
        """Looks at all that has come, and answers what has to be answered."""
        while self.problem.byte_length() == 0:
            var read = self.reader.next()
            if not read:
                self.problem = self.reader.problem
                return
            ref message = read.value()
            if self.was_closed:
                # Section 5.5.1.
                self.problem = "a frame behind the close frame"
            elif message.opcode == CLOSE:
                self._on_close(message, dice)
            elif message.opcode == PING:
                if not self.has_closed:
                    write_frame(
                        self.outbox, PONG, message.payload, mask_of(dice)
                    )
            elif message.opcode == PONG:
                self._on_pong(message)
            elif self.judging != Judging.FRAMES:
                self._compare_answer(message)

    def _compare_answer(mut self, message: WsMessage):
        if self.answered_count == len(self.expected):
            self.problem = "more answers than there are"
        elif not message.is_same(self.expected.at(self.answered_count)):
            self.problem = String("a wrong answer ", self.answered_count)
        else:
            self.answered_count += 1

    def _on_pong(mut self, message: WsMessage):
        """Takes an answer to a ping, which may stand for those before (section
        5.5.3)."""
        for index in range(len(self._pings)):
            if self._pings.at(index) == message.payload:
                for _ in range(index + 1):
                    _ = self._pings.pop(0)
                return
        if self.judging != Judging.FRAMES:
            self.problem = String(
                "a pong of ",
                len(message.payload),
                " octets that answers no ping of ",
                len(self._pings),
                " that are open",
            )

    def _on_close(mut self, message: WsMessage, mut dice: Dice):
        self.was_closed = True
        var code = NO_STATUS
        if len(message.payload) >= 2:
            code = Int(message.payload[0]) << 8 | Int(message.payload[1])
        elif len(message.payload) == 1:
            self.problem = "a close frame of an octet"
        if self.judging == Judging.BARE:
            # Section 5.1.
            if code != _PROTOCOL_ERROR:
                self.problem = String("closed with ", code)
        elif self.judging == Judging.ALL:
            if code != self.close_code:
                self.problem = String(
                    "closed with ", code, " for ", self.close_code
                )
            elif self.answered_count < len(self.expected):
                self.problem = "closed before all was answered"
            elif len(self._pings) > 0 and self.close_code == BYE_CODE:
                # Behind a close frame of its own it is owed none (section 5.5.2).
                self.problem = "a ping was not answered"
        if not self.has_closed:
            self.has_closed = True
            write_frame(self.outbox, CLOSE, close_payload(code), mask_of(dice))

    def compare(mut self, told: WsTold, id: Int):
        """Looks at what the handler was told of one that has ended as it should."""
        var code = told.codes.get(id, 0)
        if self.problem.byte_length() == 0 and code != self.close_code:
            self.problem = String(
                "the handler heard ", code, " for ", self.close_code
            )

    def story(self) -> String:
        """Tells how far it is."""
        return String(
            self.answered_count,
            " of ",
            len(self.expected),
            " answers",
            ", behind the close frame" if self.was_closed else "",
        )


def write_bare(mut out: Buffer):
    """Writes a frame without a mask, which a server has to close for (section
    5.1)."""
    write_frame(out, TEXT, "bare".as_bytes(), 0)


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
