"""A ring of messages in memory that forked processes share.

Writers take turns by a lock that outlives them; readers take none:

    position 0 ......... tail ............ published ......... for ever
                         |<- can be read ->|

Positions are octets that were ever written, so a place in the memory is a
position modulo the capacity. A writer moves `tail` over what it is about to
overwrite, then writes, then moves `published`: one that is killed in between
leaves nothing behind but a number that was given to no message. A reader copies
a message out and looks at `tail` after that: if it has moved past the message,
the copy counts as lost.
"""

from flare.backplane.message import append_word, load_word
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.siphash import SipHash, SipKey
from flare.sys.errno import OsError
from flare.sys.shared_memory import LOCK_ROOM_LEN, LockResult, SharedMemory

# A cache line for each word that one side writes and the other reads.
comptime _LINE_LEN = 64
comptime _BELL = 0
comptime _PUBLISHED = 1 * _LINE_LEN
comptime _TAIL = 2 * _LINE_LEN
comptime _NEXT_SEQUENCE = 3 * _LINE_LEN
comptime _WAITING = 4 * _LINE_LEN
comptime _RECOVERED = 5 * _LINE_LEN
comptime _LOCK = 6 * _LINE_LEN
comptime _DATA = 1_024

comptime HEADER_LEN = 24
"""What a message takes beside its octets: length, sequence number and check."""

# Beyond what is ever written, and far from where sums overflow.
comptime _POSITION_MASK = (1 << 60) - 8

# How often a call of `read` skips before it gives the thread back.
comptime _SKIPS_MAX = 1_000


@fieldwise_init
struct PushResult(Equatable, ImplicitlyCopyable):

    var _value: Int

    comptime PUBLISHED = Self(0)
    """It can be read."""
    comptime TOO_LONG = Self(1)
    """It is longer than `message_len_max`."""
    comptime BUSY = Self(2)
    """Another process holds the lock and does not go on, such as one that was
    stopped by SIGSTOP."""


struct RingCursor(Copyable, Movable):

    var position: Int
    """What is read next."""
    var sequence: Int
    """The number that the next message should have; -1 for any."""
    var lost_count: Int
    """Messages that were overwritten before they were read; those before the
    first that is read count as one."""
    var damaged_count: Int
    """Times that what was found was no message, and was skipped."""

    def __init__(out self, position: Int):
        """Begins at `SharedRing.tail` or `SharedRing.published`."""
        self.position = position
        self.sequence = -1
        self.lost_count = 0
        self.damaged_count = 0


struct SharedRing(Movable):
    """Messages of all processes that were forked after its making."""

    var memory: SharedMemory
    """The memory; for tests alone."""
    var capacity: Int
    """How many octets it holds, a power of two."""

    def __init__(out self, capacity: Int) raises OsError:
        """Makes an empty ring of so many octets, a power of two; do that before
        the processes are forked."""
        self.capacity = capacity
        self.memory = SharedMemory(_DATA + capacity)
        comptime assert _LOCK + LOCK_ROOM_LEN <= _DATA, "the lock is too long"
        self.memory.make_lock(_LOCK)

    def message_len_max(self) -> Int:
        """Tells how long a message may be: a quarter of the capacity, in bytes."""
        return self.capacity // 4 - HEADER_LEN

    def published(self) -> Int:
        """Tells where the newest message ends, from where what is new from now
        on is read."""
        return self.memory.load(_PUBLISHED)

    def tail(self) -> Int:
        """Tells where the oldest message begins, from where all that is kept is
        read."""
        return self.memory.load(_TAIL)

    def recovered_count(self) -> Int:
        """Counts the writers that died while they wrote."""
        return self.memory.load(_RECOVERED)

    def push(self, octets: Span[UInt8, _], timeout_ms: Int) -> PushResult:
        """Appends a message, and wakes all who wait; waits for the lock at most
        `timeout_ms`."""
        if len(octets) > self.message_len_max():
            return PushResult.TOO_LONG
        if not self.begin_write(timeout_ms):
            return PushResult.BUSY
        var end = self.write_record(octets)
        self.end_write(end)
        self.ring_bell()
        return PushResult.PUBLISHED

    def begin_write(self, timeout_ms: Int) -> Bool:
        """Takes the lock, which `end_write` gives away; False if it is not to
        be had in time."""
        var result = self.memory.lock(_LOCK, timeout_ms)
        if result == LockResult.TAKEN_FROM_DEAD:
            # What its holder had begun to write was never published.
            _ = self.memory.add(_RECOVERED, 1)
        return result != LockResult.BUSY

    def write_record(self, octets: Span[UInt8, _]) -> Int:
        """Writes a message that nobody sees yet, and is not too long; the lock
        is held."""
        # Sound, whatever else has written there.
        var start = self.memory.load(_PUBLISHED) & _POSITION_MASK
        var end = start + _record_len(len(octets))
        self._free_up_to(end - self.capacity, start)
        var sequence = self.memory.load(_NEXT_SEQUENCE)
        self.memory.store(_NEXT_SEQUENCE, sequence + 1)
        var header = Buffer(HEADER_LEN)
        append_word(header, UInt64(len(octets)))
        append_word(header, UInt64(sequence))
        append_word(header, _check_of(sequence, octets))
        self._write_at(start, header.span())
        self._write_at(start + HEADER_LEN, octets)
        return end

    def end_write(self, end: Int):
        """Publishes what was written up to what `write_record` returned, and
        gives the lock away."""
        self.memory.store(_PUBLISHED, end)
        self.memory.unlock(_LOCK)

    def ring_bell(self):
        """Wakes all who wait, in all processes."""
        _ = self.memory.add(_BELL, 1)
        # Readers raise the count before they look at the bell again.
        if self.memory.load(_WAITING) > 0:
            self.memory.wake_all(_BELL)

    def bell(self) -> Int:
        """Tells how often the bell was rung, to wait with."""
        return self.memory.load(_BELL)

    def wait(self, seen: Int, timeout_ms: Int):
        """Waits until the bell is rung; `seen` is what `bell` returned before
        the ring was last read."""
        # A reader that is killed here leaves the count too high, which costs
        # writers a call of the kernel.
        _ = self.memory.add(_WAITING, 1)
        self.memory.wait_for_change(_BELL, seen, timeout_ms)
        _ = self.memory.add(_WAITING, -1)

    def read(self, mut cursor: RingCursor, mut out: Buffer) -> Bool:
        """Appends the next message, and moves the cursor on, also over what is
        lost; False if there is none. Never waits."""
        var start_len = len(out)
        var header = Buffer(HEADER_LEN)
        for _ in range(_SKIPS_MAX):
            var available = self.published() - cursor.position
            if available == 0:
                return False
            var length = -1
            var sequence = 0
            var check = UInt64(0)
            if available >= HEADER_LEN:
                header.clear()
                self._read_at(cursor.position, HEADER_LEN, header)
                length = Int(load_word(header.span(), 0))
                sequence = Int(load_word(header.span(), 8))
                check = load_word(header.span(), 16)
            if cursor.position >= self.tail():
                if (
                    length < 0
                    or length > self.message_len_max()
                    or _record_len(length) > available
                ):
                    # The chain is broken; what comes next is whole again.
                    cursor.damaged_count += 1
                    cursor.position = self.published()
                    continue
                self._read_at(cursor.position + HEADER_LEN, length, out)
            if cursor.position < self.tail():
                # Overwritten before it was read, or while it was.
                out.truncate(start_len)
                if cursor.sequence < 0:
                    # The first one for this reader, so the next number does
                    # not say how many.
                    cursor.lost_count += 1
                cursor.position = self.tail()
                continue
            cursor.position += _record_len(length)
            if check != _check_of(sequence, out.span().after(start_len)):
                out.truncate(start_len)
                cursor.damaged_count += 1
                continue
            if cursor.sequence >= 0 and sequence > cursor.sequence:
                cursor.lost_count += sequence - cursor.sequence
            cursor.sequence = sequence + 1
            return True
        # Writers are faster than this reader, which goes on at its next call.
        return False

    def _free_up_to(self, limit: Int, end: Int):
        """Moves the tail to the first message that begins at a limit or after
        it, at the most to the end of all."""
        var tail = self.memory.load(_TAIL)
        if tail < end - self.capacity or tail > end:
            # Something else has written here: nothing of it is kept.
            tail = end
        var header = Buffer(8)
        while tail < limit:
            header.clear()
            self._read_at(tail, 8, header)
            var length = Int(load_word(header.span(), 0))
            if length < 0 or length > self.message_len_max():
                tail = end
                break
            tail = min(tail + _record_len(length), end)
        self.memory.store(_TAIL, tail)

    def _write_at(self, position: Int, octets: Span[UInt8, _]):
        var place = position & (self.capacity - 1)
        var first = min(len(octets), self.capacity - place)
        self.memory.write(_DATA + place, octets.before(first))
        if first < len(octets):
            self.memory.write(_DATA, octets.after(first))

    def _read_at(self, position: Int, length: Int, mut out: Buffer):
        var place = position & (self.capacity - 1)
        var first = min(length, self.capacity - place)
        self.memory.read(_DATA + place, first, out)
        if first < length:
            self.memory.read(_DATA, length - first, out)


def _record_len(length: Int) -> Int:
    """What a message takes; the next one begins at a multiple of 8."""
    return HEADER_LEN + (length + 7) // 8 * 8


def _check_of(sequence: Int, octets: Span[UInt8, _]) -> UInt64:
    """Finds what damages a message by accident; it keeps nobody out."""
    var hash = SipHash[1, 3](SipKey(UInt64(sequence), UInt64(len(octets))))
    hash.update(octets)
    return hash.finish()
