"""Priorities of responses (RFC 9218), and the budget of what costs us more than
the peer.
"""

from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.bytes.scan import TCHAR
from std.builtin.globals import global_constant

comptime URGENCY_DEFAULT = UInt8(3)
"""The urgency of what names none (RFC 9218 section 4.1)."""

comptime URGENCY_MAX = UInt8(7)
"""The lowest urgency (RFC 9218 section 4.1)."""


@fieldwise_init
struct Priority(Equatable, TrivialRegisterPassable):
    """How urgent a response is (RFC 9218 section 4)."""

    var urgency: UInt8
    """0 to 7; the lowest number goes first."""
    var is_incremental: Bool
    """True if it is of use while it is not complete, so that it may share."""

    @always_inline
    def __init__(out self):
        """Makes what holds if nothing is said."""
        self.urgency = URGENCY_DEFAULT
        self.is_incremental = False

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Self:
        """Reads a Priority field value (RFC 9218 section 4). Members that are
        unknown, or have a value of no use, say nothing; neither does a value
        that is no dictionary.

        Args:
            value: A dictionary of RFC 8941.
        """
        var priority = Self()
        if not priority.take(value):
            return Self()
        return priority

    @always_inline
    def take(mut self, value: Span[UInt8, _]) -> Bool:
        """Takes over what a field line says; lines of one section are one
        dictionary (RFC 8941 section 4.2). Gives False if it is none."""
        # SAFETY: the loan ends with the call.
        return self._take_members(
            unsafe_lend[ImmUntrackedOrigin](value.unsafe_ptr(), len(value))
        )

    @no_inline
    def _take_members(
        mut self, octets: Span[UInt8, ImmUntrackedOrigin]
    ) -> Bool:
        var end = _skip(octets, 0, _SP)
        while end < len(octets):
            var start = end
            end = _skip_key(octets, start)
            var value = end
            if _next(octets, end) == 61:
                end = _skip_item(octets, end + 1)
            var rest = _skip_parameters(octets, end)
            if rest < 0:
                return False
            if value == start + 1:
                self._set(octets.at(start), octets.between(value, end))
            end = _skip(octets, rest, _OWS)
            if end == len(octets):
                return True
            if octets.at(end) != 44:
                return False
            end = _skip(octets, end + 1, _OWS)
            if end == len(octets):
                return False
        return True

    def _set(mut self, key: UInt8, value: Span[UInt8, ImmUntrackedOrigin]):
        """Takes a member with a name of one letter; `=` stands before its value,
        if there is one, which is well-formed."""
        if key == 105:
            self.is_incremental = len(value) == 0 or (
                len(value) == 3 and value.at(1) == 63 and value.at(2) == 49
            )
        if key != 117:
            return
        self.urgency = URGENCY_DEFAULT
        var number = UInt8(0)
        for index in range(1, len(value)):
            var octet = value.at(index)
            # Zeros may stand before it, and a sign before 0.
            if octet == 45 and number == 0 and index == 1:
                continue
            number = number * 10 + octet - 48
            if octet < 48 or number > URGENCY_MAX:
                return
            if number > 0 and value.at(1) == 45:
                return
        if len(value) > 0:
            self.urgency = number

    @always_inline
    def packed(self) -> Int:
        """Gives it in at most eight bits."""
        return (Int(self.urgency) << 1) | Int(self.is_incremental)

    @always_inline
    def __init__(out self, *, packed: Int):
        """Takes it out of them again.

        Args:
            packed: What `packed` gave.
        """
        self.urgency = UInt8(packed >> 1)
        self.is_incremental = packed & 1 == 1


comptime _SP = UInt16(1)
comptime _OWS = UInt16(2)
comptime _DIGIT = UInt16(4)
comptime _KEY_START = UInt16(8)
comptime _KEY = UInt16(16)
comptime _TOKEN_START = UInt16(32)
comptime _TOKEN = UInt16(64)
comptime _TEXT = UInt16(128)
comptime _BASE64 = UInt16(256)
# What an octet may be part of (RFC 8941 section 3), a bit each.


def _make_parts() -> Array[UInt16, 256]:
    var parts = Array[UInt16, 256](fill=0)
    for octet in range(32, 127):
        var is_digit = octet >= 48 and octet <= 57
        var is_lower = octet >= 97 and octet <= 122
        var is_letter = is_lower or (octet >= 65 and octet <= 90)
        var part = _TEXT if octet != 34 and octet != 92 else UInt16(0)
        if octet == 32:
            part |= _SP | _OWS
        if is_digit:
            part |= _DIGIT
        if is_lower or octet == 42:
            part |= _KEY_START
        if is_lower or is_digit or octet in (42, 45, 46, 95):
            part |= _KEY
        if is_letter or octet == 42:
            part |= _TOKEN_START
        if TCHAR.contains(UInt8(octet)) or octet == 58 or octet == 47:
            part |= _TOKEN
        if is_letter or is_digit or octet in (43, 47, 61):
            part |= _BASE64
        parts[octet] = part
    parts[9] = _OWS
    return parts^


comptime _PARTS = _make_parts()

comptime _BROKEN = -1
# Where a value ends that is none; what follows it is none then, either.


@no_inline
def _next(octets: Span[UInt8, ImmUntrackedOrigin], position: Int) -> UInt8:
    """Gives the octet at a place; 0 after the last one, and for `_BROKEN`."""
    if UInt(position) >= UInt(len(octets)):
        return 0
    return octets.at(position)


@no_inline
def _skip(
    octets: Span[UInt8, ImmUntrackedOrigin], start: Int, part: UInt16
) -> Int:
    """Gives the end of the octets of a kind."""
    # SAFETY: there is a row for every octet.
    var end = start
    while UInt(end) < UInt(len(octets)):
        var octet = Int(octets.at(end))
        if global_constant[_PARTS]().unsafe_at(octet) & part == 0:
            break
        end += 1
    return end


def _skip_key(octets: Span[UInt8, ImmUntrackedOrigin], start: Int) -> Int:
    if _skip(octets, start, _KEY_START) == start:
        return _BROKEN
    return _skip(octets, start, _KEY)


def _skip_parameters(
    octets: Span[UInt8, ImmUntrackedOrigin], start: Int
) -> Int:
    var end = start
    while _next(octets, end) == 59:
        end = _skip_key(octets, _skip(octets, end + 1, _SP))
        if _next(octets, end) == 61:
            end = _skip_value(octets, end + 1)
    return end


def _skip_item(octets: Span[UInt8, ImmUntrackedOrigin], start: Int) -> Int:
    """Gives the end of a value or a list of them, without parameters."""
    if _next(octets, start) != 40:
        return _skip_value(octets, start)
    var end = start + 1
    while end > 0:
        end = _skip(octets, end, _SP)
        if _next(octets, end) == 41:
            return end + 1
        end = _skip_parameters(octets, _skip_value(octets, end))
        var next = _next(octets, end)
        if next != 32 and next != 41:
            return _BROKEN
    return _BROKEN


def _skip_value(octets: Span[UInt8, ImmUntrackedOrigin], start: Int) -> Int:
    var first = _next(octets, start)
    if first == 34:
        return _skip_text(octets, start + 1)
    if first == 63:
        var is_one = _next(octets, start + 1) | 1 == 49
        return start + 2 if is_one else _BROKEN
    if first == 58:
        var end = _skip(octets, start + 1, _BASE64)
        return end + 1 if _next(octets, end) == 58 else _BROKEN
    if _skip(octets, start, _TOKEN_START) > start:
        return _skip(octets, start, _TOKEN)
    return _skip_number(octets, start + 1 if first == 45 else start)


def _skip_text(octets: Span[UInt8, ImmUntrackedOrigin], start: Int) -> Int:
    var end = start
    while True:
        end = _skip(octets, end, _TEXT)
        var next = _next(octets, end)
        if next == 34:
            return end + 1
        var escaped = _next(octets, end + 1)
        if next != 92 or (escaped != 34 and escaped != 92):
            return _BROKEN
        end += 2


def _skip_number(octets: Span[UInt8, ImmUntrackedOrigin], start: Int) -> Int:
    var end = _skip(octets, start, _DIGIT)
    var count_max = 15
    if _next(octets, end) == 46:
        count_max = 12
    if end == start or end - start > count_max:
        return _BROKEN
    if count_max == 15:
        return end
    var places = _skip(octets, end + 1, _DIGIT) - end - 1
    return end + 1 + places if places >= 1 and places <= 3 else _BROKEN


@fieldwise_init
struct AbuseLimits(TrivialRegisterPassable):
    """How much of what makes work and has no use a peer may send."""

    var capacity: Int
    """How many such frames at once."""
    var refill_per_s: Int
    """How many more each second."""


struct AbuseBudget(TrivialRegisterPassable):
    """A bucket of tokens; what is needed seldom costs one each (RFC 9113 section
    10.5)."""

    var limits: AbuseLimits
    """How many tokens there are."""
    # Thousandths of a token, since time is counted in thousandths, too.
    var _level: Int
    var _filled_ms: Int

    def __init__(out self, limits: AbuseLimits, now_ms: Int):
        self.limits = limits
        self._level = limits.capacity * 1_000
        self._filled_ms = now_ms

    def spend(mut self, now_ms: Int) -> Bool:
        """Takes a token; False if there is none left."""
        var fresh = (now_ms - self._filled_ms) * self.limits.refill_per_s
        self._level = min(self._level + fresh, self.limits.capacity * 1_000)
        self._filled_ms = now_ms
        if self._level < 1_000:
            return False
        self._level -= 1_000
        return True
