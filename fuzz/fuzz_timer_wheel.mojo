"""Fuzzes the timer wheel beside a sorted list, which fires the same.

What is due fires in order of its tick and, within one, in the order in which
it was armed; never early, never twice, and never once it is cancelled.
"""

from flare.runtime.timer_wheel import DEADLINE_MAX_MS, TimerId, TimerWheel
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct _Armed(Copyable):
    """A timer of the model."""

    var tick_ms: Int
    var token: UInt64
    var id: TimerId


struct _Pair:
    """A wheel, and a list of what it holds, sorted by tick."""

    var wheel: TimerWheel
    var armed: List[_Armed]
    var gone: List[TimerId]
    var now_ms: Int
    var wheel_ms: Int
    """How far the wheel has come: behind `now_ms` while timers are due."""
    var armed_count: UInt64

    def __init__(out self, now_ms: Int):
        self.wheel = TimerWheel(now_ms)
        self.armed = []
        self.gone = []
        self.now_ms = now_ms
        self.wheel_ms = now_ms
        self.armed_count = 0

    def arm(mut self, delay_ms: Int):
        self.armed_count += 1
        var deadline_ms = self.now_ms + delay_ms
        var id = self.wheel.insert(deadline_ms, self.armed_count)
        var tick_ms = max(min(deadline_ms, DEADLINE_MAX_MS), self.wheel_ms)
        var place = len(self.armed)
        while place > 0 and self.armed[place - 1].tick_ms > tick_ms:
            place -= 1
        self.armed.insert(place, _Armed(tick_ms, self.armed_count, id))

    def cancel(mut self, which: Int) raises:
        if len(self.armed) > 0:
            var timer = self.armed.pop(which % len(self.armed))
            if not self.wheel.cancel(timer.id):
                raise Error("timer ", timer.token, " waits, but is not known")
            self.gone.append(timer.id)
        if len(self.gone) > 0:
            if self.wheel.cancel(self.gone[which % len(self.gone)]):
                raise Error("a name that is gone has reached another timer")

    def go_on(mut self, span_ms: Int):
        self.now_ms = min(self.now_ms + max(span_ms, 0), DEADLINE_MAX_MS)

    def fire(mut self, most: Int) raises:
        for _ in range(most):
            var token = self.wheel.next_expired(self.now_ms)
            var is_due = (
                len(self.armed) > 0 and self.armed[0].tick_ms <= self.now_ms
            )
            if Bool(token) != is_due:
                raise Error("one is due: ", is_due, "; fired: ", Bool(token))
            if not token:
                self.wheel_ms = self.now_ms
                return
            var timer = self.armed.pop(0)
            if timer.token != token.value():
                raise Error(timer.token, " is due, fired: ", token.value())
            self.wheel_ms = timer.tick_ms
            self.gone.append(timer.id)

    def check_hint(self) raises:
        if len(self.wheel) != len(self.armed):
            raise Error("counted ", len(self.wheel), " of ", len(self.armed))
        var hint = self.wheel.next_deadline_ms()
        if Bool(hint) != (len(self.armed) > 0):
            raise Error("the next deadline is there: ", Bool(hint))
        if hint and hint.value() > self.armed[0].tick_ms:
            raise Error(hint.value(), " is late for ", self.armed[0].tick_ms)


@fieldwise_init
struct TimerWheelTarget(Target):
    """Octets are steps, two each: what to do, and how far or with which."""

    def seeds(self) -> List[String]:
        """Lists programs."""
        return ["a1bz5!", "aAbAcA4~4~", "aaabbbcc3a3b4z5z"]

    def tokens(self) -> List[String]:
        """Lists steps."""
        return ["a ", "b?", "c~", "3!", "4A", "5Z", "6\x01"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Does each step with both, and lets all fire at the end."""
        if len(input) == 0:
            return
        # Starts where many bits differ from those of the next milliseconds.
        var start_ms = (1 << Int(input[0] & 31)) - Int(input[0] >> 5)
        var pair = _Pair(max(start_ms, 0))
        for index in range(1, min(len(input) - 1, 400), 2):
            var word = Int(input[index + 1])
            # All sizes, a little less or more than a power of two.
            var span_ms = (1 << (word % 40)) + word // 40 - 3
            var what = input[index] % 8
            if what < 3:
                pair.arm(span_ms)
            elif what == 3:
                pair.cancel(word)
            elif what == 4:
                pair.cancel(word)
                pair.arm(span_ms)
            elif what == 5:
                pair.go_on(span_ms)
                pair.fire(Int.MAX)
            elif what == 6:
                pair.go_on(span_ms)
                pair.fire(word % 4)
            elif pair.wheel.next_deadline_ms():
                var hint_ms = pair.wheel.next_deadline_ms().value()
                pair.now_ms = max(pair.now_ms, hint_ms)
                pair.fire(Int.MAX)
            pair.check_hint()
        pair.now_ms = DEADLINE_MAX_MS
        pair.fire(Int.MAX)
        pair.check_hint()


def main() raises:
    """Runs the target."""
    fuzz_main("timer_wheel", TimerWheelTarget())
