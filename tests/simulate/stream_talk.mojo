"""A conversation of WebSocket on a stream of a simulated client's connection (RFC
8441), polite or not, while other streams go on."""

from flare.bytes.checked import *
from tests.simulate.dice import Dice
from tests.simulate.http1_client import spoil
from tests.simulate.kernel import Kernel
from tests.simulate.requests import Asked, AskedKind, Way
from tests.simulate.ws_talk import Judging, WsTalk, write_bare

comptime _END_NS_MAX = 20_000_000_000
# Before it would ask by a ping whether anybody is there.

comptime _ROUND_COUNT = 200
# How many windows of a stream a message may take.


@fieldwise_init
struct TalkManner(Equatable, TrivialRegisterPassable):
    """How a client behaves. All but the first may be ended by the server."""

    var _number: UInt8

    comptime POLITE = TalkManner(0)
    comptime ENDS = TalkManner(1)
    """It ends its side of the stream within a frame."""
    comptime IS_BARE = TalkManner(2)
    """It sends a frame without a mask, and then nothing."""
    comptime SPEAKS_ILL = TalkManner(3)
    """It changes an octet."""
    comptime STALLS = TalkManner(4)
    """It sends no more from some octet on, not even what answers a ping."""
    comptime IS_DEAF = TalkManner(5)
    """It gives no room of the stream back from some time on."""

    comptime COUNT = 6

    def breaks_frames(self) -> Bool:
        return self == Self.IS_BARE or self == Self.SPEAKS_ILL


struct StreamTalk(Movable):
    """What is said, how, and how far that is."""

    var words: WsTalk
    var manner: TalkManner
    var has_turned: Bool
    """True if one that is not polite has done what it does."""
    var turn_step: Int
    var leaves_ns: Int
    """When it resets its stream: what it has changed, or does not read, may be
    something that nobody ends."""
    var is_open: Bool
    var ended_ns: Int
    """When it has ended its side of the stream."""

    def __init__(out self, mut kernel: Kernel, asked: Asked, window: Int):
        ref dice = kernel.dice
        # Each round of windows takes a moment.
        self.words = WsTalk(
            dice,
            asked.id,
            dice.below(5),
            min(kernel.weather.length_max, _ROUND_COUNT * window),
        )
        self.manner = TalkManner.POLITE
        if dice.one_in(2):
            self.manner = TalkManner(UInt8(dice.below(TalkManner.COUNT)))
        if asked.is_proxied() and self.manner.breaks_frames():
            # Upstreams take it that the gateway's frames are good.
            self.manner = TalkManner.POLITE
        self.has_turned = False
        self.turn_step = dice.below(self.words.step_count())
        self.leaves_ns = Int.MAX
        self.is_open = False
        self.ended_ns = Int.MAX
        if self.manner == TalkManner.SPEAKS_ILL:
            ref octets = self.words.step(self.turn_step)
            spoil(octets, dice.below(len(octets)), dice)

    def open(mut self, mut kernel: Kernel):
        """Takes note that the server is ready to listen."""
        self.is_open = True
        if self.manner == TalkManner.SPEAKS_ILL:
            self.leaves_ns = kernel.now_ns + kernel.dice.below(1 << 38)

    def is_silent(self) -> Bool:
        return self.has_turned and (
            self.manner == TalkManner.ENDS
            or self.manner == TalkManner.IS_BARE
            or self.manner == TalkManner.STALLS
        )

    def goes_on(mut self, mut kernel: Kernel) -> Bool:
        """Says more if it is time."""
        if self.is_silent() or not self.words.begins_step(kernel.now_ns):
            return False
        if self.has_turned or self.words.next_step != self.turn_step:
            self.words.take_step()
            return True
        self.has_turned = True
        if not self.is_silent():
            if self.manner == TalkManner.IS_DEAF:
                self.leaves_ns = kernel.now_ns + kernel.dice.below(1 << 38)
            self.words.take_step()
            return True
        if self.manner == TalkManner.IS_BARE:
            write_bare(self.words.outbox)
        else:
            var octets = self.words.step(self.turn_step).span()
            var count = kernel.dice.below(len(octets))
            self.words.outbox.append(octets[:count])
        self.words.fall_silent()
        return True

    def is_deaf(self) -> Bool:
        return self.has_turned and self.manner == TalkManner.IS_DEAF

    def waited_too_long(self, now_ns: Int) -> Bool:
        """Tells whether the server has gone on though this side has ended: without
        a close frame, as a connection that is closed (RFC 8441 section 5)."""
        return self.ended_ns < now_ns - _END_NS_MAX

    def ends(self, mut dice: Dice) -> Bool:
        """Tells whether it ends its side of the stream when all is sent that it
        has said: the server does so first (RFC 6455 section 7.1.1), but who has
        heard and sent a close frame need not wait."""
        if self.manner == TalkManner.ENDS and self.has_turned:
            return True
        return (
            self.words.has_closed and self.words.was_closed and dice.one_in(2)
        )

    def judging(self, is_judged: Bool) -> Judging:
        if self.manner == TalkManner.SPEAKS_ILL:
            return Judging.FRAMES
        if is_judged and self.manner == TalkManner.POLITE:
            return Judging.ALL
        if self.manner == TalkManner.IS_BARE and self.has_turned:
            return Judging.BARE if is_judged else Judging.ANSWERS
        return Judging.ANSWERS


def choose_talk(mut dice: Dice, id: Int) -> Asked:
    """Chooses with whom a conversation is."""
    comptime WAYS: List[Way] = [
        Way.SERVER,
        Way.SERVER,
        Way.PROXIED,
        Way.OVER_HTTP2,
    ]
    var way = materialize[WAYS]()[dice.below(4)]
    return Asked(id, AskedKind.TALK, 0, False, False, way)
