"""Messages in memory that processes share: in order, whole, or counted."""

from flare.backplane.ring import (
    HEADER_LEN,
    PushResult,
    RingCursor,
    SharedRing,
)
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.clock import Deadline, monotonic_ms
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _CAPACITY = 4_096


def _message(number: Int, length: Int) -> List[UInt8]:
    """Octets that tell which message they belong to."""
    var octets = List[UInt8](capacity=length)
    for index in range(length):
        octets.append(UInt8((number * 31 + index * 7) & 0xFF))
    return octets^


def _read_one(
    ring: SharedRing, mut cursor: RingCursor
) -> Optional[List[UInt8]]:
    var out = Buffer()
    if not ring.read(cursor, out):
        return None
    var octets = List[UInt8](capacity=len(out))
    octets.extend(out.span())
    return octets^


struct _Random:
    var state: UInt32

    def __init__(out self, seed: Int):
        self.state = UInt32(seed)

    def below(mut self, bound: Int) -> Int:
        self.state = self.state * 1_664_525 + 1_013_904_223
        return Int(self.state >> 8) % bound


def test_messages_of_each_length_come_as_they_were() raises:
    """Also where they go over the end of the memory."""
    var ring = SharedRing(_CAPACITY)
    var cursor = RingCursor(0)
    for round in range(3):
        for length in range(0, ring.message_len_max() + 1, 13):
            var octets = _message(length + round, length)
            assert_true(ring.push(octets, 0) == PushResult.PUBLISHED)
            assert_equal(_read_one(ring, cursor).value(), octets)
            assert_false(Bool(_read_one(ring, cursor)))
    assert_equal(cursor.lost_count, 0)
    assert_equal(cursor.damaged_count, 0)


def test_what_is_too_long_is_refused() raises:
    var ring = SharedRing(_CAPACITY)
    var longest = ring.message_len_max()
    assert_equal(longest, _CAPACITY // 4 - HEADER_LEN)
    assert_true(ring.push(_message(1, longest), 0) == PushResult.PUBLISHED)
    assert_true(ring.push(_message(1, longest + 1), 0) == PushResult.TOO_LONG)
    var cursor = RingCursor(0)
    assert_equal(len(_read_one(ring, cursor).value()), longest)
    assert_false(Bool(_read_one(ring, cursor)))


def test_readers_of_any_pace_have_all_in_order_or_count_it() raises:
    """A model is the list of all messages; each reader reads now and then."""
    for seed in range(1, 9):
        var random = _Random(seed)
        var ring = SharedRing(_CAPACITY)
        var model = List[List[UInt8]]()
        var cursors: List[RingCursor] = [RingCursor(0) for _ in range(4)]
        for reader in range(4):
            cursors.at(reader).sequence = 0
        # What each has read or lost.
        var places: List[Int] = [0, 0, 0, 0]
        var lost: List[Int] = [0, 0, 0, 0]
        for _ in range(2_000):
            var octets = _message(len(model), random.below(300))
            assert_true(ring.push(octets, 0) == PushResult.PUBLISHED)
            model.append(octets^)
            for reader in range(4):
                if random.below(1 + 12 * reader) > 0:
                    continue
                for _ in range(random.below(20)):
                    var found = _read_one(ring, cursors.at(reader))
                    if not found:
                        assert_equal(places.at(reader), len(model))
                        break
                    places.at(reader) += cursors.at(
                        reader
                    ).lost_count - lost.at(reader)
                    lost.at(reader) = cursors.at(reader).lost_count
                    assert_equal(found.value(), model.at(places.at(reader)))
                    places.at(reader) += 1
        assert_equal(lost.at(0), 0, "who reads at once loses nothing")
        assert_true(lost.at(3) > 0, "who is slow loses the oldest")
        for reader in range(4):
            assert_equal(cursors.at(reader).damaged_count, 0)


def test_a_new_reader_begins_at_either_end() raises:
    var ring = SharedRing(_CAPACITY)
    for number in range(100):
        _ = ring.push(_message(number, 200), 0)
    var late = RingCursor(ring.published())
    assert_false(Bool(_read_one(ring, late)))
    var early = RingCursor(ring.tail())
    var count = 0
    while True:
        var found = _read_one(ring, early)
        if not found:
            break
        count += 1
    assert_equal(count, _CAPACITY // (200 + HEADER_LEN), "as many as fit")
    assert_equal(early.lost_count, 0, "nothing that was there for it")


def _wait_for_end(child: Int) raises:
    var deadline = Deadline(20_000)
    var status = reap(child)
    while not status:
        assert_true(deadline.left_ms() > 0, "the child does not end")
        status = reap(child)
    assert_equal(status.value().code, 0)


def test_a_reader_that_has_read_nothing_yet_counts_a_loss() raises:
    var ring = SharedRing(_CAPACITY)
    var cursor = RingCursor(ring.published())
    for number in range(20):
        _ = ring.push(_message(number, 500), 0)
    assert_true(_read_one(ring, cursor))
    assert_equal(cursor.lost_count, 1)


def test_a_writer_that_dies_leaves_nothing_behind() raises:
    """With the lock alone, with half a message, with all but the last step."""
    for step in range(3):
        var ring = SharedRing(_CAPACITY)
        for number in range(30):
            _ = ring.push(_message(number, 200), 0)
        var cursor = RingCursor(ring.tail())
        var read_count = 0
        while _read_one(ring, cursor):
            read_count += 1
        var pause = SignalPause()
        var child = fork_process()
        if child == 0:
            _ = ring.begin_write(0)
            if step > 0:
                _ = ring.write_record(_message(99, 500 * step))
            end_process(0)
        pause^.end()
        _wait_for_end(child)
        assert_false(Bool(_read_one(ring, cursor)), "it was not published")
        assert_true(
            ring.push(_message(7, 300), 0) == PushResult.PUBLISHED,
            "the lock is free",
        )
        assert_equal(ring.recovered_count(), 1)
        assert_equal(_read_one(ring, cursor).value(), _message(7, 300))
        assert_equal(cursor.lost_count, min(step, 1), "its number is missing")
        assert_equal(cursor.damaged_count, 0)
        # What the dead one was about to overwrite is gone, the rest is whole.
        var again = RingCursor(ring.tail())
        var count = 0
        while _read_one(ring, again):
            count += 1
        assert_true(count >= read_count - 7)
        assert_equal(again.damaged_count, 0)


def test_two_processes_at_once() raises:
    """One writes as fast as it can, in a ring of a few messages."""
    var ring = SharedRing(_CAPACITY)
    comptime COUNT = 50_000
    var cursor = RingCursor(0)
    # Also what is lost before the first is read.
    cursor.sequence = 0
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        for number in range(COUNT):
            if not (
                ring.push(_message(number % 251, number % 400), 10_000)
                == PushResult.PUBLISHED
            ):
                end_process(1)
        end_process(0)
    pause^.end()
    var deadline = Deadline(60_000)
    var read_count = 0
    while read_count + cursor.lost_count < COUNT:
        assert_true(deadline.left_ms() > 0, "the other does not write")
        var seen = ring.bell()
        var found = _read_one(ring, cursor)
        if not found:
            ring.wait(seen, 100)
            continue
        var number = read_count + cursor.lost_count
        assert_equal(found.value(), _message(number % 251, number % 400))
        read_count += 1
    assert_equal(cursor.damaged_count, 0)
    _wait_for_end(child)


def test_a_lock_that_is_not_given_away_holds_nobody_for_long() raises:
    var ring = SharedRing(_CAPACITY)
    assert_true(ring.begin_write(0))
    var start_ms = monotonic_ms()
    assert_true(ring.push(_message(1, 10), 20) == PushResult.BUSY)
    assert_true(monotonic_ms() - start_ms < 5_000)
    ring.end_write(ring.write_record(_message(2, 20)))
    var cursor = RingCursor(0)
    assert_equal(_read_one(ring, cursor).value(), _message(2, 20))


def test_whatever_is_in_the_memory_reading_ends() raises:
    """Each word of it with values that none of ours writes."""
    var random = _Random(5)
    for _ in range(300):
        var ring = SharedRing(_CAPACITY)
        for number in range(40):
            _ = ring.push(_message(number, random.below(300)), 0)
        for _ in range(1 + random.below(30)):
            # Not the lock, which is the C library's.
            var offset = (random.below(4) + 1) * 64
            if random.below(3) > 0:
                offset = 1_024 + random.below(_CAPACITY // 8) * 8
            var values: List[Int] = [
                0,
                -1,
                1 << 40,
                Int.MAX,
                Int.MIN,
                random.below(1 << 20),
            ]
            ring.memory.store(offset, values.at(random.below(6)))
        var cursor = RingCursor(ring.tail())
        for _ in range(200):
            var found = _read_one(ring, cursor)
            if not found:
                break
            assert_true(len(found.value()) <= ring.message_len_max())
        # Writing goes on, too.
        for number in range(40):
            _ = ring.push(_message(number, random.below(300)), 0)
