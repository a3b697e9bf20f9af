"""A simulated client of WebSocket over HTTP/1.1, polite or not."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.errno import EAGAIN
from tests.simulate.actor import Asking
from tests.simulate.http1_client import Manner, spoil
from tests.simulate.kernel import Kernel, NOBODY
from tests.simulate.message_reader import MessageReader
from tests.simulate.requests import Asked, AskedKind, Way, may_fail
from tests.simulate.seat import Seat
from tests.simulate.ws_frames import SAMPLE_ACCEPT, SAMPLE_KEY
from tests.simulate.ws_talk import Judging, WsTalk, WsTold, write_bare

comptime _READ_LEN = 4_096

comptime _PAUSE_NS_MAX = 20_000_000

comptime _IS_BARE = Manner(Manner.COUNT)
# One more manner: it sends a frame without a mask, and then nothing. One that stalls
# does not even send what answers a ping.


struct WsClient(Asking):
    """One connection's client: what it says, and how far it is."""

    var manner: Manner
    var _seat: Seat
    var _asked: Asked
    var _is_excused: Bool
    # Whether it may be too slow through no fault of its own, or its upstream fails.
    var _talk: WsTalk
    # Whose outbox begins with the opening handshake.
    var _turn_step: Int
    # Where one that is not polite does what it does.
    var _has_turned: Bool
    var _leaves_ns: Int
    # When one that is deaf leaves.
    var _head: MessageReader
    var _is_open: Bool

    def __init__(out self, mut kernel: Kernel, id: Int, asked_max: Int):
        ref dice = kernel.dice
        self._seat = Seat(NOBODY, kernel.now_ns + dice.below(100_000_000))
        self._is_excused = kernel.weather.is_slow
        self.manner = Manner.POLITE
        var way = Way.SERVER
        if dice.one_in(2):
            self.manner = Manner(UInt8(dice.below(Int(Manner.COUNT) + 1)))
        elif dice.one_in(2):
            way = Way.PROXIED if dice.one_in(2) else Way.OVER_HTTP2
        self._asked = Asked(id, AskedKind.TALK, 0, False, False, way)
        self._talk = WsTalk(
            dice,
            id,
            min(dice.below(8), asked_max),
            kernel.weather.length_max,
        )
        self._turn_step = dice.below(self._talk.step_count())
        self._has_turned = False
        self._leaves_ns = Int.MAX
        self._head = MessageReader(reads_requests=False)
        self._is_open = False
        self._talk.outbox.write_string(
            String(
                "GET ",
                self._asked.path(),
                " HTTP/1.1\r\nHost: simulated\r\nUpgrade: websocket\r\n",
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
                "Sec-WebSocket-Key: ",
                SAMPLE_KEY,
                "\r\n\r\n",
            )
        )
        if self.manner == Manner.SPEAKS_ILL:
            ref octets = self._talk.step(self._turn_step)
            spoil(octets, dice.below(len(octets)), dice)
            # It may have begun something that it does not end.
            self._leaves_ns = self._seat.start_ns + dice.below(1 << 38)

    # What others ask.

    def seat(self) -> Seat:
        return self._seat.copy()

    def excuse(mut self):
        self._is_excused = True

    def is_judged(self) -> Bool:
        return not self._is_excused and self.manner == Manner.POLITE

    def is_content(self) -> Bool:
        return self._talk.is_content()

    def speaks_ill(self) -> Bool:
        return False

    def asked(self, id: Int) -> Optional[Asked]:
        if id != self._asked.id:
            return None
        return self._asked.copy()

    def request_count(self) -> Int:
        return len(self._talk.expected)

    def answered_count(self) -> Int:
        return self._talk.answered_count

    def compare(mut self, told: WsTold):
        """Looks at what the handler was told of a connection that has ended as it
        should."""
        if not self.is_judged() or self._asked.way != Way.SERVER:
            return
        self._talk.compare(told, self._asked.id)
        if self._seat.problem.byte_length() == 0:
            self._seat.problem = self._talk.problem.copy()

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
            if len(self._talk.outbox) == 0 and not self._take_step(kernel):
                return
            var length = len(self._talk.outbox)
            if kernel.dice.one_in(2):
                length = kernel.dice.between(1, length)
            var count = kernel.write(
                self._seat.end, self._talk.outbox.span()[:length]
            )
            if count == -EAGAIN:
                return
            if count < 0:
                # What came before may still be read.
                self._talk.give_up()
                return
            self._talk.outbox.consume(count)
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
        if not self._is_open:
            # RFC 6455 section 4.1.
            return False
        if not self._talk.begins_step(kernel.now_ns):
            if self._talk.resume_ns > kernel.now_ns:
                self._seat.next_ns = min(
                    self._seat.next_ns, self._talk.resume_ns
                )
            return False
        if self._turns() and self._talk.next_step == self._turn_step:
            self._turn(kernel)
            if self._is_silent():
                return False
        self._talk.take_step()
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
        var octets = self._talk.step(self._turn_step).span()
        if self.manner == _IS_BARE:
            var out = Buffer(0)
            write_bare(out)
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
                    kernel, self._talk.reader.inbox, _READ_LEN
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
                self._talk.judging = self._judging()
                self._talk.take_messages(kernel.dice)
                if self._talk.problem.byte_length() > 0:
                    self._seat.problem = self._talk.problem.copy()
            if self._seat.problem.byte_length() > 0:
                return
            # It may go on now.
            self._seat.wake_later(kernel, _PAUSE_NS_MAX)
            if kernel.dice.one_in(3):
                return

    def _judging(self) -> Judging:
        if self.manner == Manner.SPEAKS_ILL:
            return Judging.FRAMES
        if self.is_judged():
            return Judging.ALL
        var is_bare = self.manner == _IS_BARE and self._has_turned
        if is_bare and not self._is_excused:
            return Judging.BARE
        return Judging.ANSWERS

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
            self._talk.reader.inbox.append(self._head.inbox.span())
        elif self.is_judged() and not (
            self._asked.is_proxied() and may_fail(status)
        ):
            self._seat.problem = String("status ", status)
        else:
            self._is_excused = True

    def _on_end(mut self, mut kernel: Kernel, was_reset: Bool):
        """Judges the end of the connection."""
        if self.is_judged() and (was_reset or not self.is_content()):
            if self._asked.is_proxied():
                # What breaks off at an upstream breaks off here.
                self._is_excused = True
            else:
                self._seat.problem = String(
                    "the connection ended: ",
                    self._talk.story(),
                    ", by a reset" if was_reset else "",
                )
        self._seat.leave(kernel, is_reset=False)
