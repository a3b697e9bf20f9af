"""UTF-8 that arrives in pieces."""

from std.memory import pack_bits

comptime _BLOCK_LEN = 32


struct Utf8Checker(TrivialRegisterPassable):
    """Checks text as it arrives, cut anywhere, and fails at the first octet
    that no valid text can have there.

    Source: RFC 3629 section 4 (the octet ranges of its grammar).
    """

    # How many octets the code point that has begun still needs, and between
    # which bounds the next of them must lie.
    var _left: UInt8
    var _low: UInt8
    var _high: UInt8

    def __init__(out self):
        """Starts at the beginning of a text."""
        self._left = 0
        self._low = 0x80
        self._high = 0xBF

    @always_inline
    def is_complete(self) -> Bool:
        """Tells whether the text may end here.

        Returns:
            False within a code point.
        """
        return self._left == 0

    def check(mut self, octets: Span[UInt8, _]) -> Int:
        """Goes on with the next octets.

        Args:
            octets: Any piece of the text.

        Returns:
            -1 if they are fine, else the index of the first that is not.
        """
        # SAFETY: a block is loaded only if it lies within the octets.
        var base = octets.unsafe_ptr()
        var count = len(octets)
        var index = 0
        while index < count:
            if self._left == 0:
                while index + _BLOCK_LEN <= count:
                    var block = base.unsafe_load[width=_BLOCK_LEN](index)
                    if pack_bits(block.ge(128)) != 0:
                        break
                    index += _BLOCK_LEN
            var stop = min(count, index + _BLOCK_LEN)
            while index < stop:
                if not self._take(octets.unsafe_get(index)):
                    return index
                index += 1
        return -1

    @always_inline
    def _take(mut self, octet: UInt8) -> Bool:
        if self._left == 0:
            return octet < 0x80 or self._begin(octet)
        if octet < self._low or octet > self._high:
            return False
        self._left -= 1
        self._low = 0x80
        self._high = 0xBF
        return True

    @always_inline
    def _begin(mut self, octet: UInt8) -> Bool:
        """Takes the first of several octets."""
        # 80 to BF continue, C0 and C1 are overlong, F5 and up exceed U+10FFFF.
        if octet < 0xC2 or octet > 0xF4:
            return False
        if octet < 0xE0:
            self._left = 1
        elif octet < 0xF0:
            self._left = 2
            # Longer than needed, or a surrogate.
            if octet == 0xE0:
                self._low = 0xA0
            elif octet == 0xED:
                self._high = 0x9F
        else:
            self._left = 3
            # Longer than needed, or beyond U+10FFFF.
            if octet == 0xF0:
                self._low = 0x90
            elif octet == 0xF4:
                self._high = 0x8F
        return True
