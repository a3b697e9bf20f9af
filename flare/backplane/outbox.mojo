"""What waits for an engine, and what came from it; pure."""

from flare.backplane.backplane import Handover
from flare.backplane.message import MESSAGE_HEAD_LEN, load_word
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER


comptime ECHO_MS = 1_000
"""How long an own message takes at most from its sending to its coming back
over a channel, before the connection that listens is doubted."""


@fieldwise_init
struct SenderPhase(Equatable, TrivialRegisterPassable):
    """What the thread that sends is to do."""

    var _number: UInt8

    comptime GONE = Self(0)
    """There is none."""
    comptime SENDING = Self(1)
    """It sends what waits, and waits for more."""
    comptime ENDING = Self(2)
    """It sends what waits, if that goes at once, and then goes."""


struct Outbox(Movable, Sized):
    """A bounded queue of what is to be sent, a list of what has come, and whether the
    engine answers.

    Messages that come back are not delivered before they do. If the engine
    fails meanwhile, they arrive from here, and wait on to be sent: receivers
    know by their numbers what they have had.

    Over a channel, every own message comes back to who listens. One that does
    not is the first sign that nobody is heard any more.
    """

    var sender: SenderPhase
    var dropped_count: Int
    """Messages for which there was no room."""
    var gaps_count: Int
    """Times that the connection was lost."""
    var _waiting: List[Buffer]
    # What was sent stands before it until the list is shortened.
    var _sent_count: Int
    # Of those that wait, the first that was not delivered here.
    var _undelivered: Int
    var _waiting_len: Int
    var _waiting_len_max: Int
    var _is_up: Bool
    var _arrived: List[Buffer]
    var _taken_count: Int
    # The own message whose coming back is waited for, and from when on the
    # connection that listens is to be asked.
    var _echo_origin: UInt64
    var _echo_sequence: UInt64
    var _doubt_ms: Int

    def __init__(out self, waiting_len_max: Int):
        """Makes empty queues, in which at most so many bytes wait to be sent."""
        self.sender = SenderPhase.GONE
        self.dropped_count = 0
        self.gaps_count = 0
        self._waiting = []
        self._sent_count = 0
        self._undelivered = 0
        self._waiting_len = 0
        self._waiting_len_max = waiting_len_max
        self._is_up = True
        self._arrived = []
        self._taken_count = 0
        self._echo_origin = 0
        self._echo_sequence = 0
        self._doubt_ms = NEVER

    def __len__(self) -> Int:
        """Counts what waits to be sent."""
        return len(self._waiting) - self._sent_count

    def waiting_at(ref self, index: Int) -> ref[self._waiting[0]] Buffer:
        """Lends a message that waits, counted from the oldest."""
        return self._waiting.at(self._sent_count + index)

    def put(mut self, octets: Span[UInt8, _], comes_back: Bool) -> Handover:
        """Adds a message that is to be sent, to be delivered when it comes back
        if `comes_back`."""
        if self._waiting_len + len(octets) > self._waiting_len_max:
            self.dropped_count += 1
            # What came before it comes before it here, too.
            self._deliver_waiting()
            return Handover.STAYS
        self._waiting.append(_copy(octets))
        self._waiting_len += len(octets)
        if comes_back and self._is_up:
            return Handover.COMES_BACK
        self._undelivered = len(self._waiting)
        return Handover.GOES_OUT

    def sent(mut self, count: Int):
        """Takes note that the oldest were sent."""
        self._is_up = True
        for _ in range(count):
            self._waiting_len -= len(self._waiting.at(self._sent_count))
            self._sent_count += 1
        # Shortened when half of it is gone, so that each message moves once.
        if 2 * self._sent_count >= len(self._waiting):
            var rest = List[Buffer]()
            while len(self._waiting) > self._sent_count:
                rest.append(self._waiting.pop())
            rest.reverse()
            self._waiting = rest^
            self._undelivered = max(self._undelivered - self._sent_count, 0)
            self._sent_count = 0

    def failed(mut self):
        """Takes note that the engine does not answer: what waits is delivered
        here."""
        self._is_up = False
        self._deliver_waiting()

    def _deliver_waiting(mut self):
        var start = max(self._undelivered, self._sent_count)
        for index in range(start, len(self._waiting)):
            self._arrived.append(_copy(self._waiting.at(index).span()))
        self._undelivered = len(self._waiting)

    def doubt(mut self):
        """Has the connection that listens asked for a sign of life at once:
        the one that sends has failed."""
        self._doubt_ms = 0

    def expect_echo(mut self, now_ms: Int):
        """Waits for the oldest message that is being sent to come back over
        the channel, unless another one is waited for.
        """
        if self._doubt_ms != NEVER or len(self) == 0:
            return
        ref octets = self.waiting_at(0)
        if len(octets) < MESSAGE_HEAD_LEN:
            return
        self._echo_origin = load_word(octets.span(), 8)
        self._echo_sequence = load_word(octets.span(), 16)
        self._doubt_ms = now_ms + ECHO_MS

    def doubt_in_ms(self, now_ms: Int) -> Int:
        """Tells in how many milliseconds the connection that listens is to be
        asked; the largest number if not at all."""
        if self._doubt_ms == NEVER:
            return NEVER
        return max(self._doubt_ms - now_ms, 0)

    def take_doubt(mut self, now_ms: Int) -> Bool:
        """Tells whether the connection that listens is to be asked now: once
        for each doubt."""
        if now_ms < self._doubt_ms:
            return False
        self._doubt_ms = NEVER
        return True

    def _note_echo(mut self, octets: Span[UInt8, _]):
        if self._doubt_ms == NEVER or len(octets) < MESSAGE_HEAD_LEN:
            return
        if (
            load_word(octets, 8) == self._echo_origin
            and load_word(octets, 16) >= self._echo_sequence
        ):
            self._doubt_ms = NEVER

    def put_arrived(mut self, octets: Span[UInt8, _]):
        """Adds a message that has come."""
        self._note_echo(octets)
        self._arrived.append(_copy(octets))

    def take_arrived(mut self, mut out: Buffer) -> Bool:
        """Appends the oldest message that has come; False if there is none."""
        if self._taken_count == len(self._arrived):
            self._arrived.clear()
            self._taken_count = 0
            return False
        out.append(self._arrived.at(self._taken_count).span())
        self._taken_count += 1
        return True


def _copy(octets: Span[UInt8, _]) -> Buffer:
    var copy = Buffer(len(octets))
    copy.append(octets)
    return copy^
