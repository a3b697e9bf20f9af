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
        """Reads a Priority field value (RFC 9218 section 4).

        Args:
            value: A dictionary of RFC 8941.

        Returns:
            What it says. Members that are unknown, or have a value of no use,
            say nothing; neither does a value that is no dictionary.
        """
        var priority = Self()
        if not priority.take(value):
            return Self()
        return priority

    @always_inline
    def take(mut self, value: Span[UInt8, _]) -> Bool:
        """Takes over what a field line says; lines of one section are one
        dictionary (RFC 8941 section 4.2).

        Args:
            value: A dictionary of RFC 8941.

        Returns:
            False if it is none.
        """
        # SAFETY: the loan ends with the call.
        return self._take_members(
            unsafe_lend[ImmUntrackedOrigin](value.unsafe_ptr(), len(value))
        )

    @no_inline
    def _take_members(mut self, value: Span[UInt8, ImmUntrackedOrigin]) -> Bool:
        var reader = _MemberReader(value)
        _ = reader.skip(_SP)
        while reader.position < len(value):
            if not reader.read_member():
                return False
            self._set(reader)
            _ = reader.skip(_OWS)
            if reader.position == len(value):
                return True
            if not reader.take(44):
                return False
            _ = reader.skip(_OWS)
            if reader.position == len(value):
                return False
        return True

    def _set(mut self, reader: _MemberReader):
        var number = reader.number
        if reader.key == 117:
            self.urgency = URGENCY_DEFAULT
            if reader.type == _INTEGER and UInt(number) <= UInt(URGENCY_MAX):
                self.urgency = UInt8(number)
        elif reader.key == 105:
            self.is_incremental = reader.type == _BOOLEAN and number == 1


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

comptime _BROKEN = UInt8(0)
comptime _OTHER = UInt8(1)
comptime _INTEGER = UInt8(2)
comptime _BOOLEAN = UInt8(3)
# What a value is.


struct _MemberReader(Movable):
    """Reads the members of a dictionary one by one (RFC 8941 section 4.2.2)."""

    var position: Int
    var key: UInt8
    """The name of the last member if that is one letter, else 0."""
    var type: UInt8
    """What its value is."""
    var number: Int
    """The value of an integer, or a boolean as 0 or 1."""
    var _octets: Span[UInt8, ImmUntrackedOrigin]

    def __init__(out self, octets: Span[UInt8, ImmUntrackedOrigin]):
        self.position = 0
        self.key = 0
        self.type = _OTHER
        self.number = 0
        self._octets = octets

    def read_member(mut self) -> Bool:
        """Reads a member with its parameters; False if there is none."""
        var start = self.position
        if not self._skip_key():
            return False
        self.key = 0
        if self.position == start + 1:
            self.key = self._octets.at(start)
        var type = _BOOLEAN
        var number = 1
        if self.take(61):
            type = self._skip_list() if self._next() == 40 else self._value()
            number = self.number
        var is_whole = type != _BROKEN and self._skip_parameters()
        self.type = type
        self.number = number
        return is_whole

    def take(mut self, octet: UInt8) -> Bool:
        """Takes an octet; False if another one stands here."""
        if self._next() != octet:
            return False
        self.position += 1
        return True

    def skip(mut self, part: UInt16) -> Int:
        """Takes all octets of a kind that stand here; gives their number."""
        var start = self.position
        while self._is(part):
            self.position += 1
        return self.position - start

    def _next(self) -> UInt8:
        if self.position == len(self._octets):
            return 0
        return self._octets.at(self.position)

    def _is(self, part: UInt16) -> Bool:
        # SAFETY: there is a row for every octet.
        return (
            global_constant[_PARTS]().unsafe_get(Int(self._next())) & part != 0
        )

    def _skip_key(mut self) -> Bool:
        return self._is(_KEY_START) and self.skip(_KEY) > 0

    def _skip_parameters(mut self) -> Bool:
        while self.take(59):
            _ = self.skip(_SP)
            if not self._skip_key():
                return False
            if self.take(61) and self._value() == _BROKEN:
                return False
        return True

    def _skip_list(mut self) -> UInt8:
        self.position += 1
        while True:
            _ = self.skip(_SP)
            if self.take(41):
                return _OTHER
            if self._value() == _BROKEN or not self._skip_parameters():
                return _BROKEN
            if self._next() != 32 and self._next() != 41:
                return _BROKEN

    def _value(mut self) -> UInt8:
        """Reads a value that is no list; gives what it is."""
        if self._is(_DIGIT) or self._next() == 45:
            return self._read_number()
        if self._is(_TOKEN_START):
            _ = self.skip(_TOKEN)
            return _OTHER
        if self.take(63):
            self.number = Int(self._next()) - 48
            if UInt(self.number) > 1:
                return _BROKEN
            self.position += 1
            return _BOOLEAN
        if self.take(58):
            _ = self.skip(_BASE64)
            return _OTHER if self.take(58) else _BROKEN
        return self._skip_text() if self.take(34) else _BROKEN

    def _skip_text(mut self) -> UInt8:
        while True:
            _ = self.skip(_TEXT)
            if self.take(34):
                return _OTHER
            if not self.take(92) or (not self.take(34) and not self.take(92)):
                return _BROKEN

    def _read_number(mut self) -> UInt8:
        var is_negative = self.take(45)
        self.number = 0
        var count = 0
        while self._is(_DIGIT) and count <= 15:
            self.number = self.number * 10 + Int(self._next()) - 48
            self.position += 1
            count += 1
        if count == 0 or count > 15:
            return _BROKEN
        if self.take(46):
            var places = self.skip(_DIGIT)
            var is_good = count <= 12 and places >= 1 and places <= 3
            return _OTHER if is_good else _BROKEN
        if is_negative:
            self.number = -self.number
        return _INTEGER


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
        """Makes a full bucket.

        Args:
            limits: How many tokens there are.
            now_ms: The time now.
        """
        self.limits = limits
        self._level = limits.capacity * 1_000
        self._filled_ms = now_ms

    def spend(mut self, now_ms: Int) -> Bool:
        """Takes a token.

        Args:
            now_ms: The time now.

        Returns:
            False if there is none left.
        """
        var fresh = (now_ms - self._filled_ms) * self.limits.refill_per_s
        self._level = min(self._level + fresh, self.limits.capacity * 1_000)
        self._filled_ms = now_ms
        if self._level < 1_000:
            return False
        self._level -= 1_000
        return True
