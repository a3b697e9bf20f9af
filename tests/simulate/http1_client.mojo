"""A simulated client of HTTP/1.1, polite or not, and what it must be told."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.errno import EAGAIN
from tests.simulate.dice import Dice
from tests.simulate.actor import Asking
from tests.simulate.kernel import Kernel, NOBODY
from tests.simulate.seat import Seat
from tests.simulate.requests import (
    Asked,
    choose_asked,
    Way,
    may_fail,
    write_http1,
)
from tests.simulate.message_reader import MessageReader

comptime _READ_LEN = 4_096

comptime _PAUSE_NS_MAX = 20_000_000
# Between two portions of a polite client: its server has no reason to give it up.


@fieldwise_init
struct Manner(Equatable, TrivialRegisterPassable):
    """How a client behaves. All but the polite may be given up."""

    var _number: UInt8

    comptime POLITE = Manner(0)
    comptime LEAVES = Manner(1)
    """It closes its connection somewhere within."""
    comptime RESETS = Manner(2)
    """It resets it."""
    comptime STALLS = Manner(3)
    """It sends no more from some octet on, and waits."""
    comptime IS_DEAF = Manner(4)
    """It reads no more from some time on."""
    comptime ENDS = Manner(5)
    """It ends its side, behind its last request over HTTP, and reads on."""
    comptime SPEAKS_ILL = Manner(6)
    """It changes an octet."""

    comptime COUNT = 7


def spoil(mut script: Buffer, at: Int, mut dice: Dice):
    """Changes an octet of what is to be sent."""
    var octets = List(script.span())
    octets[at] = UInt8(dice.below(256))
    script.clear()
    script.append(Span(octets))


struct Http1Client(Asking):
    """One connection's client: what it sends, and how far it is."""

    var manner: Manner
    var _seat: Seat
    var _answered_count: Int
    var _asked: List[Asked]
    var _script: Buffer
    var _sent_len: Int
    var _starts: List[Int]
    # Where each request begins in the script.
    var _pipelines: Bool
    # What it does at which octet of the script, by its manner.
    var _turn_at: Int
    var _has_turned: Bool
    # When one that is deaf leaves.
    var _leaves_ns: Int
    var _reader: MessageReader
    var _last_way: Way
    # Whose the last answer was.
    # Whether it may be too slow through no fault of its own.
    var _is_excused: Bool

    def __init__(out self, mut kernel: Kernel, first_id: Int, asked_max: Int):
        ref dice = kernel.dice
        self._seat = Seat(NOBODY, kernel.now_ns + dice.below(100_000_000))
        self._is_excused = kernel.weather.is_slow
        self.manner = Manner.POLITE
        if dice.one_in(2):
            self.manner = Manner(UInt8(dice.below(Int(Manner.COUNT))))
        self._answered_count = 0
        self._asked = []
        self._script = Buffer(0)
        self._sent_len = 0
        self._starts = []
        self._pipelines = dice.one_in(2)
        var count = min(dice.between(1, 6), asked_max)
        for index in range(count):
            self._starts.append(len(self._script))
            self._asked.append(
                choose_asked(dice, first_id + index, kernel.weather.length_max)
            )
            write_http1(
                self._script,
                self._asked.at(index),
                dice,
                is_last=index == count - 1 and dice.one_in(2),
            )
        self._turn_at = dice.below(len(self._script))
        self._has_turned = False
        self._leaves_ns = Int.MAX
        self._reader = MessageReader(reads_requests=False)
        self._last_way = Way.SERVER
        if self.manner == Manner.ENDS:
            self._turn_at = len(self._script)
        elif self.manner == Manner.SPEAKS_ILL:
            spoil(self._script, self._turn_at, dice)

    def seat(self) -> Seat:
        return self._seat.copy()

    def answered_count(self) -> Int:
        return self._answered_count

    def excuse(mut self):
        self._is_excused = True

    def speaks_ill(self) -> Bool:
        return self.manner == Manner.SPEAKS_ILL

    def asked(self, id: Int) -> Optional[Asked]:
        for asked in self._asked:
            if asked.id == id:
                return asked.copy()
        return None

    def request_count(self) -> Int:
        return len(self._asked)

    def act(mut self, mut kernel: Kernel):
        self._seat.next_ns = Int.MAX
        if self._seat.end == NOBODY:
            if not self._seat.dial(kernel):
                return
        self._send(kernel)
        if self._seat.is_over:
            return
        self._receive(kernel)
        if self._seat.problem.byte_length() > 0:
            self._seat.leave(kernel, is_reset=True)

    def _sendable_len(self) -> Int:
        """Tells up to where the script may be sent now: one request at a time if
        it does not pipeline."""
        if self._pipelines:
            return len(self._script)
        var next = self._answered_count + 1
        if next >= len(self._starts):
            return len(self._script)
        return self._starts.at(next)

    def _send(mut self, mut kernel: Kernel):
        var limit = self._sendable_len()
        if self._turns():
            limit = min(limit, self._turn_at)
        while self._sent_len < limit:
            var length = limit - self._sent_len
            if kernel.dice.one_in(2):
                length = kernel.dice.between(1, length)
            var count = kernel.write(
                self._seat.end,
                self._script.span()[self._sent_len : self._sent_len + length],
            )
            if count == -EAGAIN:
                break
            if count < 0:
                # The answers that came before may still be read.
                self._sent_len = limit
                break
            self._sent_len += count
            if kernel.dice.one_in(2):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                break
        if self._turns() and self._sent_len >= self._turn_at:
            self._turn(kernel)

    def _turns(self) -> Bool:
        """Tells whether it behaves as it does at some octet yet to come."""
        return (
            self.manner != Manner.POLITE
            and self.manner != Manner.SPEAKS_ILL
            and not self._has_turned
        )

    def _turn(mut self, mut kernel: Kernel):
        self._has_turned = True
        if self.manner == Manner.LEAVES:
            self._seat.leave(kernel, is_reset=False)
        elif self.manner == Manner.RESETS:
            self._seat.leave(kernel, is_reset=True)
        elif self.manner == Manner.ENDS:
            _ = kernel.end_writing(self._seat.end)
        elif self.manner == Manner.STALLS:
            # Never the rest.
            self._sent_len = len(self._script)
        else:
            # It will be gone some time, whatever the server does.
            self._leaves_ns = kernel.now_ns + kernel.dice.below(1 << 38)

    def _is_deaf(self) -> Bool:
        return self.manner == Manner.IS_DEAF and self._has_turned

    def _receive(mut self, mut kernel: Kernel):
        if self._is_deaf():
            self._seat.next_ns = self._leaves_ns
            if kernel.now_ns >= self._leaves_ns:
                self._seat.leave(kernel, is_reset=kernel.dice.one_in(2))
            return
        while True:
            var count = self._seat.receive(
                kernel, self._reader.inbox, _READ_LEN
            )
            if count == -EAGAIN:
                return
            if count <= 0:
                self._on_end(kernel, was_reset=count < 0)
                return
            self._check()
            if self._seat.problem.byte_length() > 0:
                return
            # Its next request may go now.
            self._seat.wake_later(kernel, _PAUSE_NS_MAX)
            if kernel.dice.one_in(3):
                return

    def _check(mut self):
        """Compares what has come with what was asked for."""
        while True:
            var read = self._reader.next()
            if not read:
                self._seat.problem = self._reader.problem
                return
            ref response = read.value()
            var status = response.status()
            if status < 200:
                continue
            if (
                self._answered_count >= len(self._asked)
                and self.manner == Manner.SPEAKS_ILL
            ):
                # What was spoilt may be two requests.
                return
            if self._answered_count >= len(self._asked):
                self._seat.problem = String(
                    "more responses than requests; manner ",
                    self.manner._number,
                )
                return
            ref asked = self._asked.at(self._answered_count)
            if status == 200:
                if response.content != asked.answer():
                    self._seat.problem = String(
                        "a wrong answer to ",
                        asked.path(),
                        ": ",
                        len(response.content),
                        " octets",
                    )
                    # One that was spoilt is another request.
                    if self.manner == Manner.SPEAKS_ILL:
                        self._seat.problem = String()
            elif self.is_judged() and not (
                asked.is_proxied() and may_fail(status)
            ):
                self._seat.problem = String(
                    "status ",
                    status,
                    " for ",
                    asked.path(),
                    ", the ",
                    self._answered_count + 1,
                    "th of ",
                    len(self._asked),
                    "; sent ",
                    self._sent_len,
                    " of ",
                    len(self._script),
                    " octets, ",
                    "pipelined" if self._pipelines else "in turn",
                )
                return
            self._answered_count += 1
            self._last_way = asked.way
            if response.closes and asked.is_proxied():
                # An upload that was answered early ends the connection.
                self._is_excused = True

    def _on_end(mut self, mut kernel: Kernel, was_reset: Bool):
        """Judges the end of the connection."""
        if self.is_judged() and self._answered_count < len(self._asked):
            ref next = self._asked.at(self._answered_count)
            if next.may_break_off() or self._last_way == Way.OVER_HTTP2:
                # What breaks off at an upstream breaks off here, and what comes
                # over HTTP/2 may do so behind its last octet.
                self._is_excused = True
            else:
                self._seat.problem = String(
                    "the connection ended behind ",
                    self._answered_count,
                    " of ",
                    len(self._asked),
                    " answers",
                    ", by a reset" if was_reset else "",
                    "; next ",
                    next.path(),
                )
        self._seat.leave(kernel, is_reset=False)

    def is_judged(self) -> Bool:
        if self._is_excused:
            return False
        # Who has ended its side may wait for the rest (RFC 9112 section 9.6).
        return self.manner == Manner.POLITE or self.manner == Manner.ENDS

    def is_content(self) -> Bool:
        return self._answered_count == len(self._asked)
