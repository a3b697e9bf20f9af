"""A hierarchical timer wheel.

Seven levels of 64 slots: a slot of level 0 is one millisecond wide, of level 1
64 ms, of level 2 4 s, and so on up to 2^42 ms. A timer waits in the level of
the highest six bits in which its deadline differs from the wheel's clock, and
moves down a level when the clock reaches its slot. A bit for each slot in use
makes the next one known without a search, so idle timers cost nothing.
"""

from flare.bytes.checked import *
from flare.bytes.padding import Padding
from std.bit import count_leading_zeros, count_trailing_zeros

comptime _LEVEL_COUNT = 7
comptime _SLOT_BITS = 6
comptime _SLOT_COUNT = 64
comptime _NONE: Int32 = -1

comptime DEADLINE_MAX_MS = (1 << (_LEVEL_COUNT * _SLOT_BITS)) - 1
"""Latest deadline in milliseconds: 139 years; later ones are moved there."""


@fieldwise_init
struct TimerId(Equatable, ImplicitlyCopyable):
    """Names one timer for `TimerWheel.cancel`; never names a later one."""

    var _index: Int32
    var _generation: UInt32

    comptime NONE = TimerId(-1, 0)
    """Names no timer."""


struct _Timer(TrivialRegisterPassable):
    var deadline_ms: Int
    var token: UInt64
    var next: Int32
    var previous: Int32
    var generation: UInt32
    var slot: Int32

    def __init__(out self):
        self.deadline_ms = 0
        self.token = 0
        self.next = _NONE
        self.previous = _NONE
        self.generation = 0
        self.slot = _NONE


struct TimerWheel(Movable, Sized):
    """Timers that hand back a token when their deadline has passed.

    Inserting and cancelling take constant time and, once the wheel has been as
    full before, no memory. The wheel has no clock of its own: time is what
    `next_expired` is told, in milliseconds since any moment, and never goes
    back.
    """

    var _padding: Padding[136]
    var _timers: List[_Timer]
    var _free: Int32
    var _slots: List[Int32]
    var _in_use: Array[UInt64, _LEVEL_COUNT]
    var _now_ms: Int
    var _count: Int
    # How many may be taken in this round.
    var _round_left: Int

    def __init__(out self, now_ms: Int = 0):
        """Makes an empty wheel.

        Args:
            now_ms: The time now, at least 0.
        """
        self._padding = {}
        self._timers = []
        self._free = _NONE
        self._slots = List[Int32](length=_LEVEL_COUNT * _SLOT_COUNT, fill=_NONE)
        self._in_use = Array[UInt64, _LEVEL_COUNT](fill=0)
        self._now_ms = now_ms
        self._count = 0
        self._round_left = 0

    @no_inline
    def __deinit__(deinit self):
        return

    def __len__(self) -> Int:
        """Counts the timers that wait."""
        return self._count

    def insert(mut self, deadline_ms: Int, token: UInt64) -> TimerId:
        """Starts a timer, and gives its name.

        Args:
            deadline_ms: When it expires; what is past expires at once.
            token: What to hand back.
        """
        var index = self._free
        if index == _NONE:
            index = Int32(len(self._timers))
            self._timers.append(_Timer())
        else:
            self._free = self._timers.at(Int(index)).next
        ref timer = self._timers.at(Int(index))
        timer.deadline_ms = min(deadline_ms, DEADLINE_MAX_MS)
        timer.token = token
        var generation = timer.generation
        debug_assert(timer.slot == _NONE, "a timer that waits is started")
        self._count += 1
        self._link(index)
        return TimerId(index, generation)

    def cancel(mut self, id: TimerId) -> Bool:
        """Stops a timer, and gives False if it has expired or was cancelled
        before.

        Args:
            id: Its name.
        """
        if id._index < 0 or Int(id._index) >= len(self._timers):
            return False
        ref timer = self._timers.at(Int(id._index))
        if timer.generation != id._generation or timer.slot == _NONE:
            return False
        self._unlink(id._index)
        self._release(id._index)
        return True

    def next_expired(mut self, now_ms: Int) -> Optional[UInt64]:
        """Takes the token of one timer whose deadline has passed, earliest
        first; None if no more have expired."""
        while True:
            var current = self._now_ms & (_SLOT_COUNT - 1)
            var head = self._slots.at(current)
            if head != _NONE:
                var token = self._timers.at(Int(head)).token
                debug_assert(
                    self._timers.at(Int(head)).deadline_ms <= self._now_ms,
                    "a timer expires early",
                )
                self._unlink(head)
                self._release(head)
                return token
            var level = self._next_level()
            if level < 0:
                self._now_ms = max(self._now_ms, now_ms)
                return None
            var start = self._slot_start(level)
            if start > now_ms:
                self._now_ms = max(self._now_ms, now_ms)
                return None
            self._now_ms = start
            if level > 0:
                self._cascade(level)

    def begin_round(mut self):
        """Bounds what `next_of_round` takes by the timers that wait now: what
        is started meanwhile and due at once has its turn in the next round."""
        self._round_left = self._count

    def next_of_round(mut self, now_ms: Int) -> Optional[UInt64]:
        """Takes the token of one timer whose deadline has passed, earliest
        first, as long as the round allows more; None if it is over."""
        if self._round_left <= 0:
            return None
        self._round_left -= 1
        return self.next_expired(now_ms)

    def next_deadline_ms(self) -> Optional[Int]:
        """Tells when to look again: at or before the earliest deadline; None if
        no timer waits."""
        if self._count == 0:
            return None
        if self._slots.at(self._now_ms & (_SLOT_COUNT - 1)) != _NONE:
            return self._now_ms
        return self._slot_start(self._next_level())

    def _next_level(self) -> Int:
        """Finds the lowest level with a timer after the present slot."""
        for level in range(_LEVEL_COUNT):
            if self._later_slots(level) != 0:
                return level
        return -1

    def _later_slots(self, level: Int) -> UInt64:
        var current = (self._now_ms >> (level * _SLOT_BITS)) & (_SLOT_COUNT - 1)
        if current == _SLOT_COUNT - 1:
            return 0
        return self._in_use.at(level) & (UInt64.MAX << UInt64(current + 1))

    def _slot_start(self, level: Int) -> Int:
        """Gives the time at which the next slot in use of a level begins."""
        var slot = Int(count_trailing_zeros(self._later_slots(level)))
        var shift = level * _SLOT_BITS
        var upper = self._now_ms >> (shift + _SLOT_BITS) << (shift + _SLOT_BITS)
        return upper | (slot << shift)

    def _cascade(mut self, level: Int):
        """Moves the timers of the present slot of a level further down."""
        var current = (self._now_ms >> (level * _SLOT_BITS)) & (_SLOT_COUNT - 1)
        var slot = level * _SLOT_COUNT + current
        var index = self._slots.at(slot)
        self._slots.at(slot) = _NONE
        self._in_use.at(level) &= ~(UInt64(1) << UInt64(current))
        while index != _NONE:
            var next = self._timers.at(Int(index)).next
            self._link(index)
            index = next

    def _link(mut self, index: Int32):
        """Puts a timer at the end of the slot that its deadline belongs to."""
        var deadline = max(
            self._timers.at(Int(index)).deadline_ms, self._now_ms
        )
        var differing = UInt64(deadline ^ self._now_ms) | UInt64(
            _SLOT_COUNT - 1
        )
        var level = (63 - Int(count_leading_zeros(differing))) // _SLOT_BITS
        var place = (deadline >> (level * _SLOT_BITS)) & (_SLOT_COUNT - 1)
        debug_assert(level < _LEVEL_COUNT, "a deadline beyond the last level")
        var slot = level * _SLOT_COUNT + place
        var head = self._slots.at(slot)
        self._timers.at(Int(index)).slot = Int32(slot)
        self._timers.at(Int(index)).next = _NONE
        if head == _NONE:
            # The head's `previous` is the list's last timer.
            self._timers.at(Int(index)).previous = index
            self._slots.at(slot) = index
            self._in_use.at(level) |= UInt64(1) << UInt64(place)
            return
        var last = self._timers.at(Int(head)).previous
        self._timers.at(Int(last)).next = index
        self._timers.at(Int(index)).previous = last
        self._timers.at(Int(head)).previous = index

    def _unlink(mut self, index: Int32):
        var timer = self._timers.at(Int(index))
        debug_assert(timer.slot != _NONE, "a timer that waits nowhere")
        var slot = Int(timer.slot)
        var head = self._slots.at(slot)
        if head == index:
            self._slots.at(slot) = timer.next
            if timer.next != _NONE:
                self._timers.at(Int(timer.next)).previous = timer.previous
            else:
                var bit = UInt64(1) << UInt64(slot & (_SLOT_COUNT - 1))
                self._in_use.at(slot >> _SLOT_BITS) &= ~bit
            return
        self._timers.at(Int(timer.previous)).next = timer.next
        var after = timer.next if timer.next != _NONE else head
        self._timers.at(Int(after)).previous = timer.previous

    def _release(mut self, index: Int32):
        ref timer = self._timers.at(Int(index))
        debug_assert(timer.slot != _NONE, "a timer that waits nowhere ends")
        debug_assert(self._count > 0, "more timers end than wait")
        timer.generation += 1
        timer.slot = _NONE
        timer.next = self._free
        self._free = index
        self._count -= 1
