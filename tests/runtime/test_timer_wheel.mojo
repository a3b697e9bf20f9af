"""Tests of the timer wheel: tables, then a simple model beside it."""

from flare.bytes.checked import *
from flare.runtime.timer_wheel import DEADLINE_MAX_MS, TimerId, TimerWheel
from tests.support.assertions import assert_equal, assert_false, assert_true


def _expired(mut wheel: TimerWheel, now_ms: Int) -> List[UInt64]:
    var tokens = List[UInt64]()
    while True:
        var token = wheel.next_expired(now_ms)
        if not token:
            return tokens^
        tokens.append(token.value())


@fieldwise_init
struct _Row(Copyable):
    var what: StaticString
    var start_ms: Int
    var deadline_ms: Int


def _rows() -> List[_Row]:
    return [
        _Row("at once", 0, 0),
        _Row("next millisecond", 0, 1),
        _Row("last slot of level 0", 0, 63),
        _Row("first of level 1", 0, 64),
        _Row("one past a slot of level 1", 0, 129),
        _Row("last of level 1", 0, 4_095),
        _Row("first of level 2", 0, 4_096),
        _Row("level 2, all bits differ", 0, 262_143),
        _Row("level 3", 0, 262_144),
        _Row("level 4", 0, 16_777_216 + 12_345),
        _Row("level 5", 0, (1 << 30) + 77),
        _Row("level 6", 0, (1 << 36) + 1_000_001),
        _Row("the latest", 0, DEADLINE_MAX_MS),
        _Row("across a level-0 turn", 63, 64),
        _Row("across a level-1 turn", 4_095, 4_096),
        _Row("across three turns at once", 262_143, 262_144),
        _Row("start in the middle", 1_234_567, 1_234_567 + 60_000),
        _Row("start in the middle, one away", 1_234_567, 1_234_568),
    ]


def test_wheel_expires_at_the_deadline_and_not_before() raises:
    for row in _rows():
        var wheel = TimerWheel(row.start_ms)
        _ = wheel.insert(row.deadline_ms, 7)
        if row.deadline_ms > row.start_ms:
            assert_equal(len(_expired(wheel, row.deadline_ms - 1)), 0, row.what)
        var tokens = _expired(wheel, row.deadline_ms)
        assert_equal(len(tokens), 1, row.what)
        assert_equal(tokens.at(0), 7, row.what)
        assert_equal(len(wheel), 0, row.what)


def test_wheel_hint_is_never_late_and_ends() raises:
    for row in _rows():
        var wheel = TimerWheel(row.start_ms)
        _ = wheel.insert(row.deadline_ms, 7)
        var step_count = 0
        while len(wheel) > 0:
            var hint = wheel.next_deadline_ms().value()
            assert_true(hint <= row.deadline_ms, row.what)
            _ = _expired(wheel, hint)
            step_count += 1
            # Each look moves the timer down a level.
            assert_true(step_count <= 8, row.what)
        assert_false(wheel.next_deadline_ms().__bool__(), row.what)


def test_wheel_past_deadline_expires_at_once() raises:
    var wheel = TimerWheel(1_000)
    _ = wheel.insert(10, 1)
    _ = wheel.insert(-5, 2)
    _ = wheel.insert(1_000, 3)
    assert_equal(wheel.next_deadline_ms().value(), 1_000)
    assert_equal(len(_expired(wheel, 1_000)), 3)


def test_wheel_too_late_deadline_is_moved_to_the_latest() raises:
    var wheel = TimerWheel(0)
    _ = wheel.insert(Int.MAX, 9)
    assert_equal(len(_expired(wheel, DEADLINE_MAX_MS - 1)), 0)
    assert_equal(len(_expired(wheel, DEADLINE_MAX_MS)), 1)


def test_wheel_yields_in_order_of_deadlines() raises:
    var wheel = TimerWheel(0)
    var deadlines: List[Int] = [70_000, 5, 4_097, 64, 63, 300_000, 6, 5]
    for index in range(len(deadlines)):
        _ = wheel.insert(deadlines.at(index), UInt64(index))
    var tokens = _expired(wheel, 1_000_000)
    var wanted: List[UInt64] = [1, 7, 6, 4, 3, 2, 0, 5]
    assert_equal(len(tokens), len(wanted))
    for index in range(len(wanted)):
        assert_equal(tokens.at(index), wanted.at(index))


def test_wheel_cancel() raises:
    var wheel = TimerWheel(0)
    var first = wheel.insert(100, 1)
    var second = wheel.insert(100, 2)
    var third = wheel.insert(100, 3)
    assert_true(wheel.cancel(second))
    assert_false(wheel.cancel(second))
    assert_true(wheel.cancel(first))
    assert_equal(len(wheel), 1)
    var tokens = _expired(wheel, 100)
    assert_equal(len(tokens), 1)
    assert_equal(tokens.at(0), 3)
    assert_false(wheel.cancel(third))
    assert_false(wheel.cancel(TimerId.NONE))


def test_wheel_stale_name_never_reaches_the_successor() raises:
    var wheel = TimerWheel(0)
    var old = wheel.insert(10, 1)
    assert_true(wheel.cancel(old))
    var new = wheel.insert(10, 2)
    assert_false(old == new)
    assert_false(wheel.cancel(old))
    assert_equal(len(wheel), 1)
    var other = TimerWheel(0)
    # A name of a fuller wheel is out of bounds here, which must not abort.
    assert_false(other.cancel(new))


def test_wheel_last_of_a_slot_can_be_cancelled_from_either_end() raises:
    for cancelled in range(3):
        var wheel = TimerWheel(0)
        var ids = List[TimerId]()
        for token in range(3):
            ids.append(wheel.insert(5_000, UInt64(token)))
        assert_true(wheel.cancel(ids.at(cancelled)))
        _ = wheel.insert(5_000, 3)
        var wanted = 0
        for token in _expired(wheel, 5_000):
            if wanted == cancelled:
                wanted += 1
            assert_equal(token, UInt64(wanted))
            wanted += 1
        assert_equal(wanted, 4)


@fieldwise_init
struct _Random:
    var state: UInt64

    def below(mut self, bound: Int) -> Int:
        # xorshift64
        self.state ^= self.state << 13
        self.state ^= self.state >> 7
        self.state ^= self.state << 17
        return Int(self.state % UInt64(bound))


@fieldwise_init
struct _ModelTimer(Copyable):
    var deadline_ms: Int
    var id: TimerId
    var is_waiting: Bool


def _delay(mut random: _Random) -> Int:
    """Chooses a delay so that every level and its borders are hit."""
    var span = 1 << (random.below(30) + 1)
    return random.below(span) - 3


def _advance(
    mut wheel: TimerWheel, mut model: List[_ModelTimer], now_ms: Int
) raises:
    """Takes what expires from the wheel, and holds it against the model."""
    var last_ms = -1
    for token in _expired(wheel, now_ms):
        ref timer = model.at(Int(token))
        assert_true(timer.is_waiting, "expired once, and not when cancelled")
        assert_true(timer.deadline_ms <= now_ms, "not before its deadline")
        assert_true(timer.deadline_ms >= last_ms, "in order")
        last_ms = timer.deadline_ms
        timer.is_waiting = False
    for index in range(len(model)):
        if model.at(index).is_waiting:
            assert_true(
                model.at(index).deadline_ms > now_ms, "none is forgotten"
            )


def test_wheel_behaves_like_the_model() raises:
    for seed in range(1, 9):
        var random = _Random(UInt64(seed) * 0x9E3779B97F4A7C15)
        var now_ms = random.below(1 << 33)
        var wheel = TimerWheel(now_ms)
        var model = List[_ModelTimer]()
        for _ in range(1_500):
            var choice = random.below(10)
            if choice < 5:
                var deadline_ms = max(now_ms + _delay(random), now_ms)
                var id = wheel.insert(deadline_ms, UInt64(len(model)))
                model.append(_ModelTimer(deadline_ms, id, True))
            elif choice < 8 and len(model) > 0:
                ref timer = model.at(random.below(len(model)))
                assert_equal(wheel.cancel(timer.id), timer.is_waiting)
                timer.is_waiting = False
            elif choice == 8:
                # As a loop does: to where the hint points.
                var hint = wheel.next_deadline_ms()
                if hint:
                    now_ms = max(now_ms, hint.value())
                _advance(wheel, model, now_ms)
            else:
                now_ms += max(_delay(random), 0) // 4
                _advance(wheel, model, now_ms)
        _advance(wheel, model, now_ms + (1 << 32))
        assert_equal(len(wheel), 0)


def test_wheel_names_are_never_repeated() raises:
    var wheel = TimerWheel(0)
    var seen = List[TimerId]()
    for round in range(100):
        var id = wheel.insert(round + 1_000, 0)
        for old in seen:
            assert_false(old == id)
        seen.append(id)
        assert_true(wheel.cancel(id))


def test_wheel_ends_a_round_though_all_is_due_again() raises:
    var wheel = TimerWheel(0)
    for token in range(3):
        _ = wheel.insert(10, UInt64(token))
    _ = wheel.insert(1_000, 99)
    for _ in range(4):
        wheel.begin_round()
        var taken_count = 0
        while True:
            var token = wheel.next_of_round(20)
            if not token:
                break
            taken_count += 1
            assert_true(token.value() != 99)
            # It wants to go on at once.
            _ = wheel.insert(0, token.value())
        # No more than there were when it began, of which one is not due.
        assert_equal(taken_count, 4)
        assert_equal(len(wheel), 4)
    wheel.begin_round()
    # Outside of a round nothing bounds it.
    assert_true(wheel.next_expired(20).__bool__())


def test_wheel_without_a_round_gives_none() raises:
    var wheel = TimerWheel(0)
    _ = wheel.insert(0, 7)
    assert_false(wheel.next_of_round(5).__bool__())
    wheel.begin_round()
    assert_equal(wheel.next_of_round(5).value(), 7)
    assert_false(wheel.next_of_round(5).__bool__())
